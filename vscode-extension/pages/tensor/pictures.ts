/** The pictures of a tensor: what was computed, the reference and the error, side by side. */
import type { Source } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { short } from "./colours";
import { HeatMap, KEY_ZOOM } from "./heatmap";
import type { Cell } from "./layout";
import { sourceName } from "./sources";
import type { Stage } from "./stage";

export class Pictures {
  readonly element = html("div", { class: "maps" });
  private maps: readonly HeatMap[] = [];

  constructor(private readonly stage: Stage) {}

  /** A picture of each of these. */
  place(sources: readonly Source[]): void {
    this.maps = sources.map((of) => new HeatMap(of, this.stage));
    this.element.replaceChildren(...this.maps.map((map) => map.element));
  }

  /** Take the size of the page; the camera gets its scale where it has none. */
  measure(): void {
    const [first] = this.maps;
    this.element.style.setProperty("--highest", `${String(first?.highest ?? 0)}px`);
    if (this.stage.camera.scale === 0 && first?.canvas.clientWidth) first.fit();
  }

  draw(): void {
    for (const map of this.maps) map.draw();
  }

  zoom(step: "fit" | "in" | "out"): void {
    if (step === "fit") this.maps[0]?.whole();
    else this.maps[0]?.zoom(step === "in" ? KEY_ZOOM : 1 / KEY_ZOOM);
  }

  reveal(cell: Cell): void {
    this.maps[0]?.reveal(cell);
  }

  /** The number of a cell in each picture, with the picture's name. */
  numbers({ row, column }: Cell): string[] {
    return this.maps.flatMap(({ of }) => {
      const number = this.stage.tiles.number(of, row, column);
      return number === undefined ? [] : [`${sourceName(of, this.stage.other)} ${short(number)}`];
    });
  }

  /** In base64. */
  png(source: Source): string | undefined {
    return this.maps
      .find(({ of }) => of === source)
      ?.canvas.toDataURL("image/png")
      .split(",")[1];
  }
}
