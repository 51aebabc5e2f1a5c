/** Pointer and keys of the graph. */
import type { Step } from "./blocks";
import type { Point } from "./measures";

/** By a key or a button, and by a step of the wheel. */
export const KEY_ZOOM = 1.25;
const WHEEL_ZOOM = 1.15;
/** The pointer drags when it has moved this far. */
const DRAGGED = 3;

const STEPS: Partial<Record<string, Step>> = {
  ArrowDown: "reader",
  ArrowUp: "writer",
  ArrowRight: "next",
  ArrowLeft: "previous",
};

interface Moves {
  /** By pixels. */
  pan(x: number, y: number): void;
  /** `x`, `y`: pixels of what stays where it is. */
  zoom(factor: number, x?: number, y?: number): void;
  /** A box was pressed. */
  press(id: string): void;
  walk(step: Step): void;
  enter(): void;
  fold(): void;
  fit(): void;
  search(): void;
}

/** Report what the pointer and the keys do on the picture. */
export function listen(surface: SVGSVGElement, on: Moves): void {
  surface.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = surface.getBoundingClientRect();
    on.zoom(WHEEL_ZOOM ** -Math.sign(event.deltaY), event.clientX - box.left, event.clientY - box.top);
  });
  surface.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && pressed(event.key, on)) event.preventDefault();
  });
  let last: (Point & { isMoved: boolean }) | undefined;
  surface.addEventListener("pointerdown", ({ clientX, clientY }) => {
    last = { x: clientX, y: clientY, isMoved: false };
  });
  surface.addEventListener("pointermove", ({ clientX, clientY, buttons }) => {
    if (last === undefined || buttons !== 1) return;
    if (!last.isMoved && Math.hypot(clientX - last.x, clientY - last.y) < DRAGGED) return;
    on.pan(clientX - last.x, clientY - last.y);
    last = { x: clientX, y: clientY, isMoved: true };
  });
  surface.addEventListener("click", ({ target }) => {
    const id = (target as Element).closest<SVGElement>(".node")?.dataset.id;
    if (!last?.isMoved && id !== undefined) on.press(id);
  });
}

/** Whether the key does something, and do it. */
function pressed(key: string, on: Moves): boolean {
  const step = STEPS[key];
  if (step !== undefined) on.walk(step);
  else if (key === "Enter") on.enter();
  else if (key === "f") on.fold();
  else if (key === "/") on.search();
  else if (key === "+" || key === "-") on.zoom(key === "+" ? KEY_ZOOM : 1 / KEY_ZOOM);
  else if (key === "Home") on.fit();
  else return false;
  return true;
}
