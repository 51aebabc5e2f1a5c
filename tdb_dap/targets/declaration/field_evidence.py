"""Evidence about fields that nothing reads: which have no effect, which must not ask for anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tdb_dap.targets.declaration.instruction_set import TABLES, Instruction

Entry = Mapping[str, list[str]]


@cache
def recorded() -> Mapping[str, Mapping[str, Mapping[str, Entry]]]:
    """By table, register and sub type: fields that are refused, and fields that were found to have no effect.

    Written by ``python -m scripts.robustness.fuzz_simulator --fields``.
    """
    text = (TABLES / "field_use.json").read_text("utf-8")
    entries: dict[str, dict[str, dict[str, dict[str, list[str]]]]] = json.loads(text)
    return entries


@cache
def _refused(table: str, register: str, sub: int) -> tuple[str, ...]:
    return tuple(recorded().get(table, {}).get(register, {}).get(str(sub), {}).get("refused", ()))


def refused_fields(table: str | Mapping[str, Any], form: Instruction) -> tuple[str, ...]:
    """Fields of a form that are not simulated; none for a chip that brings its own table."""
    return _refused(table, form.register, form.sub) if isinstance(table, str) else ()
