// The browsers of this machine, driven alike: open a page, click, type, evaluate, take a picture.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { firefox } from "./marionette.mjs";

const programs = {
  Chromium: [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"],
  Firefox: [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"],
};

/** The program of a browser, undefined where there is none. */
export const programOf = (name) => programs[name].find((path) => path && existsSync(path));

/** Start a browser by name. */
export const start = (name) => (name === "Firefox" ? firefox : chrome)(programOf(name));

async function chrome(executablePath) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  return { name: `Chromium ${browser.version()}`, open: (url) => opened(browser, url), close: () => browser.close() };
}

async function opened(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(url);
  return {
    evaluate: (act, ...given) => page.evaluate(([text, values]) => eval(`(${text})`)(...values), [String(act), given]),
    click: (xpath) => page.click(`xpath=${xpath}`),
    type: async (xpath, text) => {
      await page.fill(`xpath=${xpath}`, text);
      await page.press(`xpath=${xpath}`, "Enter");
    },
    screenshot: (path) => page.screenshot({ path }),
    close: () => page.close(),
  };
}
