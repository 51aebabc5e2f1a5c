"""A whole check of a compiled model by this project and by the vendor's bmodel_checker, one after the other in one run.

    python benchmarks/check.py CONTEXT REFERENCE.npz [--vendor-python PYTHON] [--jobs N]

CONTEXT: a directory that the vendor's compiler left behind, with its inputs as ``input_ref_data.dat`` (both tools take
them from there). The vendor's tools: see benchmarks/simulate.py; the interpreter may also be given in
$TDB_VENDOR_PYTHON. Without it only our own times are shown. Each tool runs once, from start to end of its process: wall
time, processor time of all its processes, and the largest resident size of any of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURE = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True, stdin=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
result = {"seconds": time.perf_counter() - start, "processor": used.ru_utime + used.ru_stime,
          "megabytes": used.ru_maxrss / 1024, "code": done.returncode, "text": (done.stdout + done.stderr)[-500:]}
print(json.dumps(result))
"""


def measured(command: list[str], folder: Path, **environment: str) -> dict[str, float | str]:
    """Times of one command, measured by a process of its own so that nothing of this one counts."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float | str] = json.loads(done.stdout)
    if found["code"] not in (0, 1):
        raise SystemExit(f"{command[0]} failed:\n{found['text']}")
    return found


def main() -> None:
    """Print one line per tool, and how many times the vendor's numbers are ours."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("context", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--vendor-python", type=Path, default=os.environ.get("TDB_VENDOR_PYTHON"))
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    context, reference = arguments.context.resolve(), str(arguments.reference.resolve())
    ours = [sys.executable, "-m", "tdb_dap", "check", str(context), "--reference", reference]
    rows: dict[str, dict[str, float | str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        rows["cascade"] = measured(ours, work)
        rows["standalone"] = measured([*ours, "--mode", "standalone"], work)
        jobs = ["--mode", "standalone", "--jobs", str(arguments.jobs)]
        rows[f"standalone, {arguments.jobs} processes"] = measured([*ours, *jobs], work)
        if arguments.vendor_python:
            programs = Path(arguments.vendor_python).parent
            copy = work / "context"  # the vendor's tool writes into it
            shutil.copytree(context, copy)
            path = f"{programs}{os.pathsep}{os.environ['PATH']}"
            command = [str(programs / "bmodel_checker"), str(copy), reference, "--no_interactive"]
            rows["vendor"] = measured(command, work, PATH=path)
    for name, row in rows.items():
        numbers = f"{row['seconds']:8.2f} s {row['processor']:8.2f} s CPU {row['megabytes']:8.0f} MB"
        print(f"{name:28}{numbers}")
    if "vendor" in rows:
        ratios = (
            float(rows["vendor"][key]) / float(rows["cascade"][key]) for key in ("seconds", "processor", "megabytes")
        )
        print("vendor / cascade: {:.1f} x wall, {:.1f} x CPU, {:.1f} x memory".format(*ratios))


if __name__ == "__main__":
    main()
