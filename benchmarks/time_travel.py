"""What going back in time costs: overhead of the history, one step back, travel, restart, memory.

    python benchmarks/time_travel.py [CONTEXT] [--inputs X.npz] [--runs N]

CONTEXT: default the bundled sample. The run with history and the run without (no undo log, no checkpoints, old values
not even read) take turns, and the best of each counts, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
sys.path.insert(0, str(ROOT))

from tdb_dap.engine.hardware.memory import Memory  # noqa: E402
from tdb_dap.engine.hardware.target import Target  # noqa: E402
from tdb_dap.engine.machine.backend import Executable, InProcess, Outcome  # noqa: E402
from tdb_dap.engine.machine.input_data import load_inputs  # noqa: E402
from tdb_dap.engine.machine.machine import Machine  # noqa: E402
from tdb_dap.engine.program.program import Program  # noqa: E402
from tdb_dap.tools.opening import open_program  # noqa: E402


class Forgetful(InProcess):
    """Executes without looking at what it overwrites."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._chip = target

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        self._chip.execute(command.description, memory)
        return Outcome()


def seconds(machine: Machine, ordinal: int) -> float:
    """What it takes to go there: wall time."""
    started = time.perf_counter()
    machine.travel(ordinal)
    return time.perf_counter() - started


def run_seconds(machine: Machine, count: int) -> float:
    """Processor time of a run from the start."""
    machine.reset()
    started = time.process_time()
    for _ in range(count):
        machine.step()
    return time.process_time() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("context", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--inputs", type=Path, help="default: input.npz of the context")
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    program = open_program(arguments.context)
    inputs = load_inputs(arguments.inputs or arguments.context / "input.npz", program.inputs)

    def machine(program: Program, **options: object) -> Machine:
        made = Machine(program, **options)  # type: ignore[arg-type]
        made.load_inputs(inputs)
        return made

    count = len(program.commands)
    kept = machine(program)
    plain = machine(program, history_limit=0, backend=Forgetful(program.target))
    run_seconds(plain, count)  # what is worked out once for all runs
    times = [(run_seconds(kept, count), run_seconds(plain, count)) for _ in range(arguments.runs)]
    with_history, without = (min(column) for column in zip(*times, strict=True))
    print(f"{arguments.context.name}: {count:,} commands")
    print(f"run without history {without:.3f} s, with {with_history:.3f} s: {with_history / without - 1:+.1%}")

    backs: list[float] = []
    kept.travel(count)
    while kept.ordinal:
        started = time.perf_counter()
        kept.travel(kept.ordinal - 1)
        backs.append(time.perf_counter() - started)
    backs.sort()
    print(
        f"one step back: median {backs[len(backs) // 2] * 1e6:.0f} us, 99% {backs[len(backs) * 99 // 100] * 1e6:.0f} us"
    )

    kept.travel(count)
    choose = random.Random(1)
    journeys = [seconds(kept, choose.randrange(count + 1)) for _ in range(30)]
    print(f"travel to any ordinal: median {sorted(journeys)[15]:.3f} s, longest {max(journeys):.3f} s")

    little = machine(program, history_limit=256 << 20)
    little.travel(count)
    journeys = [seconds(little, choose.randrange(count + 1)) for _ in range(30)]
    room = little.checkpoints.nbytes >> 20
    print(
        f"with 256 MB of history: longest {max(journeys):.3f} s; "
        f"{len(little.checkpoints.ordinals)} checkpoints in {room} MB"
    )
    restarts = []
    for _ in range(5):
        kept.travel(count)
        started = time.perf_counter()
        kept.reset()
        restarts.append(time.perf_counter() - started)
    print(f"restart: {min(restarts) * 1e3:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
