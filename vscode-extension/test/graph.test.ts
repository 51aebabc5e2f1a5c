import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Camera, contains, grown } from "../pages/graph/camera";
import { blocksOf, neighbour, visible } from "../pages/graph/blocks";
import { layers } from "../pages/graph/layers";
import { place } from "../pages/graph/layout";
import { NODE } from "../pages/graph/measures";
import { byVerdict, combined, legend } from "../pages/graph/model";
import type { Row } from "../src/compare/results";
import type { GraphNode } from "../src/protocol/generated";
import * as fixtures from "./fixtures";

const node = (line: number, dtype = "f32", color = "#f4d3a1"): GraphNode => ({
  id: `L${String(line)}`,
  opcode: "tpu.Conv2D",
  name: "x",
  label: "x",
  line,
  shape: [1],
  dtype,
  subnet: "subfunc_0",
  group: null,
  color,
  note: dtype,
});
const graph = {
  nodes: [node(1), node(2), node(3), node(4, "f16", "#bfe0f5")],
  edges: [
    { tail: "L1", head: "L2", value: "%1" },
    { tail: "L1", head: "L3", value: "%1" },
    { tail: "L2", head: "L4", value: "%2" },
    { tail: "L3", head: "L4", value: "%3" },
  ],
};

describe("the graph", () => {
  it("is laid out from top to bottom, without nodes on each other", () => {
    const { nodes, edges, width, height } = place(graph);
    const at = (line: number) => nodes.get(`L${String(line)}`) ?? assert.fail();
    assert.ok(at(1).y + NODE.height < at(2).y && at(2).y + NODE.height < at(4).y);
    assert.equal(at(2).y, at(3).y);
    assert.ok(Math.abs(at(2).x - at(3).x) > NODE.width);
    assert.equal(edges.length, 4);
    assert.ok(width > 2 * NODE.width && height > 3 * NODE.height);
  });

  it("has a frame around each subnet, and in it around each layer group, with their nodes and no others", () => {
    const inGroup = (line: number, group: number | null, subnet = "subfunc_0") => ({ ...node(line), group, subnet });
    const nodes = [inGroup(1, null), inGroup(3, 2), inGroup(4, 2), inGroup(5, null), inGroup(7, null, "subfunc_1")];
    const edges = [
      [1, 3],
      [3, 4],
      [4, 5],
      [1, 5],
      [5, 7],
    ].map(([tail, head]) => ({ tail: `L${String(tail)}`, head: `L${String(head)}`, value: "%" }));
    const placed = place({ nodes, edges });
    const within = (title: string) => {
      const { left, top, width, height } = placed.frames.find((frame) => frame.title === title) ?? assert.fail(title);
      const inside = ({ x, y }: { x: number; y: number }) =>
        left <= x - NODE.width / 2 &&
        x + NODE.width / 2 <= left + width &&
        top <= y - NODE.height / 2 &&
        y + NODE.height / 2 <= top + height;
      return nodes.filter(({ id }) => inside(placed.nodes.get(id) ?? assert.fail(id))).map(({ line }) => line);
    };
    assert.deepEqual(
      placed.frames.map(({ kind }) => kind),
      ["subnet", "subnet", "group"],
    );
    assert.deepEqual(
      [within("subfunc_0"), within("subfunc_1"), within("layer group, line 2")],
      [[1, 3, 4, 5], [7], [3, 4]],
    );
  });

  it("has frames side by side around subnets that nothing leads to", () => {
    const nodes = [1, 2, 3].map((line) => ({ ...node(line), group: line, subnet: `net${String(line)}.subfunc_0` }));
    const rows = place({ nodes, edges: [] }).frames.filter(({ kind }) => kind === "subnet");
    const [left, middle, right] = rows.sort((one, other) => one.left - other.left);
    assert.ok(left !== undefined && middle !== undefined && right !== undefined);
    assert.ok(left.left + left.width < middle.left && middle.left + middle.width < right.left);
  });

  it("has, where it is large, frames around what lies together", () => {
    const nodes = Array.from({ length: 600 }, (_, i) => ({ ...node(i), group: i < 300 ? 0 : null }));
    const edges = nodes.slice(1).map((_, i) => ({ tail: `L${String(i)}`, head: `L${String(i + 1)}`, value: "%" }));
    const [subnet, group] = place({ nodes, edges }).frames;
    assert.deepEqual([subnet?.kind, group?.kind], ["subnet", "group"]);
    assert.ok(Math.abs((subnet?.height ?? 0) - 2 * (group?.height ?? 0)) < 200);
    const mixed = nodes.map((one, i) => ({ ...one, group: i % 2 ? 1 : null }));
    assert.deepEqual(
      place({ nodes: mixed, edges }).frames.map(({ kind }) => kind),
      ["subnet"],
    );
  });

  it("leads an edge around the boxes that it passes", () => {
    const nodes = [1, 2, 3, 4].map((line) => node(line));
    const edges = [
      [1, 2],
      [2, 3],
      [3, 4],
      [1, 4],
    ].map(([tail, head]) => ({ tail: `L${String(tail)}`, head: `L${String(head)}`, value: "%" }));
    const placed = place({ nodes, edges });
    const points = placed.edges.find(({ tail, head }) => tail === "L1" && head === "L4")?.points ?? [];
    assert.equal(points.length, 6, "from 1, beside 2, beside 3, to 4");
    for (const { x, y } of points.slice(1, -1))
      for (const [id, at] of placed.nodes)
        assert.ok(Math.abs(x - at.x) > NODE.width / 2 || Math.abs(y - at.y) > NODE.height / 2, id);
  });

  it("may be empty", () => {
    const { width, height, nodes } = place({ nodes: [], edges: [] });
    assert.ok(width > 0 && height > 0 && nodes.size === 0);
  });

  it("keeps a chain straight: what reads nothing stands beside it", () => {
    const nodes = [1, 2, 3, 4, 5, 6].map((line) => node(line));
    const edges = [
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 6],
      [5, 6],
    ].map(([tail, head]) => ({ tail: `L${String(tail)}`, head: `L${String(head)}`, value: "%" }));
    const placed = place({ nodes, edges });
    const at = (line: number) => placed.nodes.get(`L${String(line)}`)?.x ?? NaN;
    assert.equal(at(4), at(6));
    assert.ok(Math.abs(at(5) - at(4)) > NODE.width);
  });

  it("is walked along its edges and from node to node", () => {
    const shown = { ...graph, closed: new Map() };
    const from = (line: number, step: Parameters<typeof neighbour>[2]) => neighbour(shown, node(line), step)?.line;
    assert.deepEqual([from(1, "reader"), from(4, "writer"), from(2, "next"), from(2, "previous")], [2, 2, 3, 1]);
    assert.equal(from(4, "reader"), undefined);
  });

  it("is painted by verdict: red what differs, grey what has not run", () => {
    const row = (line: number, verdict: Row["verdict"]) => fixtures.row(line, { verdict });
    const paint = byVerdict({ rows: [row(1, "pass"), row(2, "fail"), row(3, "fail")], first: row(2, "fail") });
    assert.deepEqual(
      graph.nodes.map((found) => paint(found).note),
      ["as expected", "first to differ", "differs", "not compared"],
    );
  });

  it("says what its colours mean", () => {
    const paint = ({ color, note }: GraphNode) => ({ color, note });
    assert.deepEqual(
      legend("dtype", graph.nodes, paint).map(({ note }) => note),
      ["f32", "f16"],
    );
  });
});

describe("the blocks of a large graph", () => {
  const all = Array.from({ length: 100 }, (_, i) => ({ ...node(i), group: i >= 10 && i < 40 ? 9 : null }));
  const edges = all.slice(1).map((_, i) => ({ tail: `L${String(i)}`, head: `L${String(i + 1)}`, value: "%" }));
  const chain = { nodes: all, edges, currentLines: [] };
  const blocks = blocksOf(chain);

  it("hold each op once: a layer group is one, the rest is cut into runs", () => {
    assert.deepEqual(
      blocks.map(({ title, nodes }) => [title, nodes.length]),
      [
        ["lines 0 to 9", 10],
        ["layer group, line 9", 30],
        ["lines 40 to 79", 40],
        ["lines 80 to 99", 20],
      ],
    );
    assert.deepEqual(
      blocks.flatMap(({ nodes }) => nodes.map(({ id }) => id)),
      all.map(({ id }) => id),
    );
  });

  it("are a box each while they are closed, and the chain goes through them unbroken", () => {
    const [first, group] = blocks;
    const shown = visible(chain, blocks, new Set([group?.id ?? ""]));
    assert.equal(shown.nodes.length, 30 + 3);
    assert.equal(shown.edges.length, shown.nodes.length - 1);
    assert.deepEqual(shown.edges[0], { tail: first?.id, head: "L10", value: "%" });
    assert.deepEqual(
      [...shown.closed.values()].map(({ title }) => title),
      ["lines 0 to 9", "lines 40 to 79", "lines 80 to 99"],
    );
    assert.equal(visible(chain, blocks, new Set(blocks.map(({ id }) => id))).edges.length, edges.length);
  });

  it("are red where one op differs, and as hot as the hottest", () => {
    const paint = (color: string) => ({ color, note: color });
    assert.equal(combined("verdict")([paint("#c9ecc3"), paint("#f28b82"), paint("#eeeeee")]).color, "#f28b82");
    assert.equal(combined("time")([paint("#ffffff"), paint("#ff8080"), paint("#ffa0a0")]).color, "#ff8080");
    assert.equal(combined("dtype")([paint("#c9ecc3"), paint("#eeeeee"), paint("#eeeeee")]).color, "#eeeeee");
  });
});

describe("the layout of a large graph", () => {
  it("puts each of 5,000 ops below what it reads, and none on another", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    const nodes = Array.from({ length: 5000 }, (_, i) => node(i));
    const edges = nodes.flatMap((_, i) =>
      i === 0 || random(10) === 0
        ? []
        : [1, 1 + random(4), 1 + random(60)].map((back) => ({
            tail: `L${String(Math.max(i - back, 0))}`,
            head: `L${String(i)}`,
            value: "%",
          })),
    );
    const placed = layers({ nodes, edges });
    const at = (id: string) => placed.nodes.get(id) ?? assert.fail(id);
    for (const { tail, head } of edges) assert.ok(at(tail).y + NODE.height < at(head).y);
    const rows = new Map<number, number[]>();
    for (const { x, y } of placed.nodes.values()) rows.set(y, [...(rows.get(y) ?? []), x]);
    for (const row of rows.values()) {
      row.sort((one, other) => one - other);
      for (let i = 1; i < row.length; i++) assert.ok((row[i] ?? 0) - (row[i - 1] ?? 0) >= NODE.width);
      assert.ok((row[0] ?? 0) >= NODE.width / 2 && (row.at(-1) ?? 0) <= placed.width - NODE.width / 2);
    }
  });
});

describe("what is in sight of a graph", () => {
  const page = { clientWidth: 400, clientHeight: 300 };
  /** Where a point of the graph is seen. */
  const seen = (camera: Camera, { x, y }: { x: number; y: number }) => {
    const { left, top } = camera.sight;
    return [(x - left) * camera.scale, (y - top) * camera.scale].map(Math.round);
  };

  it("grows around the point under the pointer, up to a limit", () => {
    const camera = new Camera(page);
    camera.centre({ x: 1000, y: 500 });
    assert.deepEqual(seen(camera, { x: 1000, y: 500 }), [200, 150]);
    const under = { x: camera.sight.left + 50, y: camera.sight.top + 60 };
    for (const factor of [2, 0.25, 1.7, 100, 1e-6]) {
      camera.zoom(factor, 50, 60);
      assert.deepEqual(seen(camera, under), [50, 60], String(factor));
    }
    assert.ok(camera.scale > 0);
  });

  it("is all of a graph, but no larger than it is", () => {
    const camera = new Camera(page);
    camera.fit({ width: 800, height: 3000 });
    const { left, top, width, height } = camera.sight;
    assert.ok(left <= 0 && top <= 0 && left + width >= 800 && top + height >= 3000);
    camera.fit({ width: 40, height: 30 });
    assert.equal(camera.scale, 1);
  });

  it("moves to a box only if that is out of sight, and never above the first op", () => {
    const camera = new Camera(page);
    camera.centre({ x: 500, y: 500 });
    const before = camera.sight;
    camera.reveal({ x: 520, y: 510 }, false);
    assert.deepEqual(camera.sight, before);
    camera.reveal({ x: 5000, y: 20 }, false);
    assert.deepEqual(seen(camera, { x: 5000, y: 0 }), [200, 0]);
    camera.reveal({ x: 5000, y: 2000 }, true);
    assert.deepEqual(seen(camera, { x: 5000, y: 2000 }), [200, 150]);
  });

  it("has a margin that what is beside it lies in", () => {
    const camera = new Camera(page);
    const area = grown(camera.sight);
    camera.pan(-390, 290);
    assert.ok(contains(area, camera.sight));
    camera.pan(-20, 0);
    assert.ok(!contains(area, camera.sight));
  });
});
