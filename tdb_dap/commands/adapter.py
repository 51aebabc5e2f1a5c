"""``tdb-dap adapter``: the DAP server."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tdb_dap.adapter.streams import StandardStreams
from tdb_dap.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--listen", metavar="HOST:PORT", help="serve on a port instead of stdin and stdout; 0 = any")
    parser.add_argument("--token", help="word that a client has to give; needed to listen beyond this machine")
    parser.add_argument("--log", metavar="FILE", type=Path, help="append every message as a JSON line")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client has left."""
    streams = None if arguments.listen else StandardStreams()  # before anything can print
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins costs as much as starting

    from tdb_dap.adapter.server import listen, serve_standard_streams
    from tdb_dap.listening import guarded_address

    try:
        if streams is not None:
            return serve_standard_streams(streams, arguments.log)
        host, port = guarded_address(arguments.listen, arguments.token)
        return listen(host, port, arguments.token, arguments.log)
    except OSError as error:
        raise BadInput(f"{arguments.listen or arguments.log}: {error.strerror or error}") from None
