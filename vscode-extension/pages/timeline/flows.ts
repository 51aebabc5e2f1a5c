/** Arrows between commands, those that look alike as one. */

/** Pixels by which the ends of arrows of one bundle differ at most. */
const NEAR = 8;

export interface Arrow {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** `count`: of the arrows that it stands for. */
export interface Bundle extends Arrow {
  readonly count: number;
}

/** Arrows between the same rows whose ends are near each other, as one at their mean; most arrows first. */
export function bundled(arrows: readonly Arrow[]): Bundle[] {
  const groups = new Map<string, Arrow[]>();
  for (const arrow of arrows) {
    const { left, top, right, bottom } = arrow;
    const key = [Math.floor(left / NEAR), top, Math.floor(right / NEAR), bottom].join(" ");
    groups.set(key, [...(groups.get(key) ?? []), arrow]);
  }
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return [...groups.values()]
    .map((group) => ({
      left: mean(group.map(({ left }) => left)),
      right: mean(group.map(({ right }) => right)),
      top: group[0]?.top ?? 0,
      bottom: group[0]?.bottom ?? 0,
      count: group.length,
    }))
    .sort((one, other) => other.count - one.count);
}
