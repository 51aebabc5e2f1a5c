/** Paints the timeline into a canvas, since a model has more commands than a page has room for elements. */
import { t } from "../shared/l10n";
import { bytes } from "../shared/text";
import { ticks, type Span } from "../shared/ticks";
import { colourOf, themeColours, type Colours } from "./colours";
import { firstAfter, type Counter, type Slice, type Timeline } from "./model";
import { bundled } from "./flows";
import { AXIS, coreTitle, type Found, type Rows } from "./rows";

/** All lengths are in pixels. Beside the tracks: their titles on the left, nothing on the right. */
export const GUTTER = 130;
export const RIGHT = 8;
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
const OPACITY = { mark: 0.3, op: 0.85, command: 0.45, counter: 0.6, guessed: 0.25, range: 0.18 } as const;
const SELECTED_LINE = 2;
const NOW_LINE = 2;
/** Of the arrows between commands: the bend, the tip, the thickest line, and how many are drawn. */
const FLOW = { bend: 24, tip: 3.5, thickest: 5, most: 60 } as const;
/** Digits of a time on the axis. */
const TIME_DIGITS = 8;

/** What is painted. */
export interface Picture {
  readonly timeline: Timeline;
  readonly rows: Rows;
  readonly span: Span;
  /** Pixels of the plot. */
  readonly width: number;
  readonly kinds: readonly string[];
  readonly now: number;
  readonly selected: Found | undefined;
  readonly range: readonly [number, number] | undefined;
  readonly matches: ReadonlySet<Slice> | undefined;
  readonly flows: readonly (readonly [number, number])[];
  /** Commands whose time is known. */
  readonly estimated: number;
}

export function timeX({ span, width }: Picture, time: number): number {
  return GUTTER + ((time - span.from) / span.length) * width;
}

interface Style {
  readonly isOp: boolean;
  readonly top: number;
  readonly height: number;
}

export class Painter {
  private readonly colours: Colours = themeColours();

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly picture: Picture,
  ) {
    context.font = `${String(FONT_SIZE)}px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
  }

  paint(): void {
    const { context, colours, picture } = this;
    this.axis();
    for (const row of picture.rows.all) {
      context.fillStyle = colours.text;
      if (row.kind === "core") {
        context.fillText(coreTitle(row), TITLE.left, row.top + row.height / 2, TITLE.room);
        if (row.isFolded)
          row.tracks.forEach(({ ops }, index) => {
            const height = row.height / row.tracks.length;
            this.slices(ops, { isOp: true, top: row.top + index * height, height: Math.max(height - 1, 1) });
          });
      } else if (row.kind === "track") {
        const { top, height, ops, track } = row;
        context.fillText(track.title, TITLE.left, top + ops / 2, TITLE.room);
        this.slices(track.ops, { isOp: true, top, height: ops - 1 });
        this.slices(track.commands, { isOp: false, top: top + ops, height: height - ops });
      } else {
        this.counter(row.counter, row.top, row.height);
      }
    }
    this.flows();
    this.range();
    this.present();
  }

  private x(time: number): number {
    return timeX(this.picture, time);
  }

  private get right(): number {
    return GUTTER + this.picture.width;
  }

  private axis(): void {
    const { context, colours, picture } = this;
    const { span, width, timeline, rows } = picture;
    context.fillStyle = colours.faint;
    for (const time of ticks(span.from, span.to, width / MARK)) {
      const x = this.x(time);
      const text = `${String(Number(time.toPrecision(TIME_DIGITS)))} ${timeline.unit}`;
      if (x + INSET + text.length * LETTER < this.right) context.fillText(text, x + INSET, AXIS / 2);
      context.globalAlpha = OPACITY.mark;
      context.fillRect(x, 0, 1, rows.height);
      context.globalAlpha = 1;
    }
  }

  /** A row of slices; of those narrower than a pixel, one per pixel is drawn. */
  private slices(slices: readonly Slice[], style: Style): void {
    const { span, selected, matches, kinds, estimated } = this.picture;
    const { context, colours } = this;
    const { isOp, top, height } = style;
    let drawn = -1;
    for (let index = firstAfter(slices, span.from); index < slices.length; index++) {
      const slice = slices[index];
      if (slice === undefined || slice.start > span.to) break;
      const left = Math.max(this.x(slice.start), GUTTER);
      const right = Math.min(Math.max(this.x(slice.stop), left + 1), this.right);
      const isMatch = matches?.has(slice) === true;
      if (right <= drawn && !isMatch) continue;
      drawn = left + 1;
      const full = isOp || isMatch ? OPACITY.op : OPACITY.command;
      context.globalAlpha =
        slice.last >= estimated || (matches !== undefined && !isMatch) ? Math.min(full, OPACITY.guessed) : full;
      context.fillStyle = isMatch ? colours.found : colourOf(slice.kind, kinds, colours);
      context.fillRect(left, top, Math.max(right - left - (right - left > GAP_FROM ? 1 : 0), 1), height);
      const isFaint = context.globalAlpha <= OPACITY.command;
      context.globalAlpha = 1;
      if (right - left > NAME_FROM && height >= FONT_SIZE)
        this.label(
          isFaint ? colours.text : colours.ground,
          slice.name.replace(/^tpu\./, ""),
          left + INSET,
          top + height / 2,
          right - left - 2 * INSET,
        );
      if (slice === selected?.slice) {
        context.strokeStyle = colours.focus;
        context.lineWidth = SELECTED_LINE;
        context.strokeRect(left, top + 1, Math.max(right - left, 2), height - 2);
      }
    }
  }

  private label(colour: string, text: string, x: number, y: number, room: number): void {
    const letters = Math.floor(room / LETTER);
    this.context.fillStyle = colour;
    this.context.fillText(letters < text.length ? `${text.slice(0, Math.max(letters - 1, 1))}…` : text, x, y);
  }

  private counter({ title, most, points }: Counter, top: number, room: number): void {
    const { context, colours, picture } = this;
    context.fillStyle = colours.text;
    context.fillText(title, TITLE.left, top + room / 2 - COUNTER_LINE, TITLE.room);
    context.fillStyle = colours.faint;
    context.fillText(t("up to {0}", bytes(most)), TITLE.left, top + room / 2 + COUNTER_LINE, TITLE.room);
    context.fillStyle = colours.palette[0] ?? colours.text;
    context.globalAlpha = OPACITY.counter;
    points.forEach(({ at, bytes: level }, index) => {
      const left = Math.max(this.x(at), GUTTER);
      const right = Math.min(this.x(points[index + 1]?.at ?? picture.timeline.stop), this.right);
      const height = most > 0 ? (level / most) * room : 0;
      if (right > left) context.fillRect(left, top + room - height, right - left, height);
    });
    context.globalAlpha = 1;
  }

  /** Arrows from the end of what is waited for to the start of what waits; a thicker one for several alike. */
  private flows(): void {
    const { context, colours, picture } = this;
    const { starts, durations } = picture.timeline;
    const arrows = picture.flows.flatMap(([before, after]) => {
      const [top, bottom] = [picture.rows.middleOf(before), picture.rows.middleOf(after)];
      const left = this.x((starts[before] ?? 0) + (durations[before] ?? 0));
      const right = this.x(starts[after] ?? 0);
      return top === undefined || bottom === undefined || right < GUTTER || left > this.right
        ? []
        : [{ left, top, right, bottom }];
    });
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, picture.width, picture.rows.height);
    context.clip();
    context.strokeStyle = context.fillStyle = colours.text;
    for (const { left, top, right, bottom, count } of bundled(arrows).slice(0, FLOW.most)) {
      context.lineWidth = Math.min(1 + Math.log2(count), FLOW.thickest);
      const tip = FLOW.tip + context.lineWidth / 2;
      context.beginPath();
      context.moveTo(left, top);
      context.bezierCurveTo(left + FLOW.bend, top, right - FLOW.bend, bottom, right - tip, bottom);
      context.stroke();
      context.beginPath();
      context.moveTo(right, bottom);
      context.lineTo(right - 2 * tip, bottom - tip);
      context.lineTo(right - 2 * tip, bottom + tip);
      context.fill();
    }
    context.restore();
  }

  private range(): void {
    const { context, colours, picture } = this;
    if (picture.range === undefined) return;
    const [left, right] = picture.range.map((time) => Math.min(Math.max(this.x(time), GUTTER), this.right));
    context.fillStyle = colours.focus;
    context.globalAlpha = OPACITY.range;
    context.fillRect(left ?? 0, 0, (right ?? 0) - (left ?? 0), picture.rows.height);
    context.globalAlpha = 1;
  }

  private present(): void {
    const x = Math.round(this.x(this.picture.now));
    if (x < GUTTER - 1 || x > this.right + 1) return;
    this.context.fillStyle = this.colours.now;
    this.context.fillRect(x - NOW_LINE / 2, 0, NOW_LINE, this.picture.rows.height);
  }
}
