// First, so that the sources find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AdapterProcess, type Death } from "../src/adapter/process";
import { BackgroundProgram } from "../src/programs/background";

/** An adapter that answers requests as this function, in JavaScript, says: with events and a body, or an error. */
const adapter = (answers: string) => (onDeath: (death: Death) => void) =>
  new AdapterProcess(
    {
      executable: process.execPath,
      args: [
        "-e",
        `let seq = 0, held = Buffer.alloc(0);
    const send = (message) => { const text = JSON.stringify({ seq: ++seq, ...message }); process.stdout.write("Content-Length: " + Buffer.byteLength(text) + "\\r\\n\\r\\n" + text); };
    const event = (event) => send({ type: "event", event, body: {} });
    const answer = (request, body) => send({ type: "response", request_seq: request.seq, command: request.command, success: true, body });
    const refuse = (request, format, variables) => send({ type: "response", request_seq: request.seq, command: request.command, success: false, message: "short", body: { error: { id: 1, format, variables } } });
    const answers = ${answers};
    process.stdin.on("data", (bytes) => {
      held = Buffer.concat([held, bytes]);
      for (;;) {
        const end = held.indexOf("\\r\\n\\r\\n");
        if (end < 0) return;
        const length = Number(/\\d+/.exec(held.toString("latin1", 0, end))[0]);
        if (held.length < end + 4 + length) return;
        const request = JSON.parse(held.toString("utf8", end + 4, end + 4 + length));
        held = held.subarray(end + 4 + length);
        answers(request);
      }
    });
    process.stdin.on("end", () => process.exit(0));`,
      ],
    },
    onDeath,
  );

const WORKING = `(request) => {
  const { command } = request;
  if (command === "launch") { global.launched = request; event("initialized"); }
  else if (command === "configurationDone") { answer(request, {}); answer(global.launched, {}); event("stopped"); }
  else if (command === "tdb/moment") answer(request, { ordinal: 0, commands: 58, lines: [], launched: global.launched.arguments });
  else if (command === "tdb/graph") refuse(request, "{text}", { text: "no {final.mlir}" });
  else if (command === "tdb/die") process.exit(3);
  else answer(request, {});
}`;

describe("a model in the background", () => {
  it("is stopped before its first command, and answers as a session does", async () => {
    const program = await BackgroundProgram.load(
      adapter(WORKING),
      { program: "/project/toy", net: "toy", stage: 1 },
      () => undefined,
    );
    const moment = (await program.customRequest("tdb/moment")) as { launched: object };
    assert.deepEqual(moment.launched, { program: "/project/toy", stopOnEntry: true, net: "toy", stage: 1 });
    await assert.rejects(program.customRequest("tdb/graph"), { message: "no {final.mlir}" });
    program.dispose();
  });

  it("says why it cannot be loaded", async () => {
    const refusing = `(request) => request.command === "launch" ? refuse(request, "toy: not a bmodel") : answer(request, {})`;
    const load = BackgroundProgram.load(adapter(refusing), { program: "/project/toy" }, () => undefined);
    await assert.rejects(load, { message: "toy: not a bmodel" });
  });

  it("leaves no question unanswered when its adapter dies", async () => {
    const ended = new Promise<void>((resolve) => {
      void BackgroundProgram.load(adapter(WORKING), { program: "/project/toy" }, resolve).then(async (program) => {
        await assert.rejects(program.customRequest("tdb/die"), /has ended/);
        await assert.rejects(program.customRequest("tdb/moment"), /has ended/);
      });
    });
    await ended;
  });
});
