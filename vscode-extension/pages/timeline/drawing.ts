/** The timeline as a canvas that is moved, zoomed and chosen in, by pointer and by keys. */
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { bytes } from "../shared/text";
import { Span } from "../shared/ticks";
import { WHEEL_ZOOM } from "../shared/zoom";
import { kindsByTime } from "./colours";
import { press } from "./keys";
import { firstAfter, levelAt, NOTHING, timeOf, type Slice, type Timeline } from "./model";
import { GUTTER, Painter, RIGHT, timeX, type Picture } from "./painter";
import { repainting, resize } from "./repainting";
import { AXIS, foldedAtFirst, Rows, type Found } from "./rows";
import { duration, Tip } from "./tip";

/** The pointer drags when it has moved this far. */
const DRAGGED = 3;
/** The plot is never narrower, however narrow its page. */
const LEAST_PLOT = 10;
/** The shortest visible part, as a share of the whole time. */
const LEAST_SHARE = 1e-5;

export interface Listener {
  chosen(found: Found): void;
  opened(found: Found): void;
  /** Two times, or undefined when there is no range any more. */
  ranged(range: readonly [number, number] | undefined): void;
  /** The search field is wanted. */
  search(): void;
}

export class Drawing {
  readonly element = html("div", { class: "scroll" });
  private readonly plot = html("div", { class: "timeline" });
  private readonly canvas = html("canvas", {
    role: "application",
    tabindex: 0,
    "aria-label": t(
      "Timeline of the engines. Arrow keys go from op to op and between engines, Enter goes to the line, W and S zoom, A and D move, slash searches, F folds the core, Home shows all.",
    ),
  });
  private readonly tip = new Tip(this.plot);
  private timeline = NOTHING;
  private folded: Set<number> | undefined;
  private rows = new Rows(NOTHING, new Set());
  private span = new Span(0, 1, 1);
  private ordinal = 0;
  private selected: Found | undefined;
  private range: readonly [number, number] | undefined;
  private matches: ReadonlySet<Slice> | undefined;
  private flows: readonly (readonly [number, number])[] = [];
  private estimated = 0;
  private pointer: number | undefined;
  private readonly draw = repainting(this.plot, () => {
    this.paint();
  });
  kinds: readonly string[] = [];

  constructor(private readonly listener: Listener) {
    this.plot.append(this.canvas, this.tip.element);
    this.element.append(this.plot);
    new ResizeObserver(() => {
      this.lay();
    }).observe(this.element);
    this.listen();
  }

  /** `estimated`: commands whose time is known; as more are, the same part stays in sight. */
  show(timeline: Timeline, estimated: number): void {
    const before = this.timeline === NOTHING ? undefined : this.span;
    const last = timeline.stop || 1;
    this.timeline = timeline;
    this.estimated = estimated;
    this.folded ??= foldedAtFirst(timeline.cores);
    this.kinds = kindsByTime(timeline);
    this.span = new Span(0, last, last * LEAST_SHARE);
    if (before !== undefined) {
      this.span.from = (before.from / before.last) * last;
      this.span.to = (before.to / before.last) * last;
    }
    this.selected = undefined;
    this.flows = [];
    this.lay();
  }

  /** The present moment, as a number of executed commands. */
  move(ordinal: number): void {
    this.ordinal = ordinal;
    const now = timeOf(this.timeline, ordinal);
    this.span.reveal(now, now);
    this.draw();
  }

  /** Choose the first op of a line. */
  select(line: number): void {
    for (const track of this.timeline.tracks) {
      const slice = track.ops.find((op) => op.line === line);
      if (slice === undefined) continue;
      this.choose({ slice, slices: track.ops, track });
      return;
    }
  }

  choose(found: Found): void {
    if (this.folded?.delete(found.track.core)) this.lay();
    this.selected = found;
    this.span.reveal(found.slice.start, found.slice.stop);
    this.draw();
    this.listener.chosen(found);
  }

  /** Show what is waited for; pairs of ordinals. */
  flow(pairs: readonly (readonly [number, number])[]): void {
    this.flows = pairs;
    this.draw();
  }

  /** All others are faint; undefined: nothing is searched for. */
  highlight(matches: ReadonlySet<Slice> | undefined): void {
    this.matches = matches;
    this.draw();
  }

  zoom(factor: number): void {
    const { start, stop } = this.selected?.slice ?? { start: this.now, stop: this.now };
    const middle = this.pointer ?? Math.min(Math.max((start + stop) / 2, this.span.from), this.span.to);
    this.span.zoom(factor, middle);
    this.draw();
  }

  fit(): void {
    this.span.fit();
    this.draw();
  }

  focus(): void {
    this.canvas.focus();
  }

  /** Fold the core of what is selected, or the first one, or open it; where there are several. */
  foldSelected(): void {
    const core = this.selected?.track.core ?? this.timeline.cores[0];
    if (core !== undefined && this.timeline.cores.length > 1) this.fold(core);
  }

  openSelected(): void {
    if (this.selected !== undefined) this.listener.opened(this.selected);
  }

  /** Fold a core, or open it. */
  private fold(core: number): void {
    if (!this.folded?.delete(core)) this.folded?.add(core);
    this.lay();
  }

  private lay(): void {
    this.rows = new Rows(this.timeline, this.folded ?? new Set(), this.element.clientHeight);
    this.plot.style.minHeight = `${String(this.rows.height)}px`;
    this.draw();
  }

  private get now(): number {
    return timeOf(this.timeline, this.ordinal);
  }

  private get width(): number {
    return Math.max(this.plot.clientWidth - GUTTER - RIGHT, LEAST_PLOT);
  }

  private timeAt(x: number): number {
    return this.span.from + ((x - GUTTER) / this.width) * this.span.length;
  }

  private at(x: number, y: number): Found | undefined {
    const row = this.rows.at(y);
    if (row?.kind !== "track" || x < GUTTER) return undefined;
    const { track, top, ops } = row;
    const slices = y - top < ops ? track.ops : track.commands;
    const time = this.timeAt(x);
    const slice = slices[firstAfter(slices, time)];
    return slice !== undefined && slice.start <= time + this.span.length / this.width
      ? { slice, slices, track }
      : undefined;
  }

  private listen(): void {
    const { canvas } = this;
    let last: { x: number; moved: boolean; from: number | undefined } | undefined;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.span.move(((event.deltaX || event.deltaY) / this.width) * this.span.length);
      else this.span.zoom(WHEEL_ZOOM ** Math.sign(event.deltaY), this.timeAt(event.offsetX));
      this.draw();
    });
    canvas.addEventListener("pointerdown", ({ offsetX, offsetY, shiftKey }) => {
      // As in Perfetto: dragging along the axis, or with shift anywhere, selects a range.
      const ranges = (shiftKey || offsetY < AXIS) && offsetX >= GUTTER;
      last = { x: offsetX, moved: false, from: ranges ? this.timeAt(offsetX) : undefined };
    });
    canvas.addEventListener("pointermove", ({ offsetX, offsetY, buttons }) => {
      this.pointer = offsetX >= GUTTER ? this.timeAt(offsetX) : undefined;
      if (buttons === 1 && last !== undefined && (last.moved || Math.abs(offsetX - last.x) >= DRAGGED)) {
        if (last.from === undefined) this.span.move(((last.x - offsetX) / this.width) * this.span.length);
        else this.selectRange(last.from, this.timeAt(offsetX));
        last = { ...last, x: offsetX, moved: true };
        this.draw();
      }
      this.hover(offsetX, offsetY);
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = undefined;
      this.tip.hide();
    });
    canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      if (last?.moved) return;
      const row = this.rows.at(offsetY);
      const found = this.at(offsetX, offsetY);
      if (row?.kind === "core") this.fold(row.core);
      else if (found !== undefined) {
        this.choose(found);
        this.listener.opened(found);
      } else this.clear();
    });
    canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && press(event.key, this, this.listener))
        event.preventDefault();
    });
  }

  private selectRange(one: number, other: number): void {
    this.range = [Math.min(one, other), Math.max(one, other)];
    this.listener.ranged(this.range);
  }

  /** Forget the range. */
  clear(): void {
    this.range = undefined;
    this.listener.ranged(undefined);
    this.draw();
  }

  private hover(x: number, y: number): void {
    const found = this.at(x, y);
    this.tip.show(found ? `${found.slice.name}\n${duration(found.slice, this.timeline)}` : this.levelUnder(x, y), x, y);
  }

  private levelUnder(x: number, y: number): string | undefined {
    const row = this.rows.at(y);
    if (row?.kind !== "counter" || x < GUTTER) return undefined;
    return `${row.counter.title}\n${bytes(levelAt(row.counter, this.timeAt(x)))}`;
  }

  /** Move by a share of the visible part. */
  shift(share: number): void {
    this.span.move(share * this.span.length);
    this.draw();
  }

  /** To the next one of the same row, or the one before. */
  beside(step: number): void {
    const { selected } = this;
    if (selected === undefined) {
      this.across(1);
      return;
    }
    const slice = selected.slices[selected.slices.indexOf(selected.slice) + step];
    if (slice !== undefined) this.choose({ ...selected, slice });
  }

  /** To the row above or below: the commands of an engine are below its ops. */
  across(step: number): void {
    const rows = this.rows.slices;
    const { selected } = this;
    const from = selected ? rows.findIndex(({ slices }) => slices === selected.slices) : -1;
    const row = rows[selected ? from + step : 0];
    const time = selected?.slice.start ?? this.now;
    const slice = row?.slices[Math.min(firstAfter(row.slices, time), row.slices.length - 1)];
    if (row !== undefined && slice !== undefined) this.choose({ ...row, slice });
  }

  private paint(): void {
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    const ratio = window.devicePixelRatio;
    resize(this.canvas, this.plot.clientWidth, Math.max(this.rows.height, 1), ratio);
    context.scale(ratio, ratio);
    const { timeline, rows, span, width, kinds, now, selected, range, matches, flows, estimated } = this;
    const picture: Picture = { timeline, rows, span, width, kinds, now, selected, range, matches, flows, estimated };
    new Painter(context, picture).paint();
    if (this.timeline === NOTHING) return;
    this.canvas.dataset.ordinal = String(this.ordinal);
    this.canvas.dataset.x = String(Math.round(timeX(picture, this.now)));
  }
}
