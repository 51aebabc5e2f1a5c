import "./vscode";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { firstWrong, keyOf, promptOf, rowOf, shareRows, stripOf, tokenText } from "../pages/answer/model";
import { answerConfiguration } from "../src/panels/asking";
import type { AnsweringLaunch, AnswerState } from "../src/protocol/generated";

const launch = (number: number, net: string, token: number, more: Partial<AnsweringLaunch> = {}): AnsweringLaunch => ({
  number,
  net,
  token,
  first: 10 * number,
  state: "done",
  verdict: "right",
  why: "",
  look: 10 * number,
  ...more,
});

const state = (launches: readonly AnsweringLaunch[]): AnswerState => ({
  prompt: [5],
  promptText: null,
  tokens: [0, 1].map((number) => ({
    number,
    id: 7,
    text: null,
    expected: null,
    expectedText: null,
    first: 0,
    state: "done",
  })),
  launches,
  isCompared: true,
});

describe("the strip of an answer", () => {
  it("has a row for what is the same net in the prefill and after it", () => {
    const nets = ["embedding", "block_0", "block_11", "block_cache_11", "embedding_cache", "lm_head"];
    assert.deepEqual(nets.map(rowOf), ["embedding", "block 0", "block 11", "block 11", "embedding", "lm_head"]);
  });

  it("keeps what is wrong of several launches in one cell", () => {
    const strip = stripOf(
      state([
        launch(0, "block_0", 0, { verdict: "wrong", why: "x" }),
        launch(1, "block_0", 0),
        launch(2, "block_cache_0", 1),
      ]),
    );
    assert.deepEqual(strip.rows, ["block 0"]);
    assert.equal(strip.cells.get(keyOf("block 0", 0))?.launch.number, 0);
    assert.equal(strip.cells.get(keyOf("block 0", 1))?.launch.number, 2);
  });

  it("finds the first wrong launch in the order in which they run", () => {
    const launches = [launch(0, "block_0", 0), launch(1, "block_1", 0, { verdict: "wrong" })];
    assert.equal(firstWrong(state(launches))?.number, 1);
    assert.equal(firstWrong(state(launches.slice(0, 1))), undefined);
  });
});

describe("a prompt as it is typed", () => {
  it("is numbers of tokens or a text", () => {
    assert.deepEqual(promptOf(" 5, 17,30 "), [5, 17, 30]);
    assert.deepEqual(promptOf("5"), [5]);
    assert.equal(promptOf("5 apples, 3 pears"), "5 apples, 3 pears");
    assert.equal(promptOf("  "), "");
  });

  it("becomes a session that stops at its start, for the views, and at its end", () => {
    const asked = { type: "prompt", prompt: "hi", tokens: 4, chat: true } as const;
    const configuration = answerConfiguration("/models/qwen", asked, "/hf");
    assert.deepEqual(configuration, {
      name: configuration.name,
      type: "tdb",
      request: "launch",
      program: "/models/qwen",
      prompt: "hi",
      tokens: 4,
      chat: true,
      reference: "/hf",
      stopOnEntry: true,
      stopOnDifference: false,
    });
    const plain = answerConfiguration("/models/qwen", { ...asked, prompt: [5], chat: false }, undefined);
    assert.ok(!("chat" in plain) && !("reference" in plain));
  });

  it("shows tokens by their text, or else by their number", () => {
    assert.equal(tokenText(null, null), "…");
    assert.equal(tokenText(7, null), "#7");
    assert.equal(tokenText(7, ""), "#7");
    assert.equal(tokenText(7, " the"), " the");
  });
});

describe("the strip of times", () => {
  it("has weights, nets and kinds of ops, but none that take next to nothing of every token", () => {
    const rows = shareRows({
      milliseconds: [2, 1],
      weights: [0.5, 0.9],
      weightsRead: [100, 100],
      nets: [
        { name: "block_*", shares: [0.9, 0] },
        { name: "block_cache_*", shares: [0, 0.6] },
      ],
      kinds: [
        { name: "tpu.MatMul", shares: [0.019, 0.021] },
        { name: "tpu.Add", shares: [0.001, 0.002] },
      ],
      rate: 1000,
    });
    assert.deepEqual(
      rows.map(({ kind, name }) => [kind, name]),
      [
        ["weights", ""],
        ["net", "block_*"],
        ["net", "block_cache_*"],
        ["op", "tpu.MatMul"],
      ],
    );
    assert.deepEqual(rows[0]?.shares, [0.5, 0.9]);
  });
});
