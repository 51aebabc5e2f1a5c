/** The timeline as it is drawn: a canvas, since a model has more commands than a page has room for elements. */
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { bytes } from "../shared/text";
import { Span, ticks } from "../shared/ticks";
import { KEY_ZOOM, WHEEL_ZOOM } from "../shared/zoom";
import { colourOf, themeColours, type Colours } from "./colours";
import { firstAfter, levelAt, timeOf, type Counter, type Slice, type Timeline, type Track } from "./model";

/** All lengths are in pixels. Beside the tracks: their titles on the left, nothing on the right. */
const GUTTER = 130;
const RIGHT = 8;
/** Heights: of the axis, of a track's ops and commands, of a counter, and what is between them. */
const AXIS = 20;
const OPS = 20;
const COMMANDS = 16;
const COUNTER = 36;
const GAP = 8;
const TRACK = OPS + COMMANDS + GAP;
const FONT_SIZE = 11;
/** Width of a letter. */
const LETTER = 6.8;
/** From the left edge to a title, and from a title to the tracks. */
const TITLE = { left: 4, room: GUTTER - 8 } as const;
/** From the middle of a counter to its title and to its most bytes. */
const COUNTER_LINE = 7;
/** From the edge of a slice, or from a mark of the axis, to the text beside it. */
const INSET = 3;
/** Slices that are wider have a gap on their right; or room for a name. */
const GAP_FROM = 3;
const NAME_FROM = 24;
/** Between the marks of the axis, about. */
const MARK = 90;
const OPACITY = { mark: 0.3, op: 0.85, command: 0.45, counter: 0.6 } as const;
const SELECTED_LINE = 2;
const NOW_LINE = 2;
/** From the pointer to the tip, and the room that is kept for it on the right. */
const TIP = { right: 12, down: 16, room: 240 } as const;
/** The pointer drags when it has moved this far. */
const DRAGGED = 3;
/** The plot is never narrower, however narrow its page. */
const LEAST_PLOT = 10;
/** The shortest visible part, as a share of the whole time. */
const LEAST_SHARE = 1e-5;
/** Digits of a time on the axis, and decimals in words. */
const TIME_DIGITS = 8;
const TIME_DECIMALS = 3;

/** A slice and the row of the drawing it is in. */
export interface Found {
  readonly slice: Slice;
  readonly slices: readonly Slice[];
  readonly track: Track;
}

export class Drawing {
  readonly element = html("div", { class: "timeline" });
  private readonly canvas = html("canvas", {
    role: "application",
    tabindex: 0,
    "aria-label": t(
      "Timeline of the engines. Arrow keys go from op to op and between engines, Enter goes to the line, plus and minus zoom, Home shows all.",
    ),
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
    this.span = new Span(0, timeline.stop || 1, (timeline.stop || 1) * LEAST_SHARE);
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
    return AXIS + tracks.length * TRACK + counters.length * (COUNTER + GAP);
  }

  private get width(): number {
    return Math.max(this.element.clientWidth - GUTTER - RIGHT, LEAST_PLOT);
  }

  private x(time: number): number {
    return GUTTER + ((time - this.span.from) / this.span.length) * this.width;
  }

  private timeAt(x: number): number {
    return this.span.from + ((x - GUTTER) / this.width) * this.span.length;
  }

  private top(track: number): number {
    return AXIS + track * TRACK;
  }

  private at(x: number, y: number): Found | undefined {
    const track = this.timeline.tracks[Math.floor((y - AXIS) / TRACK)];
    if (track === undefined || x < GUTTER || y < AXIS) return undefined;
    const slices = (y - AXIS) % TRACK < OPS ? track.ops : track.commands;
    const time = this.timeAt(x);
    const slice = slices[firstAfter(slices, time)];
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
      else this.span.zoom(WHEEL_ZOOM ** Math.sign(event.deltaY), this.timeAt(event.offsetX));
      this.draw();
    });
    canvas.addEventListener("pointerdown", ({ offsetX }) => {
      last = { x: offsetX, moved: false };
    });
    canvas.addEventListener("pointermove", ({ offsetX, offsetY, buttons }) => {
      if (buttons === 1 && last !== undefined) {
        if (!last.moved && Math.abs(offsetX - last.x) < DRAGGED) return;
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
    this.tip.style.left = `${String(Math.min(x + TIP.right, this.element.clientWidth - TIP.room))}px`;
    this.tip.style.top = `${String(y + TIP.down)}px`;
  }

  private levelUnder(x: number, y: number): string | undefined {
    const index = Math.floor((y - this.top(this.timeline.tracks.length)) / (COUNTER + GAP));
    const counter = this.timeline.counters[index];
    return counter && x >= GUTTER ? `${counter.title}\n${bytes(levelAt(counter, this.timeAt(x)))}` : undefined;
  }

  /** `0.303 µs, from 1.2 µs on` */
  duration({ start, stop }: Slice): string {
    const { unit } = this.timeline;
    const shown = (time: number) => `${Number(time.toFixed(TIME_DECIMALS)).toLocaleString("en-US")} ${unit}`;
    return t("{0}, from {1} on", shown(stop - start), shown(start));
  }

  private pressed(key: string): boolean {
    if (key === "ArrowRight" || key === "ArrowLeft") this.beside(key === "ArrowRight" ? 1 : -1);
    else if (key === "ArrowDown" || key === "ArrowUp") this.across(key === "ArrowDown" ? 1 : -1);
    else if (key === "Enter" && this.selected !== undefined) this.opened(this.selected);
    else if (key === "+" || key === "-") this.zoom(key === "+" ? 1 / KEY_ZOOM : KEY_ZOOM);
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
    const slice = row?.slices[Math.min(firstAfter(row.slices, time), row.slices.length - 1)];
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
    const colours = themeColours();
    context.font = `${String(FONT_SIZE)}px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    this.axis(context, colours, height);
    this.timeline.tracks.forEach((track, index) => {
      const top = this.top(index);
      context.fillStyle = colours.text;
      context.fillText(track.title, TITLE.left, top + OPS / 2, TITLE.room);
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
    for (const time of ticks(this.span.from, this.span.to, this.width / MARK)) {
      const x = this.x(time);
      const text = `${String(Number(time.toPrecision(TIME_DIGITS)))} ${this.timeline.unit}`;
      if (x + INSET + text.length * LETTER < GUTTER + this.width) context.fillText(text, x + INSET, AXIS / 2);
      context.globalAlpha = OPACITY.mark;
      context.fillRect(x, 0, 1, height);
      context.globalAlpha = 1;
    }
  }

  /** A row of slices; of those narrower than a pixel, one per pixel is drawn. */
  private row(
    context: CanvasRenderingContext2D,
    colours: Colours,
    slices: readonly Slice[],
    top: number,
    height: number,
    isOp: boolean,
  ): void {
    let drawn = -1;
    for (let index = firstAfter(slices, this.span.from); index < slices.length; index++) {
      const slice = slices[index];
      if (slice === undefined || slice.start > this.span.to) break;
      const left = Math.max(this.x(slice.start), GUTTER);
      const right = Math.min(Math.max(this.x(slice.stop), left + 1), GUTTER + this.width);
      if (right <= drawn) continue;
      drawn = left + 1;
      context.globalAlpha = isOp ? OPACITY.op : OPACITY.command;
      context.fillStyle = colourOf(slice.name, colours);
      context.fillRect(left, top, Math.max(right - left - (right - left > GAP_FROM ? 1 : 0), 1), height);
      context.globalAlpha = 1;
      if (right - left > NAME_FROM)
        label(
          context,
          isOp ? colours.ground : colours.text,
          slice.name.replace(/^tpu\./, ""),
          left + INSET,
          top + height / 2,
          right - left - 2 * INSET,
        );
      if (slice === this.selected?.slice) {
        context.strokeStyle = colours.focus;
        context.lineWidth = SELECTED_LINE;
        context.strokeRect(left, top + 1, Math.max(right - left, 2), height - 2);
      }
    }
  }

  private area(context: CanvasRenderingContext2D, colours: Colours, counter: Counter, top: number): void {
    context.fillStyle = colours.text;
    context.fillText(counter.title, TITLE.left, top + COUNTER / 2 - COUNTER_LINE, TITLE.room);
    context.fillStyle = colours.faint;
    context.fillText(t("up to {0}", bytes(counter.most)), TITLE.left, top + COUNTER / 2 + COUNTER_LINE, TITLE.room);
    context.fillStyle = colours.palette[0] ?? colours.text;
    context.globalAlpha = OPACITY.counter;
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
    context.fillRect(x - NOW_LINE / 2, 0, NOW_LINE, height);
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
