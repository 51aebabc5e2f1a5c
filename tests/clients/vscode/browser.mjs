import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

// No sandbox: continuous integration often runs as root, where Chromium has none. The rest keeps it from
// calling home, which a closed network would answer with a stream of failures.
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

/**
 * A browser page with a profile of its own; `close` removes both.
 *
 * `language`: VS Code's display language, for the extension alone: its own texts would need a language pack.
 */
export async function openPage({ width = 1280, height = 960, language } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "tdb-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: FLAGS,
    viewport: { width, height },
  });
  const page = context.pages()[0] ?? (await context.newPage());
  if (language !== undefined) {
    // Where a language pack names its language; VS Code's own script would set English.
    await page.addInitScript((value) => {
      Object.defineProperty(globalThis, "_VSCODE_NLS_LANGUAGE", { get: () => value, set: () => undefined });
    }, language);
  }
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { page, close };
}
