/** The keys of the timeline. */
import { KEY_ZOOM } from "../shared/zoom";

/** Share of the visible part by which a key moves it. */
const KEY_MOVE = 0.2;

/** What the keys do. */
interface Moves {
  beside(step: number): void;
  across(step: number): void;
  shift(share: number): void;
  zoom(factor: number): void;
  fit(): void;
  clear(): void;
  openSelected(): void;
  foldSelected(): void;
}

const ACTIONS: Partial<Record<string, (on: Moves, listener: { search(): void }) => void>> = {
  ArrowRight: (on) => {
    on.beside(1);
  },
  ArrowLeft: (on) => {
    on.beside(-1);
  },
  ArrowDown: (on) => {
    on.across(1);
  },
  ArrowUp: (on) => {
    on.across(-1);
  },
  Enter: (on) => {
    on.openSelected();
  },
  Escape: (on) => {
    on.clear();
  },
  Home: (on) => {
    on.fit();
  },
  "/": (_on, listener) => {
    listener.search();
  },
  f: (on) => {
    on.foldSelected();
  },
  a: (on) => {
    on.shift(-KEY_MOVE);
  },
  d: (on) => {
    on.shift(KEY_MOVE);
  },
};
const ZOOM = { "+": 1 / KEY_ZOOM, "=": 1 / KEY_ZOOM, w: 1 / KEY_ZOOM, "-": KEY_ZOOM, s: KEY_ZOOM } as const;

/** Whether the key does something, and do it. */
export function press(key: string, on: Moves, listener: { search(): void }): boolean {
  const name = key.length === 1 ? key.toLowerCase() : key;
  const action = ACTIONS[name];
  if (action !== undefined) action(on, listener);
  else if (name in ZOOM) on.zoom(ZOOM[name as keyof typeof ZOOM]);
  else return false;
  return true;
}
