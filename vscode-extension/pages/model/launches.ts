/** The launches of a recorded run as a table that can be filtered. */
import type { ModelLaunch } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { count } from "../shared/text";
import { isMeant } from "./filter";
import { link, table } from "./parts";

export function launchTable(launches: readonly ModelLaunch[]): HTMLElement[] {
  const [section] = table(
    t("Launches"),
    [t("launch"), t("net"), t("shapes of the inputs"), t("commands"), t("disassembly")],
    launches.map(({ number, net, shapes, first, listingLine, commands }) => [
      link(
        String(number),
        { to: "moment", ordinal: first, line: listingLine },
        t("Travel there in a session, else show it in the disassembly"),
      ),
      net,
      shapes,
      count(commands),
      link(t("command {0}", count(first)), { to: "listing", line: listingLine }, t("Show in the disassembly")),
    ]),
    [0, 3],
  );
  if (section === undefined) return [];
  const rows = [...section.querySelectorAll("tbody > tr")];
  const status = html("span", { class: "matches", role: "status" });
  const field = html("input", {
    type: "search",
    placeholder: t("Number or net"),
    "aria-label": t("Filter the launches"),
    input: () => {
      const meant = launches.map((launch) => isMeant(launch, field.value));
      rows.forEach((row, index) => row.toggleAttribute("hidden", meant[index] !== true));
      const { length } = meant.filter(Boolean);
      status.textContent = length === launches.length ? "" : t("{0} of {1}", count(length), count(launches.length));
    },
  });
  section.querySelector("h2")?.after(html("div", { class: "filter" }, field, status));
  return [section];
}
