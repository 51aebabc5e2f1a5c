"""The server: the tools under their names, over standard input and output or HTTP."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from tdb_dap.agent.answers import RULES, Answer
from tdb_dap.agent.session import Session
from tdb_dap.agent.tools import Tools
from tdb_dap.errors import TdbError
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_WRITING = ("what_if", "reduce")


def make_server(session: Session) -> MCPServer[Any]:
    """A server with all tools on one session."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    server: MCPServer[Any] = MCPServer("tdb-dap", instructions=RULES, version=__version__, log_level="ERROR")
    tools = Tools(session)
    for function in tools.all():
        name = function.__name__
        notes = ToolAnnotations(read_only_hint=name not in _WRITING, open_world_hint=False)
        server.add_tool(_asked(session, function), name, description=inspect.getdoc(function), annotations=notes)
    return server


def _asked(session: Session, function: Callable[..., Answer]) -> Callable[..., Any]:
    """A coroutine that asks in a thread, one question at a time, and ends what it has started when it is cancelled."""
    from mcp.server.mcpserver.exceptions import ToolError

    signature = inspect.signature(function, eval_str=True)
    takes_stopped = "stopped" in signature.parameters

    async def asked(page: int = 1, **given: Any) -> str:
        cancelled = threading.Event()

        def work() -> str:
            with session.lock:
                more = {"stopped": cancelled.is_set} if takes_stopped else {}
                return function(**given, **more).text(page)

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TdbError as error:
            raise ToolError(str(error)) from None
        finally:
            cancelled.set()

    shown = [one for name, one in signature.parameters.items() if name != "stopped"]
    shown.append(inspect.Parameter("page", inspect.Parameter.KEYWORD_ONLY, default=1, annotation=int))
    ordered = sorted(shown, key=lambda one: one.default is not inspect.Parameter.empty)
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in ordered]
    asked.__signature__ = inspect.Signature(keyword, return_annotation=str)  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in keyword} | {"return": str}
    asked.__name__ = function.__name__
    return asked
