"""Tensors of a launch compared with those of the float model."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from functools import reduce

import numpy as np
from msgspec import Struct

from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Launch
from tdb_dap.engine.reference.reference import numbers_of
from tdb_dap.engine.source.mapped_tensor import MappedTensor, layer_names
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_records import OpRecord


class Compared(Struct, frozen=True):
    """A tensor of a launch compared with the float model.

    ``line``: of its op in the joined source; ``command``: its last;
    ``cosine``: similarity; ``ratio``: of its length as a vector to the expected one; ``is_wrong``: they differ by more
    than the number format explains.
    """

    name: str
    opcode: str
    line: int
    command: int
    cosine: float
    ratio: float
    is_wrong: bool

    @property
    def summary(self) -> str:
        """``cosine 0.9312, 1.204 times as long as in float``."""
        return f"cosine {self.cosine:.4f}, {self.ratio:.3f} times as long as in float"


class Part(Struct, frozen=True):
    """A launch compared with the float model, which gets the same states, and the right positions, mask and cache.

    ``given``: what is wrong with what the launch was given, a phrase each; ``compared``: its tensors, as they were
    computed.
    """

    launch: Launch
    given: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()

    @property
    def first_wrong(self) -> Compared | None:
        """The tensor with which it begins to be wrong."""
        return next((one for one in self.compared if one.is_wrong), None)

    @property
    def is_wrong(self) -> bool:
        """Whether it was given something wrong, or has made it."""
        return bool(self.given) or self.first_wrong is not None


class _Sums(Struct):
    """Sums that a similarity is made of."""

    product: float
    actual: float
    wanted: float

    @classmethod
    def of(cls, actual: Array, wanted: Array, counts: Array | None = None) -> _Sums:
        """Of the numbers that count; None: of all."""
        one, other = (array.reshape(-1).astype(np.float64) for array in (actual, wanted))
        if counts is not None:
            one, other = one[counts.reshape(-1)], other[counts.reshape(-1)]
        with np.errstate(all="ignore"):
            return cls(float(one @ other), float(one @ one), float(other @ other))

    def with_(self, more: _Sums) -> _Sums:
        return _Sums(self.product + more.product, self.actual + more.actual, self.wanted + more.wanted)

    @property
    def cosine(self) -> float:
        if not self.actual or not self.wanted:
            return float(self.actual == self.wanted)
        return self.product / math.sqrt(self.actual * self.wanted)

    @property
    def ratio(self) -> float:
        return math.sqrt(self.actual / self.wanted) if self.wanted else 1.0


class Limits(Struct, frozen=True):
    """Differences that a number format explains: least ``cosine``, and the largest difference of ``ratio`` from 1."""

    cosine: float
    ratio: float

    def are_kept(self, sums: _Sums) -> bool:
        """Whether a tensor is within them; not if it holds NaN or infinity."""
        return sums.cosine >= self.cosine and abs(sums.ratio - 1) <= self.ratio


_NARROW, _WIDE = Limits(0.99, 0.03), Limits(0.93, 0.1)
"""For a tensor of a block that got the right states: with weights in 8 bits and more, and in 4 bits."""


def limits_of(context: Context | None, is_dequantised: bool = False) -> Limits:
    """Limits for a net that was compiled with these files; those of 4 bits where nothing says that it has more.

    ``is_dequantised``: the float model has the numbers of its weights, so only the number format of states differs.
    """
    if context is None or context.mlir is None:
        return _WIDE
    mode = MlirFile.read(context.mlir).mode
    return _NARROW if is_dequantised or (mode and not mode.startswith("W4")) else _WIDE


class Comparison:
    """Collects the results of a launch's ops, by the names of the tensors.

    ``wanted``: numbers by name; ``rows``: positions, or patches, that count of a net for ``length`` of them, None: all;
    a tensor of tokens, of several patches each, has as many fewer. Of the same part that several cores write the last
    writer counts.
    """

    def __init__(self, wanted: Mapping[str, Array], rows: int | None, length: int, limits: Limits) -> None:
        self._wanted = {name: _padded(array, rows, length) for name, array in wanted.items()}
        self._held = {name: len(array) for name, array in wanted.items()}
        self._rows = rows
        self._parts: dict[str, dict[Hashable, tuple[OpRecord, _Sums]]] = {}
        self._limits = limits

    def name_of(self, value: MappedTensor) -> str | None:
        """The name under which the float model has a tensor; None if it has not."""
        if value.view is None or value.name.startswith("load_"):
            return None
        return next((name for name in layer_names(value.name) if name in self._wanted), None)

    def look(self, machine: Machine, record: OpRecord) -> None:
        """Take down the results of an op instance that has just been executed."""
        for value in record.results:
            name = self.name_of(value)
            if name is None or value.view is None:
                continue
            try:
                expected = value.expected(self._wanted[name])
                counts = value.expected(self._counts(name)) if self._rows is not None else None
            except (ValueError, IndexError):
                continue
            actual = numbers_of(machine, value)
            if actual is not None and actual.size == expected.size:
                is_shared = value.view.space.is_shared
                part = (record.line, value.slice_text, value.address) if is_shared else record.index
                self._parts.setdefault(value.name, {})[part] = record, _Sums.of(actual, expected, counts)

    def _counts(self, name: str) -> Array:
        """Mask of the numbers of a tensor that belong to positions of the prompt: what padding gives does not count."""
        counts = np.zeros(self._wanted[name].shape, bool)
        counts[:, : self._held[name]] = True
        return counts

    def of(self, name: str) -> Compared | None:
        """A tensor as far as it has been computed; None where nothing of it was."""
        parts = self._parts.get(name)
        if parts is None:
            return None
        records = [record for record, _ in parts.values()]
        sums = reduce(_Sums.with_, (sums for _, sums in parts.values()))
        last = max(record.last for record in records)
        return self._judged(name, records[0].opcode, records[0].line, last, sums)

    def compared(self) -> Iterator[Compared]:
        """The tensors in the order in which they were whole."""
        results = [one for name in self._parts if (one := self.of(name)) is not None]
        yield from sorted(results, key=lambda one: one.command)

    def output(self, name: str, actual: Array, wanted: Array, command: int) -> Compared:
        """An output of the net, which is compared whatever is known of its op."""
        return self._judged(name, "output", 0, command, _Sums.of(actual, wanted))

    def _judged(self, name: str, opcode: str, line: int, command: int, sums: _Sums) -> Compared:
        is_wrong = not self._limits.are_kept(sums)
        return Compared(name, opcode, line, command, sums.cosine, sums.ratio, is_wrong)


def _padded(array: Array, rows: int | None, length: int) -> Array:
    """With rows of zeros up to the length of a prefill."""
    if rows is None:
        return array[None]
    padded = np.zeros((1, length * len(array) // rows, *array.shape[1:]))
    padded[0, : len(array)] = array
    return padded
