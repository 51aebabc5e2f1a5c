"""``tdb-dap lsp``: the language server."""

from __future__ import annotations

import argparse

from tdb_dap.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--stdio", action="store_true", help="serve on stdin and stdout (default)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the editor ends it. 0: done."""
    try:
        from tdb_dap.language.server import make_server
    except ImportError as error:
        from tdb_dap.tools.doctor.dependencies import needed
        from tdb_dap.tools.doctor.installation import Installation

        pygls = next(dependency for dependency in needed() if dependency.package == "pygls")
        fix = Installation.here().getting(pygls.requirement)
        raise BadInput(f"the language server needs pygls ({error}); fix with: {fix}") from None
    make_server().start_io()
    return 0
