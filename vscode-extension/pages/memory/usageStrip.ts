/** The strip above the chart: bytes in use and fragmentation over the commands. */
import { svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { bytes, count } from "../shared/text";
import { peakOf, type UsePoint } from "./usage";

/** Of the strip, in pixels. */
export const USAGE_HEIGHT = 44;
/** From the strip's edge to its text, and from a line of text to the next. */
const TEXT = { inset: 4, first: 11, line: 13 } as const;

/** `x`: of a command; `left` and `right`: of the plot. */
export function usageElements(
  points: readonly UsePoint[],
  x: (command: number) => number,
  [left, right]: readonly [number, number],
): SVGElement[] {
  const peak = peakOf(points);
  if (peak === undefined || peak.used === 0) return [];
  const inside = (at: number) => Math.min(Math.max(x(at), left), right);
  const y = (share: number) => (1 - share) * (USAGE_HEIGHT - 2) + 1;
  const steps = (share: (point: UsePoint) => number) =>
    points.flatMap((point, i) => {
      const [from, to] = [inside(point.at), i + 1 < points.length ? inside(points[i + 1]?.at ?? 0) : right];
      return from === to ? [] : [`L${from.toFixed(1)} ${y(share(point)).toFixed(1)}H${to.toFixed(1)}`];
    });
  const used = steps((point) => point.used / peak.used);
  const fragmented = steps((point) => point.fragmentation);
  const at = x(peak.at);
  return [
    svg("path", { class: "used", d: `M${String(left)} ${String(y(0))}${used.join("")}V${String(y(0))}z` }),
    svg("path", { class: "fragmented", d: `M${fragmented.join("").slice(1)}` }),
    ...(left <= at && at <= right ? [svg("line", { class: "peak", x1: at, x2: at, y1: 0, y2: USAGE_HEIGHT })] : []),
    svg(
      "text",
      { class: "faint", x: left - TEXT.inset, y: TEXT.first, "text-anchor": "end" },
      t("peak {0}", bytes(peak.used)),
    ),
    svg(
      "text",
      { class: "faint", x: left - TEXT.inset, y: TEXT.first + TEXT.line, "text-anchor": "end" },
      t("at {0}", count(peak.at)),
    ),
  ];
}
