/** Parts of the toolbar and the legend that the graph has inside and outside of the editor. */
import { button, html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Paint } from "./model";
import type { Picture } from "./picture";
import { KEY_ZOOM } from "./walking";

/** Pixels of a side of a square in the legend. */
const SWATCH = 12;

export function zoomButtons(picture: Picture): HTMLElement[] {
  const zoom = (text: string, factor: number, title: string, label: string) =>
    button(
      text,
      () => {
        picture.zoom(factor);
      },
      { title, "aria-label": label },
    );
  return [
    zoom("+", KEY_ZOOM, t("Zoom in (wheel)"), t("Zoom in")),
    zoom("−", 1 / KEY_ZOOM, t("Zoom out (wheel)"), t("Zoom out")),
    button(
      t("All"),
      () => {
        picture.fit();
      },
      { title: t("Show everything") },
    ),
  ];
}

export function legendElements(paints: readonly Paint[]): HTMLElement[] {
  return paints.map(({ color, note }) => {
    const swatch = svg("rect", { class: "swatch", width: SWATCH, height: SWATCH, fill: color });
    swatch.style.setProperty("--paint", color);
    return html("span", {}, svg("svg", { width: SWATCH, height: SWATCH, "aria-hidden": "true" }, swatch), ` ${note}`);
  });
}
