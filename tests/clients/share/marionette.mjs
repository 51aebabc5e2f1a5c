// Firefox, driven through Marionette: the protocol that every Firefox has, without a driver to download.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
const PREFERENCES = {
  "app.update.enabled": false,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "marionette.port": 0,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
};

/** Start `program` without a window, and return a browser that `close` ends. */
export async function firefox(program) {
  const profile = mkdtempSync(join(tmpdir(), "tdb-firefox-"));
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  writeFileSync(join(profile, "user.js"), lines.join("\n"));
  const child = spawn(program, ["--headless", "--marionette", "--no-remote", "--profile", profile], {
    stdio: "ignore",
    env: { ...process.env, MOZ_HEADLESS_WIDTH: "1280", MOZ_HEADLESS_HEIGHT: "900" },
  });
  const end = async () => {
    if (child.exitCode === null) {
      child.kill();
      await once(child, "exit");
    }
    rmSync(profile, { recursive: true, force: true });
  };
  try {
    const client = await Marionette.connected(await port(profile, child));
    const { capabilities } = await client.ask("WebDriver:NewSession", { acceptInsecureCerts: false });
    await client.ask("WebDriver:SetTimeouts", { script: 180_000, pageLoad: 60_000, implicit: 0 });
    return { name: `Firefox ${capabilities.browserVersion}`, open: (url) => opened(client, url), close: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The port that Firefox has chosen: it writes it into its profile. */
async function port(profile, child) {
  for (let turn = 0; turn < 300; turn++) {
    if (child.exitCode !== null) throw new Error(`firefox ended with ${child.exitCode}`);
    try {
      const number = Number(readFileSync(join(profile, "MarionetteActivePort"), "utf8"));
      if (number > 0) return number;
    } catch {
      // not written yet
    }
    await wait(100);
  }
  throw new Error("firefox opens no port for Marionette");
}

/** One page: a window of the browser, opened at `url`. */
async function opened(client, url) {
  const { handle } = await client.ask("WebDriver:NewWindow", { type: "tab" });
  await client.ask("WebDriver:SwitchToWindow", { handle });
  await client.ask("WebDriver:Navigate", { url });
  const element = async (xpath) => {
    const { value } = await client.ask("WebDriver:FindElement", { using: "xpath", value: xpath });
    return value[ELEMENT];
  };
  return {
    evaluate: async (act, ...given) => {
      const script = `const done = arguments[arguments.length - 1];
        Promise.resolve((${act})(...[...arguments].slice(0, -1))).then(
          (value) => done({ value }), (error) => done({ error: String(error) }));`;
      const { value } = await client.ask("WebDriver:ExecuteAsyncScript", { script, args: given, sandbox: null });
      if (value.error !== undefined) throw new Error(value.error);
      return value.value;
    },
    click: async (xpath) => client.ask("WebDriver:ElementClick", { id: await element(xpath) }),
    type: async (xpath, text) =>
      client.ask("WebDriver:ElementSendKeys", { id: await element(xpath), text: `${text}\uE007` }),
    screenshot: async (path) => {
      const { value } = await client.ask("WebDriver:TakeScreenshot", { full: false });
      writeFileSync(path, Buffer.from(value, "base64"));
    },
    close: () => client.ask("WebDriver:CloseWindow", {}).then(async ([first]) => {
      if (first !== undefined) await client.ask("WebDriver:SwitchToWindow", { handle: first });
    }),
  };
}

class Marionette {
  #socket;
  #received = Buffer.alloc(0);
  #waiting = new Map();
  #next = 1;

  static async connected(number) {
    const client = new Marionette();
    client.#socket = connect(number, "127.0.0.1");
    const greeting = new Promise((done) => client.#waiting.set("greeting", done));
    client.#socket.on("data", (data) => client.#take(data));
    client.#socket.on("error", () => undefined); // whoever waits for an answer gets none: the test times out
    await greeting;
    return client;
  }

  async ask(command, parameters) {
    const id = this.#next++;
    const answer = new Promise((done) => this.#waiting.set(id, done));
    const text = JSON.stringify([0, id, command, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [error, result] = await answer;
    if (error) throw new Error(`${command}: ${error.message}`);
    return result;
  }

  #take(data) {
    this.#received = Buffer.concat([this.#received, data]);
    for (;;) {
      const colon = this.#received.indexOf(":");
      const length = Number(this.#received.subarray(0, colon));
      if (colon < 0 || this.#received.length < colon + 1 + length) return;
      const message = JSON.parse(this.#received.subarray(colon + 1, colon + 1 + length).toString());
      this.#received = this.#received.subarray(colon + 1 + length);
      const id = Array.isArray(message) ? message[1] : "greeting";
      this.#waiting.get(id)?.(Array.isArray(message) ? message.slice(2) : message);
      this.#waiting.delete(id);
    }
  }
}
