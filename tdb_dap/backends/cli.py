"""``tdb-dap backends``: list simulators, fetch the vendor's, serve one to other machines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tdb_dap.cli.options import given_token, token_options
from tdb_dap.errors import BadInput
from tdb_dap.system.ports import BACKEND_TOKEN


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "fetch", "serve"),
        default="list",
        help="list simulators (default); fetch the wheel of the vendor's compiler (about 312 MB) and keep its "
        "simulators in a cache directory; serve a backend to debuggers on other machines",
    )
    parser.add_argument("--cmodel-path", metavar="DIR", type=Path, help="directory of the vendor's libraries")
    serving = parser.add_argument_group("serve")
    serving.add_argument(
        "--backend",
        choices=("numpy", "cmodel", "lockstep"),
        default="numpy",
        help="backend to serve (default: %(default)s)",
    )
    serving.add_argument(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:4712", help="serve here (default: %(default)s); port 0: any"
    )
    token_options(
        serving,
        BACKEND_TOKEN,
        "token that a client must send (default: make and print one). Required to listen beyond this machine",
    )
    serving.add_argument(
        "--record",
        action="store_true",
        help="also run models of clients on the vendor's runtime and return the recording; that runtime is not "
        "hardened against untrusted models",
    )
    serving.add_argument(
        "--memory", metavar="GIB", type=int, default=16, help="memory limit per client (default: %(default)s)"
    )
    serving.add_argument(
        "--clients", metavar="N", type=int, default=8, help="maximum number of clients (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """List the backends, or fetch the libraries first."""
    if arguments.action == "fetch":
        from tdb_dap.backends.fetch import fetch

        for path in fetch(lambda text: print(f"tdb-dap: {text}", file=sys.stderr, flush=True)):
            print(path)
        return 0
    if arguments.action == "serve":
        return _serve(arguments)
    _list(arguments.cmodel_path)
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    """Lend a backend until interrupted."""
    from tdb_dap.backends.remote.server import Offer, serve
    from tdb_dap.system.ports import announce, open_port

    given = given_token(arguments, BACKEND_TOKEN)
    if arguments.backend != "numpy":
        from tdb_dap.backends.discovery import require_platform

        require_platform()
    if arguments.record:
        from tdb_dap.backends.recorder.record import library

        library()
    if arguments.memory < 1 or arguments.clients < 1:
        raise BadInput("--memory and --clients: give numbers from 1 on")
    with open_port(arguments.listen, given) as listening:
        token = announce(arguments.listen, listening, given)
        memory = arguments.memory << 30
        offer = Offer(arguments.backend, token, arguments.cmodel_path, memory, arguments.clients, arguments.record)
        serve(listening, offer, lambda text: print(f"tdb-dap: {text}", file=sys.stderr, flush=True))
    return 0


def _list(given: Path | None) -> None:
    from tdb_dap.backends.choice import BACKENDS
    from tdb_dap.backends.discovery import find, library_paths, supported
    from tdb_dap.targets import kernel
    from tdb_dap.targets.chips.registry import chips

    simulated = [name for name, chip in chips().items() if chip.rules is not None]
    print(f"numpy     {BACKENDS['numpy']}: {', '.join(simulated)}")
    print(f"          sums of products: {kernel.describe()}")
    print(f"cmodel    {BACKENDS['cmodel']}")
    print(f"lockstep  {BACKENDS['lockstep']}")
    print("remote:HOST:PORT  any of these on another machine: tdb-dap backends serve")
    print("The vendor's simulators:")
    missing = False
    for chip in supported():
        assert chip.vendor_library is not None
        path = find(chip.vendor_library.file, given)
        missing = missing or path is None
        where = f"{path[0]} ({path[1]})" if path else f"{chip.vendor_library.file} not found"
        print(f"  {chip.name:9} {where}")
    if missing:
        looked = ", ".join(f"{candidate.directory} ({candidate.found_by})" for candidate in library_paths(given))
        print(f"looked into: {looked}")
        print("`tdb-dap backends fetch` downloads the vendor's libraries; --cmodel-path names another directory")
