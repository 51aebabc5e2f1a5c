"""The page beside the answer of ``check``, for hosts that show pages of MCP Apps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

mcp = pytest.importorskip("mcp")

import anyio  # noqa: E402

from tdb_dap.agent.server import CHECK_VIEW, make_server  # noqa: E402
from tdb_dap.agent.session import Session  # noqa: E402
from tests.pages import needs_browser, title_of  # noqa: E402
from tests.zoo.zoos import model, spoil_reference  # noqa: E402

HOST = """<!doctype html><title>waiting</title><body><script>
const view = %(view)s, page = %(page)s, refuses = %(refuses)s, said = [];
addEventListener("message", ({ data, source }) => {
  said.push(data.method ?? "answer");
  const reply = (more) => source.postMessage({ jsonrpc: "2.0", id: data.id, ...more }, "*");
  if (data.method === "ui/initialize")
    reply({ result: { protocolVersion: data.params.protocolVersion, hostContext: {} } });
  if (data.method === "ui/notifications/initialized")
    source.postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-result",
      params: { content: [{ type: "text", text: "tensors differ" }] } }, "*");
  if (data.method === "resources/read")
    reply(refuses ? { error: { code: -32601, message: "no" } } : { result: { contents: [{ text: page }] } });
  if (data.method === "ui/notifications/size-changed") {
    const shown = frames[0].document;
    const rows = [...shown.querySelectorAll("tbody tr")].map((row) => row.textContent);
    document.title = JSON.stringify({ said, rows, text: shown.body.textContent.slice(0, 4000) });
  }
});
const frame = document.createElement("iframe");
frame.srcdoc = view;
document.body.append(frame);
</script></body>"""
"""What a host does for a view."""


def served(context: Path, asks: bool = True) -> tuple[str, str, dict[str, object]]:
    """The view, the page of the last comparison, and what is said of the tool."""
    found: list[str] = []
    meta: dict[str, object] = {}

    async def story() -> None:
        session = Session([context.parent], may_edit=False)
        try:
            async with mcp.Client(make_server(session)) as agent:
                if asks:
                    reference = f"{context}/ref.npz"
                    await agent.call_tool(
                        "open", {"context": str(context), "inputs": f"{context}/input.npz", "reference": reference}
                    )
                    await agent.call_tool("check", {})
                for uri in (CHECK_VIEW, "tdb://session/check.html"):
                    found.append((await agent.read_resource(uri)).contents[0].text)
                tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
                meta.update(tools["check"].meta or {})
        finally:
            session.close()

    anyio.run(story)
    return found[0], found[1], meta


def test_the_tool_names_its_view_and_the_page_is_of_the_last_check(tmp_path: Path) -> None:
    context = model("toy", tmp_path)
    name = spoil_reference(context)
    view, page, meta = served(context)
    assert meta["ui"] == {"resourceUri": CHECK_VIEW}
    assert "ui/initialize" in view
    assert name in page
    assert "<script src" not in view + page, "a view may load nothing from elsewhere"
    assert "default-src 'none'" in view


def test_before_a_check_the_page_says_so(tmp_path: Path) -> None:
    assert "Nothing has been compared yet" in served(model("toy", tmp_path), asks=False)[1]


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("refuses", [False, True])
def test_a_host_shows_the_comparison(refuses: bool, tmp_path: Path) -> None:
    context = model("toy", tmp_path)
    name = spoil_reference(context)
    view, page, _ = served(context)
    texts = {"view": view, "page": page, "refuses": refuses}
    host = HOST % {key: json.dumps(text).replace("</", "<\\/") for key, text in texts.items()}
    shown = json.loads(title_of(host, tmp_path))
    assert shown["said"][:3] == ["ui/initialize", "ui/notifications/initialized", "resources/read"]
    if refuses:
        assert "The host does not hand out the comparison" in shown["text"]
        assert "tensors differ" in shown["text"]
    else:
        assert any(name in row for row in shown["rows"]), shown["rows"]
