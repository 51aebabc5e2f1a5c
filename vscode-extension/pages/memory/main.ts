import "../shared/page.css";
import "./memory.css";
import { textOf } from "../../src/protocol/errors";
import type { Memory, MemoryMap, Resident } from "../../src/protocol/generated";
import { button, html, svg } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { follow, progressText, travel } from "../shared/session";
import { bytes } from "../shared/text";
import { KEY_ZOOM } from "../shared/zoom";
import { Bytes } from "./bytes";
import { Chart } from "./chart";
import type { Over } from "./chartPainter";
import { presentTable, story } from "./details";
import { liesAt, placeOf, stretches, use } from "./model";
import { peakOf, usageOf } from "./usage";

/** Pixels of a rectangle in the legend. */
const SWATCH = { width: 18, height: 11 } as const;
/** Marks when the chart is drawn first, for the benchmark. */
const COMPLETE = "complete";

const chooser = html("select", {
  "aria-label": t("Memory"),
  change: () => {
    choose();
  },
});
const over = html(
  "select",
  {
    "aria-label": t("Horizontal axis"),
    change: () => {
      choose();
    },
  },
  html("option", { value: "commands" }, t("over commands")),
  html("option", { value: "lanes" }, t("over lanes, now")),
);
const folding = html("input", {
  type: "checkbox",
  id: "folding",
  checked: true,
  change: () => {
    chart.setFolded(folding.checked);
  },
});
const status = html("span", { class: "status", role: "status" });
const present = html("section", { class: "present" });
const details = html("section", { class: "details", "aria-live": "polite" });
const chart = new Chart((resident) => void select(resident));
const bytesView = new Bytes((space, core, byte) =>
  map
    ? liesAt(map, now, space, core, byte)
        .map(({ name }) => name)
        .join(", ") || t("free")
    : "",
);
const tensors = html("section", { class: "tensors", role: "tabpanel", "aria-label": t("Tensors") }, present, details);
const panels = {
  tensors: { title: t("Tensors"), element: tensors },
  bytes: { title: t("Bytes"), element: bytesView.element },
} as const;
type Tab = keyof typeof panels;
const tabs = html(
  "div",
  { class: "tabs", role: "tablist" },
  ...Object.entries(panels).map(([name, { title }]) =>
    button(
      title,
      () => {
        turnTo(name as Tab);
      },
      { role: "tab", "data-tab": name },
    ),
  ),
);
let map: MemoryMap | undefined;
let now = 0;

document.body.append(
  html(
    "div",
    { class: "bar", role: "toolbar", "aria-label": t("Chip memory") },
    chooser,
    over,
    button(
      "+",
      () => {
        chart.zoom(1 / KEY_ZOOM);
      },
      { title: t("Zoom in horizontally (wheel)"), "aria-label": t("Zoom in horizontally") },
    ),
    button(
      "−",
      () => {
        chart.zoom(KEY_ZOOM);
      },
      { title: t("Zoom out horizontally (wheel)"), "aria-label": t("Zoom out horizontally") },
    ),
    button(
      "↕+",
      () => {
        chart.zoomBytes(1 / KEY_ZOOM);
      },
      { title: t("Zoom in on bytes (shift and wheel)"), "aria-label": t("Zoom in on bytes") },
    ),
    button(
      "↕−",
      () => {
        chart.zoomBytes(KEY_ZOOM);
      },
      { title: t("Zoom out of bytes (shift and wheel)"), "aria-label": t("Zoom out of bytes") },
    ),
    button(
      t("All"),
      () => {
        chart.fit();
      },
      { title: t("Show everything") },
    ),
    html("span", {}, folding, html("label", { for: "folding" }, t("fold what is never used"))),
    button(
      t("Peak"),
      () => {
        const memory = memoryShown();
        const peak = memory && peakOf(usageOf(memory));
        if (peak !== undefined) travel(peak.at);
      },
      { title: t("Travel to the moment when most is in use") },
    ),
    html("span", { class: "fill" }),
    status,
  ),
  legend(),
  chart.element,
  tabs,
  html("div", { class: "below" }, tensors, bytesView.element),
);
turnTo("tensors");

follow({
  load: async () => {
    map = await ask("tdb/memoryMap");
    now = map.ordinal;
    // Local memory first: no other tool shows it.
    const order = map.memories
      .map((memory, index) => ({ memory, index }))
      .sort((one, other) => rank(one.memory) - rank(other.memory));
    const chosen = chooser.selectedOptions[0]?.text;
    chooser.replaceChildren(
      ...order.map(({ memory, index }) =>
        html("option", { value: index, selected: memory.title === chosen }, memory.title),
      ),
    );
    bytesView.offer(map.regions);
    choose();
    performance.mark(COMPLETE);
    await bytesView.refresh();
  },
  stopped: async () => {
    now = (await ask("tdb/moment")).ordinal;
    chart.move(now);
    showUse();
    await bytesView.refresh();
  },
  bytes: (address, dtype) => {
    turnTo("bytes");
    bytesView.go({ address, offset: 0 }, dtype);
  },
  ended: () => {
    status.textContent = map === undefined ? t("Debug a model to see its memory.") : t("The session has ended.");
  },
  failed: (why) => {
    status.textContent = why;
  },
});

/** What the looks of a rectangle, and the lines above, mean. */
function legend(): HTMLElement {
  const part = (looks: readonly string[], text: string) =>
    html(
      "span",
      {},
      svg(
        "svg",
        { ...SWATCH, "aria-hidden": "true" },
        svg(
          "g",
          { class: looks.join(" ") },
          svg("rect", { x: 1, y: 1, width: SWATCH.width - 2, height: SWATCH.height - 2 }),
        ),
      ),
      ` ${text}`,
    );
  return html(
    "div",
    { class: "bar legend", role: "group", "aria-label": t("Legend") },
    part(["resident", "colour0", "alive"], t("in use now")),
    part(["resident", "colour0", "coming"], t("written next")),
    part(["resident", "colour0"], t("before or after")),
    part(["use"], t("bytes in use")),
    part(["fragments"], t("fragmentation")),
    html("span", {}, t("a tensor keeps its colour")),
  );
}

/** Show one of the panels below the chart. */
function turnTo(name: Tab): void {
  for (const [other, { element }] of Object.entries(panels)) element.hidden = other !== name;
  for (const tab of tabs.querySelectorAll("button"))
    tab.setAttribute("aria-selected", String(tab.dataset.tab === name));
  void bytesView.refresh();
}

function rank({ space }: Memory): number {
  return ["R", "L", "G"].indexOf(space);
}

function memoryShown(): Memory | undefined {
  return map?.memories[Number(chooser.value)];
}

function choose(): void {
  const memory = memoryShown();
  details.replaceChildren();
  if (map === undefined || memory === undefined) {
    status.textContent = t("The ops of this model name no tensors in memory.");
    return;
  }
  over.disabled = memory.space !== "R";
  if (over.disabled) over.value = "commands";
  chart.show(memory, over.value as Over, over.value === "lanes" ? map.lanes : map.commands, map.bankBytes, now);
  showUse();
}

function showUse(): void {
  const memory = memoryShown();
  if (map === undefined || memory === undefined) return;
  const parts = stretches(memory, now);
  const { used, largestGap } = use(parts);
  status.textContent = [
    progressText(now, map.commands),
    memory.size > 0 ? t("{0} of {1} in use", bytes(used), bytes(memory.size)) : t("{0} in use", bytes(used)),
    t("largest gap {0}", bytes(largestGap)),
  ].join(" · ");
  present.replaceChildren(
    html("h2", {}, t("Now")),
    presentTable(parts, now, (resident) => void select(resident)),
  );
}

async function select(resident: Resident): Promise<void> {
  const memory = memoryShown();
  if (map === undefined || memory === undefined) return;
  chart.mark(resident);
  const bank = memory.space === "R" ? map.bankBytes : 0;
  const place = placeOf(memory, resident, map.regions);
  const look = () => {
    turnTo("bytes");
    if (place !== undefined) bytesView.go(place, resident.dtype);
  };
  if (place !== undefined && !bytesView.element.hidden) bytesView.go(place, resident.dtype);
  details.replaceChildren(...story(resident, bank, [], look));
  const { lines } = await ask("tdb/explain", { ordinal: resident.born }).catch((error: unknown) => ({
    lines: [textOf(error)],
  }));
  details.replaceChildren(...story(resident, bank, lines, look));
}
