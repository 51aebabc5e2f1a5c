"""Pages of reports: the data in them, and what a headless browser shows."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")

_HOST = """<!doctype html><title>waiting</title><body><script>
const said = [], frame = document.createElement("iframe");
frame.style = "width: 1200px; height: 4000px";
frame.srcdoc = %s;
frame.onload = async () => {
  const page = frame.contentDocument;
  await new Promise((done) => setTimeout(done, 500)); // what waits for being in sight is drawn
  try { %s } catch (error) { said.push(String(error)); }
  document.title = JSON.stringify([page.title, said]);
};
document.body.append(frame);
</script></body>"""


def data_of(page: str) -> dict[str, Any]:
    """The data in a page."""
    start = page.index('id="data">') + len('id="data">')
    found: dict[str, Any] = json.loads(page[start : page.index("</script>", start)])
    return found


def seen(page: str, look: str, folder: Path) -> list[Any]:
    """What ``look``, a script with the document ``page``, puts into the list ``said``.

    It runs outside of the page, whose policy lets no other script run. The page's title must still be its own.
    """
    text = json.dumps(page).replace("</", "<\\/").replace("<!--", "<\\!--")
    title, said = json.loads(title_of(_HOST % (text, look), folder))
    written = re.search("<title>(.*?)</title>", page)
    assert written
    assert title == html.unescape(written[1])
    return list(said)


def title_of(page: str, folder: Path) -> str:
    """The title of a page after its scripts have run."""
    (folder / "host.html").write_text(page, "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    command = [str(CHROMIUM), *options, f"--user-data-dir={folder / 'profile'}", (folder / "host.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    title = re.search("<title>(.*?)</title>", done.stdout, re.S)
    assert title, done.stderr[-500:]
    return html.unescape(title[1])
