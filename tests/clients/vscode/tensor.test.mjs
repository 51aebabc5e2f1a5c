// The tensor view in the real VS Code: opened from the Variables view, its numbers, its pixels, its life through steps.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe } from "node:test";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { lines, operand, result } = expected;
const { workbench, step } = await openSample("tensor", { width: 1600, height: 1000 });
const close = (shown, value) => Math.abs(Number(shown) - value) <= 1e-4 * Math.abs(value) + 1e-6;
let view;

/** The text of a cell of the table, once it is a number. */
const cell = (row, column) => eventually(`the number at ${row}, ${column}`, async () => {
  const text = await view.locator(`td[data-at="${row},${column}"]`).textContent();
  return text === "…" ? undefined : text;
});
const ordinal = () => view.locator("body").getAttribute("data-ordinal").then(Number);
/** The colour of a heat map at a cell of the plane, which must be in sight. */
const pixel = (map, row, column, rows = 32) => view.locator(`#map-${map}`).evaluate((canvas, [row, column, rows]) => {
  const size = Math.min(canvas.width, canvas.height) / rows;
  return [...canvas.getContext("2d").getImageData((column + 0.5) * size, (row + 0.5) * size, 1, 1).data];
}, [row, column, rows]);
const drawn = () => eventually("all tiles", async () => (await view.locator("body").getAttribute("data-complete")) === "true");

describe("the tensor view", () => {
  step("opens from the menu of a tensor in the Variables view", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    await workbench.key("F5");
    await workbench.stoppedAt(lines.pool);
    await workbench.viewTensor(operand.name);
    view = await workbench.webview("#map-actual");
    await eventually("its title", async () => (await view.locator("h1").textContent()).includes(operand.name));
    assert.ok((await view.locator("h1").textContent()).includes(`${operand.dtype}[${operand.shape.join(",")}]`));
  });

  step("has its numbers in sight in a window of 1280 x 800, and the rest behind the gear", async () => {
    await workbench.command("View: Hide Panel");
    await workbench.page.setViewportSize({ width: 1280, height: 800 });
    for (const [row, column] of [[0, 0], [5, 3]]) {
      await cell(row, column);
      const bottom = () => view.locator(`td[data-at="${row},${column}"]`).evaluate((element) => element.getBoundingClientRect().bottom - window.innerHeight);
      await eventually("the number in sight", async () => (await bottom()) <= 0);
    }
    // Side by side, and above the table.
    const boxes = await view.evaluate(() => [...document.querySelectorAll(".map canvas, .table")].map((element) => element.getBoundingClientRect().toJSON()));
    const [table] = boxes.slice(-1);
    for (const map of boxes.slice(0, -1)) assert.ok(map.top === boxes[0].top && map.bottom <= table.top, JSON.stringify(boxes));
    for (const map of boxes.slice(0, -1)) assert.ok(map.height <= map.width + 1, `no room below the square picture: ${JSON.stringify(map)}`);
    await eventually("no part that scrolls the page", () => view.evaluate(() => document.documentElement.scrollHeight <= window.innerHeight));
    await workbench.shot("tensor-small-window");
    await workbench.page.setViewportSize({ width: 1600, height: 1000 });
    assert.equal(await view.locator("#palette").isVisible(), false);
    await view.locator("#gear").click();
    await view.locator("#palette").waitFor();
  });

  step("shows the numbers in a table and the element at the cursor", async () => {
    for (let i = 0; i < operand.first.length; i++) assert.ok(close(await cell(0, i), operand.first[i]), `${i}`);
    await view.locator('td[data-at="0,2"]').click();
    await eventually("the element", async () => (await view.locator("#cursor").textContent()).includes("[0, 0, 0, 2]"));
    assert.match(await view.locator("#cursor").textContent(), /0x[0-9a-f]{8}.*reference/s);
  });

  step("paints actual, reference and error side by side", async () => {
    await drawn();
    const [one, two, off] = await Promise.all(["actual", "reference", "error"].map((map) => pixel(map, 20, 20)));
    assert.deepEqual(one, two);
    assert.equal(one[3], 255);
    assert.ok(off[0] > 180 && off[1] > 180 && off[2] > 180, `no error is white, not ${off}`);
  });

  step("another slice by its axis picker", async () => {
    const before = await cell(0, 0);
    await view.locator('input[data-axis="1"]').fill("5");
    await eventually("another number", async () => (await cell(0, 0)) !== before);
    await view.locator('input[data-axis="1"]').fill("0");
    await eventually("the first number", async () => (await cell(0, 0)) === before);
  });

  step("shows all channels side by side, and three as a colour picture", async () => {
    await view.locator('input[data-axis="1"]').fill("6");
    await eventually("the slice", async () => (await view.locator("#cursor").textContent()).includes("[0, 6, "));
    const [number, colour] = [await cell(11, 5), await drawn().then(() => pixel("actual", 11, 5))];
    await view.locator("#arrangement").selectOption("mosaic");
    // Channel 6 is the third in the second line of four.
    const at = [32 + 11, 64 + 5];
    await drawn();
    await eventually("the same colour", async () => (await pixel("actual", ...at, 128)).join() === colour.join());
    const width = await view.locator("#map-actual").evaluate((canvas) => Math.min(canvas.clientWidth, canvas.clientHeight));
    await view.locator("#map-actual").click({ position: { x: ((at[1] + 0.5) * width) / 128, y: ((at[0] + 0.5) * width) / 128 } });
    assert.equal(await view.locator("#map-actual").evaluate((canvas) => Math.min(canvas.clientWidth, canvas.clientHeight)), width, "the pointer moves nothing");
    assert.equal(await cell(...at), number);
    await eventually("its place", async () => (await view.locator("#cursor").textContent()).includes("[0, 6, 11, 5]"));
    await workbench.shot("tensor-mosaic");
    await view.locator("#order").selectOption("HWC");
    await eventually("32 channels", async () => (await view.locator("#across").getAttribute("max")) === "32");
    await view.locator("#order").selectOption("CHW");
    await view.locator("#arrangement").selectOption("rgb");
    await drawn();
    const parts = await eventually("a colour", async () => {
      const found = await pixel("actual", 11, 5);
      return found[3] === 255 && found;
    });
    // Channels 6 to 8, from 0 to the greatest number: each part is its number's share.
    await view.locator("#arrangement").selectOption("slice");
    const most = Number(/max(-?[\d.]+)/.exec(await view.locator("#statistics").textContent())[1]);
    for (const channel of [6, 7, 8]) {
      await view.locator('input[data-axis="1"]').fill(String(channel));
      await eventually("the channel", async () => (await view.locator("#cursor").textContent()).includes(`[0, ${channel}, `));
      assert.ok(Math.abs(parts[channel - 6] - (255 * Number(await cell(11, 5))) / most) <= 1, `${channel}: ${parts}`);
    }
    await view.locator('input[data-axis="1"]').fill("0");
  });

  step("marks what is out of a range, and shows numbers as bits", async () => {
    await view.locator("#range").selectOption("unit");
    await eventually("the mark", async () => (await pixel("actual", 0, 2)).join() === "0,220,255,255"); // 1.966
    assert.equal(await view.locator('td[data-at="0,2"]').getAttribute("class"), "outside");
    assert.match(await view.locator("figcaption").first().textContent(), /0 to 1$/);
    await view.locator("#range").selectOption("all");
    await view.locator("#bits").check();
    const word = Buffer.alloc(4);
    word.writeFloatBE(operand.first[0]);
    await eventually("the word", async () => Math.abs(parseInt(await cell(0, 0), 16) - word.readUInt32BE()) < 8);
    await view.locator("#bits").uncheck();
    await view.locator("#palette").selectOption("grey");
    await eventually("grey", async () => new Set((await pixel("actual", 9, 3)).slice(0, 3)).size === 1);
    await view.locator("#palette").selectOption("viridis");
  });

  step("has one cursor in all pictures, tells all three numbers, and leads to the worst elements", async () => {
    await view.locator("#map-reference").hover({ position: { x: 40, y: 40 } });
    await eventually("three numbers", async () => /^\[.*\]: actual .* · reference .* · error /.test(await view.locator("#status").textContent()));
    const worst = view.locator("#worst button").first();
    const place = await worst.textContent();
    await worst.click();
    await eventually("the worst", async () => (await view.locator("#cursor").textContent()).includes(place));
    await view.locator("#map-error").press("Control+Home");
    await view.locator('input[data-axis="1"]').fill("0");
  });

  step("takes the range of the colours from the histogram, and gives it back", async () => {
    const ends = () => view.locator("figcaption").first().textContent();
    const before = await ends();
    await view.locator(".histogram").scrollIntoViewIfNeeded();
    const box = await view.locator(".histogram").boundingBox();
    await workbench.drag([box.x + 60, box.y + 20], [box.x + 160, box.y + 20]);
    await eventually("a range", async () => (await ends()) !== before);
    assert.equal(await view.locator("#range").inputValue(), "chosen");
    await view.locator(".histogram").click();
    await eventually("all numbers again", async () => (await ends()) === before);
  });

  step("shows the tensor at each of its writers, and when an element changed", async () => {
    const then = await ordinal();
    await view.getByRole("button", { name: "Previous writer" }).waitFor();
    const chips = view.locator(".chip");
    const mine = chips.filter({ hasText: "Conv2D" }).first();
    await mine.click();
    await eventually("the moment after it", async () => (await view.locator("#pin").isChecked()) && (await ordinal()) <= then);
    assert.equal(await mine.getAttribute("aria-current"), "step");
    assert.ok(close(await cell(0, 0), operand.first[0]));
    await view.getByRole("button", { name: "Now" }).click();
    await eventually("the present", async () => !(await view.locator("#pin").isChecked()) && (await ordinal()) === then);
    await view.getByRole("button", { name: "When did this change?" }).click();
    await view.locator(".history", { hasText: "History of [0, " }).waitFor();
  });

  step("compares with any other tensor of its shape", async () => {
    await view.locator("#other").fill("in[0] * 2");
    await view.locator("#other").press("Enter");
    await view.locator("figcaption", { hasText: "in[0] * 2" }).waitFor();
    await view.locator("#of").selectOption("error");
    await eventually("the difference", async () => close(await cell(0, 2), -operand.first[2]));
    await view.locator("#other").fill("out[0]");
    await view.locator("#other").press("Enter");
    await view.locator("#status", { hasText: "another shape" }).waitFor();
    await view.locator("#other").fill("");
    await view.locator("#other").press("Enter");
    await view.locator("figcaption", { hasText: "reference" }).waitFor();
    await view.locator("#of").selectOption("actual");
  });

  step("saves actual, reference and error in one npz", async () => {
    await view.getByRole("button", { name: "npz" }).click();
    const input = workbench.page.locator(".quick-input-widget input").first();
    const file = await eventually("a name for it", async () => (await input.inputValue().catch(() => "")).match(/.*relu4_Relu\.npz$/)?.[0]);
    await workbench.page.locator(".quick-input-widget .monaco-button", { hasText: "OK" }).click();
    await eventually("the file", () => existsSync(file));
    const read = "import sys, json, numpy; z = numpy.load(sys.argv[1]); print(json.dumps([{k: z[k].shape for k in z}, float(abs(z['actual'] - z['reference'] - z['error']).max()), z['actual'].ravel()[:4].tolist()]))";
    const written = await eventually("its content", () => {
      try {
        return JSON.parse(execFileSync(process.env.PYTHON, ["-c", read, file], { stdio: "pipe" }));
      } catch {
        return undefined; // not all of it is there
      }
    });
    assert.deepEqual(written[0], { actual: operand.shape, reference: operand.shape, error: operand.shape });
    assert.equal(written[1], 0);
    written[2].forEach((number, i) => assert.ok(close(number, operand.first[i])));
  });

  step("marks what is not a number, and lists it first", async () => {
    await workbench.evaluate("set in[0][0,0,3,2] = nan");
    await eventually("NaN", async () => (await cell(3, 2)) === "NaN");
    await eventually("its colour", async () => (await pixel("actual", 3, 2)).join() === "255,0,255,255");
    await eventually("its place in the list", async () => (await view.locator("#largest li").first().textContent()).includes("[0, 0, 3, 2]"));
    await workbench.evaluate("undo");
    await eventually("the number again", async () => (await cell(3, 2)) !== "NaN");
  });

  step("follows a step, and the step back", async () => {
    await workbench.expand(workbench.rows("variables").filter({ hasText: "Results" }).first());
    await workbench.viewTensor(result.name);
    view = await workbench.webview("#map-actual", result.name);
    await view.locator("#gear").click();
    await eventually("not computed yet", async () => (await view.locator("#about").textContent()).includes("not yet computed"));
    const [before, then] = [await cell(0, 0), await ordinal()];
    await workbench.key("F10");
    await eventually("the numbers of the pooling", async () => close(await cell(0, 0), result.first[0]) && close(await cell(0, 1), result.first[1]));
    assert.ok((await ordinal()) > then);
    await view.locator("#pin").check();
    await workbench.press("Step Back");
    await workbench.stoppedAt(lines.pool);
    assert.ok(close(await cell(0, 0), result.first[0]), "pinned to the moment behind the pooling");
    await view.locator("#moment").fill("0");
    await view.locator("#moment").press("Enter");
    await eventually("the moment before everything", async () => (await ordinal()) === 0 && Number(await cell(0, 0)) === 0);
    await view.locator("#pin").uncheck();
    await eventually("what was there before", async () => (await ordinal()) === then && (await cell(0, 0)) === before);
  });

  step("shows the operand of each op in turn, if it is told to follow", async () => {
    await workbench.page.locator(".tab", { hasText: operand.name }).click();
    view = await workbench.webview("#map-actual", operand.name);
    const title = () => view.locator("h1").textContent();
    await view.locator("#follow").check();
    await workbench.key("F10");
    await eventually("the operand of the next op", async () => !(await title()).includes(operand.name));
    await workbench.press("Step Back");
    await eventually("the operand of the pooling", async () => (await title()).includes(operand.name));
    assert.ok(close(await cell(0, 0), operand.first[0]));
    await view.locator("#follow").uncheck();
  });

  step("looks well on dark and light ground and in high contrast", async () => {
    await workbench.page.locator(".tab", { hasText: operand.name }).click();
    await workbench.command("View: Hide Panel");
    view = await workbench.webview("#map-actual", operand.name);
    const themes = [["Dark Modern", "dark"], ["Light Modern", "light"], ["Dark High Contrast", "contrast"]];
    for (const [theme, name] of themes) {
      await workbench.theme(theme);
      await workbench.shot(`tensor-${name}`);
    }
    const colour = () => view.locator("body").evaluate((body) => getComputedStyle(body).color);
    await eventually("white on black", async () => (await colour()) === "rgb(255, 255, 255)");
  });
});
