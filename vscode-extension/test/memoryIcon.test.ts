// First, so that the sources find it under the name vscode.
import { running } from "./vscode";
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import type { Installation } from "../src/adapter/installation";
import { registerConfigurations } from "../src/configuration/provider";

const HEX_EDITOR = "ms-vscode.hexeditor";
const installation = { locate: () => Promise.resolve({ executable: "/opt/tdb-dap" }) } as unknown as Installation;

/** Whether the session that this configuration starts gives variables an icon of their memory. */
async function hasIcon(configuration: object): Promise<boolean> {
  running.configurations.length = 0;
  registerConfigurations(installation);
  const [provider] = running.configurations;
  const made = await provider?.resolveDebugConfigurationWithSubstitutedVariables?.(undefined, {
    type: "tdb",
    name: "TDB",
    ...configuration,
  } as vscode.DebugConfiguration);
  assert.ok(made != null);
  return made.memoryReferences !== false;
}

describe("the icon of a variable's memory", () => {
  afterEach(() => {
    running.extensions.clear();
  });

  const requests = [
    { request: "launch", program: "/models/yolo" },
    { request: "attach", host: "board", port: 4711 },
  ];
  for (const configuration of requests)
    describe(`in a session of the request ${configuration.request}`, () => {
      it("is there where a hex editor shows the memory", async () => {
        assert.equal(await hasIcon(configuration), false);
        running.extensions.add(HEX_EDITOR);
        assert.equal(await hasIcon(configuration), true);
      });

      it("is there where the configuration asks for it", async () => {
        assert.equal(await hasIcon({ ...configuration, memoryReferences: true }), true);
        running.extensions.add(HEX_EDITOR);
        assert.equal(await hasIcon({ ...configuration, memoryReferences: false }), false);
      });
    });
});
