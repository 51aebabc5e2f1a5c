"""Compare our semantics with the vendor's simulator on random commands.

    python -m scripts.robustness.fuzz_simulator [--chips bm1684x,...] [--only 'arith.*'] [--cases N] [--seed S]
                                     [--models DIR ...] [--show N] [--write]

``--write`` keeps the results in results.json, which the site shows for each chip.

Exit code 1 if an operation that occurs in the models is inexact, 2 without the vendor's libraries.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.contents import KINDS
from scripts.robustness.fuzz_simulator.fields import record
from scripts.robustness.fuzz_simulator.mutants import BROKEN, Mutant, mutants, neighbours, walk
from scripts.robustness.fuzz_simulator.mutation import mutate
from scripts.robustness.fuzz_simulator.report import is_open, operation, write
from scripts.robustness.fuzz_simulator.seeds import Case, form_name, made_seeds, seeds_of
from tdb_dap.backends.discovery import library_of
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.families import FAMILIES

DATA = Path(__file__).resolve().parents[3] / "tests" / "data"
MODELS = (DATA, DATA / "chips")
SMALL_CHIPS = ("CV180X", "CV181X", "CV182X", "CV183X")
CHIPS = ("BM1684", "BM1684X", "BM1688", "BM1690", "BM1690E", "BM1684X2", "CV184X", "SGTPUV8", "SG2380", *SMALL_CHIPS)
_L2_BYTES = 4 << 20
"""Bytes of L2 that cases work on, at most: all memories are compared after each."""
_MOST_UNDEFINED = 3
"""Times as many undefined cases as others before an operation is given up."""
_LEAST_CASES = 12
"""As if there were so many others at first."""

Rows = dict[str, dict[str, Counter[str]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chips", default=",".join(CHIPS).lower())
    parser.add_argument("--only", default="*", metavar="GLOB", help="only these operations")
    parser.add_argument("--cases", type=int, default=30, help="cases per operation and kind of data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, nargs="*", default=[], help="further models to take commands from")
    parser.add_argument("--cmodel-path", type=Path, help="where the vendor's libraries are")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N inexact cases of each operation")
    parser.add_argument("--fields", type=Path, metavar="FILE", help="record which unused fields have no effect")
    parser.add_argument("--mutants", type=int, default=0, metavar="N", help="damage N commands instead; see mutants.py")
    parser.add_argument(
        "--neighbours", type=int, default=0, metavar="BITS", help="try every number in each field of at most BITS bits"
    )
    parser.add_argument("--write", action="store_true", help="keep the results in results.json")
    arguments = parser.parse_args()
    names = arguments.chips.upper().split(",")
    if arguments.write and arguments.only != "*":
        parser.error("--write takes all operations of a chip; leave out --only")
    failed = False
    for name in names:
        chip = with_small_l2(chips()[name])
        try:
            bench = Bench(chip, library_of(chip, arguments.cmodel_path))
        except BadInput as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        seeds = seeds_of(chip, [*MODELS, *arguments.models])
        if arguments.fields is not None:
            record(chip, bench, {**made_seeds(chip, seeds), **seeds}, arguments.fields, arguments.only)
            bench.close()
            continue
        if arguments.mutants or arguments.neighbours:
            chosen = {each: found for each, found in seeds.items() if fnmatch(each, arguments.only)}
            random = np.random.default_rng(arguments.seed)
            damaged: Iterable[Mutant] = islice(mutants(chosen, random, bench.ddr_start), arguments.mutants)
            if arguments.neighbours:
                damaged = neighbours(chosen, random, bench.ddr_start, arguments.neighbours)
            tally = walk(bench, damaged, random, arguments.show)
            bench.close()
            totals = sum(tally.values(), Counter())
            print(f"{name}: {totals.total():,} mutants: {dict(totals)}", flush=True)
            failed = failed or any(totals[verdict] for verdict in BROKEN)
            continue
        rows = fuzz(chip, bench, arguments)
        bench.close()
        emitted = set(seeds)
        run = sum(sum(c.values()) - c["undefined"] - c["skipped"] for row in rows.values() for c in row.values())
        if arguments.write:
            operations = {each: operation(row, each in emitted) for each, row in rows.items()}
            write(name, run, arguments.seed, operations)
        wrong = [f"{row}" for row in sorted(rows) if row in emitted and is_open(rows[row])]
        failed = failed or bool(wrong)
        print(f"{name}: {run:,} cases; open among what the models hold: {', '.join(wrong) or 'nothing'}", flush=True)
    return 1 if failed else 0


def with_small_l2(chip: Chip) -> Chip:
    geometry = replace(chip.geometry, l2_bytes=min(chip.geometry.l2_bytes, _L2_BYTES))
    return replace(chip, geometry=geometry)


def fuzz(chip: Chip, bench: Bench, arguments: argparse.Namespace) -> Rows:
    """Tally of verdicts per operation and kind of data."""
    rows: Rows = defaultdict(lambda: defaultdict(Counter))
    shown: Counter[str] = Counter()
    found = seeds_of(chip, [*MODELS, *arguments.models])
    found = {**made_seeds(chip, found), **found}
    for name, seeds in sorted(found.items()):
        if not fnmatch(name, arguments.only) and not _may_become(seeds, arguments.only):
            continue
        started = time.monotonic()
        for kind in KINDS:
            random = np.random.default_rng([arguments.seed, zlib.crc32(f"{chip.name} {name} {kind}".encode())])
            done = undefined = tries = 0
            while (
                done < arguments.cases
                and undefined < _MOST_UNDEFINED * max(done, min(arguments.cases, _LEAST_CASES))
                and tries < 60 * arguments.cases
            ):
                tries += 1
                seed = seeds[int(random.integers(len(seeds)))]
                case = mutate(seed, random, kind, bench.ddr_start, stay=tries % 3 == 0)
                if not fnmatch(case.name, arguments.only):
                    continue
                outcome = bench.run(case, random, kind)
                rows[case.name][kind][outcome.verdict] += 1
                undefined += outcome.verdict == "undefined"
                done += outcome.verdict not in ("undefined", "skipped")
                key = f"{case.name} {outcome.verdict}"
                if outcome.verdict in ("inexact", "refused", "failed") and shown[key] < arguments.show:
                    shown[key] += 1
                    fields = {k: v for k, v in case.instruction.decode(case.descriptor).items() if v}
                    print(f"{chip.name} {key}, {kind}: {outcome.text[:400]}\n    {fields}", flush=True)
        if arguments.show:
            print(f"{chip.name} {name}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    return {name: dict(row) for name, row in rows.items()}


def _may_become(seeds: list[Case], wanted: str) -> bool:
    """Whether variants of a command may be of an operation that is wanted."""
    families = {seed.family for seed in seeds}
    instructions = seeds[0].chip.instruction_set.instructions
    return any(
        fnmatch(form_name(seeds[0].chip, kind), wanted) and FAMILIES[form.register].name in families
        for kind, form in enumerate(instructions)
        if form.register in FAMILIES
    )


if __name__ == "__main__":
    sys.exit(main())
