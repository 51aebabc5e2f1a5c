"""Whether the kernel in a released wheel is as fast as the one that pip builds here: both in one run, in turn.

    python benchmarks/wheel.py WHEEL CONTEXT [CONTEXT ...] [--rounds N] [--lanes N]

WHEEL: with the kernel for this system, as `make release` makes it by the cross compiler. CONTEXT: directories with a
model and its inputs as ``input.npz``. The other kernel is that of this checkout (``make setup``), built from the same
sources; everything that is Python is the checkout's in both.

Each kernel has a process, which opens the models once and runs them from the first command to the last whenever it is
asked, on one processor. Counted is the processor's time of the best round, which other work on the machine disturbs
least. ``ratio``: the own kernel's time over that of the wheel's; 1 is as fast, more is faster. Outputs are compared
bit for bit. Exit code 1 if the ratio of all models together is below 0.97 or an output differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WANTED = 0.97

WORKER = """
import hashlib, json, os, sys, time
sys.path[:] = [entry for entry in sys.path if entry]
from tdb_dap.tools.opening import open_debugger
from tdb_dap.targets import kernel
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
if not kernel.is_active():
    raise SystemExit(kernel.describe())
if sys.argv[1] != "0":
    kernel.choose_width(int(sys.argv[1]))
opened = [open_debugger(context, context + "/input.npz", history_limit=0) for context in sys.argv[2:]]
print(json.dumps({"how": kernel.describe(), "file": kernel.__file__}), flush=True)
for line in sys.stdin:
    debugger = opened[int(line)]
    debugger.machine.reset()
    start = time.process_time()
    stop = debugger.run()
    seconds = time.process_time() - start
    if stop.reason != "end":
        raise SystemExit(stop.text)
    digest = hashlib.sha256()
    for tensor in debugger.program.outputs:
        digest.update(debugger.machine.memory.read(tensor.view).tobytes())
    print(json.dumps({"seconds": seconds, "outputs": digest.hexdigest()}), flush=True)
"""


class Kernel:
    """A process that runs models with the package in a folder."""

    def __init__(self, folder: Path, lanes: int, contexts: list[Path]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "TDB_DAP_PLAN_CACHE": "0"}
        command = [sys.executable, "-c", WORKER, str(lanes), *map(str, contexts)]
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.seen = self._line()
        if not Path(self.seen["file"]).is_relative_to(folder.resolve()):
            raise SystemExit(f"wheel: error: {self.seen['file']} is in use instead of the one in {folder}")

    def _line(self) -> dict[str, Any]:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise SystemExit(self.process.wait() or 1)
        seen: dict[str, Any] = json.loads(line)
        return seen

    def run(self, index: int) -> dict[str, Any]:
        """Run a model: ``seconds`` of the processor, and a hash of its ``outputs``."""
        print(index, file=self.process.stdin, flush=True)
        return self._line()


def _put_kernel(wheel: Path, folder: Path) -> None:
    """Make a copy of this checkout's package with the kernel of the wheel."""
    shutil.copytree(ROOT / "tdb_dap", folder / "tdb_dap", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("tdb_dap/targets/kernel/_kernel."):
                archive.extract(name, folder)


def main() -> int:
    """Compare, and print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", metavar="WHEEL", type=Path)
    parser.add_argument("contexts", metavar="CONTEXT", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lanes", type=int, default=0, help="width of the kernel; default: the widest")
    given = parser.parse_args()
    contexts = [context.resolve() for context in given.contexts]
    with tempfile.TemporaryDirectory() as scratch:
        _put_kernel(given.wheel, Path(scratch))
        kernels = {"wheel": Kernel(Path(scratch), given.lanes, contexts), "own": Kernel(ROOT, given.lanes, contexts)}
        best = {name: [math.inf] * len(contexts) for name in kernels}
        outputs: list[set[str]] = [set() for _ in contexts]
        for turn in range(given.rounds + 1):
            for index in range(len(contexts)):
                for name in sorted(kernels, reverse=bool(turn % 2)):
                    seen = kernels[name].run(index)
                    outputs[index].add(seen["outputs"])
                    if turn:  # the first run makes the plans
                        best[name][index] = min(best[name][index], seen["seconds"])
        for kernel in kernels.values():
            kernel.process.stdin.close()  # type: ignore[union-attr]
            kernel.process.wait()
    for name, kernel in kernels.items():
        print(f"{name}: {kernel.seen['how']}")
    print(f"{'':32}{'own, s':>12}{'wheel, s':>12}{'ratio':>8}")
    for index, context in enumerate(contexts):
        own, wheel = best["own"][index], best["wheel"][index]
        same = "" if len(outputs[index]) == 1 else "  outputs differ"
        print(f"{context.name:32}{own:12.4f}{wheel:12.4f}{own / wheel:8.3f}{same}")
    ratio = sum(best["own"]) / sum(best["wheel"])
    mean = math.exp(sum(math.log(own / wheel) for own, wheel in zip(*best.values(), strict=True)) / len(contexts)) ** -1
    print(f"{'all together':56}{ratio:8.3f}, mean of the ratios {mean:.3f}")
    return int(ratio < WANTED or any(len(hashes) != 1 for hashes in outputs))


if __name__ == "__main__":
    sys.exit(main())
