"""What the sanitizers cost: each of them beside a plain run, and the hazards of a very long program.

    python benchmarks/sanitize.py [CONTEXT INPUTS.npz] ... [--runs N]

CONTEXT: default the bundled sample; benchmarks/vendor_models.py makes ResNet-18 and a transformer. Plain runs and runs
with sanitizers take turns, and the best of each counts, so that a busy machine disturbs both alike. What a sanitizer
finds before the program runs is worked out anew in every run; decoding the commands, which any run needs, is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
sys.path.insert(0, str(ROOT))

from benchmarks.decode import repeated  # noqa: E402
from tdb_dap.engine.control.debugger import Debugger  # noqa: E402
from tdb_dap.engine.sanitizers import BY_NAME, chosen, made  # noqa: E402
from tdb_dap.engine.sanitizers.hazards import hazards  # noqa: E402
from tdb_dap.engine.sanitizers.survey import survey  # noqa: E402
from tdb_dap.tools.opening import open_debugger, open_program  # noqa: E402

_LONG = 100_000


def plain(debugger: Debugger) -> float:
    """Seconds of a run."""
    debugger.machine.reset()
    started = time.perf_counter()
    for _ in range(len(debugger.program.commands)):
        debugger.machine.step()
    return time.perf_counter() - started


def sanitized(debugger: Debugger, names: list[str]) -> float:
    """Seconds of a run with sanitizers."""
    debugger.machine.reset()
    started = time.perf_counter()
    survey(debugger, made(chosen(names)), lambda done: None)
    return time.perf_counter() - started


def measure(context: Path, inputs: Path, runs: int) -> None:
    debugger = open_debugger(context, inputs, history_limit=0)
    names = ["all", *BY_NAME]
    sanitized(debugger, names)  # what is worked out once for all runs
    base = [plain(debugger) for _ in range(2)]
    print(f"{context.name}: {len(debugger.program.commands):,} commands")
    for name in names:
        best = float("inf")
        for _ in range(runs):
            base.append(plain(debugger))
            best = min(best, sanitized(debugger, [name]))
        # Those that know everything before the program runs do not run it.
        print(f"  {name:14} {best:8.3f} s, {best / min(base):5.2f} times the plain run of {min(base):.3f} s")


def long_program() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, _ = repeated(Path(folder) / "long.bmodel", _LONG)
        program = open_program(path)
        started = time.perf_counter()
        rows = program.access_rows
        collected = time.perf_counter() - started
        times = []
        for _ in range(3):
            started = time.perf_counter()
            found = len(list(hazards(program)))
            times.append(time.perf_counter() - started)
        print(
            f"{len(program.commands):,} commands: {len(rows):,} accesses collected in {collected:.2f} s, once for all "
            f"sanitizers; hazards in {min(times) * 1e3:.0f} ms ({found} found)"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="CONTEXT INPUTS.npz")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    models = arguments.models or [SAMPLE, SAMPLE / "input.npz"]
    if len(models) % 2:
        parser.error("give the inputs behind every context")
    for context, inputs in zip(models[::2], models[1::2], strict=True):
        measure(context, inputs, arguments.runs)
    long_program()
    return 0


if __name__ == "__main__":
    sys.exit(main())
