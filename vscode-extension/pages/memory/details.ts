/** Beside the chart: the memory at this moment from its first byte on, and the tensor that was chosen. */
import type { OpInstance, Resident } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
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
      ? [row(html("span", { class: "status" }, "free"), start, stop, "free")]
      : residents.map((resident) =>
          row(named(resident, now, select), resident.start, resident.stop, resident.born === now ? "coming" : "taken"),
        ),
  );
  const head = html(
    "tr",
    {},
    html("th", { class: "number" }, "from"),
    html("th", { class: "number" }, "bytes"),
    html("th", {}, "what"),
  );
  return html(
    "table",
    { "aria-label": "Contents of this memory now" },
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
  return resident.born === now ? html("span", {}, name, html("span", { class: "status" }, " written next")) : name;
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
  const first = Math.floor(start / (bank || 1));
  const last = Math.floor((stop - 1) / (bank || 1));
  const banks = bank ? `, bank ${String(first)}${last > first ? ` to ${String(last)}` : ""}` : "";
  return [
    html("h2", {}, resident.name),
    html("div", {}, type(resident.dtype, resident.shape)),
    html("div", {}, `${hex(start)} to ${hex(stop)}: ${bytes(stop - start)}${bank ? " of each lane" : ""}${banks}`),
    html("div", {}, button("Bytes", look, { class: "link", title: "Show the present bytes, and edit them" })),
    html("div", {}, `alive during commands ${count(born)} to ${count(died)}`),
    html(
      "div",
      { class: "writer" },
      "written by ",
      ...op({ ordinal: born, line: resident.line, opcode: resident.opcode }),
    ),
    ...(resident.readers.length === 0 ? [html("div", {}, "read by no op")] : []),
    ...resident.readers.map((reader) => html("div", { class: "reader" }, "read by ", ...op(reader))),
    html("pre", {}, words.join("\n")),
  ];
}

function op({ ordinal, line, opcode }: OpInstance): (Node | string)[] {
  const place = button(
    `${opcode}, line ${String(line)}`,
    () => {
      openLine(line);
    },
    { class: "link" },
  );
  const there = button(
    `command ${count(ordinal)}`,
    () => {
      travel(ordinal);
    },
    { class: "link", title: "Travel to the moment before it" },
  );
  return [place, ", ", there];
}
