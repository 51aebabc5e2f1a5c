import type { Source } from "../../src/protocol/messages";
import { t } from "../shared/l10n";

/** Which of a tensor's numbers, in a word. */
export function sourceName(of: Source): string {
  switch (of) {
    case "actual":
      return t("actual");
    case "reference":
      return t("reference");
    case "error":
      return t("error");
  }
}
