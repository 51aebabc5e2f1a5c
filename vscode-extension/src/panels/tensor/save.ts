import * as vscode from "vscode";
import type { TensorNumbers } from "../../protocol/generated";
import type { FileFormat, Source, Subject } from "../../protocol/messages";
import { request, type Asked } from "../../sessions/requests";
import { fromBase64, fromText, joined } from "./bytes";
import { csv, decode, npy } from "./files";
import { zip } from "./zip";

/** Elements that are fetched at once. */
const CHUNK_ELEMENTS = 1 << 20;

/** The content of a file of a tensor's numbers: those of `of`, or in an npz all there are. */
export async function fileOf(
  asked: Asked,
  format: Exclude<FileFormat, "png">,
  subject: Subject,
  of: Source,
): Promise<Uint8Array> {
  const { shape, hasReference } = await request(asked, "tdb/tensor", subject);
  const size = shape.reduce((product, extent) => product * extent, 1);
  const sources: Source[] = format !== "npz" ? [of] : hasReference ? ["actual", "reference", "error"] : ["actual"];
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Saving the tensor") },
    async (progress) => {
      const fetch = async (source: Source) => {
        const chunks: Uint8Array[] = [];
        let numbers: TensorNumbers["format"] = "f32";
        for (let start = 0; start < size; start += CHUNK_ELEMENTS) {
          const count = Math.min(CHUNK_ELEMENTS, size - start);
          const part = await request(asked, "tdb/tensorData", { ...subject, of: source, start, count });
          numbers = part.format;
          chunks.push(fromBase64(part.data));
          progress.report({ increment: (100 * count) / size / sources.length });
        }
        return { numbers, data: joined(chunks) };
      };
      if (format === "csv") {
        const { numbers, data } = await fetch(of);
        return fromText(csv(shape, decode(numbers, data)));
      }
      const entries: { name: string; content: Uint8Array }[] = [];
      for (const source of sources) {
        const { numbers, data } = await fetch(source);
        entries.push({ name: `${source}.npy`, content: npy(shape, numbers, data) });
      }
      return format === "npz" ? zip(entries) : (entries[0]?.content ?? new Uint8Array());
    },
  );
}
