"""What a user waits for: one run of a network in a process of its own, beside an older state and ONNX Runtime.

    python benchmarks/first_run.py [CONTEXT ...] [--old DIR] [--onnx-python PYTHON] [--rounds N] [--json FILE]

CONTEXT: context directories of compiled models; none: the bundled sample and recorded models of every chip.
``--old``: a clone of this project at another commit, installed in place in its own ``.venv``. ``--onnx-python``: a
Python with ONNX Runtime; a context that was made by benchmarks/vendor_models.py has its network beside it.

Seconds of processor time (user and system) of whole processes, by turns, the best of ``--rounds``:
  numpy    ``python -c "import numpy"``: the unit of this machine
  info     ``tdb-dap info CONTEXT``
  cold     ``tdb-dap run CONTEXT`` with an empty cache of plans
  warm     the same again: what every further run of the model takes
  old      ``tdb-dap run CONTEXT`` of the project in ``--old``
  onnx     ONNX Runtime on the processor: import, creation of a session and one inference of the same network in float32
and of runs within one process, without start and opening:
  first    the first run, with plans that were kept
  steady   the best of the following ones
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MODELS = ("toy_bm1684_int8", "toy_bm1684x_f32", "toy_bm1684x_int8", "toy_bm1688_int8c2", "toy_bm1690_f16c8")

RUNS = """
import json, sys, time
from tdb_dap.tools.opening import open_debugger
debugger = open_debugger(sys.argv[1], *sys.argv[2:], history_limit=0)
seconds = []
while len(seconds) < 4 or (sum(seconds) < 1 and len(seconds) < 50):
    debugger.machine.reset()
    start = time.process_time()
    debugger.run()
    seconds.append(time.process_time() - start)
print(json.dumps([seconds[0], min(seconds[1:])]))
"""

ONNX = """
import sys
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
session.run(None, dict(np.load(sys.argv[2])))
"""


def measured(command: list[str], **environment: str) -> tuple[float, str]:
    """Processor seconds of a process and its children, and what it printed; SystemExit if it fails."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env={**own, **environment}, cwd=ROOT.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def of_project(root: Path, *arguments: str) -> list[str]:
    """The command ``tdb-dap`` of a clone, by the Python that it is installed in."""
    own = root / ".venv" / "bin" / "python"
    return [str(own) if root != ROOT and own.exists() else sys.executable, "-m", "tdb_dap", *arguments]


def measure(context: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All figures of one context."""
    row: dict[str, Any] = {"model": context.name}
    run, inputs = ["run", str(context), "--quiet"], context / "input.npz"

    def least(name: str, command: list[str], **environment: str) -> None:
        seconds, _ = measured(command, **environment)
        row[name] = min(seconds, row.get(name, seconds))

    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            kept = {"TDB_DAP_CACHE": folder, "XDG_STATE_HOME": folder, "PYTHONPATH": str(ROOT)}
            least("numpy", [sys.executable, "-c", "import numpy"])
            least("info", of_project(ROOT, "info", str(context)), **kept)
            least("cold", of_project(ROOT, *run), **kept)
            least("warm", of_project(ROOT, *run), **kept)
            given = [str(inputs)] if inputs.exists() else []
            _, printed = measured([sys.executable, "-c", RUNS, str(context), *given], **kept)
            for name, seconds in zip(("first", "steady"), json.loads(printed), strict=True):
                row[name] = min(seconds, row.get(name, seconds))
        if options.old is not None:
            least("old", of_project(options.old, *run), PYTHONPATH=str(options.old))
        name = context.name.partition("_")[0]
        network = context.parent / "work" / name / f"{name}.onnx"
        if options.onnx_python and network.exists():
            least("onnx", [options.onnx_python, "-c", ONNX, str(network), str(inputs)])
    return row


def line(row: dict[str, Any]) -> str:
    """One row of the table: seconds, and the ratios that count."""
    columns = ("numpy", "info", "cold", "warm", "old", "onnx", "first", "steady")
    text = f"{row['model'][:24]:24}" + "".join(
        f" {row[name]:7.3f}" if name in row else f" {'-':>7}" for name in columns
    )
    ratios = (("warm", "numpy"), ("warm", "old"), ("warm", "onnx"), ("first", "steady"))
    return text + "".join(f" {row[a] / row[b]:9.2f}x" if b in row else f" {'-':>10}" for a, b in ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contexts", nargs="*", type=Path, metavar="CONTEXT")
    parser.add_argument("--old", type=Path, help="a clone at another commit, with its kernel built")
    parser.add_argument("--onnx-python", default=os.environ.get("TDB_VENDOR_PYTHON"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = ROOT / "tests" / "data"
    contexts = options.contexts or [
        ROOT / "tdb_dap" / "sample",
        *[path for path in sorted(data.glob("*/*")) if path.name in MODELS],
    ]
    names = ("numpy", "info", "cold", "warm", "old", "onnx", "first", "steady")
    print(f"{'processor seconds':24}" + "".join(f" {name:>7}" for name in names), end="")
    print(f" {'warm/numpy':>10} {'of old':>10} {'of onnx':>10} {'first/st.':>10}")
    rows = []
    for context in contexts:
        rows.append(measure(context.resolve(), options))
        print(line(rows[-1]), flush=True)
    if options.old is not None:
        print(f"median of warm / old: {statistics.median(row['warm'] / row['old'] for row in rows):.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
