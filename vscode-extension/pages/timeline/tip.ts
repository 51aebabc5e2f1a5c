/** The text next to the pointer. */
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Slice, Timeline } from "./model";

/** From the pointer to the tip, and the room that is kept for it on the right. */
const TIP = { right: 12, down: 16, room: 240 } as const;
/** Decimals of a time in words. */
const TIME_DECIMALS = 3;

export class Tip {
  readonly element = html("div", { class: "tip hidden", "aria-hidden": "true" });

  /** `page`: it stays inside of this. */
  constructor(private readonly page: { readonly clientWidth: number }) {}

  show(text: string | undefined, x: number, y: number): void {
    this.element.classList.toggle("hidden", text === undefined);
    this.element.textContent = text ?? "";
    this.element.style.left = `${String(Math.min(x + TIP.right, this.page.clientWidth - TIP.room))}px`;
    this.element.style.top = `${String(y + TIP.down)}px`;
  }

  hide(): void {
    this.element.classList.add("hidden");
  }
}

/** `0.303 µs, from 1.2 µs on` */
export function duration({ start, stop }: Pick<Slice, "start" | "stop">, { unit }: Pick<Timeline, "unit">): string {
  const shown = (time: number) => `${Number(time.toFixed(TIME_DECIMALS)).toLocaleString("en-US")} ${unit}`;
  return t("{0}, from {1} on", shown(stop - start), shown(start));
}
