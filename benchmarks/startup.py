"""How long until a user can look at a tensor, and how much memory it takes; beside debugpy and the vendor's TDB.

    python benchmarks/startup.py [CONTEXT] [--runs N] [--beside ROOT] [--vendor-python PYTHON] [--program FILE]

Ours: process start to the answer of ``initialize``, to the first stop, and the largest resident size by then.
debugpy's adapter, in turn with ours if it is installed: process start to the answer of ``initialize``. What editors of
Python show is the measure for ours: ``initialize`` within 1.5 times of it, the first stop within 3 times.
``--beside``: the directory of another version of this project, such as a work tree of an older commit, in turn too.
The vendor's: process start until its ``start`` command has loaded the same model (``--vendor-python``: a Python 3.10 in
which tpu_mlir is installed; default: $TDB_VENDOR_PYTHON; left out if there is none).
``--program``: a frozen tdb-dap, such as the one in a platform package of the extension, measured in turn with ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import lzma
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from wire import Adapter, peak_megabytes

SAMPLE = Path(__file__).parent.parent / "tdb_dap" / "sample"
GOALS = {"initialize": 0.300, "first stop": 0.600, "peak MB": 150.0}
MOST_OF_DEBUGPY = {"initialize": 1.5, "first stop": 3.0}
"""Times of the time that debugpy's adapter takes to answer ``initialize``."""

# Loads the model through the vendor debugger's own entry points, then waits to be measured.
VENDOR = """
import sys, os, tpu_mlir
sys.path.insert(0, os.path.join(os.path.dirname(tpu_mlir.__file__), "python", "tools"))
import contextlib, io, tdb
with contextlib.redirect_stdout(io.StringIO()):
    debugger = tdb.get_tdb([sys.argv[1], "--inputs", sys.argv[2], "--quiet"])
    debugger.do_start("")
os.write(2, b"READY\\n")
sys.stdin.readline()
"""


def unpacked(context: Path, into: Path) -> Path:
    """A copy with plain files: the vendor's tools read no .xz."""
    for file in context.iterdir():
        if file.suffix == ".xz":
            (into / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
        elif file.is_file():
            shutil.copy(file, into)
    return into


def ours(context: Path, program: Path | None = None, root: Path | None = None) -> dict[str, float]:
    """One start: seconds and MB; ``program``: of a frozen tdb-dap instead; ``root``: of the package in there."""
    adapter = Adapter(program, root=root)
    try:
        adapter.initialize()
        initialized = adapter.elapsed()
        adapter.launch(context, inputs=str(context / "input.npz"))
        return {"initialize": initialized, "first stop": adapter.elapsed(), "peak MB": adapter.peak_megabytes()}
    finally:
        adapter.close()


def debugpy() -> dict[str, float]:
    """One start of debugpy's adapter: seconds."""
    adapter = Adapter(module="debugpy.adapter")
    try:
        adapter.initialize()
        return {"initialize": adapter.elapsed()}
    finally:
        adapter.close()


def vendor(python: str, context: Path) -> dict[str, float]:
    """One start of TDB: seconds and MB."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [python, "-c", VENDOR, str(context), str(context / "input.npz")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=context,
        env={**os.environ, "PATH": f"{Path(python).parent}:{os.environ['PATH']}"},
    )
    assert process.stderr
    lines: list[str] = []
    for raw in process.stderr:
        if raw.strip() == b"READY":
            break
        lines.append(raw.decode(errors="replace"))
    else:
        raise SystemExit("the vendor's debugger did not start:\n" + "".join(lines[-5:]))
    measured = {"first stop": time.perf_counter() - start, "peak MB": peak_megabytes(process.pid)}
    process.kill()
    process.wait()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("context", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--vendor-python", default=os.environ.get("TDB_VENDOR_PYTHON"))
    parser.add_argument("--program", type=Path)
    parser.add_argument("--beside", metavar="ROOT", type=Path)
    options = parser.parse_args()
    frozen: list[dict[str, float]] = []
    other: list[dict[str, float]] = []
    python: list[dict[str, float]] = []
    has_debugpy = importlib.util.find_spec("debugpy") is not None
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as scratch:
        context = unpacked(options.context, Path(scratch))
        for _ in range(options.runs):  # in turn: whatever else the machine does, it does to both
            rows.append(ours(context))
            if options.program:
                frozen.append(ours(context, options.program))
            if options.beside:
                other.append(ours(context, root=options.beside.resolve()))
            if has_debugpy:
                python.append(debugpy())
        theirs = [vendor(options.vendor_python, context) for _ in range(3)] if options.vendor_python else []
    print(f"{'':12} {'median':>9} {'worst':>9} {'goal':>9} {'TDB':>9} {'ratio':>8}")
    for name, goal in GOALS.items():
        values = [row[name] for row in rows]
        line = f"{name:12} {statistics.median(values):9.3f} {max(values):9.3f} {goal:9.3f}"
        if theirs and name in theirs[0]:
            slow = statistics.median([row[name] for row in theirs])
            line += f" {slow:9.3f} {slow / statistics.median(values):7.1f}x"
        print(line)
    for name in GOALS if frozen else ():
        pair = [statistics.median([row[name] for row in measured]) for measured in (frozen, rows)]
        print(f"{name:12} {pair[0]:9.3f} of the frozen program, {pair[0] / pair[1]:.2f}x of ours")
    for name in GOALS if other else ():
        pair = [statistics.median([row[name] for row in measured]) for measured in (other, rows)]
        print(f"{name:12} {pair[0]:9.3f} of {options.beside}, ours is {pair[1] / pair[0]:.2f}x of it")
    if python:
        base = statistics.median([row["initialize"] for row in python])
        print(f"{'initialize':12} {base:9.3f} of debugpy's adapter")
        for name, most in MOST_OF_DEBUGPY.items():
            times = statistics.median([row[name] for row in rows]) / base
            print(f"{name:12} {times:8.2f}x of that; goal {most:.1f}x{'' if times <= most else ': MISSED'}")
    else:
        print("debugpy was not measured: it is not installed")
    if not theirs:
        print("TDB was not measured: no Python with tpu_mlir given (--vendor-python)")


if __name__ == "__main__":
    main()
