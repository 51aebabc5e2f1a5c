import * as vscode from "vscode";
import { csv, decode, npy } from "./files";
import type { Description, Format, Numbers, Source, Subject } from "../../protocol/tensor";
import { zip } from "./zip";

/** Elements that are fetched at once. */
const CHUNK = 1 << 20;

type Ask = <Body>(request: string, which: object) => Promise<Body>;

/** The content of a file of a tensor's numbers: those of `of`, or in an npz all there are. */
export async function fileOf(
  format: Exclude<Format, "png">,
  subject: Subject,
  of: Source,
  ask: Ask,
): Promise<Uint8Array> {
  const { shape, hasReference } = await ask<Description>("tdb/tensor", subject);
  const size = shape.reduce((product, extent) => product * extent, 1);
  const sources: Source[] = format !== "npz" ? [of] : hasReference ? ["actual", "reference", "error"] : ["actual"];
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "Saving the tensor" },
    async (progress) => {
      const fetch = async (source: Source) => {
        const chunks: Buffer[] = [];
        let numbers: Numbers["format"] = "f32";
        for (let start = 0; start < size; start += CHUNK) {
          const count = Math.min(CHUNK, size - start);
          const part = await ask<Numbers>("tdb/tensorData", { ...subject, of: source, start, count });
          numbers = part.format;
          chunks.push(Buffer.from(part.data, "base64"));
          progress.report({ increment: (100 * count) / size / sources.length });
        }
        return { numbers, data: Buffer.concat(chunks) };
      };
      if (format === "csv") {
        const { numbers, data } = await fetch(of);
        return Buffer.from(csv(shape, decode(numbers, data)));
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
