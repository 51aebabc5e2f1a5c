"""The server: the tools under their names, over standard input and output or HTTP."""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from msgspec import Struct

from tdb_dap.agent.answers import NEXT_LINE, RULES, Answer
from tdb_dap.agent.session import Session
from tdb_dap.agent.tools import Tools
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.pages import writing
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from tdb_dap.tools.pages.data import ViewPage

_WRITING = ("what_if", "reduce")

_TIMELESS = ("triage", "report")
"""What is asked about files, at no moment of a run."""

MOST_WAITING = 16
"""Calls that may wait for their turn."""

_TICK = 1.0
"""Seconds between two notes of progress."""

CHECK_VIEW = "ui://tdb-dap/check"
"""The page that hosts of MCP Apps show next to the answer of ``check``."""

_CHECK_PAGE = "tdb://session/check.html"

SKILL = Path(__file__).parent / "SKILL.md"
"""The way to work with the tools, for hosts that take skills; ``tdb-dap mcp --skill`` prints it."""


def make_server(session: Session) -> MCPServer[Any]:
    """A server with all tools on one session."""
    from mcp.server.apps import Apps
    from mcp.server.mcpserver import MCPServer

    apps = Apps()
    view: ViewPage = {"kind": "view", "uri": _CHECK_PAGE}
    apps.add_html_resource(CHECK_VIEW, writing.page("TDB: check", view), title="TDB: check")
    tools, turn = Tools(session), anyio.Lock()
    for function in tools.all():
        if function.__name__ == "check":
            apps.tool(resource_uri=CHECK_VIEW, **_about(function))(_asked(session, turn, function))
    server: MCPServer[Any] = MCPServer(
        "tdb-dap", instructions=RULES, version=__version__, log_level="ERROR", extensions=[apps]
    )
    for function in tools.all():
        if function.__name__ != "check":
            server.add_tool(_asked(session, turn, function), **_about(function))
    _add_resources(server, session)
    return server


def _about(function: Callable[..., Answer]) -> dict[str, Any]:
    """Name, description and hints of a tool."""
    from mcp.types import ToolAnnotations

    name = function.__name__
    notes = ToolAnnotations(read_only_hint=name not in _WRITING, open_world_hint=False)
    return {"name": name, "description": inspect.getdoc(function), "annotations": notes}


def _add_resources(server: MCPServer[Any], session: Session) -> None:
    """Texts that a host can show next to the conversation: they are read, and nothing is asked."""

    @server.resource("tdb://session/model", description="The open model and its data", mime_type="text/plain")
    def model() -> str:
        return Answer("", "\n".join(session.files()) if session.context is not None else "no model is open").text()

    @server.resource("tdb://session/bookmarks", description="Moments that are remembered", mime_type="text/plain")
    def bookmarks() -> str:
        return Answer("", session.remembered() or "none yet").text()

    @server.resource(_CHECK_PAGE, description="The last comparison as a page", mime_type="text/html")
    def check_page() -> str:
        return session.check_page or "<!doctype html><title>TDB: check</title><p>Nothing has been compared yet.</p>"

    @server.resource("tdb://skill", description="How to work with these tools", mime_type="text/markdown")
    def skill() -> str:
        return SKILL.read_text("utf-8")


class _Given(Struct, frozen=True):
    """An answer whose pages may be asked for: with the same arguments, as long as model and moment are the same."""

    arguments: dict[str, Any]
    opened: int
    where: str
    answer: Answer


def _asked(session: Session, turn: anyio.Lock, function: Callable[..., Answer]) -> Callable[..., Any]:
    """A coroutine that asks in a thread when it is its turn, and ends what it has started when it is cancelled."""
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError

    signature = inspect.signature(function, eval_str=True)
    takes_stopped = "stopped" in signature.parameters
    last: _Given | None = None

    async def asked(asking: Context[Any, Any], page: int = 1, **given: Any) -> str:
        cancelled = threading.Event()

        def work() -> str:
            nonlocal last
            with session.lock:  # of a call that was cancelled while it ran
                if cancelled.is_set():  # while it waited for that one
                    return ""
                more = {"stopped": cancelled.is_set} if takes_stopped else {}
                if page <= 1:
                    answer = function(**given, **more)
                    last = _Given(given, session.opened, session.where(), answer)
                elif last is None or (last.arguments, last.opened, last.where) != (
                    given,
                    session.opened,
                    session.where(),
                ):
                    raise BadInput("that answer is over: ask again without page")
                return last.answer.text(page, "" if function.__name__ in _TIMELESS else last.where)

        async def note_progress() -> None:
            for seconds in itertools.count():
                await asking.report_progress(seconds, message=f"{function.__name__}: {seconds} s")
                await anyio.sleep(_TICK)

        failed: TdbError | None = None
        text = ""
        try:
            async with anyio.create_task_group() as group:
                if takes_stopped:
                    group.start_soon(note_progress)
                try:
                    if turn.statistics().tasks_waiting >= MOST_WAITING:
                        raise TdbError(f"{MOST_WAITING} calls are waiting already; ask again when some are answered")
                    async with turn:
                        text = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
                except TdbError as error:
                    failed = error
                group.cancel_scope.cancel()
        finally:
            cancelled.set()
        if failed is not None:
            raise ToolError(Answer("this cannot be done", str(failed), longest=NEXT_LINE).text())
        return text

    shown = [one for name, one in signature.parameters.items() if name != "stopped"]
    shown.append(inspect.Parameter("asking", inspect.Parameter.KEYWORD_ONLY, annotation=Context))
    shown.append(inspect.Parameter("page", inspect.Parameter.KEYWORD_ONLY, default=1, annotation=int))
    ordered = sorted(shown, key=lambda one: one.default is not inspect.Parameter.empty)
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in ordered]
    asked.__signature__ = inspect.Signature(keyword, return_annotation=str)  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in keyword} | {"asking": Context, "return": str}
    asked.__name__ = function.__name__
    return asked
