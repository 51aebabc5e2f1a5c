"""Make faults in compiled models and count who finds them.

    python -m scripts.robustness.mutate_models [MODEL ...] [--per-model N] [--seed S] [--jobs N] [--missed]
                                    [--write]

``--write`` puts the table into docs/sanitizers.md.

Exit code 1 if less than 95 % of the faults that change something are found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random

from scripts import figures
from scripts.robustness.mutate_models.faults import KINDS, faults
from scripts.robustness.mutate_models.judging import Model, Verdict, finders, judge, outcomes
from scripts.robustness.mutate_models.mutant import Fault
from scripts.robustness.mutate_models.report import WANTED, found_share, table
from tdb_dap.engine.compare.recording import record
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.reference.reference import Reference
from tdb_dap.tools.opening import open_debugger

ROOT = Path(__file__).resolve().parents[3]
MODELS = (
    "bm1684/toy_bm1684_f32",
    "bm1684/toy_bm1684_int8",
    "bm1684/act_sigmoid_tanh_bm1684_int8",
    "bm1684x/toy_bm1684x_f32",
    "bm1684x/toy_bm1684x_f16",
    "bm1684x/toy_bm1684x_int8",
    "bm1684x/toy_bm1684x_f32nolg",
    "bm1684x/attention_bm1684x_int8",
    "bm1684x/lstm_bm1684x_f32",
    "bm1688/toy_bm1688_int8c2",
    "bm1684x/resize_bilinear_bm1684x_int8",
    "bm1684x/softmax_bm1684x_f32",
    "bm1688/cumsum_tile_bm1688_f16c2",
    "bm1688/toy_bm1688_f16",
    "bm1688/toy_bm1688_int8",
    "bm1688/toy_bm1688_f16c2",
    "bm1688/softmax_bm1688_f16c2",
    "bm1690/toy_bm1690_f32",
    "bm1690/toy_bm1690_int8",
    "bm1690/toy_bm1690_f16c8",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("models", type=Path, nargs="*", help="context directories; default: those of the tests")
    parser.add_argument(
        "--per-model", type=int, default=40, metavar="N", help="faults in each model, all kinds in turn"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--missed", action="store_true", help="list the faults that nobody finds")
    parser.add_argument("--write", action="store_true", help="put the table into docs/sanitizers.md")
    arguments = parser.parse_args()
    models = arguments.models or [ROOT / "tests" / "data" / name for name in MODELS]
    verdicts: list[Verdict] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        work = partial(judged, count=arguments.per_model, seed=arguments.seed)
        for model, found in zip(models, pool.map(work, models), strict=True):
            verdicts += found
            changing = [verdict for verdict in found if verdict.changes]
            print(f"{model.name}: {found_share(changing)} of {len(found)} faults", flush=True)
            for verdict in changing if arguments.missed else ():
                if not verdict.is_found:
                    print(f"    missed: {verdict.kind}: {verdict.text}", flush=True)
    lines = table(verdicts, len(models), arguments.seed)
    print("\n".join(lines))
    if arguments.write:
        figures.write("sanitizers", lines)
    changing = [verdict for verdict in verdicts if verdict.changes]
    return 0 if sum(bool(verdict.finders) for verdict in changing) >= WANTED * len(changing) else 1


def judged(path: Path, count: int, seed: int) -> list[Verdict]:
    """Verdicts on the faults of one model."""
    inputs = path / "input.npz"
    debugger = open_debugger(path, inputs if inputs.exists() else None, history_limit=0)
    program, words = debugger.program, debugger.machine.inputs
    truth = outcomes(program, words)
    reference = Reference([path], [record(debugger)])
    if len(truth) != 1 or finders(program, words, reference):
        print(f"error: {path}: the model itself has findings, or more than one result", file=sys.stderr)
        return []
    model = Model(program, words, next(iter(truth)), reference)
    return [judge(model, fault) for fault in _chosen(program, count, seed)]


def _chosen(program: Program, count: int, seed: int) -> Iterator[Fault]:
    """Of each kind in turn."""
    left = faults(program, Random(f"{seed} {program.context.bmodel.parent.name}"))
    for kind in cycle(KINDS):
        if count == 0 or not any(left.values()):
            return
        if left[kind]:
            count -= 1
            yield left[kind].pop()


if __name__ == "__main__":
    sys.exit(main())
