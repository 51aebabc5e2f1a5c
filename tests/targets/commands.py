"""Commands made from nothing, on memories made from nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.declaration.fields import shared_name

DDR_BYTES = 1 << 16


def form(chip: Chip, mnemonic: str, long: int = False) -> int:
    """Kind of the form that compilers emit for a mnemonic, or of the long one of a TIU."""
    found = [(i.size, kind) for kind, i in enumerate(chip.instruction_set.instructions) if i.mnemonic == mnemonic]
    tiu = chip.instruction_set.instructions[found[0][1]].engine == "tiu"
    return (min(found) if tiu and not long else max(found))[1]


def command(chip: Chip, mnemonic: str, long: int = False, **values: int) -> Description:
    """One command; fields by the names that all chips share, the others are 0. ``long``: true or not, as fields are."""
    kind = form(chip, mnemonic, long)
    names = {shared_name(name): name for name, _, _ in chip.instruction_set.instructions[kind].fields}
    descriptor = chip.encode(kind, chip.instruction_set.blank(kind), {names[n]: v for n, v in values.items()})
    return chip.describe(kind, descriptor, 0, {})


def encoded(chip: Chip, mnemonic: str, **values: int) -> tuple[int, bytes]:
    """Kind and descriptor of a command; fields that it does not have are left out, the others are 0."""
    kind = form(chip, mnemonic)
    names = {shared: name for name, shared, _ in chip.named_fields(kind)}
    own = {names[name]: value for name, value in values.items() if name in names}
    return kind, chip.encode(kind, chip.instruction_set.blank(kind), own)


def computed(chip: Chip, mnemonic: str, numbers: Mapping[str, Array], **values: int) -> Array:
    """The numbers that a command computes of ``numbers`` by role; fields that it does not have are left out."""
    description = chip.describe(*encoded(chip, mnemonic, **values), 0, {})
    memory = empty(chip)
    for role, view in description.binding.operands.items():
        if role in numbers and isinstance(view, View):
            memory.write(view, view.dtype.encode(numbers[role]).reshape(view.shape))
    chip.execute(description, memory)
    (result,) = description.results
    assert isinstance(result, View)
    return result.dtype.decode(memory.read(result)).reshape(-1)


def ddr_start(chip: Chip) -> int:
    """Offset of the first byte of DDR."""
    window = next(window for window in chip.geometry.windows if window.space is Space.GLOBAL)
    return window.start - window.base


def empty(chip: Chip) -> Memory:
    """Memories of zeros with a piece of DDR."""
    return Memory(chip.geometry, 1, [Region(ddr_start(chip), np.zeros(DDR_BYTES, np.uint8), "bench")])


def chip_named(name: str) -> Chip:
    chip = chips()[name]
    assert isinstance(chip, Chip)
    return chip
