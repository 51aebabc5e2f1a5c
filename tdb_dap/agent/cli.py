"""``tdb-dap mcp``: a server of the Model Context Protocol for agents."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.cli.options import given_token, token_options
from tdb_dap.errors import BadInput
from tdb_dap.system.ports import AGENT_TOKEN, announce, open_port

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--root",
        metavar="DIR",
        nargs="+",
        type=Path,
        default=[Path()],
        help="allow models below these directories (default: here)",
    )
    parser.add_argument(
        "--skill", action="store_true", help="print the SKILL.md that teaches an agent the workflow, and exit"
    )
    parser.add_argument(
        "--join",
        metavar="HOST:PORT",
        help="attach to a session in an editor or terminal that has invited an agent; needs its --token",
    )
    parser.add_argument(
        "--http",
        metavar="PORT",
        nargs="?",
        type=_port,
        const=0,
        help="serve over HTTP at 127.0.0.1:PORT/mcp, not on stdin and stdout (default port: any)",
    )
    token_options(
        parser,
        AGENT_TOKEN,
        "with --http: token that a client must send, Authorization: Bearer TOKEN (default: make and print one); with "
        "--join: token of the invitation",
    )
    parser.add_argument(
        "--allow-edits", action="store_true", help="allow the agent to try changes (what_if) and write folders (reduce)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve on standard input and output until they are closed. 2: the SDK is missing, or a root."""
    if arguments.skill:
        from tdb_dap.agent.server import SKILL

        print(SKILL.read_text("utf-8"), end="")
        return 0
    if find_spec("mcp") is None:
        raise BadInput("the SDK of the Model Context Protocol is not installed; pip install 'mcp>=2'")
    for root in arguments.root:
        if not root.is_dir():
            raise BadInput(f"--root {root}: no such directory")
    token = given_token(arguments, AGENT_TOKEN) if arguments.http is not None or arguments.join else None
    if token is None and (arguments.token is not None or arguments.token_file is not None):
        raise BadInput("--token: not needed on stdin and stdout; give --http or --join, too")
    if arguments.join and token is None:
        raise BadInput(f"--join: give the token of the invitation: --token-file, or {AGENT_TOKEN} of the environment")
    from tdb_dap.agent.server import make_server
    from tdb_dap.agent.session import Session

    if arguments.join:
        from tdb_dap.agent.attached_session import AttachedSession

        session: Session = AttachedSession(arguments.join, token or "")
    else:
        session = Session(arguments.root, arguments.allow_edits)
    try:
        server = make_server(session)
        if arguments.http is None:
            server.run("stdio")
        else:
            _serve_http(server, arguments.http, token)
    finally:
        session.close()
    return 0


def _serve_http(server: MCPServer[Any], port: int, given: str | None) -> None:
    from tdb_dap.agent.http import serve

    where = f"127.0.0.1:{port}"
    with open_port(where, given) as listening:
        serve(server, listening, announce(where, listening, given))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text:.20}: a port is a number up to 65535")
    return int(text)
