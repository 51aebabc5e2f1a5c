"""``tdb-dap backends``: who can execute commands here, and getting the vendor's simulators."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "fetch"),
        default="list",
        help="list: what is there (default); fetch: download the wheel of the vendor's compiler (about 312 MB) and "
        "keep its simulators in a cache directory",
    )
    parser.add_argument("--cmodel-path", metavar="DIR", type=Path, help="look for the vendor's libraries here")


def run(arguments: argparse.Namespace) -> int:
    """List the backends, or fetch the libraries first."""
    if arguments.action == "fetch":
        from tdb_dap.targets.backends.fetch import fetch

        for path in fetch(lambda text: print(f"tdb-dap: {text}", file=sys.stderr, flush=True)):
            print(path)
        return 0
    _list(arguments.cmodel_path)
    return 0


def _list(given: Path | None) -> None:
    from tdb_dap.targets import kernel
    from tdb_dap.targets.backends.choice import BACKENDS
    from tdb_dap.targets.backends.discovery import find, places, supported
    from tdb_dap.targets.registry import chips

    simulated = [name for name, chip in chips().items() if chip.rules is not None]
    print(f"numpy     {BACKENDS['numpy']}: {', '.join(simulated)}")
    print(f"          sums of products: {kernel.describe()}")
    print(f"cmodel    {BACKENDS['cmodel']}")
    print(f"lockstep  {BACKENDS['lockstep']}")
    print("The vendor's simulators:")
    missing = False
    for chip in supported():
        assert chip.vendor_library is not None
        found = find(chip.vendor_library.file, given)
        missing = missing or found is None
        where = f"{found[0]} ({found[1]})" if found else f"{chip.vendor_library.file} not found"
        print(f"  {chip.name:9} {where}")
    if missing:
        print("looked into: " + ", ".join(f"{place.directory} ({place.origin})" for place in places(given)))
        print("`tdb-dap backends fetch` downloads the vendor's libraries; --cmodel-path names another directory")
