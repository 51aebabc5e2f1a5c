"""Fields of one command under the names that all chips share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import (
    BF16,
    F8,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    I4,
    I8,
    I16,
    I32,
    SI4,
    SI8,
    SI16,
    SI32,
    UI4,
    UI8,
    UI16,
    UI32,
    DType,
)
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.errors import Undefined

T = TypeVar("T")

# Fields that short forms and some chips leave out; absent means zero there.
_OPTIONAL = re.compile(
    r"(opd\d_(str|sign|const|prec)|res0_sign|res0_str|left_tran|res_add|kernel_rotate|relu|sym_range|pad_mode"
    r"|opd0_[xy]_ins0|opd1_[xy]_ins0|opd0_(up|dn|lf|rt)_pad|tsk_opd_num|start_pos)$"
)

_SIGNED = {0: SI8, 3: SI16, 4: SI32, 6: SI4}
_UNSIGNED = {0: UI8, 3: UI16, 4: UI32, 6: UI4}
_UNTYPED = {0: I8, 3: I16, 4: I32, 6: I4, 7: F8}
FLOAT8 = 7
_HALF, _BFLOAT = 1, 5
_FLOAT = {_HALF: F16, 2: F32, _BFLOAT: BF16}


@lru_cache(maxsize=4096)
def shared_name(field: str) -> str:
    """The name that families use for a field: prefixes of later chips and remarks dropped.

    ``src_hsize/src_wsize_high`` and ``src_csize_or_src_csize_l16`` are known by their first name.
    """
    field = re.sub(r"（(.*)）|\((.*)\)", "", field)
    field = re.sub(r"/\w+_high$|_or_\w+$|(?<=index_csize)_l16$", "", field)
    return re.sub(r"^(opt|short)_", "", re.sub(r"^start_point$", "start_pos", field))


@lru_cache(maxsize=4096)
def _is_optional(name: str) -> bool:
    return _OPTIONAL.match(name) is not None


@lru_cache(maxsize=64)
def _address_names(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{name}_{low}", f"{name}_{high}") for low, high in (("l32", "h8"), ("l32", "h13"), ("h32", "l8")))


@lru_cache(maxsize=256)
def _four_names(prefix: str, suffix: str) -> tuple[str, str, str, str]:
    return f"{prefix}_n{suffix}", f"{prefix}_c{suffix}", f"{prefix}_h{suffix}", f"{prefix}_w{suffix}"


class Conventions(Struct, frozen=True, kw_only=True):
    """The meanings of fields in which chips differ, as far as views depend on them.

    ``has_float8``, ``has_int4``: its TIU has floats of 8 bits, integers of 4; ``scales_int4``: dq0 takes the latter;
    ``masks_lanes``: its moves can leave lanes out;
    ``halves_by_sign``: of floats of 16 bits the sign bit says which they are, f16 or (1) bf16, which has no code then;
    ``convolution_zero``, ``matrix_zero``: weights of 8 bits (the right operand) have a zero point, in a register or a
    table; ``matrix_scale``: sums of mm2 of 8 bits are requantised by a float32 scale, not by multiplier and shift;
    ``distributes``: the moves from lanes to columns and back swap them; else they are copies into the given sizes;
    ``sized_index``: the position of a tap that is the largest or smallest has the width of a format in the command;
    ``strided_by_sizes``: a linear move with ``stride_enable`` is as long as its four sizes say, a broadcast without c;
    ``adds_halves``: products of 16-bit floats are added to an old result;
    ``computes_f16``: elements and windows may be f16; ``divides_halves``: 16-bit floats are divided;
    ``convolves_int4``: there are convolutions of integers of 4 bits, as far as known;
    ``extends_sizes``: of a choice of elements the destination's rows and columns are the upper halves of the source's;
    ``divides_by_steps``: a copy from or to DDR has a step from column to column, also of one column;
    ``idles_by_moves``: a move without any size and to nowhere is a pause;
    ``compares_formats``: the format of a right operand that is not announced counts beside floats, too;
    ``signs_bias``: the bias of a convolution of 8-bit integers has a sign, also if it is a number;
    ``least_coefficients``: of a series;
    ``ddr_start``: the byte that moves call the first one of DDR.
    """

    has_float8: bool = False
    has_int4: bool = True
    scales_int4: bool = True
    halves_by_sign: bool = False
    masks_lanes: bool = True
    convolution_zero: bool = True
    matrix_zero: bool = True
    matrix_scale: bool = False
    distributes: bool = True
    sized_index: bool = False
    strided_by_sizes: bool = False
    extends_sizes: bool = False
    adds_halves: bool = False
    computes_f16: bool = True
    divides_halves: bool = True
    convolves_int4: bool = False
    divides_by_steps: bool = False
    idles_by_moves: bool = True
    compares_formats: bool = False
    signs_bias: bool = False
    least_coefficients: int = 2
    ddr_start: int = 0


USUAL = Conventions()


class Fields:
    """Attribute access to the fields of one command, with the chip's geometry and configuration registers.

    ``values``: by shared name.

    A field that the form does not have reads as zero if it is optional, else AttributeError: a misspelt name must
    not decode as zero.
    """

    core: int
    conventions: Conventions
    geometry: Geometry
    registers: Mapping[int, int]
    sub: int

    def __init__(
        self,
        values: Mapping[str, int],
        sub: int,
        geometry: Geometry,
        core: int,
        registers: Mapping[int, int],
        conventions: Conventions = USUAL,
    ) -> None:
        # Plain attributes are the fastest thing to look up.
        self.__dict__.update(values)
        self.sub, self.geometry, self.core, self.registers = sub, geometry, core, registers
        self.conventions = conventions

    def __getattr__(self, name: str) -> int:
        if _is_optional(name):
            return 0
        raise AttributeError(f"this form has no field {name}")

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Result of ``make``, computed once per command; ``key``: a name that no field has."""
        known = self.__dict__
        if key not in known:
            known[key] = make()
        value: T = known[key]
        return value

    def device_address(self, name: str) -> int:
        """A device address of two fields."""
        low, high = self.device_address_fields(name)
        return self.number(high) << 32 | self.number(low)

    def device_address_fields(self, name: str) -> tuple[str, str]:
        """Its low and its high part; some tables call the low word ``h32`` and the high byte ``l8``."""
        for low, high in _address_names(name):
            if self.has(low) and self.has(high):
                return low, high
        raise AttributeError(f"this form has no address {name}")

    def located(self, side: str) -> tuple[Space, int]:
        """Space and offset of one side of a move: ``side`` is the start of its address fields."""
        locate = self.geometry.locate_move
        return self.once(f"{side} located", lambda: locate(self.device_address(f"{side}_start_addr")))

    def lane(self, prefix: str) -> int:
        """The lane that a tensor begins in, by the start of its address field."""
        return self.number(f"{prefix}_addr") // self.geometry.lane_bytes

    def located_tiu(self, raw: int) -> tuple[Space, int]:
        """Space and offset of an address of the TIU."""
        geometry = self.geometry
        return (Space.LOCAL, raw) if raw < geometry.named_by_offset else geometry.locate(raw)

    def number(self, name: str) -> int:
        """A field whose name is made up."""
        value: int = getattr(self, name)
        return value

    def has(self, name: str) -> bool:
        return name in self.__dict__

    def register(self, index: int) -> int:
        """A configuration register as earlier commands of this core left it; zero if none wrote it."""
        return self.registers.get(index, 0)

    @property
    def is_fused(self) -> bool:
        """Chips after BM1684X requantise in the command itself."""
        return "rq" in self.__dict__

    def four(self, prefix: str, suffix: str = "") -> tuple[int, int, int, int]:
        """The fields ``{prefix}_n{suffix}`` .. ``{prefix}_w{suffix}``; one that the form lacks reads as 1."""
        values = self.__dict__
        n, c, h, w = _four_names(prefix, suffix)
        return values.get(n, 1), values.get(c, 1), values.get(h, 1), values.get(w, 1)

    def tiu_dtype(self, precision: int, signed: int) -> DType:
        """Number format of a TIU operand: precision code and sign bit."""
        if precision == FLOAT8 and self.conventions.has_float8:
            return F8E4M3 if signed else F8E5M2
        if self.conventions.halves_by_sign and precision in (_HALF, _BFLOAT):
            if precision == _BFLOAT:
                raise Undefined(f"the precision code {precision} is not defined")
            return BF16 if signed else F16
        dtype = _FLOAT.get(precision) or (_SIGNED if signed else _UNSIGNED).get(precision)
        if dtype is None:
            raise Undefined(f"the precision code {precision} is not defined")
        return dtype

    def sign_tells(self, precision: int) -> bool:
        """Whether the sign bit next to a precision code tells one float format from another."""
        return precision == _HALF and self.conventions.halves_by_sign

    def dma_dtype(self, code: int) -> DType:
        """Number format of a DMA command; integers carry no sign. Code 8 is an 8-bit float, listed as a byte."""
        dtype = _FLOAT.get(code) or _UNTYPED.get(code) or (UI8 if code == FLOAT8 + 1 else None)
        if dtype is None or (code >= FLOAT8 and not self.conventions.has_float8):
            raise Undefined(f"the DMA data format {code} is not defined")
        return dtype
