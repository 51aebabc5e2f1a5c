/** The page of a graph: the editor's picture of it, with a search and what its colours say. */
import "../graph/graph.css";
import type { GraphNode, GraphPage } from "../../src/protocol/generated";
import { titleOf } from "../graph/elements";
import { legendElements, zoomButtons } from "../graph/tools";
import { combined, legend, paintedByVerdict, type Paint } from "../graph/model";
import { Picture } from "../graph/picture";
import { button, html } from "../shared/dom";
import { Search } from "../shared/search";
import { count } from "../shared/text";

export function showGraph({ title, colouring, nodes, edges }: GraphPage, main: HTMLElement): void {
  const paint = ({ color, note }: GraphNode): Paint => ({ color, note });
  const about = html("aside", { class: "properties hidden", "aria-live": "polite", "aria-label": "Properties" });
  const folding = button("", () => {
    picture.openAll(!picture.isWhole);
  });
  const picture: Picture = new Picture({
    chosen: (node, block) => {
      const [head, ...rest] = titleOf(node, paint(node)).split("\n");
      const parts = block === undefined ? rest : [node.name, `${count(block.nodes.length)} ops`];
      about.classList.remove("hidden");
      about.replaceChildren(html("h2", {}, head), ...parts.map((text) => html("p", {}, text)));
    },
    opened: () => undefined,
    changed: () => {
      folding.textContent = picture.isWhole ? "Fold blocks" : "Open blocks";
    },
    search: () => {
      search.focus();
    },
  });
  const search = new Search<GraphNode>("Search ops, names or lines (L22)", {
    find: (text) =>
      text === undefined
        ? []
        : nodes.filter(
            ({ id, name, opcode }) => `${opcode} ${name}`.toLowerCase().includes(text) || id.toLowerCase() === text,
          ),
    choose: (node) => {
      picture.select(node);
    },
    left: () => {
      picture.focus();
    },
  });
  const meaning = colouring === "verdict" ? paintedByVerdict : paint;
  main.append(
    html(
      "div",
      { class: "bar", role: "toolbar", "aria-label": "Graph" },
      html("strong", {}, title),
      ...zoomButtons(picture),
      folding,
      search.element,
      html("span", { class: "fill" }),
      html("span", { class: "status" }, `${count(nodes.length)} ops, ${count(edges.length)} edges`),
    ),
    html("div", { class: "bar key" }, ...legendElements(legend(colouring, nodes, meaning))),
    html("div", { class: "parts" }, html("div", { class: "graph" }, picture.element), about),
  );
  picture.show({ nodes, edges, currentLines: [] });
  picture.paint(paint, combined(colouring));
}
