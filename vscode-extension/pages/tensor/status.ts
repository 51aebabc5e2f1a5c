/** The line that says what is under the pointer, or what went wrong. */
import { textOf } from "../../src/protocol/errors";
import { html } from "../shared/dom";

export class Status {
  readonly element = html("p", { id: "status", role: "status" });

  /** `isPassing`: it is cut off where it is longer than its line. */
  say(text: string, isPassing = false): void {
    this.element.textContent = text;
    this.element.classList.toggle("passing", isPassing);
  }

  readonly complain = (error: unknown): void => {
    this.say(textOf(error));
  };
}
