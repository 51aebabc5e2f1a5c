// The sample in a VS Code of its own, for the tests of one file.
//
// Environment: CODE_SERVER (where it is installed), VSIX, EXPECTED (output of sample.py), SHOTS, TRANSCRIPTS.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, it } from "node:test";
import { CodeServer } from "./server.mjs";
import { Workbench } from "./workbench.mjs";

const { CODE_SERVER, VSIX, EXPECTED, SHOTS, TRANSCRIPTS } = process.env;

/** What the debugger has to show of the sample. */
export const expected = JSON.parse(readFileSync(EXPECTED, "utf8"));

/** The beginning of a tensor's row in the debugger's views. */
export const rowText = ({ row }) => row;

export const typeText = ({ dtype, shape }) => `${dtype}[${shape.join(",")}]`;

/**
 * Open VS Code, with the extension installed, in the sample's directory; it is closed after the last test.
 *
 * `name`: begins the names of pictures of failures; `options`: of openPage, width, height and language of the window;
 * `folder`: another directory.
 * Returns the workbench, and `step`: a test that is left out once an earlier one has failed, since it goes on from there.
 */
export async function openSample(name, options = {}) {
  const state = mkdtempSync(join(tmpdir(), "tdb-code-server-"));
  const remove = () => rmSync(state, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  let server;
  const open = async () => {
    server = await CodeServer.start({ home: CODE_SERVER, state, vsix: [VSIX], settings: { "tdb.adapter.logDirectory": TRANSCRIPTS } });
    return Workbench.open({ url: server.url, folder: expected.directory, shots: SHOTS, ...options });
  };
  const workbench = await open().catch((error) => {
    server?.stop();
    remove();
    throw error;
  });
  after(async () => {
    await workbench.close();
    server.stop();
    remove();
  });
  return { workbench, step: steps(workbench, name) };
}

/** Makes tests that go on from each other: once one has failed, the others are left out. */
export function steps(workbench, name) {
  let failed = false;
  afterEach(async ({ name: test, passed }) => {
    if (passed || failed) return;
    failed = true;
    await workbench.shot(`failed-${name}-${test.replace(/\W+/g, "-")}`);
  });
  return (test, body) => it(test, (context) => (failed ? context.skip("an earlier step failed") : body(context)));
}
