// What can be seen to be wrong in a page; runs inside of it.

/** Texts that lie on each other or on a picture, texts beyond the right edge, marks that are hardly told from the ground. */
export function faults() {
  const SLACK = 2; // pixels that the boxes of two texts may share: boxes are larger than letters
  const LEAST = 3; // contrast of graphics, as WCAG asks for
  const MARKS = ".curve, .plot circle, .resident rect, .used, .fragmented, .peak, path.edge, .frame rect, .face, line.now, .mark";
  const found = [];
  const { innerWidth, innerHeight } = window;

  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  /** The part of a text that nothing cuts off. */
  const box = (element, rect) => {
    let { left, top, right, bottom } = rect;
    for (let parent = element; parent instanceof Element; parent = parent.parentElement) {
      const style = getComputedStyle(parent);
      if (style.overflow === "visible" && parent.tagName !== "svg") continue;
      const edge = parent.getBoundingClientRect();
      [left, top, right, bottom] = [Math.max(left, edge.left), Math.max(top, edge.top), Math.min(right, edge.right), Math.min(bottom, edge.bottom)];
    }
    return { left, top, right: Math.min(right, innerWidth), bottom: Math.min(bottom, innerHeight) };
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || /^(SCRIPT|STYLE|OPTION|TITLE)$/i.test(element.tagName) || !isSeen(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    // The letters of a text in a picture may have been squeezed.
    const rects = element instanceof SVGElement ? [element.getBoundingClientRect()] : range.getClientRects();
    for (const rect of rects) {
      const seen = box(element, rect);
      if (seen.right - seen.left > SLACK && seen.bottom - seen.top > SLACK) texts.push({ ...seen, text: node.textContent.trim().slice(0, 40), element });
    }
  }
  /** Whether something opaque, such as a card or a head that stays, is over the middle of a text. */
  const isCovered = ({ left, top, right, bottom, element }) => {
    const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    for (let layer = over; layer instanceof HTMLElement && !layer.contains(element); layer = layer.parentElement)
      if (/^rgb\(/.test(getComputedStyle(layer).backgroundColor)) return true;
    return false;
  };
  const open = texts.filter((text) => !isCovered(text));
  for (const [index, one] of open.entries())
    for (const other of open.slice(index + 1)) {
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (width > SLACK && height > SLACK + 1 && one.element !== other.element) found.push(`"${one.text}" lies on "${other.text}"`);
    }
  /** Whether a text has an opaque ground of its own, such as that of a card over a picture. */
  const hasGround = (element, picture) => {
    for (let layer = element; layer instanceof Element && !layer.contains(picture); layer = layer.parentElement)
      if (/^rgb\(/.test(getComputedStyle(layer).backgroundColor)) return true;
    return false;
  };
  const large = [...document.querySelectorAll("svg, canvas")].filter((one) => isSeen(one) && one.getBoundingClientRect().height > 60);
  for (const one of open)
    for (const picture of large) {
      if (picture.contains(one.element) || hasGround(one.element, picture)) continue;
      const edge = box(picture, picture.getBoundingClientRect());
      const width = Math.min(one.right, edge.right) - Math.max(one.left, edge.left);
      const height = Math.min(one.bottom, edge.bottom) - Math.max(one.top, edge.top);
      if (width > SLACK && height > SLACK + 1) found.push(`"${one.text}" lies on a picture`);
    }
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (ground, colour) => {
    canvas.fillStyle = `rgb(${ground.join()})`;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = over([255, 255, 255], getComputedStyle(document.documentElement).getPropertyValue("--vscode-editor-background"));
  const opacity = (element) => (element instanceof Element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1);
  const seen = (mark, colour, share) => over(ground, colour).map((part, index) => ground[index] + (part - ground[index]) * share * opacity(mark));
  const weak = new Map();
  for (const mark of document.querySelectorAll(MARKS)) {
    if (!isSeen(mark)) continue;
    const { fill, stroke, fillOpacity, strokeOpacity } = getComputedStyle(mark);
    const best = Math.max(...[[fill, fillOpacity], [stroke, strokeOpacity]].filter(([colour]) => colour !== "none")
      .map(([colour, share]) => contrast(seen(mark, colour, Number(share)), ground)), 1);
    const name = `${mark.tagName}.${mark.getAttribute("class") ?? ""} in ${mark.parentElement.getAttribute("class")}`;
    if (best < LEAST) weak.set(name, Math.min(best, weak.get(name) ?? best));
  }
  for (const [mark, best] of weak) found.push(`${mark} has a contrast of ${best.toFixed(1)}`);

  for (const picture of large) {
    const { top, bottom, left, right } = picture.getBoundingClientRect();
    if (right - left < 100 && bottom - top < 100) continue;
    if (picture instanceof SVGElement && picture.querySelector("rect, path, circle, line, text") === null) found.push(`an empty picture ${picture.getAttribute("class")}`);
  }
  return found;
}
