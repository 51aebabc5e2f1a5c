"""The optional C kernel: sums of products in the chip's order, ten to a hundred times as fast as in NumPy.

It is built with the package where there is a C compiler; without it, or with ``TDB_DAP_KERNEL=0`` in the environment,
NumPy computes the same bits. Large sums are split among threads by output columns; every output has a chain of
its own additions, so that the split does not show in the results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.rendering.printable import counted
from tdb_dap.system.interruption import between_parts

try:
    from tdb_dap.targets.kernel import _kernel
except ImportError:
    is_built = False
else:
    is_built = True

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from tdb_dap.targets.kernel.products import Products

SWITCH = "TDB_DAP_KERNEL"
"""Environment variable: ``0`` leaves the kernel alone."""

Array = NDArray[Any]

LARGEST_GROUP = 64

# Products from which on a second thread pays, and the most threads that are started.
_WORTH_A_THREAD = 1 << 20
_PART = 1 << 26
"""Products between two moments at which a computation can be interrupted: some milliseconds, 16-bit floats tens."""

_MOST_THREADS = 8

_enabled = is_built and os.environ.get(SWITCH, "1") != "0"
_pool: ThreadPoolExecutor | None = None


def _forget_threads() -> None:
    """A copy of this process has none of its threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def is_active() -> bool:
    """Whether the kernel computes the sums, not NumPy."""
    return _enabled


def describe() -> str:
    """One line that says who computes sums of products, and why."""
    if _enabled:
        return f"C kernel, {_kernel.widths()[-1]} numbers at a time, up to {counted(_threads(), 'thread')}"
    if is_built:
        return f"NumPy (the C kernel is switched off: {SWITCH}=0)"
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


def _threads() -> int:
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        available = os.cpu_count() or 1
    return min(_MOST_THREADS, available)


def _split(products: Products, work: Callable[[int, int], None]) -> None:
    """Call ``work`` with ranges of columns that together are all: in threads if it is much work, part after part."""
    columns = products.places.size
    # Whole vectors for every part.
    step = max(32 * _threads(), _PART // max(1, products.left.size) // 16 * 16)
    for first in range(0, columns, step):
        between_parts()
        _in_threads(products.left.size, first, min(columns, first + step), work)


def _in_threads(amount: int, first: int, last: int, work: Callable[[int, int], None]) -> None:
    """``amount``: products per column."""
    global _pool
    columns = last - first
    parts = max(1, min(_threads(), amount * columns // _WORTH_A_THREAD, columns // 32))
    if parts == 1:
        work(first, last)
        return
    if _pool is None:
        from concurrent.futures import ThreadPoolExecutor

        _pool = ThreadPoolExecutor(_threads(), "tdb-dap kernel")
    borders = [min(last, first + -(-columns * i // (parts * 16)) * 16) for i in range(parts)] + [last]
    futures = [_pool.submit(work, *borders[i : i + 2]) for i in range(parts)]
    for future in futures:
        future.result()


def _address(array: Array) -> int:
    assert array.flags.c_contiguous
    address: int = array.__array_interface__["data"][0]
    return address


def _factors(products: Products) -> tuple[int, int, int, int, int, int, int]:
    left, image, taps, places = products.left, products.image, products.taps, products.places
    assert left.dtype == image.dtype == np.float32
    assert taps.dtype == places.dtype == np.int64
    return (
        _address(left),
        left.shape[0],
        _address(image),
        _address(taps),
        _address(places),
        taps.size,
        places.size,
    )


def interleaved(
    products: Products, even: NDArray[np.float32], odd: NDArray[np.float32], position: int, normal: bool
) -> None:
    """Two chains of float32 additions per output; the sum of both replaces ``even``.

    ``even``, ``odd``: what the chains start from, float32 (rows, columns); ``position``: index of the first product in
    the sequence; ``normal``: no sum can be subnormal.
    """
    assert even.shape == odd.shape == (products.left.shape[0], products.places.size)
    factors, chains = _factors(products), (_address(even), _address(odd))

    def work(first: int, last: int) -> None:
        _kernel.interleaved(*factors, first, last, *chains, position, normal, products.swapped)

    _split(products, work)


def grouped(products: Products, totals: NDArray[np.float32], size: int, narrow: bool, nan_wins: bool) -> None:
    """Add the sum of every ``size`` products, exact and then rounded, to ``totals``, float32 (rows, columns).

    ``narrow``: every product of two finite factors is zero or lies between 2^-90 and 2^90.
    """
    assert totals.shape == (products.left.shape[0], products.places.size)
    factors, address = _factors(products), _address(totals)

    def work(first: int, last: int) -> None:
        _kernel.grouped(*factors, first, last, address, size, narrow, nan_wins)

    _split(products, work)


_FORMATS = {"f32": 0, "f16": 1, "bf16": 2}


def weighted(
    image: NDArray[np.float32],
    weights: NDArray[np.float32],
    starts: NDArray[np.float32] | None,
    offsets: tuple[NDArray[np.int64], NDArray[np.int64]],
    format: str,
) -> NDArray[np.float32]:
    """Weighted sums over windows, float32 (planes, places), every step rounded to ``format`` (f32, f16, bf16).

    ``image``: float32 (planes, numbers); ``weights``: (planes, taps); ``starts``: (planes), what the first accumulator
    starts from; ``offsets``: of the taps and of the places, in a plane.
    """
    taps, places = offsets
    planes, plane = image.shape
    assert image.dtype == weights.dtype == np.float32
    assert taps.dtype == places.dtype == np.int64
    assert weights.shape == (planes, taps.size)
    assert starts is None or (starts.dtype == np.float32 and starts.shape == (planes,))
    result = np.empty((planes, places.size), np.float32)
    addresses = (_address(image), _address(weights), 0 if starts is None else _address(starts))
    sizes = (planes, plane, taps.size, places.size)
    _kernel.weighted(*addresses, _address(taps), _address(places), *sizes, _FORMATS[format], _address(result))
    return result


ADD, SUBTRACT, MULTIPLY = 0, 1, 2


def elementwise(kind: int, a: Array, b: Array) -> NDArray[np.float32]:
    """One operation (ADD, SUBTRACT, MULTIPLY) per element of arrays that broadcast, float32; operands as flushed."""
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    a, b = np.asarray(a, np.float32, order="C"), np.asarray(b, np.float32, order="C")
    result = np.empty(a.shape, np.float32)
    _kernel.elementwise(kind, _address(a), _address(b), _address(result), result.size)
    return result


def requantised(
    numbers: NDArray[np.int64],
    rows: int,
    inner: int,
    parameters: list[NDArray[np.int64]],
    how: tuple[int, bool, bool],
    limits: tuple[int, int],
    result: Array,
) -> None:
    """Integer sums (rows, inner) to results, of 1, 2, 4 or 8 bytes; see ``kernel.integers``.

    ``parameters``: multiplier, amount and zero point of each row; ``how``: round mode, held in 32 bits, rectified.
    """
    assert numbers.dtype == np.int64
    assert numbers.size == result.size == rows * inner
    assert all(part.dtype == np.int64 and part.shape == (rows,) for part in parameters)
    multiplier, amount, zero = (_address(part) for part in parameters)
    steps = (multiplier, amount, zero, *how, *limits)
    _kernel.requantised(_address(numbers), rows, inner, *steps, result.itemsize, _address(result))


def has_subnormals(numbers: NDArray[np.float32]) -> bool:
    """Whether any number of an array without gaps is subnormal."""
    return _kernel.subnormal(_address(numbers), numbers.size)
