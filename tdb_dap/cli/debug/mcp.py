"""``tdb-dap mcp``: a server of the Model Context Protocol for agents."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from tdb_dap.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--root",
        metavar="DIR",
        nargs="+",
        type=Path,
        default=[Path()],
        help="directories below which models may be opened (default: here)",
    )
    parser.add_argument(
        "--allow-edits", action="store_true", help="also let the agent try changes (what_if) and write folders (reduce)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve on standard input and output until they are closed. 2: the SDK is missing, or a root."""
    if find_spec("mcp") is None:
        raise BadInput("the SDK of the Model Context Protocol is not installed; pip install 'tdb-dap[mcp]'")
    for root in arguments.root:
        if not root.is_dir():
            raise BadInput(f"--root {root}: no such directory")
    from tdb_dap.agent.server import make_server
    from tdb_dap.agent.session import Session

    session = Session(arguments.root, arguments.allow_edits)
    try:
        make_server(session).run("stdio")
    finally:
        session.close()
    return 0
