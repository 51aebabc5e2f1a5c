"""The page around the picture of a graph."""

from __future__ import annotations

from html import escape


def html(picture: str, title: str) -> str:
    """A page around a picture: wheel and drag to zoom and move, a field to find nodes."""
    return _PAGE.replace("@TITLE@", escape(title)).replace("@PICTURE@", picture)


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title><style>
html, body { margin: 0; height: 100%; font: 14px system-ui, sans-serif; }
header { position: fixed; top: 0; left: 0; right: 0; padding: .5em 1em; background: #fffd; z-index: 1; }
input { font: inherit; padding: .2em .5em; }
main { height: 100%; overflow: hidden; cursor: grab; }
svg { transform-origin: 0 0; }
.found rect { stroke: #d00; stroke-width: 3; }
</style></head><body>
<header>
<b>@TITLE@</b> <label>find <input type="search" placeholder="op, name or L22"></label> <output></output>
</header>
<main>@PICTURE@</main>
<script>
"use strict";
const view = document.querySelector("main"), picture = view.querySelector("svg");
let x = 20, y = 60, scale = 1, held = null;
function place() { picture.style.transform = `translate(${x}px, ${y}px) scale(${scale})`; }
view.addEventListener("wheel", (event) => {
  event.preventDefault();
  const factor = Math.exp(-event.deltaY / 500);
  x = event.clientX - (event.clientX - x) * factor;
  y = event.clientY - (event.clientY - y) * factor;
  scale *= factor;
  place();
}, { passive: false });
view.addEventListener("pointerdown", (event) => { held = [event.clientX - x, event.clientY - y]; });
view.addEventListener("pointermove", (event) => {
  if (held && event.buttons) { x = event.clientX - held[0]; y = event.clientY - held[1]; place(); }
});
const field = document.querySelector("input"), count = document.querySelector("output");
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  const found = [...picture.querySelectorAll(".node")].filter((node) => {
    const hit = wanted && (node.textContent.toLowerCase().includes(wanted) || node.id.toLowerCase() === wanted);
    node.classList.toggle("found", Boolean(hit));
    return hit;
  });
  count.textContent = wanted ? `${found.length} found` : "";
  if (found.length) {
    const box = found[0].getBoundingClientRect();
    x += innerWidth / 2 - box.x - box.width / 2;
    y += innerHeight / 2 - box.y - box.height / 2;
    place();
  }
});
place();
</script></body></html>
"""
