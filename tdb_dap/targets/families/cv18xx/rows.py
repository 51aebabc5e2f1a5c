"""Operands of CV18xx: layouts by storage code, and numbers whose bytes are in planes.

Local memory only. An integer of 16 bits has its low byte at the address and its high byte ``b_str`` bytes behind it; a
sum of 32 bits has four planes. Of a float32 the upper half is at the address, the lower half ``b_str`` bytes behind it.
Each plane is an operand of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdb_dap.engine.hardware.dtypes import BF16, SI8, SI16, UI8, UI16, DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.strides import align
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.family import Row, operand
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.declaration.rows import AddressParts, Condition

Shape4 = tuple[int, int, int, int]
ShapeOf = Callable[[Fields], Shape4]

_LAYOUTS = {0: Layout.ALIGN_EU, 1: Layout.COMPACT, 2: Layout.PER_CHANNEL, 3: Layout.STRIDE}
GIVEN = 3
"""Storage code of an operand whose steps are in the command; those of the others follow from its shape."""
LANE_BITS = 15
"""Bits of the byte in a lane; those above in an address are the lane."""

FIRST, MIDDLE, LAST = 2, 3, 1
"""Modes of sums in several commands: write sums, add and write them, add and finish."""


def own_shape(prefix: str) -> ShapeOf:
    """The shape that the fields of an operand say."""
    return lambda f: f.four(prefix)


def is_wide(f: Fields, prefix: str) -> bool:
    """Whether the integers of an operand have 16 bits."""
    code = f.number(f"{prefix}_seg")
    if code > 1:
        raise NotSimulated(f"integers of the width code {code} are not known")
    return not code


def byte_dtype(f: Fields, prefix: str) -> DType:
    """Format of the low plane of an operand: of numbers that have another plane the byte has no sign."""
    if f.opd_typ:
        return BF16
    return SI8 if f.number(f"{prefix}_sign") and not is_wide(f, prefix) else UI8


def constant_dtype(f: Fields, prefix: str) -> DType:
    """Format of an operand that may be a number in the command."""
    if f.opd_typ or not is_wide(f, prefix) or not f.number(f"{prefix}_const"):
        return byte_dtype(f, prefix)
    return SI16 if f.number(f"{prefix}_sign") else UI16


def layout(prefix: str) -> Callable[[Fields], Layout]:
    """Layout by the storage code of an operand."""
    return lambda f: _LAYOUTS[f.number(f"{prefix}_str")]


def steps(f: Fields, prefix: str, shape: Shape4, itemsize: int) -> Shape4:
    """Elements from one to the next on each axis; the channel step counts once all lanes are through.

    Storage 0: channels of a lane rounded up to 16 bytes; 1: one behind the other; 2: one element per channel; 3: given.
    """
    _, c, h, w = shape
    code = f.number(f"{prefix}_str")
    rows = -(-c // f.geometry.lanes)
    if code == 2:
        return rows, 1, 1, 1
    if code == GIVEN:
        given = f.four(prefix, "_str")
        if any(step % itemsize for step in given):
            raise NotSimulated(f"{prefix}: a step of an odd number of bytes between numbers of {itemsize} bytes")
        return given[0] // itemsize, given[1] // itemsize, given[2] // itemsize, given[3] // itemsize
    channel = h * w if code else align(h * w * itemsize, f.geometry.eu_bytes) // itemsize
    return rows * channel, channel, w, 1


def in_lane_of_result(prefix: str) -> Callable[[Fields], AddressParts]:
    """The address of an operand that is a byte in the lane that the result begins in."""

    def parts(f: Fields) -> AddressParts:
        byte = f.number(f"{prefix}_addr")
        if byte >> LANE_BITS:
            raise NotSimulated(f"{prefix}: byte {byte:,} of a lane of {1 << LANE_BITS:,}")
        in_lane = (1 << LANE_BITS) - 1
        return AddressParts(((f"{prefix}_addr", in_lane, 0), ("res0_addr", ~in_lane, 0)), Space.LOCAL)

    return parts


def tensor(
    prefix: str,
    shape: ShapeOf,
    make: Callable[..., Row] = operand,
    dtype: Callable[[Fields], DType] | None = None,
    plane: int = 0,
    distance: Callable[[Fields], int] | None = None,
    **details: Any,
) -> Row:
    """A tensor of bytes or bfloat16, ``plane`` times ``distance`` bytes (``b_str``) behind its address.

    The address of the second operand has no lane: it is that of the result.
    """
    chosen = dtype or (lambda f: byte_dtype(f, prefix))

    if prefix == "opd1":
        details["parts"] = in_lane_of_result(prefix)
    if plane:
        details["first"] = lambda f: plane * (f.number(f"{prefix}_b_str") if distance is None else distance(f))
    return make(
        prefix,
        shape,
        layout(prefix),
        dtype=chosen,
        strides=lambda f: steps(f, prefix, shape(f), chosen(f).itemsize),
        local_only=True,
        **details,
    )


def high_plane(prefix: str, shape: ShapeOf, make: Callable[..., Row] = operand, when: Condition | None = None) -> Row:
    """The high bytes of integers of 16 bits."""

    def is_there(f: Fields) -> bool:
        is_number = make is operand and f.number(f"{prefix}_const")
        return not f.opd_typ and is_wide(f, prefix) and not is_number and (when is None or bool(when(f)))

    return tensor(
        prefix,
        shape,
        make,
        lambda f: SI8 if f.number(f"{prefix}_sign") else UI8,
        plane=1,
        constant=False,
        when=is_there,
    )


def is_float(f: Fields) -> bool:
    return bool(f.opd_typ)


def adds_partial(f: Fields) -> bool:
    """Whether sums of an earlier command go on."""
    return f.ps32_md in (MIDDLE, LAST)


def writes_partial(f: Fields) -> bool:
    """Whether the sums go on in a later command."""
    return f.ps32_md in (FIRST, MIDDLE)


def partial_plane(
    shape: ShapeOf,
    number: int,
    of_float: bool,
    make: Callable[..., Row],
    when: Condition,
    distance: Callable[[Fields], int] | None = None,
) -> Row:
    """A plane of 32-bit sums: bytes of integers, the lowest first, or halves of float32, the upper one first."""
    return tensor(
        "res0",
        shape,
        make,
        (lambda f: UI16) if of_float else (lambda f: UI8),
        plane=number,
        distance=distance,
        constant=False,
        when=lambda f: bool(f.opd_typ) == of_float and bool(when(f)),
    )
