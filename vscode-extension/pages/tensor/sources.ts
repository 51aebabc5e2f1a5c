import type { Source } from "../../src/protocol/messages";
import { t } from "../shared/l10n";

/** Which of a tensor's numbers, in a word. `other`: what it is compared with in place of its reference. */
export function sourceName(of: Source, other?: string): string {
  switch (of) {
    case "actual":
      return t("actual");
    case "stored":
      return t("raw");
    case "reference":
      return other ?? t("reference");
    case "error":
      return other === undefined ? t("error") : t("difference");
  }
}
