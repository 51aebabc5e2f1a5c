"""Evidence for the views of an instruction form: a compiled model, a sister chip's, or the names of its fields."""

from __future__ import annotations

import json
from enum import Enum
from functools import cache

from tdb_dap.targets.declaration.instruction_set import TABLES, Instruction
from tdb_dap.targets.families import FAMILIES


class Evidence(Enum):
    """``MODELS``: compiled models for this chip hold the form, and its text and results were compared.

    ``SISTER``: models for another chip do. ``FIELDS``: none does; the views are read from the names of the fields.
    """

    MODELS = "models"
    SISTER = "sister"
    FIELDS = "fields"


@cache
def _recorded() -> dict[str, dict[str, list[int]]]:
    """Sub types by chip and register, as scripts/record_evidence.py has found them in compiled models."""
    text = (TABLES / "evidence.json").read_text("utf-8")
    entries: dict[str, dict[str, list[int]]] = json.loads(text)
    return entries


@cache
def recorded_plans() -> dict[str, dict[str, tuple[int, int]]]:
    """Commands of compiled models that change memory, and those without a plan, by chip and "register sub".

    As scripts/record_plans.py has counted them.
    """
    text = (TABLES / "plans.json").read_text("utf-8")
    entries: dict[str, dict[str, tuple[int, int]]] = json.loads(text)
    return entries


@cache
def _of_families() -> frozenset[tuple[str, int]]:
    """Family and sub type of everything recorded for any chip."""
    return frozenset(
        (FAMILIES[register].name, sub)
        for forms in _recorded().values()
        for register, subs in forms.items()
        if register in FAMILIES
        for sub in subs
    )


def evidence(chip: str, instruction: Instruction) -> Evidence:
    """Evidence for one form of a chip."""
    if instruction.sub in _recorded().get(chip, {}).get(instruction.register, ()):
        return Evidence.MODELS
    family = FAMILIES.get(instruction.register)
    known = family is not None and family.evidence == "models" and (family.name, instruction.sub) in _of_families()
    return Evidence.SISTER if known else Evidence.FIELDS
