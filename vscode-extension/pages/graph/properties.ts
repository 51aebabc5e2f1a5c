/** What is known of the op or block that is selected. */
import { textOf } from "../../src/protocol/errors";
import type { GraphNode, OpDetails, OpTensor } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import { openLine, travel, viewTensor } from "../shared/session";
import { count, type } from "../shared/text";
import type { Block } from "./blocks";

export class Properties {
  readonly element = html("aside", {
    class: "properties hidden",
    "aria-live": "polite",
    "aria-label": t("Properties"),
    tabindex: 0,
  });
  private turn = 0;

  /** `go`: to the op of a line; `close`: the panel is not wanted. */
  constructor(
    private readonly on: {
      go: (line: number) => void;
      fold: (node: GraphNode) => void;
      open: (block: Block) => void;
      close: () => void;
    },
  ) {}

  hide(): void {
    this.turn++;
    this.element.classList.add("hidden");
  }

  async show(node: GraphNode, block: Block | undefined, note: string, canFold: boolean): Promise<void> {
    const turn = ++this.turn;
    this.element.classList.remove("hidden");
    const head = this.head(node, block, note, canFold);
    this.element.replaceChildren(...head);
    if (block !== undefined || node.opcode === "input") return;
    const found = await ask("tdb/op", { line: node.line }).catch(textOf);
    if (turn !== this.turn) return;
    this.element.replaceChildren(
      ...head,
      ...(typeof found === "string" ? [html("p", { class: "status" }, found)] : this.details(found)),
    );
  }

  private head(node: GraphNode, block: Block | undefined, note: string, canFold: boolean): Node[] {
    const close = button("×", this.on.close, { class: "close", title: t("Close"), "aria-label": t("Close") });
    const fold = button(
      t("Fold block"),
      () => {
        this.on.fold(node);
      },
      { title: t("Show its block as one box (F)") },
    );
    if (block !== undefined)
      return [
        close,
        html("h2", {}, block.title),
        html("p", {}, t("{0} ops", count(block.nodes.length)), " · ", node.name),
        button(t("Open block"), () => {
          this.on.open(block);
        }),
      ];
    const place = node.group === null ? node.subnet : t("{0}, group at {1}", node.subnet, lineText(node.group));
    return [
      close,
      html("h2", {}, `${node.opcode} ${node.name}`),
      html("p", {}, [type(node.dtype, node.shape), note, lineText(node.line), place].filter(Boolean).join(" · ")),
      html(
        "p",
        { class: "bar" },
        link(lineText(node.line), () => {
          openLine(node.line);
        }),
        ...(canFold ? [fold] : []),
      ),
    ];
  }

  private details({ first, commands, instances, tensors, attributes }: OpDetails): Node[] {
    const runs =
      first === null
        ? html("p", { class: "status" }, t("no command of its own"))
        : html(
            "p",
            {},
            commands === 1 ? t("1 command") : t("{0} commands", count(commands)),
            instances > 1 ? t(", in {0} slices", count(instances)) : "",
            " · ",
            link(t("travel to command {0}", count(first)), () => {
              travel(first);
            }),
          );
    return [
      runs,
      html("h3", {}, t("Tensors")),
      ...tensors.map((tensor) => this.tensor(tensor)),
      html("h3", {}, t("Attributes")),
      html(
        "dl",
        {},
        ...attributes.flatMap(([name, value]) => [html("dt", {}, name), html("dd", { title: value }, value)]),
      ),
    ];
  }

  private tensor({ role, name, type: text, address, layout, expression, line }: OpTensor): HTMLElement {
    const words = [text, address, layout].filter(Boolean).join(" · ");
    const view = link(
      name,
      () => {
        viewTensor(expression);
      },
      t("View the tensor {0}", expression),
    );
    const writer =
      role === "operand" && line > 0
        ? [
            " ",
            link(lineText(line), () => {
              this.on.go(line);
            }),
          ]
        : [];
    return html(
      "p",
      { class: role },
      html("span", { class: "status" }, role === "operand" ? t("reads") : t("writes"), " "),
      view,
      ...writer,
      html("br"),
      html("span", { class: "status" }, words),
    );
  }
}

function link(text: string, press: () => void, title?: string): HTMLElement {
  return button(text, press, { class: "link", title });
}
