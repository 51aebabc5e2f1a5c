/** The card beside the pointer: the tensor that is under it. */
import type { Resident } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import { bytes, count, hex, type } from "../shared/text";

/** From the pointer to the card, and the room that is kept for it; pixels. */
const OFFSET = { right: 14, down: 14 } as const;

export class Card {
  readonly element = html("div", { class: "card", hidden: true, "aria-hidden": "true" });

  show(resident: Resident | undefined, x: number, y: number): void {
    this.element.hidden = resident === undefined;
    if (resident === undefined) return;
    const { name, dtype, shape, start, stop, born, died, opcode, line, readers } = resident;
    this.element.replaceChildren(
      html("strong", {}, name),
      html("div", {}, type(dtype, shape)),
      html("div", {}, t("{0} to {1}: {2}", hex(start), hex(stop), bytes(stop - start))),
      html("div", {}, t("alive during commands {0} to {1}", count(born), count(died))),
      html("div", {}, t("written by {0}, {1}", opcode, lineText(line))),
      html("div", {}, readers.length === 1 ? t("1 reader") : t("{0} readers", count(readers.length))),
    );
    const room = this.element.parentElement;
    const { offsetWidth, offsetHeight } = this.element;
    const most = { x: (room?.clientWidth ?? 0) - offsetWidth, y: (room?.clientHeight ?? 0) - offsetHeight };
    this.element.style.left = `${String(Math.max(Math.min(x + OFFSET.right, most.x), 0))}px`;
    this.element.style.top = `${String(Math.max(y + OFFSET.down > most.y ? y - OFFSET.down - offsetHeight : y + OFFSET.down, 0))}px`;
  }
}
