"""The fields of a case, to be changed by their shared names."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from scripts.robustness.fuzz_simulator.contents import Random
from scripts.robustness.fuzz_simulator.seeds import Case
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.targets.declaration.fields import shared_name


class Variant:
    """The fields of a case, to be changed by their shared names."""

    def __init__(self, case: Case, random: Random, kind: str, ddr_start: int) -> None:
        self.case = case
        self.random = random
        self.data_kind = kind
        self.geometry = case.chip.geometry
        self.ddr_start = ddr_start
        self.fields = case.instruction.decode(case.descriptor)
        self._names = {shared_name(name): name for name in self.fields}

    @cached_property
    def in_memory(self) -> set[str]:
        """Prefixes of the operands that the command reads from local memory."""
        return _in_local_memory(self.case)

    def has(self, name: str) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> int:
        return self.fields[self._names[name]]

    def set(self, **values: int) -> None:
        """Set the fields that this form has; the others are left out."""
        for name, value in values.items():
            if name in self._names:
                self.fields[self._names[name]] = value

    def pick(self, *choices: int) -> int:
        return choices[int(self.random.integers(len(choices)))]

    def between(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def place(self, area: int, lane: int = 0) -> int:
        """Address of one of 16 areas of a lane, as TIU fields hold it."""
        address = lane * self.geometry.lane_bytes + area * (self.geometry.lane_bytes // 16)
        return address if self.case.engine == "dma" or self._local_is_offset else self._local_base + address

    def pick_shape(self, shape: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
        """Another shape of as many elements: its extents in another order, or two of them made one."""
        n, c, h, w = (shape[i] for i in self.random.permutation(4))
        return (n, c, 1, h * w) if self.chance(0.5) else (n, c, h, w)

    def _address_names(self, side: str) -> tuple[str, str] | None:
        for low, high in (("l32", "h8"), ("l32", "h13"), ("h32", "l8")):
            names = f"{side}_start_addr_{low}", f"{side}_start_addr_{high}"
            if self.has(names[0]) and self.has(names[1]):
                return names
        return None

    def space_of(self, side: str) -> Space | None:
        """The memory that a side of a move is in; None if the form has no such side."""
        names = self._address_names(side)
        return names and self.geometry.locate(self[names[1]] << 32 | self[names[0]])[0]

    def local_address(self, offset: int) -> int:
        """The device address of a place in local memory: the tagged one, where the chip has two."""
        window = max((w for w in self.geometry.windows if w.space is Space.LOCAL), key=lambda window: window.start)
        return window.base + offset

    def set_address(self, side: str, address: int) -> None:
        """The device address of a side of a move."""
        names = self._address_names(side)
        if names:
            self.set(**{names[0]: address & 0xFFFFFFFF, names[1]: address >> 32})

    @property
    def _local_base(self) -> int:
        return self.geometry.device_address(Space.LOCAL, 0)

    @property
    def _local_is_offset(self) -> bool:
        """TIU fields hold offsets, except where every form has absolute addresses."""
        return self.case.chip.table != "bm1684"

    def finished(self, kind: int) -> Case:
        """The case with the fields as they are now."""
        instruction = self.case.chip.instruction_set.instructions[kind]
        descriptor = instruction.encode(self.case.descriptor, **self.fields)
        return replace(self.case, kind=kind, descriptor=descriptor)


def _in_local_memory(case: Case) -> set[str]:
    """Prefixes of the operands that a command reads from local memory."""
    bound = case.description.binding
    return {
        row.prefix
        for role, row in bound.family.operands
        if isinstance(view := bound.operands.get(role), View) and view.space is Space.LOCAL and not row.hidden
    }
