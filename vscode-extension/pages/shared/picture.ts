/** A plane of numbers as a picture: blue below zero, red above, grey where there is no number. */

/** `label`: for who cannot see it; `side`: pixels of the longer side at least. */
export function draw(rows: readonly (readonly (number | null)[])[], label: string, side = 256): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  const [height, width] = [rows.length, rows[0]?.length ?? 0];
  const zoom = Math.max(1, Math.floor(side / Math.max(1, height, width)));
  canvas.width = width * zoom;
  canvas.height = height * zoom;
  const numbers = rows.flat().filter((number) => number !== null);
  const reach = Math.max(...numbers.map(Math.abs), Number.MIN_VALUE);
  const context = canvas.getContext("2d");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  rows.forEach((row, y) => {
    row.forEach((number, x) => {
      if (context === null) return;
      context.fillStyle = colour(number, reach);
      context.fillRect(x * zoom, y * zoom, zoom, zoom);
    });
  });
  return canvas;
}

function colour(number: number | null, reach: number): string {
  if (number === null) return "#808080";
  const strength = Math.min(1, Math.abs(number) / reach);
  const rest = Math.round(255 * (1 - strength));
  return number < 0 ? `rgb(${String(rest)}, ${String(rest)}, 255)` : `rgb(255, ${String(rest)}, ${String(rest)})`;
}
