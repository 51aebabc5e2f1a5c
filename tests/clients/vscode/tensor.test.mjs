// The tensor view in the real VS Code: opened from the Variables view, its numbers, its pixels, its life through steps.
import assert from "node:assert/strict";
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
const pixel = (map, row, column) => view.locator(`#map-${map}`).evaluate((canvas, [row, column]) => {
  const size = Math.min(canvas.width, canvas.height) / 32;
  return [...canvas.getContext("2d").getImageData((column + 0.5) * size, (row + 0.5) * size, 1, 1).data];
}, [row, column]);

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

  step("shows the numbers in a table and the element at the cursor", async () => {
    for (let i = 0; i < operand.first.length; i++) assert.ok(close(await cell(0, i), operand.first[i]), `${i}`);
    await view.locator('td[data-at="0,2"]').click();
    await eventually("the element", async () => (await view.locator("#cursor").textContent()).includes("[0, 0, 0, 2]"));
    assert.match(await view.locator("#cursor").textContent(), /0x[0-9a-f]{8}.*reference/s);
  });

  step("paints actual, reference and error side by side", async () => {
    await eventually("all tiles", async () => (await view.locator("body").getAttribute("data-complete")) === "true");
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

  step("marks what is not a number, and lists it first", async () => {
    await workbench.evaluate("set in[0][0,0,3,2] = nan");
    await eventually("NaN", async () => (await cell(3, 2)) === "NaN");
    await eventually("its colour", async () => (await pixel("actual", 3, 2)).join() === "255,0,255,255");
    await eventually("its place in the list", async () => (await view.locator("ol li").first().textContent()).includes("[0, 0, 3, 2]"));
    await workbench.evaluate("undo");
    await eventually("the number again", async () => (await cell(3, 2)) !== "NaN");
  });

  step("follows a step, and the step back", async () => {
    await workbench.expand(workbench.rows("variables").filter({ hasText: "Results" }).first());
    await workbench.viewTensor(result.name);
    view = await workbench.webview("#map-actual", result.name);
    await eventually("not computed yet", async () => (await view.locator("#about").textContent()).includes("not yet computed"));
    const [before, then] = [await cell(0, 0), await ordinal()];
    await workbench.key("F10");
    await eventually("the numbers of the pooling", async () => close(await cell(0, 0), result.first[0]) && close(await cell(0, 1), result.first[1]));
    assert.ok((await ordinal()) > then);
    await view.locator("#pin").check();
    await workbench.press("Step Back");
    await workbench.stoppedAt(lines.pool);
    assert.ok(close(await cell(0, 0), result.first[0]), "pinned to the moment behind the pooling");
    await view.locator("#pin").uncheck();
    await eventually("what was there before", async () => (await cell(0, 0)) === before);
    assert.equal(await ordinal(), then);
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
    const themes = [["Default Dark Modern", "dark"], ["Default Light Modern", "light"], ["Dark High Contrast", "contrast"]];
    for (const [theme, name] of themes) {
      await workbench.theme(theme);
      await workbench.shot(`tensor-${name}`);
    }
    const ground = await view.locator("body").evaluate((body) => getComputedStyle(body).color);
    assert.equal(ground, "rgb(255, 255, 255)");
  });
});
