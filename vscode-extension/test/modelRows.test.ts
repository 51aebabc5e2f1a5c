import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasWords, sorted, type Field } from "../pages/model/rows";

interface Op {
  readonly name: string;
  readonly size: number;
}

const OPS: Op[] = [
  { name: "/model.10/Conv", size: 30 },
  { name: "/model.9/Conv", size: 4 },
  { name: "/model.9/Mul", size: 200 },
];
const FIELDS: Field<Op>[] = [
  { title: "name", value: ({ name }) => name },
  { title: "size", isNumber: true, value: ({ size }) => size },
];

describe("the rows of a table about a model", () => {
  const names = (column: string, isDescending = false) =>
    sorted(FIELDS, OPS, { column, isDescending }).map(({ name }) => name);

  it("are in the order of a column, numbers by their value wherever they are", () => {
    assert.deepEqual(names("size"), ["/model.9/Conv", "/model.10/Conv", "/model.9/Mul"]);
    assert.deepEqual(names("size", true), ["/model.9/Mul", "/model.10/Conv", "/model.9/Conv"]);
    assert.deepEqual(names("name"), ["/model.9/Conv", "/model.9/Mul", "/model.10/Conv"]);
  });

  it("come as they are in the model until a column is chosen", () => {
    assert.deepEqual(sorted(FIELDS, OPS, undefined), OPS);
  });

  it("are filtered by words in any of their values", () => {
    const meant = (text: string) => OPS.filter((op) => hasWords(FIELDS, op, text)).map(({ size }) => size);
    assert.deepEqual(meant(""), [30, 4, 200]);
    assert.deepEqual(meant("CONV"), [30, 4]);
    assert.deepEqual(meant("model.9 mul"), [200]);
    assert.deepEqual(meant("200"), [200]);
    assert.deepEqual(meant("softmax"), []);
  });
});
