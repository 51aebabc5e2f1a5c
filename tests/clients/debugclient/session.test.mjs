// Sessions with DebugClient, the client that Microsoft tests its own debug adapters with.
//
// Environment: PYTHON, EXPECTED (output of sample.py), TRANSCRIPTS (directory).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DebugClient } from "@vscode/debugadapter-testsupport";

const { PYTHON, EXPECTED, TRANSCRIPTS } = process.env;
const { directory, mlir, lines, operand } = JSON.parse(readFileSync(EXPECTED, "utf8"));
const launch = { program: directory, inputs: join(directory, "input.npz"), stopOnEntry: false };
const pool = { path: mlir, line: lines.pool };
const PATIENCE = 30_000;

describe("DebugClient", function () {
  this.timeout(2 * PATIENCE);
  let client;

  async function start(name) {
    const env = { ...process.env, TRANSCRIPT: join(TRANSCRIPTS, `debugclient-${name}.jsonl`) };
    client = new DebugClient("sh", fileURLToPath(new URL("adapter.sh", import.meta.url)), "tdb", { env }, true);
    client.defaultTimeout = PATIENCE;
    await client.start();
  }

  afterEach(() => client?.stop());

  it("is told what the adapter can do, and of requests it does not know", async () => {
    await start("initialize");
    const { body } = await client.initializeRequest();
    for (const capability of ["supportsConfigurationDoneRequest", "supportsStepBack", "supportsSteppingGranularity", "supportsEvaluateForHovers"]) {
      assert.equal(body[capability], true, capability);
    }
    await assert.rejects(client.customRequest("noSuchRequest"), /noSuchRequest/);
  });

  it("stops at a breakpoint in final.mlir, looks at the operand, steps on and back, and runs to the end", async () => {
    await start("session");
    await client.hitBreakpoint(launch, pool);

    const { body: { threads: [thread] } } = await client.threadsRequest();
    const { body: { stackFrames: [frame] } } = await client.stackTraceRequest({ threadId: thread.id });
    const { body: { scopes } } = await client.scopesRequest({ frameId: frame.id });
    const operands = scopes.find(({ name }) => name === "Operands");
    const { body: { variables } } = await client.variablesRequest({ variablesReference: operands.variablesReference });
    const tensor = variables.find(({ value }) => value.startsWith(operand.row));
    assert.ok(tensor, `${operand.name} is not among ${variables.map(({ name, value }) => `${name} = ${value}`).join("; ")}`);
    assert.deepEqual(await firstValues(tensor), operand.first.map((value) => Number(value.toPrecision(4))));

    const next = client.waitForEvent("stopped");
    await client.nextRequest({ threadId: thread.id });
    assert.equal((await next).body.reason, "step");
    // Without the breakpoint there, the reason is the step alone.
    await client.setBreakpointsRequest({ source: { path: mlir }, breakpoints: [] });
    const back = client.assertStoppedLocation("step", pool);
    await client.stepBackRequest({ threadId: thread.id });
    await back;

    const end = client.waitForEvent("stopped");
    await client.continueRequest({ threadId: thread.id });
    assert.match((await end).body.description, /^At the end/);
    await Promise.all([client.waitForEvent("terminated"), client.terminateRequest()]);
  });

  it("is refused a launch without a model, in words", async () => {
    await start("refused");
    await client.initializeRequest();
    const error = await client.launchRequest({ program: join(directory, "absent") }).then(assert.fail, (refusal) => refusal);
    assert.match(error.message, /absent/);
  });

  it("is served over a socket as well", async () => {
    const log = join(TRANSCRIPTS, "debugclient-socket.jsonl");
    const adapter = spawn(PYTHON, ["-m", "tdb_dap.adapter", "--listen", "127.0.0.1:0", "--log", log]);
    try {
      client = new DebugClient("", "", "tdb");
      client.defaultTimeout = PATIENCE;
      const [port, token] = await addressOf(adapter);
      await client.start(port);
      await client.hitBreakpoint({ ...launch, token }, pool);
      await client.stop();
      client = undefined;
    } finally {
      adapter.kill();
    }
  });

  /** The first values of a tensor, to four digits: down the axes that have more than one, then along the last one. */
  async function firstValues(tensor) {
    let reference = tensor.variablesReference;
    for (let axis = 1; axis < operand.shape.filter((extent) => extent > 1).length; axis++) {
      const { body } = await client.variablesRequest({ variablesReference: reference, filter: "indexed", start: 0, count: 1 });
      assert.match(body.variables[0].name, /^\[(0,)*0\]$/);
      reference = body.variables[0].variablesReference;
    }
    const { body } = await client.variablesRequest({ variablesReference: reference, filter: "indexed", start: 0, count: operand.first.length });
    return body.variables.map(({ value }) => Number(Number(value).toPrecision(4)));
  }
});

/** The port that an adapter says it listens on, and the token that it has made. */
async function addressOf(adapter) {
  let text = "";
  for await (const chunk of adapter.stdout) {
    text += chunk;
    const found = /listening on .*:(\d+)\s+token (\S+)\s/.exec(text);
    if (found) return [Number(found[1]), found[2]];
  }
  throw new Error(`the adapter does not listen: ${text}`);
}
