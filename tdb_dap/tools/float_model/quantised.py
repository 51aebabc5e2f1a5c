"""Weights that a folder holds in few bits, by the formats of GPTQ, AWQ and blocks of F8, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput

_WORD = 32
_BITS = (4, 8)
_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""Output of each four bits of a word, from the lowest."""

PACKED, ZEROS, SCALES, ROWS = "qweight", "qzeros", "scales", "g_idx"
F8_SCALES = ("weight_scale_inv", "weight_scale")

Read = Callable[[str], Array]
"""Reads a tensor by its name; integers as they are stored."""


class Quantisation(Struct, frozen=True):
    """``method``: gptq, awq or fp8; ``bits``: of a weight; ``block``: extents of a block with one scale, of fp8.

    ``zero_offset``: added to stored zero points.
    """

    method: str
    bits: int = 8
    block: tuple[int, int] | None = None
    zero_offset: int = 0

    def numbers(self, base: str, read: Read, has: Callable[[str], bool]) -> Array | None:
        """Float32 numbers (outputs, inputs) of a layer; None for one that is not packed. BadInput if it is damaged."""
        if self.method == "fp8":
            name = next((f"{base}.{one}" for one in F8_SCALES if has(f"{base}.{one}")), None)
            return self._of_blocks(base, read(f"{base}.weight"), read(name)) if name is not None else None
        if not has(f"{base}.{PACKED}"):
            return None
        words, scales = read(f"{base}.{PACKED}"), read(f"{base}.{SCALES}").astype(np.float32)
        zeros = _unpacked(read(f"{base}.{ZEROS}"), self.bits, self._order) if has(f"{base}.{ZEROS}") else None
        if self.method == "awq":
            levels = _unpacked(words, self.bits, self._order)
        else:
            levels = _unpacked(words.T, self.bits, None).T  # inputs are packed, not outputs
        inputs = len(levels)
        if scales.ndim != 2 or levels.shape[1] != scales.shape[1] or inputs % len(scales):
            raise BadInput(f"{base}: {PACKED} {levels.shape} and {SCALES} {scales.shape} do not fit")
        groups = np.arange(inputs) // (inputs // len(scales))
        if self.method == "gptq" and has(f"{base}.{ROWS}"):
            groups = read(f"{base}.{ROWS}").astype(np.int64)
        if groups.shape != (inputs,) or groups.min(initial=0) < 0 or groups.max(initial=0) >= len(scales):
            raise BadInput(f"{base}: {ROWS} names groups that {SCALES} does not have")
        offsets = np.full(scales.shape, 1 << (self.bits - 1), np.float32)
        if zeros is not None:
            if zeros.shape != scales.shape:
                raise BadInput(f"{base}: {ZEROS} {zeros.shape} and {SCALES} {scales.shape} do not fit")
            offsets = (zeros.astype(np.int64) + self.zero_offset).astype(np.float32)
        matrix: Array = (levels.astype(np.float32) - offsets[groups]) * scales[groups]
        return np.ascontiguousarray(matrix.T)

    @property
    def _order(self) -> tuple[int, ...] | None:
        return _AWQ_ORDER if self.method == "awq" else None

    def _of_blocks(self, base: str, weight: Array, scales: Array) -> Array:
        scales = scales.astype(np.float32)
        if self.block is None:
            if scales.size not in (1, len(weight)):
                raise BadInput(f"{base}: {scales.size:,} scales for {len(weight):,} rows")
            return weight * scales.reshape(-1, 1)
        rows, columns = self.block
        spread = np.repeat(np.repeat(scales, rows, 0), columns, 1)
        if spread.shape[0] < weight.shape[0] or spread.shape[1] < weight.shape[1]:
            raise BadInput(f"{base}: scales {scales.shape} of blocks {rows}x{columns} for a weight {weight.shape}")
        product: Array = weight * spread[: weight.shape[0], : weight.shape[1]]
        return product


def _unpacked(words: Array, bits: int, order: tuple[int, ...] | None) -> Array:
    """Numbers of words of 32 bits along the last axis, low bits first; ``order``: places within a word."""
    count = _WORD // bits
    shifts = np.arange(count, dtype=np.uint32) * np.uint32(bits)
    numbers = (words.astype(np.int64).astype(np.uint32)[..., None] >> shifts) & np.uint32((1 << bits) - 1)
    if order is not None and count == len(order):
        placed = np.empty_like(numbers)
        placed[..., list(order)] = numbers
        numbers = placed
    return numbers.reshape(*words.shape[:-1], -1)


def quantisation(config: Mapping[str, Any]) -> Quantisation:
    """The format of a ``quantization_config``; BadInput names one that is not read."""
    method = str(config.get("quant_method"))
    if method == "fp8":
        block = config.get("weight_block_size")
        if block is not None and not (isinstance(block, list) and len(block) == 2 and all(map(_is_extent, block))):
            raise BadInput(f"quantization_config: weight_block_size {str(block)[:40]} is not known")
        return Quantisation(method, block=(block[0], block[1]) if block is not None else None)
    if method not in ("gptq", "awq"):
        raise BadInput(f"quantization_config: quant_method {method[:40]!r} is not read; known are gptq, awq, fp8")
    bits = config.get("bits")
    if bits not in _BITS or (method == "awq" and bits != 4):
        raise BadInput(f"quantization_config: {bits} bits of {method} are not read")
    if method == "awq":
        version = str(config.get("version", "gemm")).lower()
        if version != "gemm":
            raise BadInput(f"quantization_config: version {version[:40]!r} of awq is not read; known is gemm")
        return Quantisation(method, bits)
    form = str(config.get("checkpoint_format") or "gptq")
    if form not in ("gptq", "gptq_v2"):
        raise BadInput(f"quantization_config: checkpoint_format {form[:40]!r} is not read; known are gptq, gptq_v2")
    return Quantisation(method, bits, zero_offset=1 if form == "gptq" else 0)


def _is_extent(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 20
