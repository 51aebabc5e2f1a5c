/** The timeline as it is drawn: a canvas, since a model has more commands than a page has room for elements. */
import { html } from "../shared/dom";
import { bytes } from "../shared/text";
import { Span, ticks } from "../shared/ticks";
import { firstBehind, levelAt, timeOf, type Counter, type Slice, type Timeline, type Track } from "./model";

const GUTTER = 130;
const RIGHT = 8;
const AXIS = 20;
const OPS = 20;
const COMMANDS = 16;
const GAP = 8;
const COUNTER = 36;
const LETTER = 6.8;
const PALETTE = ["blue", "green", "orange", "purple", "yellow", "red"] as const;

/** A slice and the row of the drawing it is in. */
export interface Found {
  readonly slice: Slice;
  readonly slices: readonly Slice[];
  readonly track: Track;
}

interface Colours {
  readonly text: string;
  readonly faint: string;
  readonly ground: string;
  readonly focus: string;
  readonly now: string;
  readonly palette: readonly string[];
}

export class Drawing {
  readonly element = html("div", { class: "timeline" });
  private readonly canvas = html("canvas", {
    role: "application",
    tabindex: 0,
    "aria-label":
      "Timeline of the engines. Arrow keys go from op to op and between engines, Enter goes to the line, plus and minus zoom, Home shows all.",
  });
  private readonly tip = html("div", { class: "tip hidden", "aria-hidden": "true" });
  private timeline: Timeline = { tracks: [], counters: [], stop: 1, unit: "" };
  private span = new Span(0, 1, 1);
  private now = 0;
  private selected: Found | undefined;

  constructor(
    private readonly chosen: (found: Found) => void,
    private readonly opened: (found: Found) => void,
  ) {
    this.element.append(this.canvas, this.tip);
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.element);
    // The theme's colours change with these attributes.
    const themes = new MutationObserver(() => {
      this.draw();
    });
    for (const root of [document.documentElement, document.body])
      themes.observe(root, { attributes: true, attributeFilter: ["class", "style"] });
    this.listen();
  }

  show(timeline: Timeline): void {
    this.timeline = timeline;
    this.span = new Span(0, timeline.stop || 1, (timeline.stop || 1) / 1e5);
    this.selected = undefined;
    this.element.style.minHeight = `${String(this.height)}px`;
    this.draw();
  }

  /** The present moment, as a number of executed commands. */
  move(ordinal: number): void {
    this.now = timeOf(this.timeline, ordinal);
    this.span.reveal(this.now, this.now);
    this.canvas.dataset.ordinal = String(ordinal);
    this.draw();
  }

  /** Choose the first op of a line. */
  select(line: number): void {
    for (const track of this.timeline.tracks) {
      const slice = track.ops.find(({ args }) => args.line === line);
      if (slice !== undefined) {
        this.choose({ slice, slices: track.ops, track });
        return;
      }
    }
  }

  zoom(factor: number): void {
    const { start, stop } = this.selected?.slice ?? { start: this.now, stop: this.now };
    this.span.zoom(factor, Math.min(Math.max((start + stop) / 2, this.span.from), this.span.to));
    this.draw();
  }

  fit(): void {
    this.span.fit();
    this.draw();
  }

  private choose(found: Found): void {
    this.selected = found;
    this.span.reveal(found.slice.start, found.slice.stop);
    this.draw();
    this.chosen(found);
  }

  private get height(): number {
    const { tracks, counters } = this.timeline;
    return AXIS + tracks.length * (OPS + COMMANDS + GAP) + counters.length * (COUNTER + GAP);
  }

  private get width(): number {
    return Math.max(this.element.clientWidth - GUTTER - RIGHT, 10);
  }

  private x(time: number): number {
    return GUTTER + ((time - this.span.from) / this.span.length) * this.width;
  }

  private timeAt(x: number): number {
    return this.span.from + ((x - GUTTER) / this.width) * this.span.length;
  }

  private top(track: number): number {
    return AXIS + track * (OPS + COMMANDS + GAP);
  }

  private at(x: number, y: number): Found | undefined {
    const track = this.timeline.tracks[Math.floor((y - AXIS) / (OPS + COMMANDS + GAP))];
    if (track === undefined || x < GUTTER || y < AXIS) return undefined;
    const slices = (y - AXIS) % (OPS + COMMANDS + GAP) < OPS ? track.ops : track.commands;
    const time = this.timeAt(x);
    const slice = slices[firstBehind(slices, time)];
    return slice !== undefined && slice.start <= time + this.span.length / this.width
      ? { slice, slices, track }
      : undefined;
  }

  private listen(): void {
    const { canvas } = this;
    let last: { x: number; moved: boolean } | undefined;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.span.move(((event.deltaX || event.deltaY) / this.width) * this.span.length);
      else this.span.zoom(1.2 ** Math.sign(event.deltaY), this.timeAt(event.offsetX));
      this.draw();
    });
    canvas.addEventListener("pointerdown", ({ offsetX }) => {
      last = { x: offsetX, moved: false };
    });
    canvas.addEventListener("pointermove", ({ offsetX, offsetY, buttons }) => {
      if (buttons === 1 && last !== undefined) {
        if (!last.moved && Math.abs(offsetX - last.x) < 3) return;
        this.span.move(((last.x - offsetX) / this.width) * this.span.length);
        last = { x: offsetX, moved: true };
        this.draw();
      }
      this.hover(offsetX, offsetY);
    });
    canvas.addEventListener("pointerleave", () => {
      this.tip.classList.add("hidden");
    });
    canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      const found = last?.moved ? undefined : this.at(offsetX, offsetY);
      if (found !== undefined) {
        this.choose(found);
        this.opened(found);
      }
    });
    canvas.addEventListener("keydown", (event) => {
      if (this.pressed(event.key)) event.preventDefault();
    });
  }

  private hover(x: number, y: number): void {
    const found = this.at(x, y);
    const level = found === undefined ? this.levelUnder(x, y) : undefined;
    this.tip.classList.toggle("hidden", found === undefined && level === undefined);
    this.tip.textContent = found ? `${found.slice.name}\n${this.duration(found.slice)}` : (level ?? "");
    this.tip.style.left = `${String(Math.min(x + 12, this.element.clientWidth - 240))}px`;
    this.tip.style.top = `${String(y + 16)}px`;
  }

  private levelUnder(x: number, y: number): string | undefined {
    const index = Math.floor((y - this.top(this.timeline.tracks.length)) / (COUNTER + GAP));
    const counter = this.timeline.counters[index];
    return counter && x >= GUTTER ? `${counter.title}\n${bytes(levelAt(counter, this.timeAt(x)))}` : undefined;
  }

  /** `0.303 µs, from 1.2 µs on` */
  duration({ start, stop }: Slice): string {
    const { unit } = this.timeline;
    const told = (time: number) => `${Number(time.toFixed(3)).toLocaleString("en-US")} ${unit}`;
    return `${told(stop - start)}, from ${told(start)} on`;
  }

  private pressed(key: string): boolean {
    if (key === "ArrowRight" || key === "ArrowLeft") this.beside(key === "ArrowRight" ? 1 : -1);
    else if (key === "ArrowDown" || key === "ArrowUp") this.across(key === "ArrowDown" ? 1 : -1);
    else if (key === "Enter" && this.selected !== undefined) this.opened(this.selected);
    else if (key === "+" || key === "-") this.zoom(key === "+" ? 1 / 1.5 : 1.5);
    else if (key === "Home") this.fit();
    else return false;
    return true;
  }

  private beside(step: number): void {
    const { selected } = this;
    if (selected === undefined) {
      this.across(1);
      return;
    }
    const slice = selected.slices[selected.slices.indexOf(selected.slice) + step];
    if (slice !== undefined) this.choose({ ...selected, slice });
  }

  /** To the row above or below: the commands of an engine are below its ops. */
  private across(step: number): void {
    const rows = this.timeline.tracks.flatMap((track) => [
      { track, slices: track.ops },
      { track, slices: track.commands },
    ]);
    const { selected } = this;
    const from = selected ? rows.findIndex(({ slices }) => slices === selected.slices) : -1;
    const row = rows[selected ? from + step : 0];
    const time = selected?.slice.start ?? this.now;
    const slice = row?.slices[Math.min(firstBehind(row.slices, time), row.slices.length - 1)];
    if (row !== undefined && slice !== undefined) this.choose({ ...row, slice });
  }

  private draw(): void {
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    const ratio = window.devicePixelRatio;
    const [width, height] = [this.element.clientWidth, Math.max(this.height, 1)];
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${String(width)}px`;
    this.canvas.style.height = `${String(height)}px`;
    context.scale(ratio, ratio);
    const colours = theme();
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    this.axis(context, colours, height);
    this.timeline.tracks.forEach((track, index) => {
      const top = this.top(index);
      context.fillStyle = colours.text;
      context.fillText(track.title, 4, top + OPS / 2, GUTTER - 8);
      this.row(context, colours, track.ops, top, OPS - 1, true);
      this.row(context, colours, track.commands, top + OPS, COMMANDS, false);
    });
    this.timeline.counters.forEach((counter, index) => {
      this.area(context, colours, counter, this.top(this.timeline.tracks.length) + index * (COUNTER + GAP));
    });
    this.present(context, colours, height);
  }

  private axis(context: CanvasRenderingContext2D, colours: Colours, height: number): void {
    context.fillStyle = colours.faint;
    for (const time of ticks(this.span.from, this.span.to, this.width / 90)) {
      const x = this.x(time);
      const text = `${String(Number(time.toPrecision(8)))} ${this.timeline.unit}`;
      if (x + 3 + text.length * LETTER < GUTTER + this.width) context.fillText(text, x + 3, AXIS / 2);
      context.globalAlpha = 0.3;
      context.fillRect(x, 0, 1, height);
      context.globalAlpha = 1;
    }
  }

  /** What is narrower than a pixel is drawn once per pixel. */
  private row(
    context: CanvasRenderingContext2D,
    colours: Colours,
    slices: readonly Slice[],
    top: number,
    height: number,
    isOp: boolean,
  ): void {
    let drawn = -1;
    for (let index = firstBehind(slices, this.span.from); index < slices.length; index++) {
      const slice = slices[index];
      if (slice === undefined || slice.start > this.span.to) break;
      const left = Math.max(this.x(slice.start), GUTTER);
      const right = Math.min(Math.max(this.x(slice.stop), left + 1), GUTTER + this.width);
      if (right <= drawn) continue;
      drawn = left + 1;
      context.globalAlpha = isOp ? 0.85 : 0.45;
      context.fillStyle = colours.palette[kind(slice.name) % colours.palette.length] ?? colours.text;
      context.fillRect(left, top, Math.max(right - left - (right - left > 3 ? 1 : 0), 1), height);
      context.globalAlpha = 1;
      if (right - left > 24)
        label(
          context,
          isOp ? colours.ground : colours.text,
          slice.name.replace(/^tpu\./, ""),
          left + 3,
          top + height / 2,
          right - left - 6,
        );
      if (slice === this.selected?.slice) {
        context.strokeStyle = colours.focus;
        context.lineWidth = 2;
        context.strokeRect(left, top + 1, Math.max(right - left, 2), height - 2);
      }
    }
  }

  private area(context: CanvasRenderingContext2D, colours: Colours, counter: Counter, top: number): void {
    context.fillStyle = colours.text;
    context.fillText(counter.title, 4, top + COUNTER / 2 - 7, GUTTER - 8);
    context.fillStyle = colours.faint;
    context.fillText(`up to ${bytes(counter.most)}`, 4, top + COUNTER / 2 + 7, GUTTER - 8);
    context.fillStyle = colours.palette[0] ?? colours.text;
    context.globalAlpha = 0.6;
    counter.points.forEach(({ at, bytes: level }, index) => {
      const left = Math.max(this.x(at), GUTTER);
      const right = Math.min(this.x(counter.points[index + 1]?.at ?? this.timeline.stop), GUTTER + this.width);
      const height = counter.most > 0 ? (level / counter.most) * COUNTER : 0;
      if (right > left) context.fillRect(left, top + COUNTER - height, right - left, height);
    });
    context.globalAlpha = 1;
  }

  private present(context: CanvasRenderingContext2D, colours: Colours, height: number): void {
    const x = Math.round(this.x(this.now));
    this.canvas.dataset.x = String(x);
    if (x < GUTTER - 1 || x > GUTTER + this.width + 1) return;
    context.fillStyle = colours.now;
    context.fillRect(x - 1, 0, 2, height);
  }
}

function label(
  context: CanvasRenderingContext2D,
  colour: string,
  text: string,
  x: number,
  y: number,
  room: number,
): void {
  const letters = Math.floor(room / LETTER);
  context.fillStyle = colour;
  context.fillText(letters < text.length ? `${text.slice(0, Math.max(letters - 1, 1))}…` : text, x, y);
}

/** A number for the kind of an op or command: that of its first word. */
function kind(name: string): number {
  let sum = 0;
  for (const character of name.split(" ")[0] ?? "") sum = (sum * 31 + character.charCodeAt(0)) % 65521;
  return sum;
}

function theme(): Colours {
  const style = getComputedStyle(document.body);
  const colour = (name: string, otherwise: string) => style.getPropertyValue(`--vscode-${name}`) || otherwise;
  const text = colour("editor-foreground", "#888");
  return {
    text,
    faint: colour("descriptionForeground", text),
    ground: colour("editor-background", "#fff"),
    focus: colour("focusBorder", text),
    now: colour("errorForeground", "#f00"),
    palette: PALETTE.map((name) => colour(`charts-${name}`, text)),
  };
}
