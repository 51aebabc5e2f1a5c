"""What a backend in another process costs: bytes and seconds of a run, and of a step back and forward.

    python benchmarks/remote.py [CONTEXT ...] [--backend numpy|cmodel] [--address HOST:PORT]

CONTEXT: default the bundled sample. The server is a second process of this machine, so the figures are without a
network; --address names one that runs elsewhere (token: TDB_DAP_BACKEND_TOKEN), whatever it executes with. Prints rows
of the table in docs/backends.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from secrets import token_urlsafe

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
sys.path.insert(0, str(ROOT))

from tdb_dap.backends.choice import REMOTE  # noqa: E402
from tdb_dap.backends.remote.client import RemoteDevice  # noqa: E402
from tdb_dap.engine.control.debugger import Debugger  # noqa: E402
from tdb_dap.engine.device.device import Attached  # noqa: E402
from tdb_dap.system.ports import BACKEND_TOKEN  # noqa: E402
from tdb_dap.tools.opening import open_debugger  # noqa: E402


def size(count: int) -> str:
    """Bytes in three digits."""
    for unit, factor in (("MB", 1e6), ("KB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def device_of(debugger: Debugger) -> RemoteDevice:
    """Who counts the bytes."""
    backend = debugger.machine.backend
    assert isinstance(backend, Attached)
    assert isinstance(backend._device, RemoteDevice)
    return backend._device


def row(context: Path, backend: str, address: str) -> str:
    """One model, executed here and there."""
    inputs = context / "input.npz" if (context / "input.npz").exists() else None
    here = open_debugger(context, inputs, backend=backend)
    started = time.perf_counter()
    here.run()
    seconds_here = time.perf_counter() - started
    here.close()
    there = open_debugger(context, inputs, backend=REMOTE + address)
    device = device_of(there)
    opening = device.sent + device.received
    started = time.perf_counter()
    stop = there.run()
    if stop.reason != "end":
        sys.exit(f"{context}: {stop.text}")
    seconds_there = time.perf_counter() - started
    sent, received = device.sent, device.received
    started = time.perf_counter()
    there.step(-1)
    there.step(1)
    step = time.perf_counter() - started
    moved = device.sent + device.received - sent - received
    there.close()
    cells = [
        context.name,
        f"{len(there.program.commands):,}",
        size(opening),
        size(sent),
        size(received),
        f"{seconds_here:.3g} s",
        f"{seconds_there:.3g} s",
        f"{step * 1e3:.3g} ms, {size(moved)}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contexts", nargs="*", type=Path, default=[SAMPLE])
    parser.add_argument("--backend", choices=("numpy", "cmodel"), default="numpy")
    parser.add_argument("--address")
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "tdb_dap", "backends", "serve", "--backend", arguments.backend]
    server = None
    address = arguments.address
    os.environ.setdefault(BACKEND_TOKEN, token_urlsafe(24))  # both sides look here
    if address is None:
        server = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
    try:
        print("| model | commands | opening | sent | received | run here | run there | a step back and forward |")
        print("|---|---|---|---|---|---|---|---|")
        for context in arguments.contexts:
            print(row(context, arguments.backend, address), flush=True)
    finally:
        if server is not None:
            server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
