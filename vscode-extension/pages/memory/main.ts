import "../shared/page.css";
import "./memory.css";
import { textOf } from "../../src/protocol/errors";
import type { Memory, MemoryMap, Resident } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { follow } from "../shared/session";
import { bytes, count } from "../shared/text";
import { KEY_ZOOM } from "../shared/zoom";
import { Bytes } from "./bytes";
import { Chart, type Over } from "./chart";
import { presentTable, story } from "./details";
import { liesAt, placeOf, stretches, use } from "./model";

const chooser = html("select", {
  "aria-label": "Memory",
  change: () => {
    choose();
  },
});
const over = html(
  "select",
  {
    "aria-label": "Horizontal axis",
    change: () => {
      choose();
    },
  },
  html("option", { value: "commands" }, "over commands"),
  html("option", { value: "lanes" }, "over lanes, now"),
);
const status = html("span", { class: "status", role: "status" });
const present = html("section", { class: "present" });
const details = html("section", { class: "details", "aria-live": "polite" });
const chart = new Chart((resident) => void select(resident));
const bytesView = new Bytes((space, core, byte) =>
  map
    ? liesAt(map, now, space, core, byte)
        .map(({ name }) => name)
        .join(", ") || "free"
    : "",
);
const tensors = html("section", { class: "tensors", role: "tabpanel", "aria-label": "Tensors" }, present, details);
const panels = new Map<string, HTMLElement>([
  ["Tensors", tensors],
  ["Bytes", bytesView.element],
]);
const tabs = html(
  "div",
  { class: "tabs", role: "tablist" },
  ...[...panels.keys()].map((name) =>
    button(
      name,
      () => {
        turnTo(name);
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
    { class: "bar", role: "toolbar", "aria-label": "Chip memory" },
    chooser,
    over,
    button(
      "+",
      () => {
        chart.zoom(1 / KEY_ZOOM);
      },
      { title: "Zoom in horizontally (wheel)", "aria-label": "Zoom in horizontally" },
    ),
    button(
      "−",
      () => {
        chart.zoom(KEY_ZOOM);
      },
      { title: "Zoom out horizontally (wheel)", "aria-label": "Zoom out horizontally" },
    ),
    button(
      "↕+",
      () => {
        chart.zoomBytes(1 / KEY_ZOOM);
      },
      { title: "Zoom in on bytes (shift and wheel)", "aria-label": "Zoom in on bytes" },
    ),
    button(
      "↕−",
      () => {
        chart.zoomBytes(KEY_ZOOM);
      },
      { title: "Zoom out of bytes (shift and wheel)", "aria-label": "Zoom out of bytes" },
    ),
    button(
      "All",
      () => {
        chart.fit();
      },
      { title: "Show everything" },
    ),
    html("span", { class: "fill" }),
    status,
  ),
  chart.element,
  tabs,
  html("div", { class: "below" }, ...panels.values()),
);
turnTo("Tensors");

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
    await bytesView.refresh();
  },
  stopped: async () => {
    now = (await ask("tdb/moment")).ordinal;
    chart.move(now);
    showUse();
    await bytesView.refresh();
  },
  ended: () => {
    status.textContent = map === undefined ? "Debug a model to see its memory." : "The session has ended.";
  },
  failed: (why) => {
    status.textContent = why;
  },
});

/** Show one of the panels below the chart. */
function turnTo(name: string): void {
  for (const [other, panel] of panels) panel.hidden = other !== name;
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
    status.textContent = "The ops of this model name no tensors in memory.";
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
  const limit = memory.size > 0 ? ` of ${bytes(memory.size)}` : "";
  status.textContent = `${count(now)} of ${count(map.commands)} commands executed · ${bytes(used)}${limit} in use · largest gap ${bytes(largestGap)}`;
  present.replaceChildren(
    html("h2", {}, "Now"),
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
    turnTo("Bytes");
    if (place !== undefined) bytesView.go(place, resident.dtype);
  };
  if (place !== undefined && !bytesView.element.hidden) bytesView.go(place, resident.dtype);
  details.replaceChildren(...story(resident, bank, [], look));
  const { lines } = await ask("tdb/explain", { ordinal: resident.born }).catch((error: unknown) => ({
    lines: [textOf(error)],
  }));
  details.replaceChildren(...story(resident, bank, lines, look));
}
