"""Style and script of the page. The script builds everything from data; names are only ever text."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1b1b1f; --dim: #5c5c66; --line: #dcdce2; --soft: #f4f4f7;
  --pass: #d5ecd8; --fail: #f6c7c2; --error: #f3d9a4; --other: #dccbf0; --bad: #a3231a; --good: #1d6b2c;
  --link: #1a56b0; }
@media (prefers-color-scheme: dark) { :root { --back: #17181c; --text: #e6e6ea; --dim: #a3a3ad; --line: #36373f;
  --soft: #22232a; --pass: #1f4427; --fail: #6d2620; --error: #5c4310; --other: #432d61; --bad: #ff9d94;
  --good: #86d693; --link: #8ab4ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 1rem 1.2rem 4rem; }
h1 { font-size: 1.35rem; margin: .2rem 0; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
p { margin: .3rem 0; } .dim { color: var(--dim); } .bad { color: var(--bad); } .good { color: var(--good); }
.head { font-weight: 600; font-size: 1.05rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .22rem .55rem; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { background: var(--soft); white-space: nowrap; }
td.name { overflow-wrap: anywhere; min-width: 9rem; }
.matrix td { text-align: center; border: 1px solid var(--back); min-width: 3.6rem; }
.matrix td.name { text-align: left; white-space: nowrap; position: sticky; left: 0; background: var(--back);
  max-width: 45vw; overflow: hidden; text-overflow: ellipsis; }
td.name button { text-align: left; }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px;
  padding: .1rem .5rem; cursor: pointer; }
td button { border: 0; padding: 0 .2rem; width: 100%; font-size: 12px; }
button:hover { text-decoration: underline; } :focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
input, select { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line);
  border-radius: 4px; padding: .2rem .4rem; margin-right: .5rem; max-width: 100%; }
.s0 { background: var(--pass); } .s1 { background: var(--fail); } .s2 { background: var(--error); }
.s3, .s4, .s5 { background: var(--other); }
code { font: 12.5px ui-monospace, monospace; background: var(--soft); padding: .15rem .4rem; border-radius: 4px;
  overflow-wrap: anywhere; display: inline-block; }
dialog { color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 8px; max-width: 60rem;
  width: calc(100% - 2rem); max-height: 90vh; }
canvas { image-rendering: pixelated; border: 1px solid var(--line); }
figure { display: inline-block; margin: .3rem 1rem .3rem 0; } figcaption { font-size: 12px; color: var(--dim); }
.trend { display: flex; align-items: flex-end; gap: 2px; height: 70px; } .trend > div { width: 14px; display: flex;
  flex-direction: column-reverse; height: 100%; }
"""

SCRIPT = """
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const T = data.texts, S = data.statuses, PAGE = 50;
const KEY = 0, MODEL = 1, COLUMN = 2, STATUS = 3, CHANGE = 4, SECONDS = 5, WAS = 6, DETAIL = 7, COUNTS = 8;
const main = document.querySelector("main");
function make(tag, parent, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  if (parent) parent.append(element);
  return element;
}
const number = (value) => value.toLocaleString("en");
function table(parent, titles) {
  const whole = make("table", make("div", parent, undefined, "scroll"));
  const head = make("tr", make("thead", whole));
  for (const title of titles) make("th", head, title).scope = "col";
  return make("tbody", whole);
}
function line(body, cells) {
  const row = make("tr", body);
  cells.forEach((cell, i) => make("td", row, String(cell), i === 0 ? "name" : ""));
  return row;
}
function seconds(row) {
  const now = row[SECONDS], was = row[WAS];
  return now.toFixed(1) + " s" + (was > 0 && Math.abs(now - was) > 0.2 * was ? ` (was ${was.toFixed(1)} s)` : "");
}
function picture(parent, name, rows) {
  const figure = make("figure", parent), canvas = make("canvas", figure);
  make("figcaption", figure, name + ": errors, rows are channels");
  const width = Math.max(1, ...rows.map((row) => row.length));
  canvas.width = width; canvas.height = Math.max(1, rows.length);
  canvas.style.width = Math.min(400, Math.max(120, 6 * width)) + "px";
  canvas.style.height = Math.min(200, Math.max(30, 6 * rows.length)) + "px";
  const image = canvas.getContext("2d"), most = Math.max(1e-12, ...rows.flat().filter(Number.isFinite));
  rows.forEach((row, y) => row.forEach((value, x) => {
    const part = value === 0 ? 0 : Number.isFinite(value) ? 0.25 + 0.75 * value / most : 1;
    image.fillStyle = `hsl(10 75% ${Math.round(96 - 60 * part)}%)`;
    image.fillRect(x, y, 1, 1);
  }));
}
const dialog = make("dialog");
document.body.append(dialog);
function open(row) {
  dialog.replaceChildren();
  const bar = make("p", dialog), close = make("button", bar, "Close");
  close.onclick = () => dialog.close();
  make("h1", dialog, T[row[KEY]]);
  make("p", dialog, `${T[row[MODEL]]}, ${T[row[COLUMN]]}: ${S[row[STATUS]]} in ${seconds(row)}`);
  const detail = data.details[row[DETAIL]];
  if (!detail) {
    make("p", dialog, row[STATUS] ? "The page holds the details of the first cases only; the store has the rest."
      : "Nothing is wrong and nothing has changed.", "dim");
  } else {
    if (detail.was && detail.was !== S[row[STATUS]]) make("p", dialog, `It was: ${detail.was}.`);
    if (detail.text) make("p", dialog, detail.text, "bad");
    if (detail.command) { make("p", dialog, "See it with"); make("code", dialog, detail.command); }
    if (detail.wrong.length) {
      make("h2", dialog, "Findings");
      const body = table(dialog, ["What", "Kind", ""]);
      for (const [rule, text, isNew, tolerated] of detail.wrong)
        line(body, [text, rule, tolerated ? "tolerated" : isNew && data.before ? "new" : ""]);
      if (detail.more) make("p", dialog, `and ${number(detail.more)} more`, "dim");
    }
    if (detail.ops.length) {
      make("h2", dialog, "Ops");
      const body = table(dialog, ["Tensor", "Op", "Line", "Verdict", "Cosine", "Largest error", "Was"]);
      for (const [at, opcode, name, verdict, cosine, error, was] of detail.ops)
        line(body, [name, opcode, at || "", verdict, cosine === null ? "" : cosine.toFixed(6),
          error === null ? "" : error.toPrecision(3), was]);
      for (const [name, rows] of detail.pictures) picture(dialog, name, rows);
    }
  }
  dialog.showModal();
}
function counted(counts) {
  return counts.map((n, i) => [n, S[i]]).filter(([n]) => n).map(([n, name]) => `${number(n)} ${name}`).join(", ");
}
function head() {
  const counts = S.map(() => 0);
  for (const row of data.rows) counts[row[STATUS]]++;
  make("h1", main, `${data.name}: run ${data.run}`);
  make("p", main, `${data.started}, ${data.tool}` +
    (data.before ? `; beside run ${data.before.run} of ${data.before.started}` : ""), "dim");
  const things = data.failures === 1 ? "thing is" : "things are";
  const outcome = data.failures ? `${number(data.failures)} new ${things} wrong` : "nothing new is wrong";
  make("p", main, `${outcome}: ${number(data.rows.length)} cases, ${counted(counts)}.`,
    "head " + (data.failures ? "bad" : "good"));
  const part = `${number(data.rows.length)} of ${number(data.expected)} cases`;
  if (!data.complete) make("p", main, `The run has not come to its end: ${part}.`, "bad");
  if (data.gone.length) make("p", main, `Not run any more: ${data.gone.join(", ")}.`);
}
function changes() {
  const rows = data.rows.filter((row) => T[row[CHANGE]]);
  if (!data.before) return;
  make("h2", main, "What changed");
  if (!rows.length) { make("p", main, "No case comes out differently.", "dim"); return; }
  const order = ["broken", "worse", "new", "better", "mended"];
  rows.sort((a, b) => b[COUNTS] - a[COUNTS] || order.indexOf(T[a[CHANGE]]) - order.indexOf(T[b[CHANGE]]));
  const body = table(main, ["Case", "Change", "Status", "Time"]);
  for (const row of rows.slice(0, 40)) {
    const shown = line(body, ["", T[row[CHANGE]], S[row[STATUS]], seconds(row)]);
    shown.children[2].className = "s" + row[STATUS];
    make("button", shown.children[0], T[row[KEY]]).onclick = () => open(row);
  }
  const more = `and ${number(rows.length - 40)} more: choose "changed" below`;
  if (rows.length > 40) make("p", main, more, "dim");
}
function matrix() {
  make("h2", main, "Models");
  const bar = make("p", main), field = make("input", bar), choice = make("select", bar);
  field.type = "search"; field.placeholder = "filter by name"; field.setAttribute("aria-label", "Filter by name");
  choice.setAttribute("aria-label", "Which models");
  for (const word of ["all models", "not passed", "changed", "new and wrong"]) make("option", choice, word);
  const told = make("span", bar, "", "dim"), holder = make("div", main);
  const all = [...new Set(data.rows.map((row) => T[row[COLUMN]]))].sort();
  const columns = all.slice(0, data.columns);
  const models = new Map();
  for (const row of data.rows) {
    const name = T[row[MODEL]];
    if (!models.has(name)) models.set(name, { rows: new Map(), worst: 0, changed: false, counts: false, keys: [] });
    const model = models.get(name), column = T[row[COLUMN]];
    if (!model.rows.has(column)) model.rows.set(column, []);
    model.rows.get(column).push(row);
    model.worst = Math.max(model.worst, row[STATUS]);
    model.changed ||= T[row[CHANGE]] !== "";
    model.counts ||= row[COUNTS] === 1;
  }
  const order = [...models].sort(([a, x], [b, y]) => y.counts - x.counts || y.worst - x.worst || (a < b ? -1 : 1));
  let shown = PAGE;
  function draw() {
    const wanted = field.value.toLowerCase(), kind = choice.selectedIndex;
    const found = order.filter(([name, model]) => (kind === 0 || (kind === 1 && model.worst > 0) ||
      (kind === 2 && model.changed) || (kind === 3 && model.counts)) && (!wanted || name.toLowerCase().includes(wanted)
      || [...model.rows.values()].some((rows) => rows.some((row) => T[row[KEY]].toLowerCase().includes(wanted)))));
    holder.replaceChildren();
    told.textContent = `${number(Math.min(shown, found.length))} of ${number(found.length)} models` +
      (all.length > columns.length ? `; ${all.length - columns.length} columns are left out` : "");
    const body = table(holder, ["Model", ...columns]);
    body.parentElement.className = "matrix";
    for (const [name, model] of found.slice(0, shown)) {
      const row = make("tr", body);
      make("td", row, name, "name").title = name;
      for (const column of columns) {
        const cases = model.rows.get(column);
        if (!cases) { make("td", row); continue; }
        const worst = cases.reduce((a, b) => (b[STATUS] > a[STATUS] ? b : a));
        const cell = make("td", row, undefined, "s" + worst[STATUS]);
        const alike = cases.filter((one) => one[STATUS] === worst[STATUS]).length;
        const button = make("button", cell, S[worst[STATUS]] + (T[worst[CHANGE]] ? " *" : "") +
          (cases.length > 1 ? ` (${alike}/${cases.length})` : ""));
        button.title = T[worst[KEY]] + (T[worst[CHANGE]] ? ", " + T[worst[CHANGE]] : "");
        button.onclick = () => (cases.length > 1 ? choose(cases) : open(worst));
      }
    }
    if (found.length > shown) make("button", holder, "Show more").onclick = () => { shown += PAGE; draw(); };
  }
  field.oninput = choice.onchange = () => { shown = PAGE; draw(); };
  draw();
}
function choose(cases) {
  dialog.replaceChildren();
  make("button", make("p", dialog), "Close").onclick = () => dialog.close();
  const body = table(dialog, ["Case", "Status", "Time"]);
  for (const row of cases) {
    const shown = line(body, ["", S[row[STATUS]], seconds(row)]);
    shown.children[1].className = "s" + row[STATUS];
    make("button", shown.children[0], T[row[KEY]]).onclick = () => { dialog.close(); open(row); };
  }
  dialog.showModal();
}
function lists() {
  if (data.trend.length > 1) {
    make("h2", main, "Runs");
    const bars = make("div", main, undefined, "trend");
    for (const [run, started, counts] of data.trend) {
      const bar = make("div", bars), total = counts.reduce((a, b) => a + b, 0) || 1;
      bar.title = `run ${run}, ${started}: ${counted(counts)}`;
      counts.forEach((n, i) => { make("div", bar, undefined, "s" + i).style.height = 100 * n / total + "%"; });
    }
    const [run, , counts] = data.trend.at(-2);
    make("p", main, `Run ${run}: ${counted(counts)}`, "dim");
  }
  if (data.expired.length) {
    make("h2", main, "Tolerated no more");
    const body = table(main, ["Case", "What", "Owner", "Until"]);
    for (const entry of data.expired) line(body, entry);
  }
  if (data.tolerated.length) {
    make("h2", main, "Tolerated");
    const body = table(main, ["Case", "What", "Owner", "Until"]);
    for (const entry of data.tolerated) line(body, entry);
  }
  if (data.flaky.length) {
    make("h2", main, "Not the same twice");
    make("p", main, "The same files came out differently in the last runs.", "dim");
    const body = table(main, ["Case", "Last runs"]);
    for (const entry of data.flaky) line(body, entry);
  }
  make("h2", main, "Slowest");
  const body = table(main, ["Case", "Time", "Status"]);
  for (const i of data.slowest) line(body, [T[data.rows[i][KEY]], seconds(data.rows[i]), S[data.rows[i][STATUS]]]);
}
head(); changes(); matrix(); lists();
"""
