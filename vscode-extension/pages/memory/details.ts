/** Beside the chart: the memory at this moment from its first byte on, and the tensor that was chosen. */
import type { OpInstance, Resident } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { inserted, t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import { openLine, travel } from "../shared/session";
import { bytes, count, hex, type } from "../shared/text";
import type { Stretch } from "./model";

/** `now`: how many commands have been executed; what the next one begins to write is said to come. */
export function presentTable(
  parts: readonly Stretch[],
  now: number,
  select: (resident: Resident) => void,
): HTMLElement {
  const rows = parts.flatMap(({ start, stop, residents }) =>
    residents.length === 0
      ? [row(html("span", { class: "status" }, t("free")), start, stop, "free")]
      : residents.map((resident) =>
          row(named(resident, now, select), resident.start, resident.stop, resident.born === now ? "coming" : "taken"),
        ),
  );
  const head = html(
    "tr",
    {},
    html("th", { class: "number" }, t("from")),
    html("th", { class: "number" }, t("bytes")),
    html("th", {}, t("what")),
  );
  return html(
    "table",
    { "aria-label": t("Contents of this memory now") },
    html("thead", {}, head),
    html("tbody", {}, ...rows),
  );
}

function named(resident: Resident, now: number, select: (resident: Resident) => void): HTMLElement {
  const name = button(
    resident.name,
    () => {
      select(resident);
    },
    { class: "link" },
  );
  return resident.born === now
    ? html("span", {}, name, " ", html("span", { class: "status" }, t("written next")))
    : name;
}

function row(what: HTMLElement, start: number, stop: number, kind: string): HTMLElement {
  return html(
    "tr",
    { class: kind },
    html("td", { class: "number" }, hex(start)),
    html("td", { class: "number" }, bytes(stop - start)),
    html("td", {}, what),
  );
}

/** `words`: what `tdb/explain` says about the command that writes it; `look`: shows its bytes. */
export function story(resident: Resident, bank: number, words: readonly string[], look: () => void): HTMLElement[] {
  const { start, stop, born, died } = resident;
  return [
    html("h2", {}, resident.name),
    html("div", {}, type(resident.dtype, resident.shape)),
    html("div", {}, extentText(start, stop, bank)),
    html("div", {}, button(t("Bytes"), look, { class: "link", title: t("Show the present bytes, and edit them") })),
    html("div", {}, t("alive during commands {0} to {1}", count(born), count(died))),
    html(
      "div",
      { class: "writer" },
      ...inserted("written by {0}, {1}", ...op({ ordinal: born, line: resident.line, opcode: resident.opcode })),
    ),
    ...(resident.readers.length === 0 ? [html("div", {}, t("read by no op"))] : []),
    ...resident.readers.map((reader) =>
      html("div", { class: "reader" }, ...inserted("read by {0}, {1}", ...op(reader))),
    ),
    html("pre", {}, words.join("\n")),
  ];
}

/** Where a tensor lies; `bank`: bytes of a bank of local memory, 0 in another memory. */
function extentText(start: number, stop: number, bank: number): string {
  const [from, to, size] = [hex(start), hex(stop), bytes(stop - start)];
  if (bank === 0) return t("{0} to {1}: {2}", from, to, size);
  const [first, last] = [Math.floor(start / bank), Math.floor((stop - 1) / bank)];
  return last > first
    ? t("{0} to {1}: {2} of each lane, bank {3} to {4}", from, to, size, first, last)
    : t("{0} to {1}: {2} of each lane, bank {3}", from, to, size, first);
}

/** Buttons that go to the line of an op, and to its moment. */
function op({ ordinal, line, opcode }: OpInstance): [HTMLElement, HTMLElement] {
  const place = button(
    t("{0}, {1}", opcode, lineText(line)),
    () => {
      openLine(line);
    },
    { class: "link" },
  );
  const there = button(
    t("command {0}", count(ordinal)),
    () => {
      travel(ordinal);
    },
    { class: "link", title: t("Travel to the moment before it") },
  );
  return [place, there];
}
