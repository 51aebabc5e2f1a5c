/** Heads of the columns of places. */
import { t } from "../shared/l10n";
import type { PlaceName } from "./model";

export function placeTitle(place: PlaceName): string {
  switch (place) {
    case "moment":
      return t("moment");
    case "command":
      return t("command");
    case "line":
      return t("line");
    case "op":
      return t("op");
    case "name":
      return t("name");
    case "core":
      return t("core");
    case "slice":
      return t("slice");
    case "launch":
      return t("launch");
    case "token":
      return t("token");
  }
}
