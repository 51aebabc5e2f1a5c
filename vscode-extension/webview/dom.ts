/** Elements, made without markup in strings: the page's policy allows no inline style or script. */
type Attributes = Record<string, string | number | boolean | undefined>;

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  const element = make("button", { type: "button", title, "aria-label": title }, label);
  element.addEventListener("click", act);
  return element;
}
