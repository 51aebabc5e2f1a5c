/**
 * A function that paints an element again with the next frame, once however often it is called; also called when the
 * element's size or the theme changes.
 */
export function repainting(element: Element, paint: () => void): () => void {
  let isAsked = false;
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      paint();
    });
  };
  new ResizeObserver(ask).observe(element);
  // The theme's colours change with these attributes.
  const themes = new MutationObserver(ask);
  for (const root of [document.documentElement, document.body])
    themes.observe(root, { attributes: true, attributeFilter: ["class", "style"] });
  return ask;
}

/** `ratio`: pixels of the screen for each of the page. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${String(width)}px`;
  canvas.style.height = `${String(height)}px`;
}
