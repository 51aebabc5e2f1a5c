"""Products of a device compared with the built-in simulator's, on operands that show every rule of its arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpu_backend.product import Factors, Float32, product_of
from tdb_dap.api import Chip, Memory, View

_SHAPES = ((3, 33, 70), (20, 64, 5), (1, 1, 1), (5, 128, 90))
"""Rows, products, columns: full and partial blocks."""
_ALIGNED = 128
"""Bytes to which a row of a matrix in local memory is aligned, at most."""
_SPECIAL = (0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7F812345, 0xFFC54321, 0x00000001, 0x807FFFFF, 0x00800000)


def has_product(chip: Chip) -> bool:
    """Whether the chip has the instruction that is formed here."""
    return any(form.mnemonic == "mm.normal" for form in chip.instruction_set.instructions)


def differs(chip: Chip, product_on: Callable[[Factors], Float32]) -> bool:
    """Whether a device gives other bits than the chip's ``mm.normal``."""
    for left, right, bias in operands():
        description, memory = command(chip, left, right, bias)
        product = product_of(description, chip)
        assert product is not None
        formed = product_on(product.factors(memory))
        with np.errstate(all="ignore"):
            chip.execute(description, memory)
        if formed.view(np.uint32).tobytes() != memory.read(product.result).tobytes():
            return True
    return False


def operands() -> Iterator[tuple[Float32, Float32, Float32]]:
    """Left and right factors and a bias: small, large and special values, NaNs of both, the smallest normals."""
    random = np.random.default_rng(1)
    for rows, inner, columns in _SHAPES:
        for spread in (1.0, 2.0**-64, 2.0**62):
            yield (
                _floats(random, (rows, inner), spread),
                _floats(random, (inner, columns), spread),
                _floats(random, (1, columns), spread),
            )
    payloads = np.arange(0x7F800001, 0x7F800007, dtype=np.uint32).view(np.float32)
    yield payloads[:2, None], payloads[None, 2:], np.zeros((1, 4), np.float32)
    left = np.float32(2.0**-63) - np.arange(1, 40, dtype=np.float32) * np.float32(2.0**-87)
    right = np.float32(2.0**-63) + np.arange(40, dtype=np.float32) * np.float32(2.0**-86)
    yield left[:, None], np.concatenate((right, -right))[None], np.full((1, 80), -0.0, np.float32)


def _floats(random: np.random.Generator, shape: tuple[int, int], spread: float) -> Float32:
    """Numbers of a magnitude; in every third row some are special, so that not all sums are NaN."""
    numbers = (random.standard_normal(shape) * spread).astype(np.float32)
    special = np.array(_SPECIAL, np.uint32).view(np.float32)
    chosen = random.random(shape) < 0.02
    chosen[1::3] = chosen[2::3] = False
    return np.where(chosen, random.choice(special, shape), numbers).astype(np.float32)


def command(chip: Chip, left: Float32, right: Float32, bias: Float32, **more: int) -> tuple[Any, Memory]:
    """``mm.normal`` of these operands, described, and memories that hold them. ``more``: further fields."""
    rows, inner = left.shape
    columns = right.shape[1]
    sizes = ((rows, inner), (inner, columns), (1, columns))
    starts = np.cumsum([0, *(high * -(-4 * wide // _ALIGNED) * _ALIGNED for high, wide in sizes)]).tolist()
    fields = {
        **{f"{operand}_addr": start for operand, start in zip(("opd0", "opd1", "opd2", "res0"), starts, strict=True)},
        **dict.fromkeys(("opd0_prec", "opd1_prec", "opd2_prec", "res0_prec"), 2),
        **dict.fromkeys(("opd0_c", "opd1_c", "res0_c"), 1),
        "opd0_n": rows,
        "opd0_w": inner,
        "opd1_w": inner,
        "res0_n": rows,
        "res0_w": columns,
        **more,
    }
    forms = chip.instruction_set.instructions
    # The short form, as compilers write it.
    _, kind = min((form.size, kind) for kind, form in enumerate(forms) if form.mnemonic == "mm.normal")
    own = {name: fields[shared] for name, shared, _ in chip.named_fields(kind) if shared in fields}
    description = chip.describe(kind, chip.encode(kind, chip.instruction_set.blank(kind), own), 0, {})
    memory = Memory(chip.geometry, 1, [])
    for view, numbers in zip(description.operands, (left, right, bias), strict=True):
        if isinstance(view, View):
            memory.write(view, np.ascontiguousarray(numbers).view(np.uint32).reshape(view.shape))
    return description, memory
