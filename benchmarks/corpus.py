"""Correct networks of many builds: the outputs of the vendor's runtime bit for bit, and no report of any sanitizer.

    python benchmarks/corpus.py --models DIR [NAME ...] [--for CHIP:FORMAT[:CORES] ...] [--vendor-python PYTHON]
    python benchmarks/corpus.py --compiled DIR [NAME ...]

NAME: networks of benchmarks/vendor_networks.py and vendor_models.py; none: all but the largest. They are compiled into
``--models`` once with the vendor's tools (``--vendor-python`` or $TDB_VENDOR_PYTHON), whose runtime also executes
them. Where the compiler ends with an error there is no case; that is said and counts for nothing.

``--compiled``: folders that have been compiled and executed already, each with a model, input.npz and runtime.npz.

Exit code 1 if outputs differ, a command is refused or anything is reported that docs/sanitizers.md does not explain.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tdb_dap.engine.sanitizers import chosen, made  # noqa: E402
from tdb_dap.engine.sanitizers.survey import survey  # noqa: E402
from tdb_dap.tools.opening import open_debugger  # noqa: E402

NETWORKS = [
    "unet",
    "segmenter",
    "pyramid",
    "yolo",
    "vit",
    "convnext",
    "efficient",
    "crnn",
    "reader",
    "whisper",
    "enlarger",
]
NETWORKS += ["mobilenet", "resnet18", "swin", "transformer"]
TARGETS = [
    *(f"bm1684x:{form}" for form in ("F32", "F16", "BF16", "INT8")),
    *(f"bm1684:{form}" for form in ("F32", "INT8")),
    *(f"bm1688:{form}" for form in ("F16:2", "INT8:2", "F16", "INT8")),
    *(f"bm1690:{form}" for form in ("F16:8", "INT8", "F16")),
]

EXPLAINED = {
    "crnn_bm1690_f16c8": ("hazard", "unused"),
    "resnet18_cv181x_int8": ("hazard",),
    "swin_bm1688_f16c2": ("unused",),
    "transpose_many_cv181x_bf16": ("unused", "uninitialized"),
}
"""By context: the sanitizers that find what docs/sanitizers.md explains."""


def compiled(python: str, folder: Path, name: str, target: str) -> Path | str:
    """The context directory, or the last line of what the compiler says."""
    path = f"{Path(python).parent}:{os.environ['PATH']}"
    command = [python, str(HERE / "vendor_models.py"), str(folder), name, "--runtime", "--for", target]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else "no word"
    return Path(json.loads(done.stdout.splitlines()[-1])["contexts"][0])


def checked(context: Path) -> tuple[str, list[str], int]:
    """What is wrong with the outputs, what the sanitizers report, and the number of commands."""
    debugger = open_debugger(context, context / "input.npz", history_limit=0)
    found = survey(debugger, made(chosen(["all"])), lambda done: None, comes_back=False)
    wrong = found.stopped
    with np.load(context / "runtime.npz") as truth:
        for name, numbers in debugger.inspector.outputs().items() if not wrong else ():
            expected = truth[name].ravel()
            count = np.count_nonzero((numbers.ravel() != expected) & ~(np.isnan(numbers.ravel()) & np.isnan(expected)))
            if count:
                wrong = f"{count:,} of {expected.size:,} numbers of {name} differ"
    return wrong, [f"{f.severity}: {f.text} [{f.filter}]" for f in found.findings], len(debugger.program.commands)


def reported(context: Path) -> bool:
    """Whether a case is right; prints a line, and what the sanitizers report."""
    started = time.perf_counter()
    differs, findings, commands = checked(context)
    seconds = time.perf_counter() - started
    known = tuple(f"[{kind}]" for kind in EXPLAINED.get(context.name, ()))
    print(f"{context.name}: {commands:,} commands, {seconds:.1f} s, {differs or 'equal'}, {len(findings)} reports")
    print("".join(f"    {finding}\n" for finding in findings[:8]), end="", flush=True)
    return not differs and all(finding.endswith(known) for finding in findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--models", type=Path, default=HERE.parent / "build" / "models", help="where to compile")
    parser.add_argument("--compiled", type=Path, metavar="DIR", help="compile nothing; check the cases in DIR")
    parser.add_argument("--for", dest="targets", nargs="*", default=TARGETS, metavar="CHIP:FORMAT[:CORES]")
    parser.add_argument("--vendor-python", default=os.environ.get("TDB_VENDOR_PYTHON"))
    options = parser.parse_args()
    if options.compiled is not None:
        cases = [file.parent for file in sorted(options.compiled.glob("*/runtime.npz"))]
        chosen_cases = [case for case in cases if not options.names or case.name in options.names]
        right = [reported(case) for case in chosen_cases]
        print(f"{sum(right)} of {len(right)} cases are right")
        return int(not right or not all(right))
    if not options.vendor_python:
        parser.error("the vendor's tools compile the networks: give their interpreter as --vendor-python")
    wrong = 0
    for name in options.names or NETWORKS:
        for target in options.targets:
            context = compiled(options.vendor_python, options.models, name, target)
            if isinstance(context, str):
                print(f"{name} {target}: not compiled: {context}", flush=True)
                continue
            wrong += not reported(context)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
