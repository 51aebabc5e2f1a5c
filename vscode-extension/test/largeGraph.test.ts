import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { badged } from "../pages/graph/badges";
import { visible } from "../pages/graph/blocks";
import { columns } from "../pages/graph/columns";
import { layers } from "../pages/graph/layers";
import { NODE } from "../pages/graph/measures";
import { nameBlocks } from "../pages/graph/names";
import type { GraphNode } from "../src/protocol/generated";

const node = (line: number): GraphNode => ({
  id: `L${String(line)}`,
  opcode: "tpu.Conv2D",
  name: "x",
  label: "x",
  line,
  shape: [1],
  dtype: "f32",
  subnet: "subfunc_0",
  group: null,
  color: "#f4d3a1",
  note: "f32",
});

describe("blocks by name", () => {
  const chained = (...names: string[]) => {
    const nodes = names.map((name, i) => ({ ...node(i), name }));
    const edges = nodes.slice(1).map((_, i) => ({ tail: `L${String(i)}`, head: `L${String(i + 1)}`, value: "%" }));
    return { nodes, edges, currentLines: [] };
  };
  const told = (blocks: ReturnType<typeof nameBlocks>) => blocks?.map(({ title, nodes }) => [title, nodes.length]);
  const network = chained(
    "/model.6/cv1/Conv",
    "/model.6/m.0/cv1/Conv",
    "/model.6/m.0/cv2/Conv",
    "/model.6/m.0/Add",
    "/model.6/m.1/cv1/Conv",
    "/model.6/m.1/cv2/Conv",
    "/model.6/m.1/Add",
    "/model.6/Concat",
    "/model.7/conv/Conv",
    "/model.7/act/Mul",
    "output0_Concat",
  );

  it("are nested, the outer ones first", () => {
    assert.deepEqual(told(nameBlocks(network)), [
      ["model.6", 8],
      ["model.7", 2],
      ["model.6/m.0", 3],
      ["model.6/m.1", 3],
    ]);
  });

  it("are a box each while they are closed, with those in them in an open one", () => {
    const blocks = nameBlocks(network) ?? assert.fail();
    const shown = (...titles: string[]) => {
      const open = blocks.filter(({ title }) => titles.includes(title)).map(({ id }) => id);
      return visible(network, blocks, new Set(open)).nodes.map(({ opcode, line }) => `${opcode} ${String(line)}`);
    };
    assert.deepEqual(shown(), ["model.6 0", "model.7 8", "tpu.Conv2D 10"]);
    const six = ["tpu.Conv2D 0", "model.6/m.0 1", "model.6/m.1 4", "tpu.Conv2D 7"];
    assert.deepEqual(shown("model.6"), [...six, "model.7 8", "tpu.Conv2D 10"]);
    assert.deepEqual(shown("model.6/m.0"), shown(), "it is in a closed one");
    assert.equal(shown("model.6", "model.7", "model.6/m.0", "model.6/m.1").length, network.nodes.length);
  });

  it("leave out what all names begin with", () => {
    const names = ["q", "k", "v"].flatMap((part) => [`/net/layers.${part}/a/MatMul`, `/net/layers.${part}/b/Add`]);
    assert.deepEqual(told(nameBlocks(chained(...names))), [
      ["layers.q", 2],
      ["layers.k", 2],
      ["layers.v", 2],
    ]);
  });

  it("are cut up where one would be before and after another", () => {
    const blocks = nameBlocks(chained("/a/x/Conv", "/a/y/Conv", "/b/x/Conv", "/b/y/Conv", "/a/z/Add", "/a/z/Mul"));
    assert.deepEqual(told(blocks), [
      ["a", 2],
      ["a", 2],
      ["b", 2],
    ]);
    const ids = blocks?.map(({ id }) => id) ?? [];
    assert.equal(new Set(ids).size, ids.length);
  });

  it("are none where names have no paths, or all have one", () => {
    assert.equal(nameBlocks(chained("conv1", "conv2", "/a/Conv")), undefined);
    assert.equal(nameBlocks(chained("/a/Conv", "/a/Mul")), undefined);
    assert.equal(nameBlocks({ nodes: [], edges: [] }), undefined);
  });
});

describe("loads of weights", () => {
  it("are badges of what reads them, and others are ops", () => {
    const load = (line: number) => ({ ...node(line), opcode: "tpu.Load" });
    const edges = [
      [1, 3],
      [2, 3],
      [3, 4],
      [4, 5],
      [2, 5],
    ].map(([tail, head]) => ({ tail: `L${String(tail)}`, head: `L${String(head)}`, value: "%" }));
    const all = { nodes: [load(1), load(2), node(3), load(4), node(5)], edges, currentLines: [] };
    const { graph: left, badges, readers } = badged(all);
    assert.deepEqual(
      left.nodes.map(({ line }) => line),
      [3, 4, 5],
    );
    assert.equal(left.edges.length, 2);
    assert.deepEqual(
      [...badges].map(([id, loads]) => [id, loads.map(({ line }) => line)]),
      [
        ["L3", [1, 2]],
        ["L5", [2]],
      ],
    );
    assert.deepEqual(
      [...readers].map(([id, { line }]) => [id, line]),
      [
        ["L1", 3],
        ["L2", 3],
      ],
    );
  });
});

describe("a long graph in a window", () => {
  const nodes = Array.from({ length: 60 }, (_, i) => node(i));
  const edges = nodes.slice(1).map((_, i) => ({ tail: `L${String(i)}`, head: `L${String(i + 1)}`, value: "%" }));
  const long = layers({ nodes, edges });
  const room = { width: 800, height: 600 };
  const scaleOf = ({ width, height }: { width: number; height: number }) =>
    Math.min(room.width / width, room.height / height);

  it("is in columns, each read from top to bottom, and much larger", () => {
    const placed = columns(long, room);
    assert.ok(scaleOf(placed) > 4 * scaleOf(long), String(scaleOf(placed)));
    const places = nodes.map(({ id }) => placed.nodes.get(id) ?? assert.fail(id));
    for (const [i, at] of places.entries()) {
      assert.ok(at.x - NODE.width / 2 >= 0 && at.x + NODE.width / 2 <= placed.width);
      assert.ok(at.y - NODE.height / 2 >= 0 && at.y + NODE.height / 2 <= placed.height);
      const before = places[i - 1];
      if (before !== undefined) assert.ok(before.x === at.x ? before.y < at.y : before.x + NODE.width < at.x);
    }
    for (const { tail, head, points } of placed.edges)
      for (const { x, y } of points.slice(1, -1))
        for (const [id, at] of placed.nodes)
          assert.ok(
            Math.abs(x - at.x) > NODE.width / 2 || Math.abs(y - at.y) > NODE.height / 2,
            `${tail} to ${head} through ${id}`,
          );
  });

  it("has its wide ranks in several rows where that is much larger", () => {
    const star = nodes.slice(1).map(({ id }) => ({ tail: "L0", head: id, value: "%" }));
    const wide = layers({ nodes, edges: star });
    const placed = columns(wide, room);
    assert.ok(scaleOf(placed) > 4 * scaleOf(wide), String(scaleOf(placed)));
    const places = [...placed.nodes.values()];
    assert.equal(new Set(places.map(({ x, y }) => `${String(x)} ${String(y)}`)).size, nodes.length);
    assert.ok(places.every(({ x, y }) => x > 0 && x < placed.width && y > 0 && y < placed.height));
    assert.equal(placed.edges.length, star.length);
  });

  it("stays as it is where it fits", () => {
    const short = layers({ nodes: nodes.slice(0, 3), edges: edges.slice(0, 2) });
    assert.equal(columns(short, room), short);
  });
});
