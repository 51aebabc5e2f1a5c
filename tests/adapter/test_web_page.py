"""A web page in a real browser cannot speak to an adapter on a port of the same machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.adapter.test_strangers import attack
from tests.conftest import Toy
from tests.ports import Listening

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PAGE = """<!doctype html><title>page</title><script>
const frames = %(frames)s, there = "127.0.0.1:%(port)d";
const long = "a".repeat(100000);
const send = (path, options) => fetch(`http://${there}/${path}`, { mode: "no-cors", ...options }).catch(String);
const post = { method: "POST", body: frames };
const socket = () => new Promise((done) => {
  const it = new WebSocket(`ws://${there}/${long}`);
  it.onopen = () => it.send(frames);
  it.onclose = it.onerror = () => done();
});
const form = () => new Promise((done) => {
  const [frame, it, area] = ["iframe", "form", "textarea"].map((name) => document.createElement(name));
  frame.name = "target";
  frame.onload = done;
  Object.assign(it, { method: "POST", enctype: "text/plain", action: `http://${there}/${long}`, target: "target" });
  Object.assign(area, { name: "x", value: frames });
  it.append(area);
  document.body.append(frame, it);
  it.submit();
  setTimeout(done, 3000);
});
(async () => {
  await send("", post);
  await send(long, post);
  await send(long.slice(0, 65400), post);
  await send(long, { ...post, headers: { Accept: "b".repeat(100) } });
  await send(long, { ...post, mode: "cors", method: "CONTENT-LENGTH" });
  await send(long, { method: "POST", body: new Blob([frames]) });
  await send(long, { method: "POST", body: new Blob([frames, new Uint8Array(65 << 20)]) });  // longer than any message
  navigator.sendBeacon(`http://${there}/${long}`, frames);
  await send(encodeURIComponent(frames), {});
  await socket();
  document.readyState === "complete" || await new Promise((done) => { onload = done; });
  await form();
  await fetch("/done", { method: "POST" });
})();
</script><body>"""


class Site:
    """Serves one page; ``done``: the page has tried everything."""

    def __init__(self, page: str) -> None:
        self.done = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(page.encode())

            def do_POST(self) -> None:
                self.send_response(204)
                self.end_headers()
                site.done.set()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def adapter() -> Iterator[Listening]:
    running = Listening()
    yield running
    running.close()


def test_a_web_page_cannot_run_code(adapter: Listening, toy: Toy, tmp_path: Path) -> None:
    """Not even one that knows the token: all of its requests begin as no message does."""
    if CHROMIUM is None:
        pytest.fail("there is no Chromium; apt-get install chromium")
    target = tmp_path / "written"
    frames = json.dumps(attack(target, adapter.token).decode())
    site = Site(PAGE % {"frames": frames, "port": adapter.port})
    browser = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--remote-debugging-port=0", site.address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert site.done.wait(120), "the page has not run"
    finally:
        browser.kill()
        browser.wait()
        site.close()
    adapter.attached(toy).close()
    assert not target.exists()
    assert adapter.close().count("a connection is closed: ") >= 8
