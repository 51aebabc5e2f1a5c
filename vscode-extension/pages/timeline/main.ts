import "../shared/page.css";
import "./timeline.css";
import type { OpTime, ProfileReport } from "../../src/protocol/generated";
import { button, html, svg } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { follow, openLine, travel } from "../shared/session";
import { count } from "../shared/text";
import { KEY_ZOOM } from "../shared/zoom";
import { Drawing, type Found } from "./drawing";
import { timelineOf } from "./model";

/** Pixels of the bar of the op that takes longest. */
const BAR = { width: 80, height: 10 } as const;
const status = html("span", { class: "status", role: "status" });
const about = html("div", { class: "about", "aria-live": "polite" });
const table = html("section", { class: "ranking" });
const drawing = new Drawing(describe, ({ slice }) => {
  goTo(slice.args.line);
});
let isLoaded = false;
let lineOf = new Map<number, number>();

document.body.append(
  html(
    "div",
    { class: "bar", role: "toolbar", "aria-label": t("Timeline") },
    button(
      "+",
      () => {
        drawing.zoom(1 / KEY_ZOOM);
      },
      { title: t("Zoom in (wheel)"), "aria-label": t("Zoom in") },
    ),
    button(
      "−",
      () => {
        drawing.zoom(KEY_ZOOM);
      },
      { title: t("Zoom out (wheel)"), "aria-label": t("Zoom out") },
    ),
    button(
      t("All"),
      () => {
        drawing.fit();
      },
      { title: t("Show everything") },
    ),
    html("span", { class: "fill" }),
    status,
  ),
  html("div", { class: "parts" }, html("div", { class: "left" }, drawing.element, about), table),
);

follow({
  load: async () => {
    status.textContent = t("Estimating …");
    const { report, trace } = await ask("tdb/profile", { trace: true });
    if (trace === undefined) throw new Error(t("the adapter has sent no trace"));
    const timeline = timelineOf(trace);
    lineOf = linesOf(timeline.tracks);
    drawing.show(timeline);
    table.replaceChildren(ranking(report.ops));
    status.textContent = headline(report);
    isLoaded = true;
    await mark();
  },
  stopped: mark,
  ended: () => {
    if (!isLoaded) status.textContent = t("Debug a model to see its timeline.");
  },
  failed: (why) => {
    status.textContent = why;
  },
});

async function mark(): Promise<void> {
  const { ordinal, lines } = await ask("tdb/moment");
  drawing.move(ordinal);
  for (const row of table.querySelectorAll<HTMLElement>("tr[data-line]"))
    row.classList.toggle("current", lines.includes(Number(row.dataset.line)));
}

function goTo(line: unknown): void {
  if (typeof line === "number" && line > 0) openLine(line);
}

/** Lines of the ops that commands belong to, by ordinal: commands lie within their op. */
function linesOf(tracks: ReturnType<typeof timelineOf>["tracks"]): Map<number, number> {
  const found = new Map<number, number>();
  for (const { ops, commands } of tracks) {
    let at = 0;
    for (const { start, stop, args } of commands) {
      while (at < ops.length && (ops[at]?.stop ?? 0) < stop) at++;
      const op = ops[at];
      if (op !== undefined && op.start <= start) found.set(Number(args.ordinal), Number(op.args.line));
    }
  }
  return found;
}

function headline({ cycles, milliseconds, engines, given, commands }: ProfileReport): string {
  const time =
    milliseconds === null
      ? t("{0} cycles", count(cycles))
      : t("{0} cycles ({1} ms)", count(cycles), milliseconds.toPrecision(4));
  const cores = new Set(engines.map(({ core }) => core)).size;
  const busy = engines.map(({ core, engine, utilisation }) => {
    const [name, share] = [engine.toUpperCase(), `${(100 * utilisation).toFixed(0)}%`];
    return cores > 1 ? t("{0} of core {1} busy {2}", name, core, share) : t("{0} busy {1}", name, share);
  });
  const from =
    given === commands
      ? t("the compiler's figures")
      : given > 0
        ? t("the compiler's figures and estimates")
        : t("estimates");
  return [time, ...busy, from].join(" · ");
}

function describe({ slice, track }: Found): void {
  const { ordinal, line = lineOf.get(Number(ordinal)), ...rest } = slice.args;
  const details = Object.entries(rest)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name} ${typeof value === "number" ? count(value) : String(value)}`);
  about.replaceChildren(
    html("strong", {}, slice.name),
    html("div", {}, [track.title, drawing.duration(slice), ...details].join(" · ")),
    ...(typeof line === "number" && line > 0
      ? [
          button(
            t("line {0}", line),
            () => {
              openLine(line);
            },
            { class: "link" },
          ),
        ]
      : []),
    ...(typeof ordinal === "number"
      ? [
          " · ",
          button(
            t("travel to command {0}", count(ordinal)),
            () => {
              travel(ordinal);
            },
            { class: "link" },
          ),
        ]
      : []),
  );
}

function ranking(ops: readonly OpTime[]): HTMLElement {
  const head = [t("op"), t("TIU cycles"), t("DMA cycles"), t("share")].map((text, index) =>
    html("th", { scope: "col", class: index > 0 && "number" }, text),
  );
  const largest = Math.max(...ops.map(({ share }) => share), Number.MIN_VALUE);
  const rows = ops.map(({ line, opcode, name, tiu, dma, share }) => {
    const title = [opcode.replace(/^tpu\./, ""), name].filter(Boolean).join(" ");
    const what =
      line > 0
        ? button(
            title,
            () => {
              drawing.select(line);
              openLine(line);
            },
            { class: "link", title: t("line {0}", line) },
          )
        : title;
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
      html("td", { class: "number" }, count(tiu)),
      html("td", { class: "number" }, count(dma)),
      html("td", { class: "number" }, `${(100 * share).toFixed(1)}% `, bar),
    );
  });
  return html(
    "table",
    { "aria-label": t("Ops by time") },
    html("thead", {}, html("tr", {}, ...head)),
    html("tbody", {}, ...rows),
  );
}
