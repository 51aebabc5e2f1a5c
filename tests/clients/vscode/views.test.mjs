// The views of a model in the real VS Code: opened from where a user finds them, followed through a step and back.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample, typeText } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { lines, operand, result } = expected;
const { workbench, step } = await openSample("views", { width: 1600, height: 1000 });
let view;

/** Press a button in the title of a view in the side bar. */
async function titleAction(pane, action) {
  const header = workbench.page.locator(".pane-header", { hasText: pane }).first();
  const button = header.locator(`.action-label[aria-label*="${action}"]`);
  // The buttons are there while the mouse is, and are made anew when what the view says of itself changes.
  await eventually(`the button ${action}`, () => header.hover({ timeout: 3000 }).then(() => button.click({ timeout: 3000 })).then(() => true, () => false));
}

/** Where the workbench says on which line of the editor the keyboard is. */
const keyboardOn = (line) => workbench.page.locator(".statusbar-item", { hasText: `Ln ${line}, Col 1` });

/** Did that work? For what is tried again if not. */
const heard = (action) => action.then(() => true, () => false);

/** One op on; resolves when the program stands elsewhere. */
async function stepOver() {
  const before = (await workbench.yellowLine()).line;
  await workbench.press("Step Over");
  await eventually("the next op", async () => {
    const yellow = await workbench.yellowLine();
    return yellow && yellow.line !== before;
  });
}

async function stepBack(line = lines.pool) {
  await workbench.press("Step Back");
  await workbench.stoppedAt(line);
}

/** Pictures in each theme; `page`: whose accessibility is looked at, too. */
async function inAllThemes(name, page = undefined) {
  for (const [theme, ground] of [["Dark High Contrast", "contrast"], ["Light Modern", "light"], ["Dark Modern", "dark"]]) {
    await workbench.theme(theme);
    await workbench.shot(`${name}-${ground}`);
    if (page === undefined) continue;
    let found = [];
    // A theme reaches the page of a view a little later than the workbench.
    await eventually("nothing to find", async () => (found = await workbench.audit(page)).length === 0, 5000).catch(() => undefined);
    assert.deepEqual(found, [], ground);
  }
}

describe("chip memory", () => {
  const present = () => view.locator(".now").getAttribute("data-ordinal").then(Number);
  const rows = async () => (await view.locator(".present tbody tr").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));

  step("opens from the title of the Variables view and shows what lies where", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    await workbench.key("F5");
    await workbench.stoppedAt(lines.pool);
    await workbench.command("View: Hide Panel");
    await titleAction("Variables", "Show Chip Memory");
    view = await workbench.webview(".resident", operand.name);
    const now = await eventually("the operand", async () => (await rows()).find((text) => text.endsWith(operand.name)));
    assert.match(now, /^0x4000 4 KiB /);
    assert.ok((await rows()).some((text) => text.endsWith(`${result.name} written next`)));
    assert.ok((await rows()).some((text) => text.endsWith("free")));
    assert.equal(await view.locator(`.resident.alive[data-name="${operand.name}"]`).count(), 1);
    assert.ok((await view.locator(".bank").count()) < 16, "empty banks are folded");
    await view.locator(".fold").first().waitFor();
    await view.locator("#folding").uncheck();
    assert.equal(await view.locator(".bank").count(), 16);
    await view.locator("#folding").check();
  });

  step("has a card for the tensor under the pointer, and the moment of the peak", async () => {
    await view.locator(`.resident[data-name="${operand.name}"] rect`).hover();
    await view.locator(".card", { hasText: operand.name }).waitFor();
    assert.match(await view.locator(".card").innerText(), /written by tpu.Conv2D, line \d+\s+1 reader/);
    await view.locator(".legend", { hasText: "in use now" }).waitFor();
    assert.equal(await view.locator("line.peak").count(), 1);
  });

  step("tells of a tensor that is clicked who writes and reads it", async () => {
    await view.locator(`.resident[data-name="${operand.name}"] rect`).click();
    const details = view.locator(".details");
    await eventually("its words", async () => (await details.locator("pre").textContent()).includes("conv.normal"));
    assert.ok((await details.textContent()).includes(typeText(operand)));
    assert.match(await details.locator(".writer").textContent(), new RegExp(`tpu.Conv2D, line ${lines.conv}`));
    assert.match(await details.locator(".reader").first().textContent(), new RegExp(`tpu.Pool2D, line ${lines.pool}`));
  });

  step("follows a step, and the step back", async () => {
    const before = await present();
    await stepOver();
    await eventually("the result", async () => (await rows()).some((text) => text.endsWith(result.name)));
    assert.ok((await present()) > before);
    await stepBack();
    await eventually("the moment before", async () => (await present()) === before);
    assert.ok((await rows()).some((text) => text.endsWith(`${result.name} written next`)));
  });

  step("shows the lanes that the tensors take now", async () => {
    await view.getByLabel("Horizontal axis").selectOption("lanes");
    const rectangle = view.locator(`.resident[data-name="${operand.name}"] rect`);
    const [one, all] = [await rectangle.boundingBox(), await view.locator(".rule").first().boundingBox()];
    assert.ok(Math.abs(one.width - (all.width * operand.shape[1]) / 64) < 2, `${one.width} of ${all.width}`);
    await workbench.shot("memory-lanes");
    await stepOver();
    await eventually("it has gone", async () => (await rectangle.count()) === 0);
    await stepBack();
    await rectangle.waitFor();
    await view.getByLabel("Horizontal axis").selectOption("commands");
  });

  step("shows the other memories, too", async () => {
    await view.getByLabel("Memory", { exact: true }).selectOption({ label: "DDR, activations" });
    await view.locator('.resident[data-name^="softmax"]').waitFor();
    await view.getByLabel("Memory", { exact: true }).selectOption({ label: "local memory of a lane" });
    await view.locator(`.resident[data-name="${operand.name}"] rect`).click();
  });

  step("looks well in light, dark and high contrast", () => inAllThemes("memory", view));

  step("shows the bytes of a tensor as numbers, and edits them", async () => {
    const number = (byte) => view.locator(`.grid td[data-part="number"][data-byte="${byte}"]`);
    const word = (byte) => view.locator(`.grid td[data-part="word"][data-byte="${byte}"]`);
    const is = (cell, text) => eventually(`${text} in ${cell}`, async () => (await cell.textContent()) === text);
    await view.locator(".details button", { hasText: "Bytes" }).click();
    await eventually("the first number", async () => Math.abs(Number(await number(0).textContent()) - operand.first[0]) < 1e-4);
    assert.equal(await view.locator(".grid th").first().textContent(), "R1");
    const before = await number(4).textContent();
    await number(4).click();
    await view.locator(".bytes .status", { hasText: `byte 16,388 of local memory · ${before} · ${operand.name}` }).waitFor();
    await number(4).dblclick();
    await workbench.page.keyboard.type("-2.5");
    await workbench.key("Enter");
    await is(number(4), "-2.5");
    assert.equal(await word(4).textContent(), "c0200000");
    assert.match(await word(4).getAttribute("class"), /changed/);
    for (let i = 0; i < 2; i++) await workbench.key("ArrowLeft"); // over the number before it to its word
    await workbench.key("Enter");
    await workbench.page.keyboard.type("3f800000");
    await workbench.key("Enter");
    await is(number(4), "1.0");
    await inAllThemes("bytes", view);
    await number(4).dblclick();
    await workbench.page.keyboard.type("nonsense");
    await workbench.key("Enter");
    await view.locator(".bytes .trouble", { hasText: "nonsense" }).waitFor();
    await workbench.key("Escape");
    await is(number(4), "1.0");
    await workbench.evaluate("info edits");
    await workbench.console("4 bytes from R1.4 overwritten").waitFor();
    for (const left of ["-2.5", before]) {
      await workbench.evaluate("undo");
      await is(number(4), left);
    }
    await workbench.command("View: Hide Panel");
  });

  step("reads every memory by its address, and follows a step and the step back", async () => {
    const address = view.locator('.bytes input[type="text"]');
    const numbers = async () => (await view.locator(".grid td.number").allTextContents()).join(" ");
    for (const [place, region] of [["S0", "S static memory"], ["L64", "L L2"], ["G0", "G weights"]]) {
      await address.fill(place);
      await address.press("Enter");
      await eventually(region, async () => (await view.locator(".bytes select").first().evaluate((select) => select.selectedOptions[0].text)) === region);
    }
    await address.fill("R99.1.1");
    await address.press("Enter");
    await view.locator(".bytes .trouble", { hasText: "is not an address" }).waitFor();
    await view.locator(".tabs button", { hasText: "Tensors" }).click();
    await view.locator(`.present button`, { hasText: result.name }).click();
    await view.locator(".details button", { hasText: "Bytes" }).click();
    await eventually("its place", async () => (await view.locator(".grid th").first().textContent()) === "R0.4096");
    const before = await numbers();
    await stepOver();
    await eventually("the result", async () => Math.abs(Number((await numbers()).split(" ")[0]) - result.first[0]) < 1e-4);
    assert.ok((await view.locator(".grid td.changed").count()) > 0);
    await stepBack();
    await eventually("what lay there before", async () => (await numbers()) === before);
    await view.locator(".tabs button", { hasText: "Tensors" }).click();
    await view.locator(`.resident[data-name="${operand.name}"] rect`).click();
  });

  step("goes to the line of the writer", async () => {
    await view.locator(".writer button").first().click();
    await workbench.cursorAt(lines.conv);
    await workbench.keyboardInPage();
  });
});

describe("the compare panel", () => {
  const panel = () => workbench.page.locator(".pane", { has: workbench.page.locator(".pane-header", { hasText: "Compare" }) }).last();
  const rows = () => panel().locator(".monaco-list-row");
  // The buttons of the toolbar are in Run and Debug.
  const over = () => workbench.key("F10");
  const back = () => workbench.key("Control+F10");
  const labels = () => rows().evaluateAll((all) => all.map((row) => row.getAttribute("aria-label")));
  const has = (pattern) => eventually(`a row like ${pattern}`, async () => (await labels()).find((label) => pattern.test(label)));
  const hasNot = (pattern) => eventually(`no row like ${pattern}`, async () => !(await labels()).some((label) => pattern.test(label)));

  step("is in the container TPU, with a verdict for each op up to now", async () => {
    await workbench.openContainer();
    await workbench.fold("Models");
    await workbench.fold("Compare", true);
    await has(/^tpu\.Conv2D relu4_Relu, as expected, cosine 1\.0000/);
    await hasNot(/tpu\.Pool2D/);
    await panel().locator(".message", { hasText: "as expected" }).waitFor();
  });

  step("follows a step, and the step back", async () => {
    await over();
    await has(/^tpu\.Pool2D maxpool5_MaxPool, as expected/);
    await back();
    await workbench.stoppedAt(lines.pool);
    await hasNot(/tpu\.Pool2D/);
  });

  step("shows what differs, the first of it marked, and all if asked", async () => {
    await workbench.evaluate("set in[0] = in[0] * 0");
    await workbench.command("View: Hide Panel");
    await over();
    await has(/tpu\.Pool2D maxpool5_MaxPool, differs/);
    await hasNot(/as expected/);
    await has(/first to differ/);
    await inAllThemes("compare");
    // The first row may be made anew when the button is pressed, or the button itself, which then hears nothing.
    await eventually("the line of the first op", async () => {
      await titleAction("Compare", "Go to the First Op That Differs");
      return heard(keyboardOn(lines.pool).waitFor({ timeout: 3000 }));
    });
    await titleAction("Compare", "Show All Ops");
    await has(/as expected/);
  });

  step("goes to the line of an op, and travels there", async () => {
    const conv = rows().filter({ hasText: "tpu.Conv2D" }).first();
    const place = keyboardOn(lines.conv);
    const travel = conv.locator('.action-label[aria-label*="Travel Here"]');
    // A row is made anew when the tree is, and then takes neither the click nor the pointer that has come before.
    await eventually("the line of the op", () => heard(conv.click({ timeout: 3000 }).then(() => place.waitFor({ timeout: 3000 }))));
    await eventually("the way there", () => heard(conv.hover({ timeout: 3000 }).then(() => travel.click({ timeout: 3000 }))));
    await workbench.stoppedAt(lines.conv);
    await hasNot(/tpu\.Conv2D relu4_Relu/);
    await workbench.command("View: Show Run and Debug");
    for (const pane of ["Watch", "Breakpoints", "Loaded Scripts"]) await workbench.fold(pane);
  });
});

describe("the table of compared tensors", () => {
  const rows = () => view.locator("tbody tr").allInnerTexts();

  step("opens from the title of Compare, with every metric of every tensor", async () => {
    await workbench.openContainer();
    await titleAction("Compare", "Show Compare Table");
    // VS Code sometimes leaves a page blank; the extension loads it again.
    view = await workbench.webview("th", "max ulp", 30_000);
    await workbench.command("View: Show Run and Debug");
    await eventually("the loads", async () => (await rows()).some((text) => text.includes("Load")));
    await eventually("nothing that differs", async () => (await view.locator(".pinned").innerText()) === "");
  });

  step("pins the first that differs, however it is sorted and filtered", async () => {
    await workbench.evaluate("set in[0] = in[0] * 0");
    await workbench.command("View: Hide Panel");
    await workbench.press("Step Over");
    await workbench.page.locator(".exception-widget").waitFor(); // a result that differs is a reason to stop
    await view.locator(".pinned", { hasText: "First to differ:" }).waitFor();
    await view.locator("th button", { hasText: "cosine" }).click();
    assert.match((await rows())[0], /differs|first to differ/);
    await view.getByLabel("only what differs").check();
    await eventually("those alone", async () => (await rows()).every((text) => /differ/.test(text)));
    await view.getByPlaceholder("Filter").fill("no such tensor");
    await eventually("none", async () => (await rows()).length === 0);
    await view.getByPlaceholder("Filter").fill("");
    await inAllThemes("compare-table", view);
  });

  step("leads from a row to the tensor, its reference and the error", async () => {
    await view.locator("tbody tr", { hasText: "relu4_Relu" }).first().click();
    await view.locator(".details button", { hasText: "actual, reference, error" }).click();
    const tensor = await workbench.webview("#map-error", "relu4_Relu");
    assert.equal(await tensor.locator("#pin").isChecked(), true);
    await inAllThemes("tensor", tensor);
    await workbench.command("View: Close Editor");
    await stepBack(lines.conv);
    await workbench.evaluate("undo");
    // The editor in front is another one now: VS Code may have made the page anew.
    await eventually("nothing that differs", async () => {
      view = await workbench.webview("th", "max ulp");
      return (await view.locator(".pinned").innerText().catch(() => undefined)) === "";
    });
    await workbench.key("Control+J"); // closes the panel; the palette loses the focus to what follows the edit
  });
});

describe("the graph", () => {
  const current = () => view.locator(".node.current").evaluateAll((all) => all.map((node) => Number(node.dataset.line)));
  const fill = (line) => view.locator(`.node[data-line="${line}"] rect`).getAttribute("fill");

  step("opens from the title of the Call Stack, with the op that runs next", async () => {
    await titleAction("Call Stack", "Show Graph");
    view = await workbench.webview(".node", "MaxPool");
    await eventually("the convolution", async () => (await current()).includes(lines.conv));
    assert.ok((await view.locator(".node").count()) > 10);
    assert.deepEqual(await view.locator(".frame").evaluateAll((all) => all.map(({ dataset }) => dataset.title)), ["subfunc_0", "layer group, line 16"]);
    assert.match(await view.locator(`.node[data-line="${lines.pool}"] .type`).textContent(), /^f32\[1,16,16,16\]$/);
  });

  step("follows a step, and the step back", async () => {
    await stepOver();
    await eventually("another op", async () => (await current()).includes(lines.pool));
    await stepBack(lines.conv);
    await eventually("the convolution again", async () => (await current()).includes(lines.conv));
  });

  step("is coloured by number format, time or verdict", async () => {
    const plain = await fill(lines.conv);
    assert.equal(plain, await fill(lines.pool));
    await view.locator("select").selectOption("time");
    await eventually("another colour", async () => (await fill(lines.conv)) !== plain);
    assert.notEqual(await fill(lines.conv), await fill(lines.pool));
    await inAllThemes("graph", view);
    await stepOver();
    await view.locator("select").selectOption("verdict");
    await eventually("green", async () => (await fill(lines.conv)) === "#c9ecc3");
    assert.equal(await fill(lines.last), "#eeeeee");
    await stepBack(lines.conv);
  });

  step("goes to the line of an op, by mouse and by keyboard", async () => {
    await view.locator(`.node[data-line="${lines.pool}"] rect`).click();
    await workbench.cursorAt(lines.pool);
    await workbench.keyboardInPage();
    await view.locator("svg[role=application]").focus();
    await workbench.key("ArrowUp");
    await workbench.key("Enter");
    await keyboardOn(lines.conv).waitFor();
  });
});

describe("the timeline", () => {
  const canvas = () => view.locator("canvas");
  const moment = () => canvas().evaluate(({ dataset }) => ({ ordinal: Number(dataset.ordinal), x: Number(dataset.x) }));
  /** The colour of the drawing between its rows, where only the line of the present moment is. */
  const pixel = (x) => canvas().evaluate((element, x) => [...element.getContext("2d").getImageData(x, element.height - 2, 1, 1).data].join(), x);
  const current = () => view.locator("tr.current").evaluateAll((all) => all.map((row) => Number(row.dataset.line)));

  step("opens from the title of the Call Stack, with the ops by time beside it", async () => {
    await titleAction("Call Stack", "Show Timeline");
    view = await workbench.webview("canvas[data-ordinal]", "relu4_Relu");
    await view.locator(".status", { hasText: "4,911 cycles" }).waitFor();
    const [first] = await view.locator(".ranking tbody tr").allInnerTexts();
    assert.match(first.replace(/\s+/g, " "), /^Conv2D relu4_Relu 1,856 0 31\.7%/);
    assert.deepEqual(await current(), [lines.conv]);
  });

  step("follows a step, and the step back", async () => {
    const before = await moment();
    const mark = await pixel(before.x);
    assert.notEqual(await pixel(before.x + 4), mark);
    await stepOver();
    const later = await eventually("a later moment", async () => ((await moment()).ordinal > before.ordinal ? moment() : undefined));
    assert.ok(later.x > before.x);
    assert.equal(await pixel(later.x), mark);
    assert.notEqual(await pixel(before.x), mark);
    await stepBack(lines.conv);
    await eventually("the moment before", async () => (await moment()).ordinal === before.ordinal);
    assert.equal(await pixel(before.x), mark);
  });

  step("tells of an op by mouse and keyboard, and goes to its line", async () => {
    await view.locator(".ranking button", { hasText: "maxpool5_MaxPool" }).click();
    await view.locator(".about", { hasText: "tpu.Pool2D maxpool5_MaxPool" }).waitFor();
    await workbench.cursorAt(lines.pool);
    await workbench.keyboardInPage();
    await canvas().focus();
    await workbench.key("ArrowLeft");
    await view.locator(".about", { hasText: "tpu.Conv2D relu4_Relu" }).waitFor();
    await workbench.key("Enter");
    await keyboardOn(lines.conv).waitFor();
    await canvas().focus();
    await workbench.key("ArrowDown");
    await view.locator(".about", { hasText: "conv.normal" }).waitFor();
    await view.locator(".about button", { hasText: "travel" }).waitFor();
  });

  step("looks well in light, dark and high contrast", () => inAllThemes("timeline", view));
});
