// VS Code in the browser (code-server), on a free port of the loopback interface, with state of its own.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_SECONDS = 60;

/** What would otherwise get between the test and the debugger, or reach for the network. */
export const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "workbench.tips.enabled": false,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "chat.commandCenter.enabled": false,
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "window.menuBarVisibility": "classic",
  "debug.toolBarLocation": "docked",
  "debug.openDebug": "openOnSessionStart",
  "files.autoSave": "off",
  "editor.minimap.enabled": false,
};

export class CodeServer {
  /**
   * @param {object} options
   * @param {string} options.home where code-server is installed
   * @param {string} options.state a directory for everything it writes
   * @param {string[]} options.vsix extensions to install
   * @param {Record<string, unknown>} [options.settings] what the test sets for the machine
   * @param {Record<string, string>} [options.env] the environment instead of this process's
   */
  static async start({ home, state, vsix, settings = {}, env = process.env }) {
    const entry = join(home, "node_modules/code-server/out/node/entry.js");
    const data = join(state, "data");
    const config = join(state, "config.yaml");
    const common = [entry, "--config", config, "--user-data-dir", data, "--extensions-dir", join(state, "extensions")];
    // Settings with the scope "machine" count only from the second file.
    for (const [kind, values] of Object.entries({ User: SETTINGS, Machine: settings })) {
      mkdirSync(join(data, kind), { recursive: true });
      writeFileSync(join(data, kind, "settings.json"), JSON.stringify(values, null, 2));
    }
    writeFileSync(config, "auth: none\n");
    for (const file of vsix) {
      execFileSync("node", [...common, "--force", "--install-extension", file], { stdio: "pipe" });
    }
    const port = await freePort();
    const log = join(state, "log");
    const output = openSync(log, "a");
    // Its own process group: extension hosts outlive both the browser and the parent process.
    const server = spawn(
      process.execPath,
      [...common, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check",
        "--disable-workspace-trust", "--disable-getting-started-override", "--ignore-last-opened"],
      {
        detached: true,
        stdio: ["ignore", output, output],
        // As if started from a terminal: PATH is then this process's, not what a login shell would make of it.
        env: { ...env, VSCODE_CLI: "1" },
      },
    );
    const instance = new CodeServer(server, `http://127.0.0.1:${port}`);
    for (let tries = 0; tries < START_SECONDS * 4; tries++) {
      if (server.exitCode !== null) break;
      const answer = await fetch(`${instance.url}/healthz`).catch(() => undefined);
      if (answer?.ok) return instance;
      await sleep(250);
    }
    instance.stop();
    throw new Error(`code-server did not start:\n${readFileSync(log, "utf8")}`);
  }

  constructor(process, url) {
    this.process = process;
    this.url = url;
  }

  stop() {
    try {
      process.kill(-this.process.pid, "SIGTERM");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
