"""``tdb-dap adapter``: the DAP server."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TextIO

from tdb_dap.adapter.protocol.transports import StandardStreams
from tdb_dap.cli.options import given_token, token_options
from tdb_dap.system.ports import ADAPTER_TOKEN


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--listen", metavar="HOST:PORT", help="serve on a port, not on stdin and stdout; port 0: any")
    token_options(
        parser,
        ADAPTER_TOKEN,
        "token that a client on a port must send to attach or launch (default: make and print one). Required to "
        "listen beyond this machine",
    )
    parser.add_argument("--log", metavar="FILE", type=Path, help="append every message to a file as a JSON line")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client has left."""
    streams = None if arguments.listen else StandardStreams()  # before anything can print
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins costs as much as starting

    from tdb_dap.adapter.server import open_log, serve_standard_streams

    log = open_log(arguments.log)
    return _listen(arguments, log) if streams is None else serve_standard_streams(streams, log)


def _listen(arguments: argparse.Namespace, log: TextIO | None) -> int:
    """Serve on a port until interrupted."""
    from tdb_dap.adapter.server import listen
    from tdb_dap.system.ports import announce, open_port

    given = given_token(arguments, ADAPTER_TOKEN)
    with open_port(arguments.listen, given) as listening:
        listen(listening, announce(arguments.listen, listening, given), log)
    return 0
