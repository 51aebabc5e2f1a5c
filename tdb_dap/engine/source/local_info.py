"""Attributes of an op in a layer group: its place in the scratchpad and its slices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.system.patterns import pattern

_NUMBERS = pattern(r"(\w+) = (\[[-\d, ]*\]|-?\d+|true|false)")


class LocalInfo(Struct, frozen=True):
    """``ginfo`` of an op in a group: the numbers that the compiler prints, by name."""

    numbers: Mapping[str, Any]

    @classmethod
    def of(cls, op: MlirOp) -> LocalInfo:
        return _parsed(str(op.attributes.get("ginfo", "")))

    def get(self, name: str) -> int:
        value = self.numbers.get(name, 0)
        return value if isinstance(value, int) else 0

    @property
    def is_whole(self) -> bool:
        """Whether it is not cut into slices."""
        return all(len(self.numbers.get(f"{axis}_idx") or [0]) == 1 for axis in "ncdhw")

    def extent(self, axis: str, index: int) -> tuple[int, int]:
        """[start, stop) of slice ``index`` on an axis."""
        starts, sizes = (self.numbers.get(f"{axis}_{part}") for part in ("idx", "slice"))
        if not isinstance(starts, list) or not isinstance(sizes, list) or not starts or len(starts) != len(sizes):
            return 0, 1
        position = min(index, len(starts) - 1)
        return starts[position], starts[position] + sizes[position]


@lru_cache(maxsize=1 << 12)
def _parsed(text: str) -> LocalInfo:
    """An op is asked for each of its slices, and as a maker of each of its users."""
    return LocalInfo({name: _number(value) for name, value in _NUMBERS.findall(text)})


def _number(text: str) -> Any:
    if text.startswith("["):
        return [integer(part) for part in text[1:-1].split(",") if part.strip()]
    return text == "true" if text in ("true", "false") else integer(text)


def scratch_of(op: MlirOp) -> list[dict[str, int]]:
    """Scratch space of an op in local memory: address and bytes per lane, as in a location record; empty if none."""
    info = LocalInfo.of(op)
    size = info.get("buffer_size")
    return [{"address": info.get("buffer_addr"), "size": size}] if size else []
