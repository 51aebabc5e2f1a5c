/** What nobody reads in a line of final.mlir while stepping. */

/** Places in a line, from and to. */
export type Span = readonly [start: number, end: number];

/** Attributes that the compiler keeps for itself, and those with the value that they have unless said otherwise. */
const INTERNAL =
  "ginfo|support_compress|use_3ic_optimize|dynweight_reorderd|coeff_merged|weight_is_coeff|is_idx_weight|lmem_type";
const ATTRIBUTE = new RegExp(
  String.raw`\b(?:(?:${INTERNAL}) = (?:#[\w.]+<[^>]*>|[^,}<]+)|\w+ = (?:false|\[\])(?=[,}])|relu_limit = -1\.0+e\+00 : f64)(?:, )?`,
  "g",
);
/** Of a tensor in its type. */
const ADDRESS = /, \d{5,} : i64(?=>)/g;
const LOCATION = / loc\(.*\)$/g;
const OP = /"(?:tpu|top)\.\w+"/;

/** Attributes, addresses and the location of an op, without those that only join others; none of other lines. */
export function attributesOf(line: string): Span[] {
  if (!OP.test(line)) return [];
  const spans = [ATTRIBUTE, ADDRESS, LOCATION].flatMap((pattern) =>
    [...line.matchAll(pattern)].map(({ index, 0: text }): Span => [index, index + text.length]),
  );
  const joined: [number, number][] = [];
  for (const [start, end] of spans.sort(([one], [other]) => one - other)) {
    const before = joined.at(-1);
    if (before !== undefined && start <= before[1]) before[1] = Math.max(before[1], end);
    else joined.push([start, end]);
  }
  return joined;
}
