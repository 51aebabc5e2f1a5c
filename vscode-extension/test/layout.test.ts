import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Layout } from "../pages/tensor/layout";

describe("the layout of a tensor's pictures", () => {
  it("begins with a slice of the last two axes that have any extent", () => {
    const { plane } = new Layout([1, 16, 32, 24]);
    assert.deepEqual(plane, {
      rowAxis: 2,
      columnAxis: 3,
      channelAxis: null,
      across: 1,
      index: [0, 0, 0, 0],
      rows: 32,
      columns: 24,
    });
    const flat = new Layout([1, 10, 1, 1]);
    assert.deepEqual([flat.plane.rows, flat.plane.columns], [1, 10]);
    assert.equal(flat.allows("mosaic"), false);
    assert.deepEqual(new Layout([]).indexAt({ row: 0, column: 0 }), []);
  });

  it("of all channels is about as wide as high, and knows each element by its cell", () => {
    const layout = new Layout([2, 14, 8, 8]);
    layout.arrangement = "mosaic";
    layout.index[0] = 1;
    assert.equal(layout.across, 4);
    assert.deepEqual([layout.plane.rows, layout.plane.columns, layout.plane.channelAxis], [32, 32, 1]);
    assert.deepEqual(layout.indexAt({ row: 17, column: 9 }), [1, 9, 1, 1]);
    assert.equal(layout.indexAt({ row: 31, column: 31 }), undefined, "there are 14 channels, not 16");
    for (const index of [
      [1, 0, 0, 0],
      [1, 13, 7, 7],
      [0, 6, 2, 5],
    ])
      assert.deepEqual(layout.indexAt(layout.show(index)), index);
    layout.setAcross(14);
    assert.deepEqual(layout.indexAt({ row: 3, column: 100 }), [0, 12, 3, 4]);
  });

  it("takes the axes as those of an image, channels first or last", () => {
    const layout = new Layout([1, 20, 30, 3]);
    assert.equal(layout.order, "CHW");
    layout.setOrder("HWC");
    layout.arrangement = "rgb";
    assert.deepEqual([layout.plane.rows, layout.plane.columns, layout.channels], [20, 30, 3]);
    assert.deepEqual(
      layout.slices.map((index) => index[3]),
      [0, 1, 2],
    );
    layout.arrangement = "bgr";
    assert.deepEqual(
      layout.slices.map((index) => index[3]),
      [2, 1, 0],
    );
    layout.setAxis("row", 2);
    assert.deepEqual([layout.axis("row"), layout.axis("column"), layout.axis("channel")], [2, 1, 3]);
    assert.equal(layout.order, undefined);
  });

  it("shows three channels from the one that was asked for, as far as there are three", () => {
    const layout = new Layout([8, 4, 4]);
    layout.arrangement = "rgb";
    layout.show([7, 1, 2]);
    assert.deepEqual(
      layout.slices.map((index) => index[0]),
      [5, 6, 7],
    );
    assert.equal(new Layout([2, 4, 4]).allows("rgb"), false);
  });
});
