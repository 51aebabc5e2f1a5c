"""Which fields that we do not use have no effect on the vendor's simulator.

Each is set to other values, in commands that are otherwise the same, on the same memories.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.field_use import unused_fields
from scripts.robustness.fuzz_simulator.mutation import mutate
from scripts.robustness.fuzz_simulator.seeds import Case, form_name
from tdb_dap.errors import TdbError
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.families import FAMILIES

_COMMANDS = 4
"""Commands of a form that every field is tried in."""
_KINDS = ("finite", "extreme")
"""Their data, by turns: some fields show in numbers that are large, or have a sign."""
_TRIES = 80
"""Variants that are drawn for them: most of a form that no model holds end the simulator."""


def record(chip: Chip, bench: Bench, seeds: dict[str, list[Case]], path: Path, only: str) -> None:
    """Write what was found for the forms of a chip's table into ``path``, next to what it holds of others."""
    tables = json.loads(path.read_text("utf-8")) if path.exists() else {}
    by_kind: dict[int, list[Case]] = {}
    for case in (case for cases in seeds.values() for case in cases):
        by_kind.setdefault(case.kind, []).append(case)
    found: dict[str, dict[str, dict[str, list[str]]]] = tables.setdefault(str(chip.table), {})
    for kind, form in enumerate(chip.instruction_set.instructions):
        family = FAMILIES.get(form.register)
        if family is None or (family.name, form.sub) not in chip.semantics or form.is_unproven:
            continue
        if not fnmatch(form_name(chip, kind), only):
            continue
        unused = unused_fields(chip, kind)
        started = time.monotonic()
        idle = idle_fields(chip, bench, by_kind.get(kind, []), unused)
        entry = {"refused": sorted(set(unused) - idle), "without effect": sorted(idle)}
        found.setdefault(form.register, {})[str(form.sub)] = entry
        print(f"{chip.name} {form.mnemonic}: {entry} {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
        path.write_text(json.dumps(tables, indent=1, sort_keys=True) + "\n", "utf-8")


def idle_fields(chip: Chip, bench: Bench, cases: list[Case], unused: Iterable[str]) -> set[str]:
    """Those of ``unused`` whose values never changed what the vendor's simulator did."""
    random = np.random.default_rng(1)
    tried: set[str] = set()
    active: set[str] = set()
    done = 0
    for index in range(_TRIES):
        if not cases or done == _COMMANDS:
            break
        try:
            kind = _KINDS[done % len(_KINDS)]
            case = mutate(cases[index % len(cases)], random, kind, bench.ddr_start, stay=True)
            before = bench.vendor_result(case, random, kind)
        except TdbError:
            continue
        # What it computes of no numbers at all differs each time.
        if not before or bench.vendor_result(case) != before or not bench.is_defined(case):
            continue
        done += 1
        names = {shared: (name, width) for name, shared, width in chip.named_fields(case.kind)}
        for field in unused:
            name, width = names[field]
            old = case.instruction.decode(case.descriptor)[name]
            values = {1, 2, 3, (1 << width) - 1, old ^ 1, int(random.integers(1 << min(width, 16)))}
            values |= set(range(1 << width)) if width <= 3 else set()
            for value in sorted({value & ((1 << width) - 1) for value in values} - {old}):
                if field in active:
                    break
                descriptor = case.instruction.encode(case.descriptor, **{name: value})
                tried.add(field)
                if bench.vendor_result(replace(case, descriptor=descriptor)) != before:
                    active.add(field)
    return tried - active
