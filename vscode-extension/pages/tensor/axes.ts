/** The pickers: how the tensor is arranged, which axes are shown, and where on the others. */
import { html } from "../shared/dom";
import { inserted, t } from "../shared/l10n";
import { COLOUR_CHANNELS, type Arrangement, type Layout, type Order, type Role } from "./layout";

const ARRANGEMENTS: readonly [Arrangement, string][] = [
  ["slice", t("one slice")],
  ["mosaic", t("all channels")],
  ["rgb", t("colour, RGB")],
  ["bgr", t("colour, BGR")],
];

/** `rearranged`: other cells are shown; `moved`: others of the same arrangement. */
export class Axes {
  /** How the tensor is arranged. */
  readonly element = html("div", { class: "bar", role: "group", "aria-label": t("Axes") });
  /** A slider for each axis that is not shown, and the arrangement. */
  readonly positions = html("div", { class: "bar positions", role: "group", "aria-label": t("Position") });

  constructor(
    private readonly layout: () => Layout,
    private readonly rearranged: () => void,
    private readonly moved: () => void,
  ) {}

  place(): void {
    const layout = this.layout();
    const { shape, arrangement } = layout;
    const parts: Node[] = [];
    const places: Node[] = layout.allows("mosaic") ? [this.arrangement(layout)] : [];
    if (shape.length > 1) parts.push(this.axis(layout, "row"), this.axis(layout, "column"));
    if (arrangement !== "slice") parts.push(this.axis(layout, "channel"), this.order(layout));
    if (arrangement === "mosaic") parts.push(this.across(layout));
    shape.forEach((extent, axis) => {
      const shown =
        axis === layout.axis("row") ||
        axis === layout.axis("column") ||
        (arrangement === "mosaic" && axis === layout.axis("channel"));
      if (!shown && extent > 1) places.push(this.position(layout, axis, extent));
    });
    this.element.replaceChildren(...parts);
    this.positions.replaceChildren(...places);
  }

  private change(change: () => void): void {
    change();
    this.place();
    this.rearranged();
  }

  private arrangement(layout: Layout): HTMLElement {
    const options = ARRANGEMENTS.filter(([value]) => layout.allows(value)).map(([value, text]) =>
      html("option", { value, selected: value === layout.arrangement }, text),
    );
    const select = html(
      "select",
      {
        id: "arrangement",
        change: () => {
          this.change(() => {
            layout.arrangement = select.value as Arrangement;
            if (layout.isColour) layout.firstColour(layout.index[layout.axis("channel") ?? 0] ?? 0);
          });
        },
      },
      ...options,
    );
    return html("label", {}, ...inserted("Show {0}", select));
  }

  private axis(layout: Layout, role: Role): HTMLElement {
    const options = layout.shape.map((extent, axis) =>
      html("option", { value: axis, selected: axis === layout.axis(role) }, `${String(axis)} (${String(extent)})`),
    );
    const select = html(
      "select",
      {
        "data-role": role,
        change: () => {
          this.change(() => {
            layout.setAxis(role, Number(select.value));
            if (!layout.allows(layout.arrangement)) layout.arrangement = "slice";
          });
        },
      },
      ...options,
    );
    return html("label", {}, ...labelled(role, select));
  }

  /** Sets all three axes at once; another choice of axes has no name. */
  private order(layout: Layout): HTMLElement {
    const names = layout.order === undefined ? ["", "CHW", "HWC"] : ["CHW", "HWC"];
    const options = names.map((value) =>
      html("option", { value, selected: value === layout.order }, value === "" ? t("other") : value),
    );
    const select = html(
      "select",
      {
        id: "order",
        title: t("Order of the axes: channels, height, width"),
        change: () => {
          if (select.value === "") return;
          this.change(() => {
            layout.setOrder(select.value as Order);
            if (!layout.allows(layout.arrangement)) layout.arrangement = "slice";
          });
        },
      },
      ...options,
    );
    return html("label", {}, ...inserted("Order {0}", select));
  }

  private across(layout: Layout): HTMLElement {
    const input = html("input", {
      type: "number",
      id: "across",
      min: 1,
      max: layout.channels,
      value: layout.across,
      input: () => {
        if (!input.validity.valid || input.value === "") return;
        layout.setAcross(input.valueAsNumber);
        this.rearranged();
      },
    });
    return html("label", {}, ...inserted("Per row {0}", input));
  }

  private position(layout: Layout, axis: number, extent: number): HTMLElement {
    const first = layout.isColour && axis === layout.axis("channel");
    const most = first ? extent - COLOUR_CHANNELS : extent - 1;
    const at = layout.index[axis] ?? 0;
    const shown = html("output", {}, t("{0} of {1}", at, extent));
    const input = html("input", {
      type: "range",
      min: 0,
      max: most,
      value: at,
      "data-axis": axis,
      title: first ? t("First channel") : t("Position on axis {0}", axis),
      input: () => {
        layout.index[axis] = input.valueAsNumber;
        shown.textContent = t("{0} of {1}", input.value, extent);
        this.moved();
      },
    });
    const name = first ? t("First channel") : t("Axis {0}", axis);
    return html("label", {}, `${name} `, input, " ", shown);
  }
}

function labelled(role: Role, select: HTMLElement): (Node | string)[] {
  switch (role) {
    case "row":
      return inserted("Rows: axis {0}", select);
    case "column":
      return inserted("Columns: axis {0}", select);
    case "channel":
      return inserted("Channels: axis {0}", select);
  }
}
