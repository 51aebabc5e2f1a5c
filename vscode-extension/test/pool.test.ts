// First, so that the sources find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import type { BackgroundProgram } from "../src/programs/background";
import { ProgramPool } from "../src/programs/pool";
import { keyOf, sameModel, type ModelReference } from "../src/programs/program";

const MINUTE = 60_000;
const toy: ModelReference = { program: "/project/toy" };
const second: ModelReference = { program: "/project/toy", net: "toy", stage: 1 };

let log: string[];
let ends: (() => void)[];
let answer: () => Promise<void>;
let pool: ProgramPool;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  log = [];
  ends = [];
  answer = () => Promise.resolve();
  pool = new ProgramPool(async (model, onEnd) => {
    log.push(`load ${keyOf(model)}`);
    ends.push(onEnd);
    await answer();
    return { id: keyOf(model), dispose: () => log.push(`end ${keyOf(model)}`) } as unknown as BackgroundProgram;
  });
});

afterEach(() => {
  mock.timers.reset();
});

const settled = () => new Promise((resolve) => setImmediate(resolve));
const wait = async (milliseconds: number) => {
  mock.timers.tick(milliseconds);
  await settled();
};

describe("a model that is looked at", () => {
  it("is loaded once, however many look at it, and ends after the last of them", async () => {
    const [one, other] = await Promise.all([pool.acquire(toy), pool.acquire(toy)]);
    assert.equal(one.program, other.program);
    one.release();
    one.release(); // given back twice is given back once
    await wait(MINUTE);
    assert.deepEqual(log, [`load ${keyOf(toy)}`]);
    other.release();
    await wait(MINUTE);
    assert.deepEqual(log, [`load ${keyOf(toy)}`, `end ${keyOf(toy)}`]);
  });

  it("is still there for the next click", async () => {
    const first = await pool.acquire(toy);
    first.release();
    await wait(1000);
    const next = await pool.acquire(toy);
    await wait(MINUTE);
    assert.equal(next.program, first.program);
    assert.deepEqual(log, [`load ${keyOf(toy)}`]);
  });

  it("is another in another stage", async () => {
    await Promise.all([pool.acquire(toy), pool.acquire(second)]);
    assert.deepEqual(log, [`load ${keyOf(toy)}`, `load ${keyOf(second)}`]);
    assert.ok(sameModel({ program: "/project/toy", stage: 0 }, toy));
    assert.ok(!sameModel(second, toy));
    pool.dispose();
    await settled();
    assert.deepEqual(log.slice(2).sort(), [`end ${keyOf(toy)}`, `end ${keyOf(second)}`].sort());
  });

  it("is loaded again after it could not be, and after its adapter has died", async () => {
    answer = () => Promise.reject(new Error("no such file"));
    for (let tries = 0; tries < 2; tries++) await assert.rejects(pool.acquire(toy), /no such file/);
    answer = () => Promise.resolve();
    const lease = await pool.acquire(toy);
    const ended: string[] = [];
    pool.onDidEnd(({ id }) => ended.push(id));
    ends.at(-1)?.();
    await settled();
    assert.deepEqual(ended, [keyOf(toy)]);
    await pool.acquire(toy);
    lease.release();
    await wait(MINUTE);
    assert.equal(log.filter((line) => line.startsWith("load")).length, 4);
  });
});
