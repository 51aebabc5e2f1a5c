"""Style and script of the HTML report. The script builds tables and pictures from data; names are only ever text."""

from __future__ import annotations

import json

STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1.5em; color: #1a1a1a; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
.head { padding: .7em 1em; border-radius: 6px; font-weight: 600; }
.head.pass { background: #e2f4e5; } .head.fail { background: #fbe3e1; } .head.drift { background: #fff0cc; }
table { border-collapse: collapse; width: 100%; font-size: 12.5px; }
th, td { text-align: left; padding: .25em .6em; border-bottom: 1px solid #e4e4e4; vertical-align: top;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
td.wide { white-space: normal; overflow-wrap: anywhere; }
th { position: sticky; top: 0; background: #fff; cursor: pointer; }
th[aria-sort=ascending]::after { content: " \\25b4"; } th[aria-sort=descending]::after { content: " \\25be"; }
tr.fail td.verdict { color: #b3261e; font-weight: 600; }
tr.unknown td, tr.excepted td { color: #777; }
.bar { margin: .5em 0; } .bar > * { font: inherit; margin-right: .8em; }
article { border: 1px solid #e4e4e4; border-radius: 6px; padding: .8em 1em; margin: .8em 0; }
article.culprit { border: 2px solid #b3261e; }
article pre { margin: .2em 0 .8em; white-space: pre-wrap; overflow-wrap: anywhere; }
figure { display: inline-block; margin: 0 2em .5em 0; vertical-align: top; }
figcaption { font-size: 12px; color: #555; }
.plot { display: block; margin: 1em 0; }
canvas { border: 1px solid #ccc; image-rendering: pixelated; }
.depth { width: 100%; height: auto; } .depth text { font-size: 11px; fill: #555; } .depth line { stroke: #e4e4e4; }
.depth circle { r: 3px; fill: #8fa3bf; } .depth .fail { fill: #e39a2d; } .depth .fault { fill: #b3261e; r: 5px; }
.depth a:hover circle { stroke: #000; }
.source { font: 12px/1.5 ui-monospace, monospace; overflow-x: auto; background: #fafafa; padding: .5em;
  counter-reset: line; }
.source div { white-space: pre; counter-increment: line; }
.source div::before { content: counter(line); color: #999; display: inline-block; width: 4em; }
.source div:target { background: #fff3bf; } .source .fail { background: #fbe3e1; }
"""

SCRIPT = """
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 500;
function make(tag, parent, text) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}
function show(holder, { columns, links, wide, verdict, rows }) {
  const texts = data.texts;
  const value = (row, i) => (Array.isArray(row[i]) ? texts[row[i][0]] : row[i]);
  const bar = make("div", holder);
  bar.className = "bar";
  const field = make("input", bar);
  field.type = "search";
  field.placeholder = "filter";
  const choice = make("select", bar);
  for (const word of ["all", ...new Set(rows.map((row) => value(row, verdict)))]) make("option", choice, word);
  const count = make("output", bar);
  const table = make("table", holder), head = make("tr", make("thead", table)), body = make("tbody", table);
  const more = make("button", holder, "more");
  let order = [...rows.keys()], by = -1, up = true, shown = PAGE, found = [];
  columns.forEach((name, i) => {
    make("th", head, name).addEventListener("click", () => {
      up = by === i ? !up : true;
      by = i;
      const number = (text) => (text.trim() === "" ? NaN : Number(text.replace("%", "")));
      const key = rows.map((row) => String(value(row, i) ?? ""));
      const compare = (a, b) => {
        const p = number(key[a]), q = number(key[b]);
        if (!isNaN(p) && !isNaN(q)) return p - q || a - b;
        if (isNaN(p) !== isNaN(q)) return isNaN(p) ? 1 : -1;
        return key[a].localeCompare(key[b]) || a - b;
      };
      order = [...rows.keys()].sort((a, b) => (up ? compare(a, b) : compare(b, a)));
      [...head.children].forEach((cell, j) => { cell.ariaSort = j === i ? (up ? "ascending" : "descending") : null; });
      draw();
    });
  });
  function draw() {
    const wanted = field.value.toLowerCase(), kind = choice.value;
    found = order.filter((at) => {
      const row = rows[at];
      if (kind !== "all" && value(row, verdict) !== kind) return false;
      return !wanted || columns.some((_, i) => String(value(row, i) ?? "").toLowerCase().includes(wanted));
    });
    body.replaceChildren(...found.slice(0, shown).map((at) => line(rows[at])));
    count.textContent = found.length === rows.length ? `${rows.length} rows` : `${found.length} of ${rows.length} rows`;
    more.hidden = found.length <= shown;
  }
  function line(row) {
    const tr = make("tr");
    tr.className = value(row, verdict);
    columns.forEach((_, i) => {
      const text = String(value(row, i) ?? ""), cell = make("td", tr);
      if (i === wide || i === columns.length - 1) cell.className = "wide";
      if (i === verdict) cell.className = "verdict";
      if (i !== links) { cell.textContent = text; return; }
      text.split(", ").forEach((number, k) => {
        if (k) cell.append(", ");
        if (/^[0-9]+$/.test(number)) make("a", cell, number).href = `#L${number}`;
        else cell.append(number);
      });
    });
    return tr;
  }
  field.addEventListener("input", () => { shown = PAGE; draw(); });
  choice.addEventListener("change", () => { shown = PAGE; draw(); });
  more.addEventListener("click", () => { shown += PAGE; draw(); });
  draw();
}
const level = (letter) => LEVELS.indexOf(letter);
const error = (letter) => (letter === "." ? 0 : letter === "!" ? Infinity : 10 ** (level(letter) / 4 - 8));
function colour(letter) {
  if (letter === "!") return "#7b2cbf";
  if (letter === ".") return "#ffffff";
  const height = Math.min(Math.max((level(letter) / 4 - 2) / 6, 0.05), 1);
  return `hsl(${60 - 60 * height} 90% ${92 - 52 * height}%)`;
}
function heat(holder, lines) {
  const figure = make("figure", holder), canvas = make("canvas", figure);
  canvas.width = Math.max(...lines.map((line) => line.length), 1);
  canvas.height = lines.length;
  canvas.style.width = `${9 * canvas.width}px`;
  canvas.style.height = `${9 * canvas.height}px`;
  const drawing = canvas.getContext("2d");
  lines.forEach((line, y) => [...line].forEach((letter, x) => {
    drawing.fillStyle = colour(letter);
    drawing.fillRect(x, y, 1, 1);
  }));
  canvas.addEventListener("mousemove", (event) => {
    const letter = (lines[Math.floor(event.offsetY / 9)] ?? "")[Math.floor(event.offsetX / 9)];
    canvas.title = letter === undefined ? "" : error(letter).toPrecision(2);
  });
  make("figcaption", figure, "Largest relative error; down: channels, across: the rest");
}
function histogram(holder, counts) {
  const figure = make("figure", holder), canvas = make("canvas", figure), highest = Math.max(...counts, 1);
  canvas.width = 26 * counts.length;
  canvas.height = 116;
  const drawing = canvas.getContext("2d");
  drawing.font = "9px sans-serif";
  drawing.textAlign = "center";
  counts.forEach((count, i) => {
    const length = count ? Math.max(Math.round((90 * count) / highest), 1) : 0;
    drawing.fillStyle = "#4a6fa5";
    drawing.fillRect(26 * i, 100 - length, 22, length);
    drawing.fillStyle = "#555";
    drawing.fillText(data.bins[i], 26 * i + 11, 112);
  });
  canvas.addEventListener("mousemove", (event) => {
    canvas.title = String(counts[Math.floor(event.offsetX / 26)] ?? "");
  });
  make("figcaption", figure, "Elements by relative error (up to)");
}
for (const [id, table] of Object.entries(data.tables)) show(document.getElementById(id), table);
const waiting = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    waiting.unobserve(target);
    const [lines, counts] = data.pictures[Number(target.dataset.picture)];
    heat(target, lines);
    histogram(target, counts);
  }
});
for (const article of document.querySelectorAll("[data-picture]")) waiting.observe(article);
"""

LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Letters for errors: a quarter of a power of ten each, from 1e-8 on."""


def embedded(value: object) -> str:
    """Data as a script element; no text in it can end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="data">{text}</script>'


def script() -> str:
    """The script element that shows what is ``embedded``."""
    return f"<script>const LEVELS = {json.dumps(LEVELS)};{SCRIPT}</script>"
