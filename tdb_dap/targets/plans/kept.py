"""Plans kept between processes: a file per program, chip and build.

Plans say what the kernel reads and writes, so a file counts only with the mark of the user's key.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.system import kept_files
from tdb_dap.system.kept_files import KeptFile, state_of_sources
from tdb_dap.targets import kernel
from tdb_dap.targets.plans.forms import AddressSlot, Shape
from tdb_dap.targets.plans.known import Known
from tdb_dap.targets.plans.making import Made, Unpacks
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.version import __version__

_OURS = "tdb_dap.targets.semantics."


class _Form(msgspec.Struct, array_like=True):
    shape: int
    key: bytes
    family: str
    sub: int
    slots: list[tuple[int, int, int]]
    block: bytes
    """Empty: there is no plan."""
    unpacks: Unpacks | None


class _Shape(msgspec.Struct, array_like=True):
    kind: int
    slots: list[AddressSlot]
    mask: bytes
    registers: tuple[int, ...]


class _File(msgspec.Struct, array_like=True):
    shapes: list[_Shape]
    forms: list[_Form]


class KeptPlans:
    """The plans of one program on a chip. ``chip``: everything that tells it from others, as text."""

    def __init__(self, chip: str, commands: EncodedCommands, size_of: Callable[[int], int]) -> None:
        self._file = KeptFile("plans", commands.digest(size_of, _build(), chip.encode()))
        self.count = 0
        """Forms in the file."""

    def load(self, known: Known) -> None:
        """Add the forms of the file, if there is one that counts."""
        data = self._file.load()
        if data is None:
            return
        with suppress(ValueError, msgspec.MsgspecError):
            kept = msgspec.msgpack.decode(data, type=_File)
            shapes = [_numbers(known, shape) for shape in kept.shapes]
            for form in kept.forms:
                if form.key in shapes[form.shape]:
                    continue
                if (made := _made(form)) is not None or not form.block:
                    known.add(shapes[form.shape], form.key, made)
                    known.note(kept.shapes[form.shape].kind, has_plan=made is not None)
            self.count = len(kept.forms)

    def save(self, known: Known, chosen: Set[int]) -> None:
        """Keep these forms, if the file has less; what cannot be written is not kept."""
        if len(chosen) <= self.count:
            return
        kept = _File([], [])
        for kind, shapes in list(known.shapes.items()):
            for shape, own in list(shapes):
                forms = [(key, number) for key, number in list(own.items()) if number in chosen]
                if forms:
                    mask = shape.mask.to_bytes(shape.size, "little")
                    kept.shapes.append(_Shape(kind, list(shape.slots), mask, shape.registers))
                    kept.forms += [_kept(len(kept.shapes) - 1, key, known.plans[number]) for key, number in forms]
        self.count = len(chosen)  # whatever happens: it is not tried again
        self._file.save(msgspec.msgpack.encode(kept))


def are_wanted() -> bool:
    """Whether plans are kept: not where a plugin computes some commands."""
    return kept_files.are_wanted() and all(f.__module__.startswith(_OURS) for f in SEMANTICS.values())


def _kept(shape: int, key: bytes, made: Made | None) -> _Form:
    if made is None:
        return _Form(shape, key, "", 0, [], b"", None)
    return _Form(shape, key, *made.sub, list(made.slots), made.block, made.unpacks)


def _made(form: _Form) -> Made | None:
    sub = form.family, form.sub
    function = SEMANTICS.get(sub)
    if not form.block or function is None:
        return None
    return Made(kernel.plan(form.block), tuple(form.slots), sub, function, form.block, form.unpacks)


def _numbers(known: Known, shape: _Shape) -> dict[bytes, int]:
    return known.numbers_of(
        shape.kind, Shape(tuple(shape.slots), int.from_bytes(shape.mask, "little"), len(shape.mask), shape.registers)
    )


@cache
def _build() -> bytes:
    """The version of this package, and the state of the sources that plans depend on."""
    package = Path(__file__).parents[2]
    sources = state_of_sources(package / "targets", package / "engine" / "hardware")
    return f"{__version__} {kernel.checksum()} {np.__version__}".encode() + sources
