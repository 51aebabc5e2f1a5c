/** The whole graph in a corner, with the part that is in sight; a click or drag goes there. */
import type { GraphNode } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Sight } from "./camera";
import type { Placed } from "./layout";
import { NODE } from "./measures";

/** Pixels. */
const MOST = { width: 130, height: 180 } as const;
const LEAST_BOX = 1.5;
/** Of the whole, however long the graph is. */
const LEAST_WIDTH = 14;

export class Minimap {
  readonly element = html("canvas", { class: "minimap", role: "img", "aria-label": t("The whole graph") });
  private placed: Placed | undefined;
  private boxes: ImageData | undefined;

  /** `go`: to the middle of the sight. */
  constructor(private readonly go: (x: number, y: number) => void) {
    const move = ({ offsetX, offsetY, buttons }: PointerEvent) => {
      if (buttons === 1) this.go(offsetX / this.scale, offsetY / this.scale);
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      move(event);
      event.stopPropagation();
    });
    this.element.addEventListener("pointermove", move);
  }

  private get scale(): number {
    const { width, height } = this.placed ?? { width: 1, height: 1 };
    return Math.min(MOST.width / width, MOST.height / height);
  }

  /** Draw the boxes, kept until they change. */
  show(placed: Placed, nodes: readonly GraphNode[], colour: (node: GraphNode) => string): void {
    this.placed = placed;
    const { element: canvas, scale } = this;
    canvas.width = Math.max(Math.ceil(placed.width * scale), LEAST_WIDTH);
    canvas.height = Math.max(Math.ceil(placed.height * scale), 1);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (context === null) return;
    for (const node of nodes) {
      const at = placed.nodes.get(node.id);
      if (at === undefined) continue;
      context.fillStyle = colour(node);
      const [width, height] = [NODE.width * scale, Math.max(NODE.height * scale, LEAST_BOX)];
      context.fillRect(at.x * scale - width / 2, at.y * scale - height / 2, Math.max(width, LEAST_BOX), height);
    }
    this.boxes = context.getImageData(0, 0, canvas.width, canvas.height);
  }

  /** Mark what is in sight; hidden while that is everything. */
  look({ left, top, width, height }: Sight): void {
    const { placed, element: canvas, scale, boxes } = this;
    const context = canvas.getContext("2d");
    if (placed === undefined || boxes === undefined || context === null) return;
    canvas.classList.toggle("hidden", width >= placed.width && height >= placed.height);
    context.putImageData(boxes, 0, 0);
    context.strokeStyle = getComputedStyle(canvas).color;
    context.lineWidth = 2;
    context.strokeRect(left * scale, top * scale, width * scale, height * scale);
  }
}
