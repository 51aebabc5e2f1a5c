/** The elements of a graph: of what is in sight and around it, and of a large one from afar one for each colour. */
import { svg } from "../shared/dom";
import { contains, grown, type Camera, type Sight } from "./camera";
import { farElements } from "./elements";
import { sceneElements, type Scene } from "./scene";

/** Scale below which boxes have no texts. */
const FAR = 0.3;
/** Nodes up to which all have their elements, wherever they are. */
const ALL_ELEMENTS = 400;
const EVERYWHERE: Sight = { left: -Infinity, top: -Infinity, width: Infinity, height: Infinity };

export class World {
  readonly element = svg("g");
  /** What elements have been made for. */
  private made: (Sight & { readonly isFar: boolean }) | undefined;

  /** Something is drawn otherwise than before. */
  forget(): void {
    this.made = undefined;
  }

  /** Make the elements of what is in sight, unless they are there. */
  draw(scene: Scene, { sight, scale, transform }: Camera): void {
    this.element.setAttribute("transform", transform);
    const { placed, shown, paint } = scene;
    const isLarge = shown.nodes.length > ALL_ELEMENTS;
    const isFar = isLarge && scale < FAR;
    if (this.made?.isFar === isFar && contains(this.made, sight)) return;
    const area = isLarge && !isFar ? grown(sight) : undefined;
    this.made = { ...(area ?? EVERYWHERE), isFar };
    this.element.replaceChildren(
      ...(isFar ? farElements(placed, shown.nodes, (node) => paint(node).color) : sceneElements(scene, area)),
    );
  }
}
