/** Below the drawing: the slice or the range of time that is selected. */
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import { openLine, travel } from "../shared/session";
import { bytes, count } from "../shared/text";
import type { Timeline } from "./model";
import type { Found } from "./rows";
import { partsOf, sumOf, total, type Sum } from "./summary";

/** Parts of a range that are listed. */
const PARTS = 12;

function sumText({ commands, cycles, bytes: moved, share, expected }: Sum): string {
  return [
    commands === 1 ? t("1 command") : t("{0} commands", count(commands)),
    expected === undefined
      ? t("{0} cycles", count(cycles))
      : t("{0} cycles measured, {1} expected", count(cycles), count(expected)),
    bytes(moved),
    t("{0} of all engines' time", percent(share)),
  ].join(" · ");
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

/** `waits`: what its commands wait for, and what waits for them. */
export function sliceDetails(
  timeline: Timeline,
  { slice, slices, track }: Found,
  duration: string,
  waits: { readonly before: number; readonly after: number },
): Node[] {
  const { name, line, first, part } = slice;
  const words = [track.title, duration, part].filter(Boolean).join(" · ");
  const isOp = slices === track.ops;
  const links = [
    line > 0 &&
      button(
        lineText(line),
        () => {
          openLine(line);
        },
        { class: "link" },
      ),
    button(
      t("travel to command {0}", count(first)),
      () => {
        travel(first);
      },
      { class: "link" },
    ),
  ].filter((link) => link !== false);
  return [
    html("strong", {}, name),
    html("div", {}, words),
    html("div", {}, sumText(sumOf(timeline, slice, track))),
    html("div", {}, t("waits for {0}, awaited by {1} commands of other engines", waits.before, waits.after)),
    html("div", { class: "links", "data-kind": isOp ? "op" : "command" }, ...links.flatMap((link) => [link, " "])),
  ];
}

export function rangeDetails(timeline: Timeline, [from, to]: readonly [number, number], duration: string): Node[] {
  const parts = partsOf(timeline, from, to);
  const rows = parts
    .slice(0, PARTS)
    .map(({ track, name, commands, cycles, bytes: moved, share }) =>
      html(
        "tr",
        {},
        html("td", { title: name }, name),
        html("td", {}, track.title),
        html("td", { class: "number" }, count(commands)),
        html("td", { class: "number" }, count(cycles)),
        html("td", { class: "number" }, bytes(moved)),
        html("td", { class: "number" }, percent(share)),
      ),
    );
  const head = [t("op"), t("engine"), t("commands"), t("cycles"), t("bytes"), t("share")].map((text, index) =>
    html("th", { scope: "col", class: index > 1 && "number" }, text),
  );
  return [
    html("strong", {}, t("Selected: {0}", duration)),
    html("div", {}, sumText(total(parts))),
    html(
      "table",
      { "aria-label": t("Selected time by op") },
      html("thead", {}, html("tr", {}, ...head)),
      html("tbody", {}, ...rows),
    ),
  ];
}
