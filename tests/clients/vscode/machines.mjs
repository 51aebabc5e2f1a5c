// Machines as strangers have them: an empty home, and only these programs on PATH.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { after } from "node:test";
import { CodeServer } from "./server.mjs";
import { Workbench } from "./workbench.mjs";

const { CODE_SERVER, SHOTS } = process.env;

/** What code-server itself starts. */
const TOOLS = ["sh", "bash", "env", "uname", "ls", "cat", "ps", "sed", "dirname", "readlink", "rg", "getconf", "ldd"];

/** A program that prints what its last argument asks for: `-c` a probe's answer, `--version` a version. */
export const fakePython = (python, debuggerVersion = null) =>
  `#!/bin/sh\necho '${JSON.stringify({ python, version: debuggerVersion })}'\n`;
export const fakeProgram = (version) => `#!/bin/sh\necho 'tdb-dap ${version}'\n`;

/**
 * Open VS Code on a machine.
 *
 * `vsix`: the extension; `folder`: what is opened; `programs`: name to text of a script, or to the path of a program;
 * `settings`: of the machine; `variables`: more of the environment.
 */
export async function openMachine({ vsix, folder, programs = {}, settings = {}, variables = {} }) {
  const root = mkdtempSync(join(tmpdir(), "tdb-machine-"));
  const bin = join(root, "bin");
  const home = join(root, "home");
  mkdirSync(bin);
  mkdirSync(home);
  for (const tool of TOOLS) {
    try {
      symlinkSync(execFileSync("which", [tool], { encoding: "utf8" }).trim(), join(bin, tool));
    } catch {
      // Not every system has every one of them.
    }
  }
  symlinkSync(process.execPath, join(bin, "node"));
  for (const [name, text] of Object.entries(programs)) {
    if (text.startsWith("/")) symlinkSync(text, join(bin, name));
    else {
      writeFileSync(join(bin, name), text);
      chmodSync(join(bin, name), 0o755);
    }
  }
  const env = { HOME: home, PATH: bin, LANG: "C.UTF-8", SHELL: "/bin/sh", ...variables };
  const remove = () => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  const server = await CodeServer.start({ home: CODE_SERVER, state: join(root, "state"), vsix: [vsix], settings, env });
  const workbench = await Workbench.open({ url: server.url, folder, shots: SHOTS, width: 1280, height: 800 }).catch((error) => {
    server.stop();
    remove();
    throw error;
  });
  const close = async () => {
    await workbench.close();
    server.stop();
    remove();
  };
  after(close);
  return { workbench, root, home };
}
