/** Elements in one call. Texts are always text, never markup. */
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: never) => void)>>;
type Child = Node | string | undefined;

function fill<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value as (event: Event) => void);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** An element of HTML; an attribute whose value is a function is an event and its listener. */
export function html<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A button that goes to a line of final.mlir or does something else. */
export function button(text: string, press: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return html("button", { type: "button", click: press, ...attributes }, text);
}
