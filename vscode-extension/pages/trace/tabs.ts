/** A tab for each trace point. */
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { elided } from "../shared/text";
import type { TracePoint } from "../../src/protocol/messages";

/** Letters of a tab. */
const LETTERS = 36;

export class Tabs {
  readonly element = html("div", { role: "tablist", "aria-label": t("Traces"), class: "tabs" });

  constructor(private readonly choose: (key: string) => void) {
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tabs = [...this.element.querySelectorAll<HTMLElement>("[role=tab]")];
      const to = tabs[tabs.findIndex((tab) => tab === document.activeElement) + (step ?? 0)];
      if (step === undefined || to === undefined) return;
      event.preventDefault();
      const key = to.dataset.key ?? "";
      this.choose(key);
      this.element.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
    });
  }

  show(points: readonly TracePoint[], chosen: string | undefined): void {
    this.element.hidden = points.length === 0;
    this.element.replaceChildren(
      ...points.map(({ key, title }) =>
        html(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": String(key === chosen),
            tabindex: key === chosen ? 0 : -1,
            title,
            "data-key": key,
            click: () => {
              this.choose(key);
            },
          },
          elided(title, LETTERS),
        ),
      ),
    );
  }
}
