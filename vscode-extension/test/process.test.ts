// First, so that the sources find it under the name vscode.
import { dialogue } from "./vscode";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AdapterProcess, type Death } from "../src/adapter/process";

/** An adapter that sends this as the content of a message and then waits; what is known when it is given up. */
function adapterSending(content: string): Promise<{ death: Death; sent: Record<string, unknown>[]; id: number }> {
  const program = `
    process.stdout.write(${JSON.stringify(`Content-Length: ${String(Buffer.byteLength(content))}\r\n\r\n${content}`)});
    process.stderr.write("pid " + process.pid + "\\n");
    setInterval(() => {}, 1000);`;
  return new Promise((resolve) => {
    const sent: Record<string, unknown>[] = [];
    const adapter = new AdapterProcess({ executable: process.execPath, args: ["-e", program] }, (death) => {
      resolve({ death, sent, id: (adapter as unknown as { process: { pid: number } }).process.pid });
    });
    adapter.onDidSendMessage((message) => sent.push(message as unknown as Record<string, unknown>));
    adapter.handleMessage({ seq: 1, type: "request", command: "launch" });
  });
}

const isAlive = (id: number) => {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
};

describe("an adapter that sends what is no message", () => {
  for (const content of ["hello", "", "{", "null", "3", "[1]"]) {
    it(`is ended with a word that says so: ${content}`, async () => {
      const { death, sent, id } = await adapterSending(content);
      assert.equal(death.how, "it has sent a message that is not valid JSON");
      assert.deepEqual(
        sent.map(({ type, command, event, success }) => [type, command ?? event, success]),
        [
          ["response", "launch", false],
          ["event", "terminated", undefined],
        ],
      );
      assert.ok(dialogue.log.some((line) => line.includes("no message")));
      while (isAlive(id)) await new Promise((resolve) => setTimeout(resolve, 10));
    });
  }
});
