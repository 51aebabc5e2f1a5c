/** Which moment is shown: that of the last stop, a pinned one, or that of each stop's op. */
import type { Subject } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { withoutMoment } from "./moment";

export class Pin {
  readonly element: HTMLElement;
  readonly following: HTMLElement;
  private readonly pin: HTMLInputElement;
  private readonly label = html("label", { for: "pin" }, t("Pin to this moment"));
  private readonly moment: HTMLInputElement;
  private readonly follow: HTMLInputElement;
  private readonly named: Subject;
  private now = 0;

  /** `subject`: with an ordinal it is pinned from the beginning. */
  constructor(
    subject: Subject,
    private readonly changed: () => void,
  ) {
    const { ordinal, ...named } = subject;
    this.named = named;
    const box = (id: string) => html("input", { type: "checkbox", id, change: this.change });
    this.pin = box("pin");
    this.follow = box("follow");
    this.moment = html("input", {
      type: "number",
      id: "moment",
      min: 0,
      hidden: true,
      "aria-label": t("Command"),
      change: this.change,
    });
    if (ordinal !== undefined) {
      this.pin.checked = true;
      this.moment.hidden = false;
      this.moment.value = String(ordinal);
    }
    const title = t("Keep showing the contents of this moment, wherever the program stops");
    this.element = html("span", { title }, this.pin, this.label, " ", this.moment);
    this.following = html(
      "span",
      { title: t("After each stop evaluate the expression there, instead of showing the same memory") },
      this.follow,
      html("label", { for: "follow" }, t("Follow the op")),
    );
  }

  /** What is asked about: pinned to a moment, at each stop the tensor of that stop's op, or the same memory. */
  get subject(): Subject {
    const { expression, level } = this.named;
    if (this.pin.checked) return { ...this.named, ordinal: this.moment.valueAsNumber };
    return this.follow.checked && level !== undefined ? { expression: withoutMoment(expression), level } : this.named;
  }

  /** Show another moment, or undefined: the present one. */
  to(ordinal: number | undefined): void {
    this.pin.checked = ordinal !== undefined;
    this.moment.value = ordinal === undefined ? "" : String(ordinal);
    this.change();
  }

  /** The moment that is shown. */
  describe(ordinal: number, commands: number): void {
    this.now = ordinal;
    this.moment.max = String(commands);
    this.label.textContent = this.pin.checked ? t("Pinned to command") : t("Pin to this moment");
  }

  private readonly change = (): void => {
    this.moment.hidden = !this.pin.checked;
    if (!this.pin.checked) this.moment.value = "";
    else if (this.moment.value === "") this.moment.value = String(this.now);
    this.follow.disabled = this.pin.checked;
    this.changed();
  };
}
