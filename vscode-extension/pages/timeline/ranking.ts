/** The ops by what they cost, as a table. */
import type { OpTime } from "../../src/protocol/generated";
import { button, html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import { count, labelsOf, ranges } from "../shared/text";

/** Pixels of the bar of the op that takes longest. */
const BAR = { width: 60, height: 10 } as const;
/** Letters of a name that a narrow page has room for. */
const LETTERS = 22;
/** Rows that are made at once; of more, the others are made when they are asked for. */
const ROWS = 200;

/** `choose`: a line was clicked. */
export function ranking(ops: readonly OpTime[], choose: (line: number) => void): HTMLElement {
  const expected = ops.some((op) => op.expected !== null) ? [t("expected")] : [];
  const hasCores = ops.some(({ cores }) => cores.some((core) => core > 0));
  const head = [t("op"), t("TIU cycles"), t("DMA cycles"), ...expected, t("share")].map((text, index) =>
    html("th", { scope: "col", class: index > 0 && "number" }, text),
  );
  if (hasCores) head.splice(1, 0, html("th", { scope: "col", class: "cores" }, t("cores")));
  const largest = Math.max(...ops.slice(0, 1).map(({ share }) => share), Number.MIN_VALUE);
  const labels = labelsOf(
    ops.map(({ name }) => name),
    LETTERS,
  );
  const body = html("tbody");
  const more = html("div", { class: "more" });
  const fill = (to: number) => {
    const from = body.childElementCount;
    body.append(...ops.slice(from, to).map((op) => row(op, labels.get(op.name) ?? op.name, hasCores, largest, choose)));
    const left = ops.length - body.childElementCount;
    more.replaceChildren();
    if (left > 0)
      more.append(
        button(t("{0} more ops", count(left)), () => {
          fill(ops.length);
        }),
      );
  };
  fill(ROWS);
  return html(
    "div",
    {},
    html("table", { "aria-label": t("Ops by time") }, html("thead", {}, html("tr", {}, ...head)), body),
    more,
  );
}

function row(
  { line, opcode, name, cores, tiu, dma, expected, share }: OpTime,
  label: string,
  hasCores: boolean,
  largest: number,
  choose: (line: number) => void,
): Node {
  const titleOf = (text: string) => [opcode.replace(/^tpu\./, ""), text].filter(Boolean).join(" ");
  const what =
    line > 0
      ? button(
          titleOf(label),
          () => {
            choose(line);
          },
          { class: "link", title: `${titleOf(name)}\n${lineText(line)}` },
        )
      : titleOf(label);
  const bar = svg(
    "svg",
    { ...BAR, "aria-hidden": "true" },
    svg("rect", { class: "whole", ...BAR }),
    svg("rect", { class: "share", ...BAR, width: (share / largest) * BAR.width }),
  );
  return html(
    "tr",
    { "data-line": line },
    html("td", {}, what),
    ...(hasCores ? [html("td", { class: "cores" }, ranges(cores))] : []),
    html("td", { class: "number" }, count(tiu)),
    html("td", { class: "number" }, count(dma)),
    ...(expected === null ? [] : [html("td", { class: "number" }, count(expected))]),
    html("td", { class: "number" }, `${(100 * share).toFixed(1)}% `, bar),
  );
}
