"""Whole models, simulated by this project and by the vendor's simulator, one after the other in one run.

    python benchmarks/simulate.py [CONTEXT ...] [--vendor-python PYTHON] [--models DIR] [--runs N] [--short]

CONTEXT: directories that the vendor's compiler left behind, with their inputs as ``input.npz`` (else zeros). None: the
models of benchmarks/vendor_models.py (ResNet-18, a transformer, a toy), compiled into ``--models`` once, if the
vendor's tools are there; else the bundled sample. ``--short``: only the toy.

The vendor's tools: ``pip install tpu_mlir==1.30.2`` into an environment of Python 3.10 on Linux x86-64; give its
interpreter as ``--vendor-python`` or in $TDB_VENDOR_PYTHON. Without it only our own times are shown.

What is timed, in a separate process each:
  vendor   the simulator library executing every command of the model, called by the vendor's own binding, without its
           debugger; loading and decoding are not counted
  runner   the vendor's model_runner from start to end of the process, for comparison
  kernel   ``run`` from the first command to the last with the C kernel, undo history counted: ``first`` of a program
           just opened, which decodes its commands and gets its memory from the system; ``s`` again, after a reset
  numpy    the same in NumPy alone
Each is the best of the runs made; short models run more often, so that other work on the machine counts less. Peak
memory is the largest resident size of the process. ``ratio``: the vendor's wall time over ours; ``CPU``: the same of
processor time (all threads), which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "tdb_dap" / "sample"
GOALS = {"kernel": 10.0, "numpy": 1.5}

OURS = """
import json, resource, sys, time
import tdb_dap
from tdb_dap.targets import kernel
context, inputs, runs = sys.argv[1], sys.argv[2] or None, int(sys.argv[3])
if not kernel.is_active() and sys.argv[4] == "kernel":
    raise SystemExit(kernel.describe())
first, seconds, processor = 0.0, [], []
debugger = tdb_dap.open(context, inputs=inputs)
while not seconds or sum(seconds) < 10 and (len(seconds) < runs or sum(seconds) < 1):
    debugger.machine.reset()
    start, used = time.perf_counter(), time.process_time()
    stop = debugger.run()
    seconds.append(time.perf_counter() - start)
    processor.append(time.process_time() - used)
    if not first:
        first = seconds.pop()
        processor.pop()
    if stop.reason != "end":
        raise SystemExit(stop.text)
found = {"first": first, "seconds": min(seconds), "cpu": min(processor), "how": kernel.describe()}
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({**found, "commands": len(debugger.program.commands), "megabytes": megabytes}))
"""

# The vendor's binding loads the model; then its runner executes command after command, as often as time allows.
VENDOR = """
import contextlib, io, json, os, resource, sys, time
import tpu_mlir
sys.path.insert(0, os.path.join(os.path.dirname(tpu_mlir.__file__), "python", "tools"))
import tdb
given = ["--inputs", sys.argv[2]] if sys.argv[2] else []
with contextlib.redirect_stdout(io.StringIO()):
    debugger = tdb.get_tdb([sys.argv[1], *given, "--quiet", "--ddr_size", str(1 << 30)])
    debugger.do_start("")
    work = []
    for command in debugger.cmditer:
        if not debugger.context.is_sys(command):
            engine = "tiu" if command.cmd_type.name == "tiu" else "dma"
            work.append((getattr(debugger.runner, engine + "_compute"), command))
    seconds, processor, runs = [], [], int(sys.argv[3])
    while not seconds or sum(seconds) < 10 and (len(seconds) < runs or sum(seconds) < 1):
        start, used = time.perf_counter(), time.process_time()
        for compute, command in work:
            compute(command)
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
os.write(1, (json.dumps({"seconds": min(seconds), "cpu": min(processor), "megabytes": megabytes}) + chr(10)).encode())
os._exit(0)
"""


def measured(command: list[str], **environment: str) -> dict[str, Any]:
    """The JSON that a child prints last; SystemExit with what it complained of."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise SystemExit(f"{command[0]}: {done.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def model_runner(python: str, context: Path, inputs: str, scratch: Path) -> float | None:
    """Seconds of the vendor's runner, process start to end; None if it cannot run the model."""
    tool = Path(python).parent / "model_runner"
    if not tool.exists() or not inputs:
        return None
    start = time.perf_counter()
    done = subprocess.run(
        [str(tool), "--input", inputs, "--model", str(context / "compilation.bmodel"), "--output", "out.npz"],
        cwd=scratch,
        capture_output=True,
        env={**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"},
    )
    return time.perf_counter() - start if (scratch / "out.npz").exists() and not done.returncode else None


def unpacked(context: Path, into: Path) -> Path:
    """A copy with plain files: the vendor's tools read no .xz."""
    for file in context.iterdir():
        if file.suffix == ".xz":
            (into / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
        elif file.is_file():
            shutil.copy(file, into)
    return into


def compare(context: Path, python: str | None, runs: int, runner: bool) -> dict[str, Any]:
    """All times of one model."""
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        plain = unpacked(context, scratch)
        inputs = str(plain / "input.npz") if (plain / "input.npz").exists() else ""
        row: dict[str, Any] = {"model": context.name}
        if python:
            path = f"{Path(python).parent}:{os.environ['PATH']}"
            row["vendor"] = measured([python, "-c", VENDOR, str(plain), inputs, str(runs)], PATH=path)
            row["runner"] = model_runner(python, plain, inputs, scratch) if runner else None
        for how, switch in (("kernel", "1"), ("numpy", "0")):
            command = [sys.executable, "-c", OURS, str(plain), inputs, str(runs), how]
            row[how] = measured(command, TDB_DAP_KERNEL=switch)
        return row


def line(row: dict[str, Any]) -> str:
    vendor = row.get("vendor")
    text = f"{row['model']:32} {row['kernel']['commands']:8,}"
    text += f" {vendor['seconds']:9.4f} {vendor['megabytes']:6.0f}" if vendor else f" {'-':>9} {'-':>6}"
    text += f" {row['runner']:8.2f}" if row.get("runner") else f" {'-':>8}"
    for how in ("kernel", "numpy"):
        ours = row[how]
        ratio = f"{vendor['seconds'] / ours['seconds']:7.1f}x" if vendor else f"{'-':>8}"
        busy = f"{vendor['cpu'] / ours['cpu']:7.1f}x" if vendor else f"{'-':>8}"
        text += f" {ours['first']:9.4f} {ours['seconds']:9.4f} {ours['megabytes']:6.0f} {ratio} {busy}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("context", nargs="*", type=Path)
    parser.add_argument("--vendor-python", default=os.environ.get("TDB_VENDOR_PYTHON"))
    parser.add_argument("--models", type=Path, default=HERE.parent / "build" / "models", help="where to compile")
    parser.add_argument(
        "--runs", type=int, default=5, help="the best of so many: more within a second, fewer beyond ten"
    )
    parser.add_argument("--short", action="store_true", help="only the toy")
    parser.add_argument("--skip-runner", action="store_true", help="do without the vendor's model_runner")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    contexts = options.context
    if not contexts and options.vendor_python:
        maker = [options.vendor_python, str(HERE / "vendor_models.py"), str(options.models)]
        path = f"{Path(options.vendor_python).parent}:{os.environ['PATH']}"
        contexts = [Path(p) for p in measured([*maker, *(["toy"] if options.short else [])], PATH=path)["contexts"]]
    ours = f" {'first':>9} {'s':>9} {'MB':>6} {'ratio':>8} {'CPU':>8}"
    print(f"{'':32} {'':>8} {'vendor':>16} {'runner':>8} {'kernel':>44} {'numpy':>44}")
    print(f"{'model':32} {'commands':>8} {'s':>9} {'MB':>6} {'s':>8}" + 2 * ours)
    rows = []
    for context in contexts or [SAMPLE]:
        rows.append(compare(context, options.vendor_python, options.runs, not options.skip_runner))
        print(line(rows[-1]), flush=True)
    if options.vendor_python:
        for how, goal in GOALS.items():
            text = []
            for measure in ("seconds", "cpu"):
                ratios = [row["vendor"][measure] / row[how][measure] for row in rows]
                text.append(f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.1f}x")
            print(
                f"{how}: geometric mean {text[0]} as fast as the vendor's simulator, {text[1]} by processor time",
                end="",
            )
            print(f" (goal for all models: {goal}x)")
    else:
        print("The vendor's simulator was not measured: see --help for how to get it.")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
