"""Functions over elements, described for the kernel: from stored words of the operands to those of the result.

Every function gives the words of its description, computed in one pass; None where NumPy has to do it: without the
kernel, and for formats that the kernel does not read. Operands may be anywhere, at equal steps along each axis. Where
an operand belongs to a plan nothing is computed: the result is the description, ``Elements``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import F32, UI16, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.stored import (
    AXES,
    CONSTANT,
    FLOATS,
    INTEGERS,
    OF_SIZE,
    Stored,
    aligned,
    calculated_format,
)
from tdb_dap.targets.kernel.constants import (
    LARGEST_SHIFT,
    MOST_TERMS,
    Condition,
    Conversion,
    Format,
    Function,
    Limit,
    Operator,
    Reciprocal,
    Rounding,
)
from tdb_dap.targets.kernel.records import ElementsRecord

Array = NDArray[Any]
Operand = tuple[Format, Stored]

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_RESULTS = {**_WORDS, 8: np.int64}
_SIZES = {
    Format.SI8: 1,
    Format.UI8: 1,
    Format.SI16: 2,
    Format.UI16: 2,
    Format.SI32: 4,
    Format.UI32: 4,
    Format.SI64: 8,
}
_WORD_FORMATS = {1: Format.UI8, 2: Format.UI16, 4: Format.SI32}


class Elements(Struct, frozen=True, eq=False):
    """One function over elements: operands that broadcast to the result's shape, and parameters by their fields."""

    function: Function
    operands: Sequence[Operand]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """Of the result's words."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """Fields of an ``ElementsRecord``."""
    table: Operand | None = None
    """Rows of words, (1, rows, 1, terms)."""

    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """There are no words yet that NumPy could do anything with."""
        raise TypeError("planned words have no values")

    def computed(self) -> Any:
        """The words; itself where operands belong to a plan; None where the kernel does not take these numbers."""
        if any(stored.source > CONSTANT for _, stored in self._every()):
            return self
        words = np.empty(self.shape, self.dtype)
        own = [aligned(stored.bits) for _, stored in self._every()]
        return words if kernel.run_once(len(own), [self.record(words, own, range(len(own)))]) else None

    def record(self, to: Array, words: Sequence[Array], sources: Sequence[int]) -> ElementsRecord:
        """The description for the kernel. BufferError for words that it cannot read where they are.

        ``to``: words of the result; ``words``, ``sources``: of the operands, and of the table.
        """
        extents = (1,) * (AXES - len(self.shape)) + self.shape
        record = ElementsRecord(function=self.function, operands=len(self.operands), shape=extents, **self.parameters)
        every = self._every()
        for number, ((format, stored), own, source) in enumerate(zip(every, words, sources, strict=True)):
            is_operand = number < len(self.operands)
            place = record.operand[number] if is_operand else record.table
            kernel.fill_stored(place, own, format, source, extents if is_operand else stored.bits.shape)
        kernel.fill_stored(record.to, to, OF_SIZE[to.itemsize], 0, extents)
        return record

    def planned(self, to: Array) -> ElementsRecord:
        """The description for a plan, with its result there."""
        every = [stored for _, stored in self._every()]
        return self.record(to, [stored.bits for stored in every], [stored.source for stored in every])

    def _every(self) -> list[Operand]:
        return [*self.operands, *([self.table] if self.table else [])]


def _operands(
    shape: tuple[int, ...], formats: Mapping[str, Format], *operands: Stored, calculates: bool = False
) -> list[Operand] | None:
    """Operands with their formats; None: NumPy has to do it. ``calculates``: see ``calculated_format``."""
    if not kernel.is_active() or len(shape) > AXES:
        return None
    described: list[Operand] = []
    for stored in operands:
        number = calculated_format(stored.dtype) if calculates else formats.get(stored.dtype.name)
        if number is None or stored.bits.dtype.itemsize != stored.dtype.itemsize:
            return None
        described.append((number, stored))
    return described


def _shape(*operands: Stored) -> tuple[int, ...]:
    return np.broadcast_shapes(*(operand.bits.shape for operand in operands))


def floats(operator: Operator, a: Stored, b: Stored, target: DType) -> Array | None:
    """Words of ``target``: one float operation, products rounded to the format of the operands first.

    Subnormals of float32 and bf16 count as zeros. ``LARGER``: a > b ? a : b; ``SMALLER``: a >= b ? b : a; both choose
    subnormals of f16 on every chip.
    """
    chooses = operator in (Operator.LARGER, Operator.SMALLER)
    if a.dtype.name != b.dtype.name or target.name not in FLOATS or (chooses and target.name != a.dtype.name):
        return None
    shape = _shape(a, b)
    operands = _operands(shape, FLOATS, a, b, calculates=not chooses)
    format = FLOATS[target.name] if chooses else calculated_format(target)
    return None if operands is None else _float_elements(operands, shape, target, operator, format)


def _float_elements(
    operands: list[Operand],
    shape: tuple[int, ...],
    target: DType,
    operator: Operator,
    format: Format | None = None,
    variant: int = 0,
) -> Any:
    parameters = {"operator": operator, "format": format or FLOATS[target.name], "variant": variant}
    return Elements(Function.FLOAT_ELEMENTS, operands, shape, target.bits_dtype, parameters).computed()


def products_added(a: Stored, b: Stored, c: Stored, is_first: bool) -> Array | None:
    """Words of c + a * b in float32, or with ``is_first`` false of a * b + c: which NaN comes out differs."""
    if not a.dtype is b.dtype is c.dtype is F32:
        return None
    shape = _shape(a, b, c)
    operands = _operands(shape, FLOATS, a, b, c)
    return None if operands is None else _float_elements(operands, shape, F32, Operator.MULTIPLY, variant=2 - is_first)


def scaled(x: Stored, scale: Stored, target: DType) -> Array | None:
    """Words of ``target``: whole numbers, as float32, times float32 numbers, rounded to float32 first."""
    shape = _shape(x, scale)
    if target.name not in FLOATS or scale.dtype.name != "f32" or x.dtype.is_float:
        return None
    operands = _operands(shape, {**INTEGERS, "f32": Format.F32}, x, scale)
    return None if operands is None else _float_elements(operands, shape, target, Operator.MULTIPLY)


def reciprocal_roots(x: Stored, steps: int, dtype: DType) -> Array | None:
    """1 / sqrt(x) of float32 numbers that stand for some of ``dtype``, as ``float32.reciprocal_sqrt`` gives them.

    Words of float32, as those of ``x``.
    """
    return _newton(Function.RECIPROCAL_ROOTS, (x,), steps, dtype, Reciprocal.BY_FORMULA)


def divided(a: Stored, b: Stored, steps: int, dtype: DType, rule: Reciprocal, is_flushed: bool = False) -> Array | None:
    """a / b of numbers of ``dtype``, as ``float32.divide`` gives them.

    Words as those of both operands: of that format, or of float32. ``is_flushed``: subnormals of float32 are zeros in
    b, too.
    """
    return _newton(Function.DIVIDED, (a, b), steps, dtype, rule, is_flushed)


def _newton(
    function: Function,
    stored: tuple[Stored, ...],
    steps: int,
    dtype: DType,
    rule: Reciprocal,
    is_flushed: bool = False,
) -> Any:
    shape = _shape(*stored)
    operands, format = _operands(shape, FLOATS, *stored, calculates=True), calculated_format(dtype)
    if operands is None or format is None:
        return None
    form: dict[str, float] = {"format": format, "newton_steps": steps, "reciprocal": rule, "variant": is_flushed}
    return Elements(function, operands, shape, stored[0].dtype.bits_dtype, form).computed()


def in_float32(numbers: Array) -> Stored:
    """Numbers as words of float32."""
    return Stored(np.asarray(numbers, np.float32).view(np.uint32), F32)


def series(x: Stored, table: Stored, multiplies: bool = False) -> Array | None:
    """Words of the format of ``x``, (n, c, h, w): y = c[-1]; then y = round(round(y * x) + c[k]) for k to 0.

    ``table``: coefficients in that format, (1, rows, 1, terms); channel i uses row i mod rows. ``multiplies``: at last
    y * x, of float32.
    """
    rows, terms = table.bits.shape[1::2]
    operands = _operands(x.bits.shape, FLOATS, x, calculates=True) if x.bits.ndim == AXES else None
    if operands is None or not 0 < terms <= MOST_TERMS or not rows or table.dtype.name != x.dtype.name:
        return None
    form = {"rows": rows, "terms": terms, "variant": multiplies}
    coefficients = FLOATS[table.dtype.name], table
    return Elements(Function.SERIES, operands, x.bits.shape, x.dtype.bits_dtype, form, coefficients).computed()


def same(x: Stored) -> Any:
    """The words as they are."""
    return x.bits if x.source == CONSTANT else moved(x)


def moved(x: Stored) -> Elements:
    """The words moved to where the result is."""
    return Elements(Function.MOVED, [(OF_SIZE[x.bits.itemsize], x)], x.bits.shape, x.bits.dtype)


def integers(operator: Operator, a: Stored, b: Stored, steps: Steps, size: int, **stored: Stored) -> Array | None:
    """Low ``size`` bytes of one operation on whole numbers in 64 bits, after ``steps``; of 8 bytes: int64.

    The steps' numbers may have a shape, which broadcasts with those of the operands; ``stored``: some of them
    (multiplier, amount, zero) as they are stored.
    """
    return _integers(operator, [(INTEGERS.get(each.dtype.name), each) for each in (a, b)], steps, size, stored)


def plane_of_integers(operator: Operator, a: Stored, b: Stored, steps: Steps, plane: int) -> Array | None:
    """One byte of the results of ``integers``, the lowest for 0."""
    operands = [(INTEGERS.get(each.dtype.name), each) for each in (a, b)]
    return _integers(operator, operands, steps, 1, {}, plane)


def integers_added(
    a: Stored, b: Stored, low: Stored, high: Stored, left_shift: int, steps: Steps, plane: int = 0
) -> Array | None:
    """One byte of a * b + (number << ``left_shift``) after ``steps``; ``low``, ``high``: the bytes of the number."""
    operands = [(INTEGERS.get(each.dtype.name), each) for each in (a, b, low, high)]
    return _integers(Operator.MULTIPLY_ADD, operands, steps, 1, {}, plane, left_shift)


def bitwise(operator: Operator, a: Stored, b: Stored, size: int) -> Array | None:
    """Low ``size`` bytes of one operation on the bits of integers, of 8 to 32 bits each."""
    return integers(operator, a, b, Steps(Rounding.DOWN), size)


def finished(numbers: Array, steps: Steps, size: int) -> Array | None:
    """The low ``size`` bytes of sums after ``steps``, as unsigned integers; of 8 bytes: int64."""
    sums = Stored(np.asarray(numbers, np.int64), F32)
    return _integers(Operator.FIRST, [(Format.SI64, sums)] * 2, steps, size, {})


def _number_of(part: Array | int | Stored) -> Array | None:
    """A step's number, int64 of one element; None where it is one of each element, or of a plan's operand."""
    if isinstance(part, Stored):
        is_one = part.source == CONSTANT and part.bits.size == 1
        return part.dtype.decode(part.bits).astype(np.int64) if is_one else None
    numbers = np.asarray(part, np.int64)
    return numbers if numbers.size == 1 else None


def _integers(
    operator: Operator,
    operands: list[tuple[Format | None, Stored]],
    steps: Steps,
    size: int,
    stored: Mapping[str, Stored],
    plane: int = 0,
    variant: int = 0,
) -> Any:
    if not kernel.is_active() or size not in _RESULTS:
        return None
    names = "multiplier", "amount", "zero"
    given: list[Array | int | Stored] = [stored.get(name, getattr(steps, name)) for name in names]
    numbers = [_number_of(part) for part in given]
    own = [number.item() for number in numbers if number is not None]
    has_own_steps = len(own) < len(given)
    if has_own_steps:
        for part, number in zip(given, numbers, strict=True):
            if isinstance(part, Stored) and number is None:
                operands.append((INTEGERS.get(part.dtype.name), part))
            else:
                words = np.asarray(part if number is None else number, np.int64)
                operands.append((Format.SI64, Stored(words, F32)))
        own = [0, 0, 0]
    elif abs(own[1]) > LARGEST_SHIFT:
        return None
    shape = np.broadcast_shapes(*(operand.bits.shape for _, operand in operands))
    known = [(format, operand) for format, operand in operands if format is not None]
    if len(shape) > AXES or len(known) < len(operands):
        return None
    if any(operand.bits.dtype.itemsize != _SIZES[format] for format, operand in known):
        return None
    form = {
        "operator": operator,
        "has_own_steps": has_own_steps,
        **dict(zip(names, own, strict=True)),
        "rounding": steps.mode,
        "held": steps.held,
        "is_high": steps.is_high,
        "keeps_sign": steps.keeps_sign,
        "plane": plane,
        "variant": variant,
        "rectified": steps.rectified,
        "least": steps.limits[0],
        "most": steps.limits[1],
        "size": size,
    }
    return Elements(Function.INT_ELEMENTS, known, shape, np.dtype(_RESULTS[size]), form).computed()


def converted(x: Stored, target: DType, mode: int, limit: Limit = Limit.KEEPS_ALL) -> Array | None:
    """Words of ``target``. Floats to whole numbers: rounded by ``mode``, limited, NaN gives 0; whole to whole: limited.

    Floats to their own format: rounded to whole numbers by ``mode``; float32 to 16 bits by ``mode``, to f16 half up as
    half away. Between other formats of floats and from whole numbers to float32: half to even; float32 is flushed on
    its way to bf16. Bytes to any format of floats: as they are. ``limit``: of 16-bit floats from float32.
    """
    source = x.dtype
    if limit and (source.name != "f32" or target.name not in ("f16", "bf16")):
        return None
    if target.per_byte > 1 or source.per_byte > 1:
        return None
    if not source.is_float:
        if not target.is_float:
            steps = Steps(mode, limits=(target.minimum, target.maximum))
            return integers(Operator.FIRST, x, x, steps, target.itemsize)
        # All formats hold bytes as they are: the mode does not matter.
        is_taken = target.name in FLOATS and (source.itemsize == 1 or (target.name == "f32" and not mode))
        return _conversion(x, INTEGERS, target, Conversion.INTS_TO_FLOATS) if is_taken else None
    if source.name == target.name == "f32":
        return _conversion(x, FLOATS, target, Conversion.TO_INTEGRAL, mode)
    if source.name == "f32" and target.name in ("f16", "bf16") and mode:
        own = Rounding.HALF_AWAY if mode == Rounding.HALF_UP and target.name == "f16" else mode
        return _conversion(x, FLOATS, target, Conversion.TO_HALVES_BY_MODE, own, limit)
    if source.name == target.name:
        return _conversion(x, FLOATS, target, Conversion.HALVES_TO_INTEGRAL, mode)
    if target.name in INTEGERS:
        return _conversion(x, FLOATS, target, Conversion.FLOATS_TO_INTS, mode)
    if target.name not in FLOATS or "f32" not in (source.name, target.name) or (mode and target.name != "f32"):
        return None
    if source.name == "bf16":  # the upper half of float32: a NaN keeps its bits
        words = x._replace(dtype=UI16)
        return integers(Operator.FIRST, words, words, Steps(Rounding.DOWN, amount=16), 4)
    return _conversion(x, FLOATS, target, Conversion.FLOATS_TO_FLOATS, target.name == "bf16", variant=limit)


def truncated(x: Stored, target: DType) -> Array | None:
    """Words of integers: float32 numbers toward zero, limited; a NaN gives a limit, by its sign."""
    mode, form = Rounding.TOWARD_ZERO, {"f32": Format.F32}
    return _conversion(x, form, target, Conversion.FLOATS_TO_INTS, mode, variant=1)


def magnitudes(x: Stored, is_flushed: bool) -> Array | None:
    """Words of floats without their signs; ``is_flushed``: subnormals of float32 and bf16 are zeros."""
    if x.dtype.name == "f16" or (x.dtype.name == "bf16" and not is_flushed):
        clear = Stored(np.full((1,) * x.bits.ndim, 0x7FFF, np.uint16), UI16)
        return bitwise(Operator.AND, x._replace(dtype=UI16), clear, 2)
    return _conversion(x, {"f32": Format.F32}, x.dtype, Conversion.MAGNITUDES, variant=is_flushed)


def selected(condition: Condition, a: Stored, b: Stored, yes: Stored, no: Stored) -> Array | None:
    """Words of ``yes`` where the condition holds for ``a`` and ``b``, else of ``no``; see ``conditions``."""
    shape = _shape(a, b, yes, no)
    operands = (
        _operands(shape, FLOATS if a.dtype.is_float else INTEGERS, a, b) if a.dtype.name == b.dtype.name else None
    )
    size = yes.bits.itemsize
    if operands is None or size not in _WORD_FORMATS or no.bits.itemsize != size:
        return None
    operands += [(_WORD_FORMATS[size], each) for each in (yes, no)]
    form = {"operator": condition, "format": size}
    return Elements(Function.SELECTED, operands, shape, yes.bits.dtype, form).computed()


def _conversion(
    x: Stored,
    formats: Mapping[str, Format],
    target: DType,
    conversion: Conversion,
    mode: int = 0,
    variant: int = 0,
) -> Array | None:
    """``mode``: of rounding; between floats: whether the source is flushed."""
    operands = _operands(x.bits.shape, formats, x)
    if operands is None:
        return None
    form: dict[str, float] = {"conversion": conversion, "rounding": mode, "variant": variant}
    form["format"] = FLOATS.get(target.name, 0)
    if conversion == Conversion.FLOATS_TO_INTS:
        form |= {"low": target.minimum, "high": target.maximum, "format": target.itemsize}
    result: Array | None = Elements(Function.CONVERTED, operands, x.bits.shape, target.bits_dtype, form).computed()
    return result


def encoded(numbers: Array, target: DType) -> Array:
    """Words of ``target`` of float32 numbers, as ``DType.encode`` gives them."""
    words = np.asarray(numbers, np.float32)
    if target.name not in ("f16", "bf16") or not kernel.is_active() or words.ndim > AXES:
        return target.encode(numbers)
    bits = _conversion(Stored(words.view(np.uint32), F32), FLOATS, target, Conversion.FLOATS_TO_FLOATS)
    assert bits is not None
    return bits


def truncating(operator: Operator, *operands: Stored, rectifies: bool = False) -> Array | None:
    """Words of one operation on bfloat16 as ``arithmetic.truncating`` computes it.

    ``MULTIPLY_ADD``: the third one is added to the product, toward zero; ``FIRST``: the only one.
    """
    shape = _shape(*operands)
    described = _operands(shape, {"bf16": Format.UI16, "ui16": Format.UI16}, *operands)
    if described is None:
        return None
    form = {"operator": operator, "variant": rectifies}
    return _array(Elements(Function.TRUNCATING_ELEMENTS, described, shape, np.dtype(np.uint16), form).computed())


def truncating_bytes(x: Stored, is_cut: bool, drops: bool, limits: tuple[int, int]) -> Array | None:
    """Bytes of bfloat16, half to even or cut off, limited; what is not finite goes to the ends, by its sign.

    ``drops``: infinities, and numbers from 2^64 on, are 0.
    """
    described = _operands(x.bits.shape, {"bf16": Format.UI16}, x)
    if described is None:
        return None
    form: dict[str, float] = {"rounding": is_cut, "variant": drops, "low": limits[0], "high": limits[1]}
    return _array(Elements(Function.TRUNCATING_BYTES, described, x.bits.shape, np.dtype(np.uint8), form).computed())


def _array(words: Any) -> Array | None:
    array: Array | None = words
    return array
