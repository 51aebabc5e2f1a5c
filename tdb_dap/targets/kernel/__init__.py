"""The optional C kernel: sums of products in the chip's order, ten to a hundred times as fast as in NumPy.

It is built with the package where there is a C compiler; without it, or with ``TDB_DAP_KERNEL=0`` in the environment,
NumPy computes the same bits. Large sums are split among threads by output columns; every output has a chain of
its own additions, so that the split does not show in the results.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.rendering.printable import counted
from tdb_dap.system.interruption import between_parts


def _is_outdated(module: Any) -> bool:
    """Whether the kernel was built from other C sources than those in this folder.

    A checkout that is used in place has moved on then, and the arguments of functions may have changed.
    """
    sources = sorted(Path(__file__).parent.rglob("*.[ch]"))
    checksum = 0
    for source in sources:
        checksum = zlib.crc32(source.read_bytes(), checksum)
    return bool(sources) and getattr(module, "SOURCES", None) != checksum


try:
    from tdb_dap.targets.kernel import _kernel
except ImportError:
    is_built = is_outdated = False
else:
    is_outdated = _is_outdated(_kernel)
    is_built = not is_outdated

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from tdb_dap.targets.kernel.integers import Windows
    from tdb_dap.targets.kernel.products import Products

SWITCH = "TDB_DAP_KERNEL"
"""Environment variable: ``0`` leaves the kernel alone."""

Array = NDArray[Any]

LARGEST_GROUP = 64

# Products from which on a second thread pays, and the most threads that are started.
_WORTH_A_THREAD = 1 << 22
_WORTH_A_PART = 1 << 17
"""The same for threads that wait for work, as those do that carry out plans: some microseconds."""
_PART = 1 << 27
"""Products between two moments at which a computation can be interrupted: some milliseconds, 16-bit floats tens."""

_MOST_THREADS = 8

_enabled = is_built and os.environ.get(SWITCH, "1") != "0"
_pool: ThreadPoolExecutor | None = None


def _forget_threads() -> None:
    """A copy of this process has none of its threads."""
    global _pool
    _pool = None
    if is_built:
        _kernel.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def is_active() -> bool:
    """Whether the kernel computes the sums, not NumPy."""
    return _enabled


def describe() -> str:
    """One line that says who computes sums of products, and why."""
    if _enabled:
        return f"C kernel, {_kernel.widths()[-1]} numbers at a time, up to {counted(threads(), 'thread')}"
    if is_built:
        return f"NumPy (the C kernel is switched off: {SWITCH}=0)"
    if is_outdated:
        return "NumPy (the C kernel was built from other sources: install again, for speed; results are equal)"
    return "NumPy (the C kernel is not built: install again where there is a C compiler, for speed; results are equal)"


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Compute with the kernel, or without it, for a while; RuntimeError if it is wanted and not built."""
    global _enabled
    if on and not is_built:
        raise RuntimeError(describe())
    before, _enabled = _enabled, on
    try:
        yield
    finally:
        _enabled = before


def widths() -> list[int]:
    """Numbers of outputs that this processor can compute at once, ascending; empty without the kernel."""
    return _kernel.widths() if is_built else []


def choose_width(lanes: int) -> None:
    """Use one of ``widths`` from now on; the results are equal. ValueError for any other number."""
    _kernel.choose(lanes)


@cache
def threads() -> int:
    """Threads that compute at a time."""
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        available = os.cpu_count() or 1
    return min(_MOST_THREADS, available)


@contextmanager
def shared(count: int, worth: int) -> Iterator[None]:
    """Carry out plans by so many threads for a while; ``worth``: products, or as much, for a part of its own."""
    _kernel.share(count, worth)
    try:
        yield
    finally:
        _kernel.share(threads(), _WORTH_A_PART)


if is_built:
    _kernel.share(threads(), _WORTH_A_PART)

Range = tuple[int, int, int, int]
"""First row, row after the last one, first column, column after the last one."""

_BLOCK_OF_ROWS = 8
_BLOCK_OF_COLUMNS = 32


def _split(shape: tuple[int, int], count: int, work: Callable[[Range], None]) -> None:
    """Call ``work`` with ranges that together are all: in threads if it is much work, part after part.

    ``count``: products of each sum.
    """
    rows, columns = shape
    amount = max(1, rows * count)
    step = max(_BLOCK_OF_COLUMNS * threads(), _PART // amount // _BLOCK_OF_COLUMNS * _BLOCK_OF_COLUMNS)
    for first in range(0, columns, step):
        between_parts()
        last = min(columns, first + step)
        parts = max(1, min(threads(), amount * (last - first) // _WORTH_A_THREAD))
        if last - first >= parts * _BLOCK_OF_COLUMNS:
            found = _parts(first, last, parts, _BLOCK_OF_COLUMNS)
            side_by_side([(0, rows, *part) for part in found], work)
        else:
            side_by_side([(*part, first, last) for part in _parts(0, rows, parts, _BLOCK_OF_ROWS)], work)


def _parts(first: int, last: int, count: int, block: int) -> list[tuple[int, int]]:
    """[first, last) in at most ``count`` parts of whole blocks."""
    step = -(-(last - first) // (count * block)) * block
    return [(start, min(last, start + step)) for start in range(first, last, step)]


T = TypeVar("T")


def side_by_side(parts: Sequence[T], work: Callable[[T], None]) -> None:
    """Call ``work`` with all parts, in threads if they are several; ``work`` itself does not use this."""
    global _pool
    if len(parts) == 1 or threads() == 1:
        for part in parts:
            work(part)
        return
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        _pool = ThreadPoolExecutor(_MOST_THREADS, "tdb-dap kernel")
    # This thread takes its share, too; as many work as there are processors.
    shares = [parts[first :: threads()] for first in range(min(threads(), len(parts)))]
    futures = [_pool.submit(_each, work, share) for share in shares[1:]]
    try:
        _each(work, shares[0])
    finally:  # whatever ends this, an interrupt too: the others write into arrays that end with the caller
        for future in futures:
            future.exception()
    for future in futures:
        future.result()


def _each(work: Callable[[T], None], parts: Sequence[T]) -> None:
    for part in parts:
        work(part)


def _right(products: Products) -> tuple[Array, Array, Array, int, int]:
    taps, places = products.taps, products.places
    assert taps.dtype == places.dtype == np.int64
    return products.image, taps, places, taps.size, places.size


def _packed(left: Array) -> Array:
    """Left factors in the order in which products read them; for bytes the sums of rows follow."""
    rows, count = left.shape
    held = -(-rows // _BLOCK_OF_ROWS) * _BLOCK_OF_ROWS
    size = held * (count + -count % 4 + 4) if left.itemsize == 1 else held * (count + count % 2)
    packed = np.empty(size, left.dtype)
    _kernel.packed(left, rows, count, left.itemsize, left.dtype != np.uint8, packed)
    return packed


def multiplies_bytes() -> bool:
    """Whether ``whole`` takes bytes on the left: this processor has an instruction for them."""
    return is_built and _kernel.multiplies_bytes()


def _start(numbers: Array | None, shape: tuple[int, int], dtype: type[np.generic]) -> tuple[int, int, int]:
    """Address and steps, in elements, of what sums of ``shape`` start from, which broadcasts to it."""
    if numbers is None:
        return 0, 0, 0
    assert numbers.dtype == dtype
    spread = np.broadcast_to(numbers, shape)
    row, column = (stride // numbers.itemsize for stride in spread.strides)
    return spread.__array_interface__["data"][0], row, column


def interleaved(products: Products, starts: Sequence[Array], normal: bool, zero: float) -> NDArray[np.float32]:
    """Two chains of float32 additions per output, and the sum of both: float32 (rows, columns).

    ``starts``: what the chains begin with, at most two, float32 that broadcasts to the result; ``zero``: what a chain
    begins with otherwise, 0 or -0; ``normal``: no sum can be subnormal.
    """
    left = products.left
    assert left.dtype == products.image.dtype == np.float32
    result = np.empty(products.shape, np.float32)
    packed = _packed(left)
    factors = (left, packed, left.shape[0], *_right(products))
    begins = [*starts, *[np.full((1, 1), zero, np.float32)] * (2 - len(starts))]
    even, odd = (_start(start, products.shape, np.float32) for start in begins)
    end = (even, odd, result, len(starts), normal, products.swapped)

    def work(part: Range) -> None:
        _kernel.interleaved(*factors, part, *end)

    _split(products.shape, products.taps.size, work)
    return result


def grouped(products: Products, totals: NDArray[np.float32], size: int, rules: tuple[bool, bool]) -> None:
    """Add the sum of every ``size`` products, exact and then rounded, to ``totals``, float32 (rows, columns).

    ``rules``: ``nan_wins`` and ``drops_bits`` of ``semantics.rules``.
    """
    assert totals.shape == products.shape
    assert products.left.dtype == products.image.dtype == np.float32
    factors = (products.left, products.left.shape[0], *_right(products))

    def work(part: Range) -> None:
        _kernel.grouped(*factors, part, totals, size, *rules)

    _split(products.shape, products.taps.size, work)


_TYPES = {np.dtype(np.int8): 0, np.dtype(np.uint8): 1, np.dtype(np.int16): 2}

Finish = tuple[Array, Array, Array, int, bool, bool, int, int]
"""Multiplier, amount and zero point of each row, int64; round mode, held in 32 bits, rectified; limits."""


def whole(products: Products, start: Array | None, finish: Finish, result: Array) -> None:
    """Exact sums of whole numbers and the steps after them, see ``kernel.integers``; sums fit into 32 bits.

    ``start``: added to the sums before those steps, int64, broadcasts to ``result`` (rows, columns) of 1 to 8 bytes.
    """
    left = products.left
    assert left.dtype == np.int16 or (products.image.itemsize == left.itemsize == 1 and multiplies_bytes())
    assert result.shape == products.shape
    assert all(part.dtype == np.int64 and part.shape == left.shape[:1] for part in finish[:3])
    packed = _packed(left)
    rows, left_type, type_ = left.shape[0], _TYPES[left.dtype], _TYPES[products.image.dtype]
    image, taps, places, count, columns = _right(products)
    multiplier, amount, zero, *how = finish
    mode, held, rectified, low, high = how
    steps = (multiplier, amount, zero, mode, held, rectified, low, high)
    begin, size = _start(start, products.shape, np.int64), result.itemsize

    def work(part: Range) -> None:
        factors = packed, left_type, rows, image, type_, taps, places, count, columns
        _kernel.whole(*factors, part, begin, steps, size, result)

    _split(products.shape, products.taps.size, work)


def exponents(numbers: NDArray[np.float32]) -> tuple[int, int]:
    """Magnitudes as words: the smallest but zero less one, and the largest finite one; 0xffffffff and 0: none."""
    found: tuple[int, int] = _kernel.exponents(numbers, numbers.size)
    return found


_FORMATS = {"f32": 0, "f16": 1, "bf16": 2}


def weighted(
    windows: Windows, weights: NDArray[np.float32], starts: NDArray[np.float32] | None, format: str, zero: float
) -> NDArray[np.float32]:
    """Weighted sums over windows, float32 (planes, rows, columns), every step rounded to ``format`` (f32, f16, bf16).

    ``windows``: over float32; ``weights``: (planes, taps); ``starts``: (planes), what the first accumulator starts
    from; ``zero``: -0.0 or 0.0, what accumulators start from otherwise.
    """
    planes, plane = windows.image.shape
    taps = windows.offsets.size
    assert windows.image.dtype == weights.dtype == np.float32
    assert windows.offsets.dtype == np.int64
    assert weights.shape == (planes, taps)
    assert starts is None or (starts.dtype == np.float32 and starts.shape == (planes,))
    result = np.empty((planes, *windows.size), np.float32)
    factors = (windows.image, weights, 0 if starts is None else starts)
    sizes = (planes, plane, taps, *windows.size, *windows.steps)
    form = (_FORMATS[format], int(np.signbit(zero)))
    _kernel.weighted(*factors, windows.offsets, sizes, *form, result)
    return result


ADD, SUBTRACT, MULTIPLY = 0, 1, 2


def elementwise(kind: int, a: Array, b: Array) -> NDArray[np.float32]:
    """One operation (ADD, SUBTRACT, MULTIPLY) per element of arrays that broadcast, float32; operands as flushed."""
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    a, b = np.asarray(a, np.float32, order="C"), np.asarray(b, np.float32, order="C")
    result = np.empty(a.shape, np.float32)
    _kernel.elementwise(kind, a, b, result, result.size)
    return result


def whole_windows(windows: Windows, weights: Array, starts: Array, finish: Finish, result: Array) -> None:
    """As ``integers.window_sums``, into ``result``; weights int32, starts and the numbers of ``finish`` int64."""
    planes, plane = windows.image.shape
    assert weights.dtype == np.int32
    assert weights.shape == (planes, windows.offsets.size)
    assert starts.dtype == windows.offsets.dtype == np.int64
    assert starts.shape == (planes,)
    assert result.shape == (planes, *windows.size)
    assert all(part.dtype == np.int64 and part.shape == (planes,) for part in finish[:3])
    multiplier, amount, zero, *how = finish
    mode, held, rectified, low, high = how
    steps = (multiplier, amount, zero, mode, held, rectified, low, high)
    sizes = (planes, plane, windows.offsets.size, *windows.size, *windows.steps)
    places = (weights, starts, windows.offsets)
    image, type_ = windows.image, _WINDOW_TYPES[windows.image.dtype]
    _kernel.whole_windows(image, type_, *places, sizes, steps, result.itemsize, result)


_WINDOW_TYPES = {np.dtype(np.int8): 3, np.dtype(np.uint8): 4, np.dtype(np.int16): 5, np.dtype(np.uint16): 6}


def over_elements(function: str, grid: tuple[Any, ...], *arguments: Any) -> bool:
    """One of the functions of ``kernel.elements``, whose result is the last argument; False: it does not take these."""
    compute = getattr(_kernel, function)
    try:
        done: bool = compute(grid, *arguments)
    except BufferError:  # words at an address that is no multiple of their size, before anything was computed
        done = compute((grid[0], *((number, words.copy()) for number, words in grid[1:])), *arguments)
    return done


_FUNCTIONS = (
    "floats_of",
    "series",
    "reciprocal_roots",
    "divided",
    "whole_of",
    "converted",
    "moved",
    "selected",
    "looked_up",
    "scattered",
)


def function_number(name: str) -> int:
    """The number by which a plan names a function of ``over_elements``."""
    return _FUNCTIONS.index(name)


def plan(
    lane_bytes: int,
    tensors: tuple[tuple[int, ...], ...],
    pieces: tuple[Any, ...],
    product: tuple[Any, ...] | None = None,
) -> object:
    """Functions over elements with their arguments, or a product, ready for tensors at any addresses.

    See ``plans.making``.
    """
    return _kernel.plan(lane_bytes, tensors, pieces, product)


def carry_out(plan: object, *addresses: int) -> bool:
    """Carry out a plan with its tensors at these addresses; False, and nothing is done, where it cannot be."""
    return _kernel.carry_out(plan, *addresses)


def is_long(plan: object) -> bool:
    """Whether a plan sums up so many products that it has to be possible to interrupt it."""
    return _kernel.parts(plan, _PART) > 1


def carry_out_some(
    plans: list[object], commands: tuple[Array, Array, Array, Array], regions: Array, first: int, stop: int
) -> int:
    """Carry out commands [first, stop) of a stretch one after the other; the first one that could not be.

    ``plans``: by the numbers of forms, None where there is none; ``commands``: as in ``plans.stretches``, int32, int8,
    int64 and int16 without gaps; ``regions``: of the memory, int64 (regions, 5).
    """
    found: int = _kernel.carry_out_some(plans, commands, regions, len(regions), first, stop)
    return found


def sum_up(plan: object, *addresses: int) -> bool:
    """As ``carry_out`` for a long plan: it can be interrupted until results are written."""
    begun = _kernel.begin(plan, *addresses)
    if begun is None:
        return False
    parts = _kernel.parts(plan, _PART)
    for part in range(parts):
        between_parts()
        _kernel.sum_up(begun, part, parts)
    return _kernel.finish(begun)


def looked_up(rows: Array, index: Array, fill: int | None, result: Array) -> None:
    """As ``elements.looked_up``, into ``result``; arrays without gaps."""
    batches, channels, count = index.shape
    sizes = (batches, channels, count, rows.itemsize)
    end = (0 if fill is None else fill, fill is not None, result)
    _kernel.looked_up(rows, rows.shape[1], index, index.itemsize, *sizes, *end)


def has_subnormals(numbers: NDArray[np.float32]) -> bool:
    """Whether any number of an array without gaps is subnormal."""
    return _kernel.subnormal(numbers, numbers.size)
