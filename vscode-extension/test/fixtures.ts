/** Answers of the adapter, whole, for tests that are about a few of their fields. */
import type { Finding, Memory, Numbers, Resident, ResultRow } from "../src/protocol/generated";

export const numbers = (more: Partial<Numbers> = {}): Numbers => ({
  cosine: 0.5,
  euclidean: 0.5,
  sqnr: 10,
  max_abs: 0.25,
  max_rel: 0.5,
  max_ulp: null,
  size: 4,
  bad_count: 1,
  bad_share: 0.25,
  first_bad: [0],
  first_bad_per_axis: [0],
  worst: [0],
  worst_actual: 1,
  worst_expected: 0.75,
  channel_axis: null,
  worst_channel: null,
  channel: 0.5,
  nan_count: 0,
  nan_expected: 0,
  inf_count: 0,
  inf_expected: 0,
  ...more,
});

export const row = (line: number, more: Partial<ResultRow> = {}): ResultRow => ({
  line,
  opcode: "tpu.Conv2D",
  name: "x",
  role: "result",
  index: 0,
  dtype: "f32",
  first: line,
  last: line,
  pieces: 1,
  covered: 1,
  verdict: "pass",
  reason: "",
  note: "",
  complaints: [],
  numbers: null,
  shadow: null,
  blame: null,
  ...more,
});

export const finding = (line: number): Finding => ({
  sanitizer: "hazard",
  severity: "error",
  title: "Hazards",
  text: "D6 writes what B4 reads",
  details: [],
  command: { ordinal: 6, line, token: "D6", name: "dma.tensor", core: 0, asm: "", op: "tpu.Load", location: "x" },
  related: [],
});

export const resident = (name: string, start: number, stop: number, born: number, died: number): Resident => ({
  name,
  space: "R",
  core: 0,
  start,
  stop,
  born,
  died,
  line: 1,
  opcode: "tpu.Load",
  shape: [],
  dtype: "f32",
  readers: [],
  lanes: [[0, 3]],
  alive: false,
});

export const memory = (size: number, ...residents: Resident[]): Memory => ({
  title: "local memory",
  space: "R",
  core: 0,
  size,
  used: 0,
  fragmentation: 0,
  residents,
});
