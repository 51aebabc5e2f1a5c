"""Runtime of an exported script: a chip with memories, tensors in them, and instructions.

This module and those that it imports are copied next to the script. They do not need tdb-dap.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.semantics.registry import Operation


class Tensor:
    """A tensor in a memory of the chip."""

    def __init__(self, memory: Memory, view: View) -> None:
        self._memory = memory
        self.view = view

    @property
    def bits(self) -> Array:
        """The stored words, in the tensor's shape (a copy)."""
        return self._memory.read(self.view)

    @bits.setter
    def bits(self, words: Array) -> None:
        self._memory.write(self.view, np.broadcast_to(words, self.view.shape))

    @property
    def numbers(self) -> Array:
        """The numbers that the words stand for; narrow floats widened to float32."""
        return self.view.dtype.decode(self.bits)

    @numbers.setter
    def numbers(self, values: Any) -> None:
        self.bits = self.view.dtype.encode(np.atleast_1d(np.asarray(values)))

    def __repr__(self) -> str:
        return f"{self.view.name} {self.view.dtype}{list(self.view.shape)}"


class Constant:
    """A number in the command itself. ``word``: its bits."""

    def __init__(self, word: int, dtype: DType) -> None:
        self.value = Value(np.full((1, 1, 1, 1), word, dtype.bits_dtype), dtype, is_constant=True)


class Chip:
    """The memories, as far as the script needs them, and what is put into them from outside.

    ``ddr``: (first byte, size) of the parts of DDR that are used; ``data``: the npz file with the bytes that the script
    does not compute; ``checksums``: CRC-32 of the results of each instruction that has run, by its id;
    ``results``: numbers by name.
    """

    def __init__(self, geometry: Geometry, rules: Rules, cores: int, ddr: Mapping[int, int], data: Path) -> None:
        regions = [Region(start, np.zeros(size, np.uint8), "DDR") for start, size in ddr.items()]
        self.rules = rules
        self.geometry = geometry
        self.memory = Memory(geometry, cores, regions)
        self.checksums: dict[str, int] = {}
        self.results: dict[str, Array] = {}
        with np.load(data) as archive:
            self._data = dict(archive)

    def tensor(
        self,
        space: str,
        address: int,
        shape: tuple[int, ...],
        dtype: DType,
        layout: Layout,
        strides: tuple[int, ...] | None = None,
        *,
        core: int = 0,
        width: int = 0,
        lane_mask: int | None = None,
    ) -> Tensor:
        """A tensor. ``space``: R local, G DDR, L L2, S static memory; ``address``: its first byte there."""
        view = View(Space(space), address, shape, dtype, layout, strides, self.geometry, width, lane_mask, core)
        return Tensor(self.memory, view)

    def restore(self, step: str) -> None:
        """Put bytes in place that the script does not compute: weights, inputs, what other ops have written."""
        for key in [key for key in self._data if key.startswith(f"{step}/") and key.endswith("/runs")]:
            _, place, _ = key.split("/")
            space, core = Space(place[0]), int(place[1:])
            data = self._data[key.replace("/runs", "/bytes")]
            taken = 0
            for start, stop in self._data[key].tolist():
                self.memory.write_bytes(space, start, data[taken : taken + stop - start].tobytes(), core)
                taken += stop - start


class Instruction:
    """One instruction of the chip: a function from operands to the words of the results.

    ``sub``: number of the operation in its family; ``results``: the roles that are written, the others are read.
    """

    def __init__(
        self, function: Callable[[Operation], Array | tuple[Array, ...]], sub: int, results: tuple[str, ...]
    ) -> None:
        self._function = function
        self._sub = sub
        self._results = results

    def __call__(
        self,
        chip: Chip,
        id: str,
        fields: Mapping[str, int],
        registers: Mapping[int, int] | None = None,
        core: int = 0,
        **roles: Tensor | Constant,
    ) -> None:
        """Read the operands, compute, write the results."""
        results = {role: tensor for role in self._results if isinstance(tensor := roles.get(role), Tensor)}
        operands = {role: tensor for role, tensor in roles.items() if role not in results}
        operation = Operation(
            {role: _value(what) for role, what in operands.items()},
            {role: tensor.view.dtype for role, tensor in results.items()},
            {role: tensor.view.shape for role, tensor in results.items()},
            Fields(fields, self._sub, chip.geometry, core, registers or {}),
            chip.rules,
        )
        with np.errstate(all="ignore"):
            computed = self._function(operation)
        parts = computed if isinstance(computed, tuple) else (computed,)
        for tensor, words in zip(results.values(), parts, strict=True):
            tensor.bits = words
        chip.checksums[id] = checksum([tensor.bits for tensor in results.values()])


def _value(what: Tensor | Constant) -> Value:
    if isinstance(what, Constant):
        return what.value
    return Value(what.bits, what.view.dtype)


def checksum(results: list[Array]) -> int:
    """CRC-32 of the words of all results, one after another."""
    crc = 0
    for words in results:
        crc = zlib.crc32(np.ascontiguousarray(words).tobytes(), crc)
    return crc
