/** Which tensor each picture is of: the subject itself, its reference, or another tensor that it is compared with. */
import type { Source, Subject } from "../../src/protocol/messages";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";

/** Arguments of a request about some of a tensor's numbers. */
export type Part<Of extends string> = Subject & { readonly of: Of };

export class Subjects {
  /** An expression in place of the reference. */
  other: string | undefined;
  /** Whether numbers are shown as they are stored, before scale and zero point. */
  isRaw = false;

  constructor(public subject: Subject) {}

  /** The pictures of a tensor, from left to right. */
  sources(hasReference: boolean): Source[] {
    if (this.isRaw) return ["stored"];
    return hasReference || this.other !== undefined ? ["actual", "reference", "error"] : ["actual"];
  }

  part<Of extends Source | "bits">(of: Of): Part<Of | "actual"> {
    const { subject, other } = this;
    if (other === undefined) return { ...subject, of };
    if (of === "reference") return { ...subject, expression: other, of: "actual" };
    if (of === "error") return { ...subject, expression: this.difference(other), of: "actual" };
    return { ...subject, of };
  }

  /** Compare with an expression, or with the reference if that is empty; throws where its shape is not `shape`. */
  async compareWith(expression: string, shape: readonly number[]): Promise<void> {
    if (expression !== "") {
      const found = await ask("tdb/tensor", { ...this.subject, expression });
      if (found.shape.join() !== shape.join())
        throw new Error(t("{0} has another shape: [{1}], not [{2}]", expression, found.shape.join(), shape.join()));
    }
    this.other = expression === "" ? undefined : expression;
  }

  /** `(in[0]) - (out[0])` */
  difference(other: string): string {
    return `(${this.subject.expression}) - (${other})`;
  }
}
