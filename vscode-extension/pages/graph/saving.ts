/** The picture as a file. */
import { svg } from "../shared/dom";
import { arrow } from "./elements";

/** SVG text of these elements, with the styles that they have in `page`. */
export function savedText(
  { width, height }: { readonly width: number; readonly height: number },
  elements: readonly SVGElement[],
  page: HTMLElement,
): string {
  const copy = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${String(width)} ${String(height)}`,
    width,
    height,
  });
  copy.append(svg("defs", {}, arrow()), ...elements);
  page.append(copy); // styles are computed only of what is in the page
  for (const element of copy.querySelectorAll<SVGElement>("*")) {
    const style = getComputedStyle(element);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-weight", "fill-opacity"])
      element.style.setProperty(name, style.getPropertyValue(name));
    element.style.fontFamily = "sans-serif";
  }
  copy.remove();
  return new XMLSerializer().serializeToString(copy);
}
