/** The launches of a recorded run as a table that can be filtered. */
import type { Link } from "../../src/protocol/messages";
import type { ModelLaunch } from "../../src/protocol/generated";
import { t } from "../shared/l10n";
import { count } from "../shared/text";
import { follow, link, table, type Column } from "./parts";
import { isMeant } from "./rows";

export function launchTable(launches: readonly ModelLaunch[]): HTMLElement[] {
  const moment = ({ entry, listingLine }: ModelLaunch): Link => ({ to: "moment", ordinal: entry, line: listingLine });
  const columns: Column<ModelLaunch>[] = [
    {
      title: t("launch"),
      isNumber: true,
      value: ({ number }) => number,
      cell: (launch) =>
        link(String(launch.number), moment(launch), t("Travel there in a session, else show it in the disassembly")),
    },
    { title: t("net"), value: ({ net }) => net },
    { title: t("shapes of the inputs"), isElastic: true, value: ({ shapes }) => shapes },
    {
      title: t("commands"),
      isNumber: true,
      isWide: true,
      value: ({ commands }) => commands,
      cell: ({ commands }) => count(commands),
    },
    {
      title: t("disassembly"),
      isWide: true,
      value: ({ first }) => first,
      cell: ({ first, listingLine }) =>
        link(t("command {0}", count(first)), { to: "listing", line: listingLine }, t("Show in the disassembly")),
    },
  ];
  return table(t("Launches"), columns, launches, {
    search: { placeholder: t("Number or net"), label: t("Filter the launches"), isMeant },
    opened: (launch) => {
      follow(moment(launch));
    },
  });
}
