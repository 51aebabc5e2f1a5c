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
      element.style.setProperty(name, plain(style.getPropertyValue(name)));
    element.style.removeProperty("--paint");
    element.style.fontFamily = "sans-serif";
  }
  copy.remove();
  return new XMLSerializer().serializeToString(copy);
}

/** A colour as every program reads it. */
function plain(value: string): string {
  if (!value.startsWith("oklch")) return value;
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return value;
  context.fillStyle = value;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return `rgb(${String(red)}, ${String(green)}, ${String(blue)})`;
}
