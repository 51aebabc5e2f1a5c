"""``tdb-dap lsp``: the language server."""

from __future__ import annotations

import argparse

from tdb_dap.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--stdio", action="store_true", help="speak on standard input and output (the default)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the editor ends it. 0: done."""
    try:
        from tdb_dap.language.server import make_server
    except ImportError as error:
        raise BadInput(f"the language server needs pygls ({error}); pip install 'tdb-dap[lsp]' gets it") from None
    make_server().start_io()
    return 0
