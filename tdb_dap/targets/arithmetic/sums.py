"""Sums of products described for the kernel: packing steps for operands, and where results are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import F32, SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.halves import flushed, without_subnormals
from tdb_dap.targets.arithmetic.products import Float32, Products
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.stored import AXES, OF_SIZE, Unplanned, aligned, calculated_format
from tdb_dap.targets.arithmetic.windows import Windows
from tdb_dap.targets.kernel.constants import LARGEST_SHIFT, Accumulation, Factor, Format, Part
from tdb_dap.targets.kernel.records import ProductRecord, StepRecord

BYTES = {"si8": Factor.SIGNED_BYTES, "ui8": Factor.UNSIGNED_BYTES, "i8": Factor.UNSIGNED_BYTES}
_FACTORS = {**BYTES, "ui16": Factor.UNSIGNED_WORDS}
"""Types of factors that are integers; all others are words with a sign."""

Pair = tuple[int, int]


class Size(NamedTuple):
    """Rows and columns of a matrix of sums, and the products of each."""

    rows: int
    products: int
    columns: int


class Image(NamedTuple):
    """Right factors: product k of column j has number taps[k] + places[j] of an image; see ``Products``."""

    dtype: DType
    taps: Array
    places: Array | None
    """None: of windows."""
    size: int
    """Numbers of the image."""
    fill: float | None
    """The number that the image holds where nothing is packed; None: something is packed everywhere."""


class Window(NamedTuple):
    """Windows of each channel, besides their products."""

    rounding: DType
    """Format that products and sums of floats are rounded to."""
    is_last: bool
    size: tuple[int, int, int, int]
    """Rows and columns of results, and numbers of the image between both."""


class Group(Struct, frozen=True):
    """Products of 16-bit floats that are summed exactly before they are added; see ``rules``."""

    size: int
    nan_wins: bool
    drops_bits: bool


class Step(NamedTuple):
    """Words of a part of an operand, or of the result, and their place in a matrix."""

    words: Array
    format: Format
    first: int
    """Number in the matrix of the first word; others are ``steps`` further on along each axis."""
    steps: tuple[int, ...]
    part: Part = Part.LEFT_FACTORS
    source: int = 0
    """Tensor of the plan that the words belong to, or CONSTANT."""

    def fill(self, record: StepRecord) -> None:
        """Describe it for the kernel; Unplanned where it cannot be."""
        if self.words.ndim > AXES:
            raise Unplanned("more than four axes")
        missing = AXES - self.words.ndim
        shape = (1,) * missing + self.words.shape
        record.part, record.first = self.part, self.first
        record.shape, record.step = shape, (0,) * missing + self.steps
        kernel.fill_stored(record.stored, self.words, self.format, self.source, shape)


class Sums(Struct, frozen=True):
    """Sums of products, or the largest numbers of windows."""

    how: Accumulation
    size: Size
    left: DType
    """Format of the left factors."""
    image: Image
    result: DType
    pack: Sequence[Step]
    """The parts of operands."""
    store: Sequence[Step]
    """The parts of the result."""
    starts: Sequence[Pair] = ()
    """Shape of each start: (rows or 1, columns or 1)."""
    zero: float = 0.0
    """Sums of floats start from this zero otherwise."""
    is_image_first: bool = False
    """Whether the right factor is the first one of each product."""
    group: Group | None = None
    steps: Steps | None = None
    """Of all rows; numbers that each row has of its own are packed."""
    rectifies: bool = False
    """Whether sums of floats that are not positive become zero."""
    is_zero_positive: bool = False
    """Whether a first start of -0 counts as 0, of floats."""
    adds_last: bool = False
    """Whether starts of float32 are added to the sums, one after the other."""
    halves: bool = False
    """Whether the second half of the products is summed up apart, of float32, or searched apart, of windows."""
    shifts_right: bool = False
    """Whether the amounts that rows have of their own are shifts to the right, of 31 bits at most."""
    window: Window | None = None
    keeps_nan: bool = False
    """Whether any NaN may come out; else the kernel leaves sums alone of which one is a NaN."""
    truncates: bool = False
    """Whether sums of float32 are rounded toward zero; the kernel leaves those alone that are beyond the range."""

    def with_flushed_halves(self) -> Sums:
        """The same on a chip without subnormals of f16, which drops those of factors; of windows, in every step."""
        if self.how == Accumulation.WINDOW_MAX:
            return self
        image, window = self.image, self.window
        if image.fill is not None:
            fill = without_subnormals(np.array(image.fill, np.float32), flushed(image.dtype))
            image = image._replace(fill=float(fill))
        flushing = {Part.LEFT_FACTORS, Part.RIGHT_FACTORS, *([Part.FIRST_START] if window else [])}
        pack = [
            step._replace(format=Format.FLUSHED_F16) if step.format == Format.F16 and step.part in flushing else step
            for step in self.pack
        ]
        if window is None:
            return replace(self, image=image, pack=pack)
        window = window._replace(rounding=flushed(window.rounding))
        return replace(self, image=image, pack=pack, window=window, result=flushed(self.result))

    def record(self) -> kernel.Product:
        """The description for the kernel; Unplanned where it cannot be."""
        if len(self.starts) > 1 and self.how in (Accumulation.GEMM_INT, Accumulation.WINDOW_INT):
            raise Unplanned("two starts of whole numbers")
        image, group, window = self.image, self.group or Group(1, False, False), self.window
        pack, store = (StepRecord * len(self.pack))(), (StepRecord * len(self.store))()
        for steps, records in ((self.pack, pack), (self.store, store)):
            for step, record in zip(steps, records, strict=True):
                step.fill(record)
        shapes = (*self.starts, *[(1, 1)] * (2 - len(self.starts)))
        places = image.places if image.places is not None else np.zeros(0, np.int64)
        requantisation = self.steps or Steps(0)
        record = ProductRecord(
            how=self.how,
            swapped=self.is_image_first,
            starts=len(self.starts),
            type=Factor.FLOATS_OF_IMAGE if image.dtype.is_float else _factor(image.dtype),
            left_type=_factor(self.left),
            is_filled=image.fill is not None,
            fill=0.0 if image.fill is None else image.fill,
            result=calculated_format(self.result) or 0,
            rounding=0 if window is None else calculated_format(window.rounding) or 0,
            nan_wins=group.nan_wins,
            drops_bits=group.drops_bits,
            group=group.size,
            is_last=window is not None and window.is_last,
            is_zero_positive=self.is_zero_positive,
            window=(1, 1, 1, 1) if window is None else window.size,
            keeps_nan=self.keeps_nan,
            adds_last=self.adds_last,
            halves=self.halves,
            is_high=requantisation.is_high,
            keeps_sign=requantisation.keeps_sign,
            shifts_right=self.shifts_right,
            is_scaled=requantisation.is_scaled,
            truncates=self.truncates,
            zero=self.zero,
            rows=self.size.rows,
            count=self.size.products,
            columns=self.size.columns,
            image=image.size,
            start_rows=tuple(rows for rows, _ in shapes),
            start_columns=tuple(columns for _, columns in shapes),
            numbers=_numbers(requantisation),
            mode=requantisation.mode,
            held=requantisation.held,
            rectified=requantisation.rectified or self.rectifies,
            low=requantisation.limits[0],
            high=requantisation.limits[1],
            size=self.result.itemsize,
            pack_steps=len(pack),
            store_steps=len(store),
        )
        return kernel.Product(record, pack, store, image.taps, places)


def _factor(dtype: DType) -> Factor:
    return _FACTORS.get(dtype.name, Factor.SIGNED_WORDS)


def _numbers(steps: Steps) -> tuple[int, int, int]:
    """Multiplier, amount and zero point that all rows share."""
    parts = steps.multiplier, steps.amount, steps.zero
    if not all(isinstance(part, int) for part in parts):
        raise Unplanned("numbers of each row")
    multiplier, amount, zero = (int(part) for part in parts)
    if abs(amount) > LARGEST_SHIFT:
        raise Unplanned("a shift beyond 64 bits")
    return multiplier, amount, zero


_WIDE = DType("si64", 8, "i")
_DTYPES = {
    np.dtype(np.float32): (F32, Format.F32),
    np.dtype(np.int8): (SI8, Format.SI8),
    np.dtype(np.uint8): (UI8, Format.UI8),
    np.dtype(np.int16): (SI16, Format.SI16),
    np.dtype(np.uint16): (UI16, Format.UI16),
    np.dtype(np.int32): (SI32, Format.SI32),
    np.dtype(np.int64): (_WIDE, Format.SI64),
}


class _Matrices:
    """Operands in NumPy arrays, as packing steps of a plan that is run once."""

    def __init__(self) -> None:
        self.pack: list[Step] = []

    def add(self, part: Part, matrix: Array) -> DType:
        """A matrix or a row of numbers; its format."""
        dtype, form = _DTYPES[matrix.dtype]
        steps = (matrix.shape[-1], 1)[-matrix.ndim :]
        self.pack.append(Step(aligned(matrix), form, 0, steps, part, len(self.pack)))
        return dtype

    def add_start(self, part: Part, numbers: Array, shape: Pair) -> Pair:
        """Initial value of sums, which broadcasts to their shape; its own shape."""
        spread = np.broadcast_to(numbers, shape)
        own = spread[tuple(slice(1) if stride == 0 else slice(None) for stride in spread.strides)]
        self.add(part, own)
        rows, columns = own.shape
        return rows, columns

    def add_steps(self, steps: Steps, rows: int) -> Steps | None:
        """Steps whose numbers are one for all, or of each row; those that all share. None: they are others."""
        shared: list[int] = []
        for part, numbers in zip(_STEPS, (steps.multiplier, steps.amount, steps.zero), strict=True):
            flat = np.asarray(numbers, np.int64)
            if flat.ndim > 2 or (flat.ndim and flat.shape[-1] > 1 and flat.ndim > 1) or flat.size not in (1, rows):
                return None
            if part is Part.AMOUNT and np.abs(flat).max() > LARGEST_SHIFT:
                return None
            shared.append(flat.item() if flat.size == 1 else 0)
            if flat.size > 1:
                self.add(part, flat.reshape(-1))
        return replace(steps, multiplier=shared[0], amount=shared[1], zero=shared[2])

    def run(self, sums: Sums) -> None:
        """Compute the sums."""
        if not self.runs(sums):
            raise MemoryError(f"sums of {sums.size}")  # nothing else is refused: see ``keeps_nan``

    def runs(self, sums: Sums) -> bool:
        """Compute the sums; False where the kernel leaves them alone."""
        return kernel.run_once(len(self.pack), [], sums.record())


def _stored(result: Array, columns: int) -> list[Step]:
    """An array without gaps as rows of sums."""
    return [Step(result.reshape(-1, columns), OF_SIZE[result.itemsize], 0, (columns, 1))]


_STEPS = (Part.MULTIPLIER, Part.AMOUNT, Part.ZERO_POINT)


def _factors(products: Products, matrices: _Matrices, result: Array) -> dict[str, Any]:
    """The fields of ``Sums`` that all products of matrices have alike."""
    left = matrices.add(Part.LEFT_FACTORS, products.left)
    image = matrices.add(Part.RIGHT_FACTORS, products.image)
    rows, columns = products.shape
    return {
        "size": Size(rows, products.taps.size, columns),
        "left": left,
        "image": Image(image, products.taps, products.places, products.image.size, None),
        "pack": matrices.pack,
        "store": _stored(result, columns),
        "is_image_first": products.swapped,
        "keeps_nan": True,
    }


def interleaved(products: Products, starts: Sequence[Array], zero: float) -> Float32:
    """``dot.interleaved`` in the kernel: float32 (rows, columns).

    ``starts``: what the accumulators begin with, at most two, float32 that broadcasts to the result; ``zero``: what an
    accumulator begins with otherwise, 0 or -0.
    """
    matrices, result = _Matrices(), np.empty(products.shape, np.float32)
    factors = _factors(products, matrices, result)
    shapes = [
        matrices.add_start(part, start, products.shape)
        for part, start in zip((Part.FIRST_START, Part.SECOND_START), starts, strict=False)
    ]
    matrices.run(Sums(how=Accumulation.GEMM_F32, result=F32, starts=shapes, zero=zero, **factors))
    return result


def truncated(products: Products, start: Float32) -> Float32 | None:
    """``dot.truncated`` in the kernel: float32 (rows, columns); None where a sum is beyond the range.

    ``start``: broadcasts to the result, without infinities and subnormal numbers. Each product is preceded by a zero:
    then the second one of the two accumulators stays zero.
    """
    rows, count = products.left.shape
    left, taps = np.zeros((rows, count, 2), np.float32), np.full((count, 2), -1, np.int64)
    left[..., 1], taps[:, 1] = products.left, products.taps
    matrices, result = _Matrices(), np.empty(products.shape, np.float32)
    factors = _factors(replace(products, left=left.reshape(rows, -1), taps=taps.reshape(-1)), matrices, result)
    shapes = [matrices.add_start(Part.FIRST_START, start, products.shape)]
    sums = Sums(how=Accumulation.GEMM_F32, result=F32, starts=shapes, truncates=True, **factors)
    return result if matrices.runs(sums) else None


def grouped(products: Products, totals: Float32, group: Group) -> None:
    """Add the sum of every group of products, exact and then rounded, to ``totals``, float32 (rows, columns)."""
    matrices = _Matrices()
    factors = _factors(products, matrices, totals)
    matrices.add(Part.FIRST_START, totals)
    matrices.run(Sums(how=Accumulation.GEMM_F16, result=F32, starts=[totals.shape], group=group, **factors))


def exact(products: Products, start: Array | None, steps: Steps, size: int) -> Array | None:
    """Exact sums of integers of at most 16 bits, which 32 bits hold, after ``steps``: their low ``size`` bytes.

    ``start``: added before the steps, broadcasts to the sums. None for steps that are not the same along a row.
    """
    matrices, (dtype, words) = _Matrices(), _RESULTS[size]
    shared = matrices.add_steps(steps, products.shape[0])
    if shared is None:
        return None
    result = np.empty(products.shape, words)
    factors, shapes = _factors(products, matrices, result), list[Pair]()
    if start is not None:
        shapes.append(matrices.add_start(Part.FIRST_START, start.astype(np.int64, copy=False), products.shape))
    matrices.run(Sums(how=Accumulation.GEMM_INT, result=dtype, starts=shapes, steps=shared, **factors))
    return result


_RESULTS = {1: (UI8, np.uint8), 2: (UI16, np.uint16), 4: (UI32, np.uint32), 8: (_WIDE, np.int64)}


def _windows(
    windows: Windows, weights: Array, starts: Array | None, matrices: _Matrices, result: Array
) -> dict[str, Any]:
    """The fields of ``Sums`` that all windows of channels have alike."""
    planes, plane = windows.image.shape
    _, height, width = result.shape
    left = matrices.add(Part.LEFT_FACTORS, weights)
    image = matrices.add(Part.RIGHT_FACTORS, windows.image.reshape(-1))
    if starts is not None:
        matrices.add(Part.FIRST_START, starts)
    return {
        "size": Size(planes, windows.offsets.size, height * width),
        "left": left,
        "image": Image(image, windows.offsets, None, planes * plane, None),
        "pack": matrices.pack,
        "store": _stored(result, height * width),
        "starts": [] if starts is None else [(planes, 1)],
        "keeps_nan": True,
    }


def weighted(
    windows: Windows, weights: Float32, starts: Float32 | None, rounding: DType, zero: float
) -> NDArray[np.float32]:
    """Weighted sums over windows of float32, (planes, rows, columns), every step rounded to a format.

    ``weights``: (planes, taps); ``starts``: (planes), what the first accumulator starts from; ``zero``: -0.0 or 0.0,
    what accumulators start from otherwise.
    """
    result = np.empty((windows.image.shape[0], *windows.size), np.float32)
    matrices = _Matrices()
    form = _windows(windows, weights, starts, matrices, result)
    window = Window(rounding, False, (*windows.size, *windows.steps))
    matrices.run(Sums(how=Accumulation.WINDOW_F32, result=F32, zero=zero, window=window, **form))
    return result


def weighted_truncated(windows: Windows, weights: Float32) -> Float32 | None:
    """The same, each sum rounded toward zero, from zero on; None where one is beyond the range.

    Each tap comes again with a weight of zero: then the second one of the two accumulators stays zero.
    """
    planes, count = weights.shape
    factors = np.zeros((planes, count, 2), np.float32)
    factors[..., 0] = weights
    twice = windows._replace(offsets=np.repeat(windows.offsets, 2))
    result = np.empty((planes, *windows.size), np.float32)
    matrices = _Matrices()
    form = _windows(twice, factors.reshape(planes, -1), None, matrices, result)
    window = Window(F32, False, (*windows.size, *windows.steps))
    sums = Sums(how=Accumulation.WINDOW_F32, result=F32, window=window, truncates=True, **form)
    return result if matrices.runs(sums) else None


def window_sums(windows: Windows, weights: Array, starts: Array, steps: Steps, size: int) -> Array | None:
    """Exact sums of taps times weights after ``steps``: their low ``size`` bytes, (planes, rows, columns).

    ``weights``: (planes, taps); ``starts``: (planes), added before the steps, whose numbers are one or one of each
    plane. None where NumPy has to do it: without the kernel, and where 32 bits may not hold the products' sum.
    """
    image, count = windows.image, windows.offsets.size
    bound = _BOUNDS.get(image.dtype.type)
    if not kernel.is_active() or bound is None or not image.size:
        return None
    # Of integers the magnitude of the least has no place in their own format.
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    if largest * bound * count >= 1 << 31:
        return None
    matrices = _Matrices()
    shared = matrices.add_steps(steps, image.shape[0])
    if shared is None:
        return None
    narrow, wide = np.ascontiguousarray(weights, np.int32), np.ascontiguousarray(starts, np.int64)
    result = np.empty((image.shape[0], *windows.size), _RESULTS[size][1])
    form = _windows(windows, narrow, wide, matrices, result)
    window = Window(F32, False, (*windows.size, *windows.steps))
    matrices.run(Sums(how=Accumulation.WINDOW_INT, result=_RESULTS[size][0], steps=shared, window=window, **form))
    return result


_BOUNDS = {np.int8: 1 << 7, np.uint8: 255, np.int16: 1 << 15, np.uint16: (1 << 16) - 1}
