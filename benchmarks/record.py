"""The cost of recording: the same program without and with the recorder, in turn.

    python benchmarks/record.py [CONTEXT ...] [--vendor-python PYTHON] [--models DIR] [--runs N]

CONTEXT: directories with a ``compilation.bmodel`` and an ``input.npz``. None: the models of
benchmarks/vendor_models.py, compiled into ``--models`` once. The vendor's tools: ``pip install tpu_mlir==1.30.2`` into
an environment of Python 3.10 on Linux x86-64; give its interpreter as ``--vendor-python`` or in $TDB_VENDOR_PYTHON.
Without it only the last line is measured.

For each model the vendor's model_runner from start to end of its process: ``plain`` and ``recorded`` are the best of
the runs, which take turns; ``ratio`` is the one over the other (the goal is 1.3), ``file`` the bytes of the recording,
weights and all. ``made``: 20,000 copies of 4 KiB by the runtime of tests/backends/recorder, in which a command costs
nothing: ``us/command`` is what is added to each, ``MB/million`` the file per million commands.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
FAKE = HERE.parent / "tests" / "backends" / "recorder"
COMMANDS = 20_000
GOAL = 1.3


def seconds(command: list[str], folder: Path) -> float:
    """Wall time of a process; SystemExit with what it said if it fails."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return time.perf_counter() - start


def recorded(command: list[str], file: Path) -> list[str]:
    """The command line that records another."""
    return [sys.executable, "-m", "tdb_dap", "record", "-o", str(file), "--", *command]


def measure(name: str, command: list[str], folder: Path, runs: int) -> dict[str, float | str]:
    """Best times without and with the recorder, and what the file holds."""
    file = folder / "run.tdbrec"
    plain, with_it = [], []
    for _ in range(runs):
        plain.append(seconds(command, folder))
        with_it.append(seconds(recorded(command, file), folder))
    script = "import json, sys; from pathlib import Path; from tdb_dap.engine.recording.recording import Recording; "
    script += "print(json.dumps(Recording.read(Path(sys.argv[1])).done['events']))"
    read = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, check=True)
    events = json.loads(read.stdout)
    commands = events["COMMAND"]
    return {
        "model": name,
        "commands": commands,
        "plain": round(min(plain), 2),
        "recorded": round(min(with_it), 2),
        "ratio": round(min(with_it) / min(plain), 2),
        "file": file.stat().st_size,
    }


def made(runs: int) -> dict[str, float | str]:
    """The runtime of the tests, whose commands cost nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for output, options in {
            "vendor.so": ["-shared", "-fPIC", str(FAKE / "vendor.c"), "-lpthread"],
            "program": [str(FAKE / "program.c"), "-ldl"],
        }.items():
            subprocess.run(["cc", "-O1", "-w", "-o", str(folder / output), *options], check=True)
        steps = ["write 0 5 16777216", f"launch 0 33554432 4096 {COMMANDS - 1}"]
        row = measure("made", [str(folder / "program"), str(folder / "vendor.so"), *steps], folder, runs)
        start = seconds([sys.executable, "-m", "tdb_dap", "record", "--help"], folder)
    added = float(row["recorded"]) - float(row["plain"]) - start
    return {
        **row,
        "us/command": round(1e6 * added / COMMANDS, 1),
        "MB/million": round(float(row["file"]) / COMMANDS, 1),
    }


def contexts(python: str, given: list[Path], models: Path) -> list[Path]:
    """The directories to measure."""
    if given:
        return given
    done = subprocess.run([python, str(HERE / "vendor_models.py"), str(models)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return [Path(path) for path in json.loads(done.stdout.splitlines()[-1])["contexts"]]


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("contexts", metavar="CONTEXT", type=Path, nargs="*")
    parser.add_argument("--vendor-python", metavar="PYTHON", default=os.environ.get("TDB_VENDOR_PYTHON"))
    parser.add_argument("--models", metavar="DIR", type=Path, default=Path("build/models"))
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    rows = []
    if arguments.vendor_python:
        tools = Path(arguments.vendor_python).parent  # model_runner starts others by their name
        os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
        for context in contexts(arguments.vendor_python, arguments.contexts, arguments.models):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                command = [str(tools / "model_runner")]
                command += ["--input", str(context.resolve() / "input.npz"), "--output", "out.npz"]
                command += ["--model", str(context.resolve() / "compilation.bmodel")]
                rows.append(measure(context.name, command, folder, arguments.runs))
                print(json.dumps(rows[-1]), flush=True)
    else:
        print("no vendor's Python: give --vendor-python", file=sys.stderr)
    print(json.dumps(made(arguments.runs)), flush=True)
    if any(float(row["ratio"]) > GOAL for row in rows):
        raise SystemExit(f"more than {GOAL} times the time without recording")


if __name__ == "__main__":
    main()
