/** The page of a check: its verdict, errors over the ops, what differs, the tables and final.mlir. */
import type { CheckPage, DifferingTensor, MlirText, ProfileSection } from "../../src/protocol/generated";
import { curveOf, metricOf, metricText, METRICS, type ColumnName } from "../compare/model";
import { Plot } from "../compare/plot";
import { columns, verdictName } from "../compare/table";
import { html } from "../shared/dom";
import { count } from "../shared/text";
import { heatMap, histogram } from "./errors";
import { lineId, lineLink, Listing, textListing } from "./listing";
import { comparedTensors, tensorsOf, type Tensor } from "./model";

export function showCheck(page: CheckPage, main: HTMLElement): void {
  const { title, outcome, headline, about, differing, more, sanitizers, layers, profile, source } = page;
  const tensors = tensorsOf(page.tensors);
  const listing = tensorListing(tensors);
  const plot = new Plot<Tensor>("1 - Euclidean similarity, over the ops", (tensor) => {
    plot.select(tensor);
    listing.select(tensor);
  });
  const points = curveOf(tensors, "euclidean");
  plot.show(points, ({ isFault, isCulprit }) => isFault || isCulprit);
  const rest = more > 0 ? [html("p", {}, `${count(more)} more: in the table of all tensors.`)] : [];
  const sections = (
    [
      ["Results that differ, those at fault first", [...differing.map(article), ...rest]],
      ["Sanitizers", sanitizers === "" ? [] : [html("pre", {}, sanitizers)]],
      ["By layer of the original model", layers === null ? [] : [textListing("Layers", layers).element]],
      ["Where the time goes", profile === null ? [] : times(profile)],
      ["All tensors, in the order of execution", [listing.element]],
      ["final.mlir", source === null ? [] : lines(source)],
    ] satisfies [string, Node[]][]
  ).filter(([, parts]) => parts.length > 0);
  main.append(
    html("p", { class: `outcome ${outcome}` }, headline),
    ...(points.length > 0 ? [plot.element] : []),
    html("h1", {}, title),
    html("p", { class: "status" }, about),
    contents(sections.map(([name]) => name)),
    ...sections.flatMap(([name, parts], index) => [html("h2", { id: sectionId(index) }, name), ...parts]),
  );
}

function contents(names: readonly string[]): HTMLElement {
  const links = names.map((name, index) => html("li", {}, html("a", { href: `#${sectionId(index)}` }, name)));
  return html("nav", { "aria-label": "Contents" }, html("ul", { class: "contents" }, ...links));
}

function sectionId(index: number): string {
  return `section-${String(index)}`;
}

function article({ text, line, isCulprit, picture }: DifferingTensor): HTMLElement {
  const element = html(
    "article",
    { class: isCulprit && "culprit" },
    ...(line > 0 ? [lineLink(line, `final.mlir:${String(line)}`)] : []),
    html("pre", {}, text),
  );
  if (picture !== null)
    whenInSight(element, () => {
      element.append(
        heatMap(picture.heat, "Largest relative error; down: channels, across: the rest"),
        histogram(picture.histogram),
      );
    });
  return element;
}

function whenInSight(element: Element, act: () => void): void {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    act();
  });
  observer.observe(element);
}

function times({ above, table, below }: ProfileSection): Node[] {
  return [html("pre", {}, above), textListing("Times", table).element, html("pre", {}, below)];
}

function tensorListing(items: readonly Tensor[]): Listing<Tensor, ColumnName | "blame"> {
  const isCulprit = (tensor: Tensor) => tensor.isCulprit;
  return new Listing<Tensor, ColumnName | "blame">({
    label: "Tensors",
    items,
    columns: [
      ...columns(isCulprit).map((column) =>
        column.name === "line" ? { ...column, cell: ({ line }: Tensor) => lineCell(line) } : column,
      ),
      { name: "blame", title: "blame", cell: ({ blame }) => html("td", { class: "text" }, blame) },
    ],
    classOf: (tensor) => (tensor.isCulprit ? `${tensor.verdict} culprit` : tensor.verdict),
    texts: (tensor) => [
      tensor.opcode,
      tensor.name,
      tensor.role,
      String(tensor.line),
      tensor.blame,
      ...METRICS.map(({ name }) => metricText(metricOf(tensor, name), name)),
    ],
    kind: ({ verdict }) => verdictName(verdict),
    compare: comparedTensors,
  });
}

function lineCell(line: number): HTMLTableCellElement {
  return html("td", { class: "number" }, line > 0 ? lineLink(line) : "");
}

function lines({ text, wrong, longest }: MlirText): Node[] {
  const isWrong = new Set(wrong);
  const rows = text
    .split("\n")
    .map((line, i) => html("div", { id: lineId(i + 1), class: isWrong.has(i + 1) && "fail" }, line));
  return [
    ...(longest > 0 ? [html("p", {}, `Lines are cut after ${count(longest)} characters.`)] : []),
    html("div", { class: "source", tabindex: 0, role: "region", "aria-label": "final.mlir" }, ...rows),
  ];
}
