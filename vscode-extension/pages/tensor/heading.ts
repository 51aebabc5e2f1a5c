/** The name of the tensor, its type, and the moment that it is seen at. */
import type { TensorDescription } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";

export class Heading {
  private readonly title = html("h1");
  private readonly about = html("p", { id: "about" });
  readonly element = html("div", { class: "heading" }, this.title, this.about);

  show(description: TensorDescription): void {
    const { title, dtype, shape, type, layout, scale, zeroPoint, pending, ordinal, commands } = description;
    this.title.textContent = `${title} `;
    this.title.append(html("code", {}, `${dtype}[${shape.join(",")}]`));
    const quantised = scale !== 1 || zeroPoint !== 0 ? t("scale {0}, zero point {1}", scale, zeroPoint) : "";
    const time = t("command {0} of {1}", ordinal.toLocaleString("en"), commands.toLocaleString("en"));
    this.about.textContent = [time, pending ? t("not yet computed") : "", layout, quantised]
      .filter(Boolean)
      .join(" · ");
    this.about.title = type ?? "";
  }
}
