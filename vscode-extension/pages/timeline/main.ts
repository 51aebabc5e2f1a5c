import "../shared/page.css";
import "./timeline.css";
import type { CommandOrder, ProfileReport } from "../../src/protocol/generated";
import { button, html, svg } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { Search } from "../shared/search";
import { follow, openLine } from "../shared/session";
import { count, timeText } from "../shared/text";
import { KEY_ZOOM } from "../shared/zoom";
import { colourOf, themeColours } from "./colours";
import { rangeDetails, sliceDetails } from "./details";
import { Drawing } from "./drawing";
import { NOTHING, timelineOf } from "./model";
import { ranking } from "./ranking";
import { matchesOf, type Found } from "./rows";
import { duration } from "./tip";

/** Time that the adapter may take for the first part of the estimates, and how much longer for each further one. */
const PART = { milliseconds: 300, longer: 2 } as const;
/** Pixels of a side of a square in the legend. */
const SWATCH = 10;
/** Marks when all times are known, for the benchmark. */
const COMPLETE = "complete";

const status = html("span", { class: "status", role: "status" });
const progress = html("progress", { hidden: true, "aria-label": t("Commands whose time is estimated") });
const legend = html("div", { class: "bar legend", role: "group", "aria-label": t("Colours") });
const about = html("div", { class: "about", "aria-live": "polite" });
const table = html("section", { class: "ranking", tabindex: 0, "aria-label": t("Ops by time") });
const drawing = new Drawing({
  chosen: describe,
  opened: ({ slice }) => {
    if (slice.line > 0) openLine(slice.line);
  },
  ranged: (range) => {
    if (range === undefined) {
      about.replaceChildren(hint());
      return;
    }
    const [start, stop] = range;
    about.replaceChildren(...rangeDetails(timeline, range, duration({ start, stop }, timeline)));
  },
  search: () => {
    search.focus();
  },
});
const search = new Search<Found>(t("Search ops and commands"), {
  find: (text) => {
    const matches = text === undefined ? [] : matchesOf(timeline, text);
    drawing.highlight(text === undefined ? undefined : new Set(matches.map(({ slice }) => slice)));
    return matches;
  },
  choose: (found) => {
    drawing.choose(found);
  },
  left: () => {
    drawing.focus();
  },
});
let timeline = NOTHING;
let order: CommandOrder | undefined;
/** Only the answers to the latest session are of interest. */
let turn = 0;

document.body.append(
  html(
    "div",
    { class: "bar", role: "toolbar", "aria-label": t("Timeline") },
    tool("+", t("Zoom in"), t("Zoom in (W, wheel)"), () => {
      drawing.zoom(1 / KEY_ZOOM);
    }),
    tool("−", t("Zoom out"), t("Zoom out (S, wheel)"), () => {
      drawing.zoom(KEY_ZOOM);
    }),
    tool(t("All"), t("All"), t("Show everything (Home)"), () => {
      drawing.fit();
    }),
    search.element,
    html("span", { class: "fill" }),
    progress,
    status,
  ),
  legend,
  html("div", { class: "parts" }, html("main", { class: "left" }, drawing.element, about), table),
);
about.append(hint());

follow({
  load,
  stopped: mark,
  ended: () => {
    if (order === undefined) status.textContent = t("Debug a model to see its timeline.");
  },
  failed: (why) => {
    progress.hidden = true;
    status.textContent = why;
  },
});

function tool(text: string, label: string, title: string, press: () => void): HTMLElement {
  return button(text, press, { title, "aria-label": label });
}

function hint(): HTMLElement {
  return html(
    "span",
    { class: "status" },
    t("Select an op or a command. Drag along the axis, or with Shift, to sum up a range of time."),
  );
}

/** The order at once, the times as they come, and at last the sums. */
async function load(): Promise<void> {
  const mine = ++turn;
  status.textContent = t("Reading the commands …");
  const found = await ask("tdb/timeline");
  if (mine !== turn) return;
  order = found;
  let isKnown = false;
  for (let spend = 0; !isKnown; spend = spend > 0 ? spend * PART.longer : PART.milliseconds) {
    const times = await ask("tdb/times", { milliseconds: spend });
    if (mine !== turn) return;
    isKnown = times.estimated === times.commands;
    timeline = timelineOf(found, times);
    drawing.show(timeline, times.estimated);
    search.renew();
    progress.hidden = isKnown;
    Object.assign(progress, { max: times.commands, value: times.estimated });
    status.textContent = t("Estimated {0} of {1} commands", count(times.estimated), count(times.commands));
    explainColours();
    if (spend === 0) await mark();
  }
  performance.mark(COMPLETE);
  const { report } = await ask("tdb/profile");
  if (mine !== turn) return;
  table.replaceChildren(
    ranking(report.ops, (line) => {
      drawing.select(line);
      openLine(line);
    }),
  );
  status.textContent = headline(report);
  await mark();
}

async function mark(): Promise<void> {
  const { ordinal, lines } = await ask("tdb/moment");
  drawing.move(ordinal);
  for (const row of table.querySelectorAll<HTMLElement>("tr[data-line]"))
    row.classList.toggle("current", lines.includes(Number(row.dataset.line)));
}

function explainColours(): void {
  const colours = themeColours();
  legend.replaceChildren(
    ...[...drawing.kinds, t("others")].map((kind) =>
      html(
        "span",
        {},
        svg(
          "svg",
          { width: SWATCH, height: SWATCH, "aria-hidden": "true" },
          svg("rect", { width: SWATCH, height: SWATCH, fill: colourOf(kind, drawing.kinds, colours) }),
        ),
        ` ${kind}`,
      ),
    ),
  );
}

function headline({ cycles, milliseconds, engines, given, commands, measured }: ProfileReport): string {
  const time =
    milliseconds === null
      ? t("{0} cycles", count(cycles))
      : t("{0} cycles ({1})", count(cycles), timeText(milliseconds));
  const busy = [...new Set(engines.map(({ engine }) => engine))].map((engine) => {
    const shares = engines.filter((one) => one.engine === engine).map(({ utilisation }) => utilisation);
    const text = (share: number) => `${(100 * share).toFixed(0)}%`;
    const [least, most] = [Math.min(...shares), Math.max(...shares)];
    const [name, range] = [
      engine.toUpperCase(),
      text(least) === text(most) ? text(most) : t("{0} to {1}", text(least), text(most)),
    ];
    return t("{0} busy {1}", name, range);
  });
  const from =
    measured > 0
      ? t("measured: {0} of {1} commands", count(measured), count(commands))
      : given === commands
        ? t("the compiler's figures")
        : given > 0
          ? t("the compiler's figures and estimates")
          : t("estimates");
  return [time, ...busy, from].join(" · ");
}

function describe(found: Found): void {
  const { first, last } = found.slice;
  const isOurs = (ordinal: number) => first <= ordinal && ordinal <= last && trackOf(ordinal) === found.track;
  const pairs = (order?.waits ?? []).filter(([before, after]) => isOurs(before) !== isOurs(after));
  const waits = {
    before: pairs.filter(([, after]) => isOurs(after)).length,
    after: pairs.filter(([before]) => isOurs(before)).length,
  };
  drawing.flow(pairs);
  about.replaceChildren(...sliceDetails(timeline, found, duration(found.slice, timeline), waits));
}

function trackOf(ordinal: number): Found["track"] | undefined {
  return timeline.tracks[order?.track[ordinal] ?? -1];
}
