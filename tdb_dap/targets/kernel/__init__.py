"""The optional C kernel: plans of what commands compute, ten to a hundred times as fast as NumPy.

It is built with the package where there is a C compiler (GCC or Clang); without it, or with ``TDB_DAP_KERNEL=0`` in the
environment, NumPy computes the same bits. ``docs/architecture.md`` follows a convolution through it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import Array as CArray
from ctypes import addressof, sizeof
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.rendering.printable import counted
from tdb_dap.system.interruption import between_parts
from tdb_dap.targets.kernel.constants import Operator
from tdb_dap.targets.kernel.records import (
    ElementsRecord,
    PlanRecord,
    ProductRecord,
    StepRecord,
    StoredRecord,
    TensorRecord,
)

Array = NDArray[Any]


def _is_outdated(module: Any) -> bool:
    """Whether the kernel was built from other C sources than those in this folder.

    A checkout that is used in place has moved on then, and records may have changed.
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

SWITCH = "TDB_DAP_KERNEL"
"""Environment variable: ``0`` switches the kernel off."""

_WORTH_A_PART = 1 << 17
"""Products that pay for a part of their own: some microseconds."""
_PART = 1 << 27
"""Products between two moments at which a run can be interrupted: some milliseconds, of 16-bit floats tens."""
_MOST_THREADS = 8

_enabled = is_built and os.environ.get(SWITCH, "1") != "0"

if is_built and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernel.forget_pool)


def is_active() -> bool:
    """Whether the kernel computes, not NumPy."""
    return _enabled


def checksum() -> int:
    """Of the C sources that the kernel was built from; 0 without it."""
    return _kernel.SOURCES if is_built else 0


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
    """Vector widths that this processor can run, in float32 numbers, ascending; empty without the kernel."""
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
def shared(count: int, worth: int, part: int = _PART) -> Iterator[None]:
    """Run plans with this number of threads in the context.

    ``worth``: products, or as much, that pay for a part of its own; ``part``: those between two moments at which a
    run can be interrupted.
    """
    _kernel.configure(count, worth, part)
    try:
        yield
    finally:
        _kernel.configure(threads(), _WORTH_A_PART, _PART)


if is_built:
    _kernel.configure(threads(), _WORTH_A_PART, _PART)


def fill_stored(record: StoredRecord, words: Array, format: int, source: int, shape: Sequence[int]) -> None:
    """Describe words that broadcast to a shape of four axes; BufferError where the kernel cannot read them in place.

    ``source``: the tensor that they belong to, -1 for one word, which the record holds then. Words of a tensor are
    where they are now: ``block`` makes that an offset from its address.
    """
    _kernel.fill(addressof(record), words, format, source, *shape)


_SIZES = tuple(sizeof(each) for each in (StoredRecord, TensorRecord, ElementsRecord, StepRecord, ProductRecord))


_TENSOR = Struct("=3q2i")
"""A ``TensorRecord`` as bytes: many plans have three."""


class Product(NamedTuple):
    """The record of a product, and the arrays that it has by their offsets."""

    record: ProductRecord
    pack: CArray[StepRecord]
    store: CArray[StepRecord]
    taps: Array
    places: Array


def block(
    lane_bytes: int,
    tensors: Sequence[tuple[int, ...]],
    elements: Sequence[ElementsRecord],
    product: Product | None = None,
) -> bytes:
    """The records of functions over elements, or of a product, for tensors at any addresses.

    ``tensors``: of each the address that it has now, and the fields of its ``TensorRecord``, the result last.
    """
    origins = [origin for origin, *_ in tensors]
    for call in elements:
        for stored in (*call.operand[: call.operands], call.table):
            _count_from(stored, origins)
        call.to.data = call.to.data - origins[-1] & _WORD
    record = PlanRecord(_SIZES, lane_bytes, len(tensors), len(elements))
    table = b"".join([_TENSOR.pack(*each) for _, *each in tensors])
    parts = [bytes(record), table, b"".join([bytes(call) for call in elements])]
    record.tensor = sizeof(record)
    record.element = record.tensor + len(parts[1])
    if product is not None:
        record.product = record.element + len(parts[2])
        parts += _product_parts(product, origins, record.product)
    parts[0] = bytes(record)
    return b"".join(parts)


_WORD = (1 << 64) - 1


def _count_from(stored: StoredRecord, origins: Sequence[int]) -> None:
    if stored.source >= 0 and stored.data:  # without: a function that has no table
        stored.data = stored.data - origins[stored.source] & _WORD


def _product_parts(product: Product, origins: Sequence[int], offset: int) -> list[bytes]:
    """The record of a product, which is at this offset, and what it has behind it."""
    for step in product.pack:
        _count_from(step.stored, origins)
    for step in product.store:
        step.stored.data = step.stored.data - origins[-1] & _WORD
    behind = {name: bytes(getattr(product, name)) for name in ("pack", "store", "taps", "places")}
    at = offset + sizeof(product.record)
    for name, own in behind.items():
        setattr(product.record, name, at)
        at += len(own)
    return [bytes(product.record), *behind.values()]


def plan(block: bytes) -> object:
    """A plan, made of its records; ValueError where they contradict each other."""
    return _kernel.plan(block)


def run(plan: object, *addresses: int) -> bool:
    """Run a plan with its tensors at these addresses; False, and nothing is done, where it cannot be.

    ``addresses``: for each tensor its address in this process, and its offset in memory. It can be interrupted where it
    takes long.
    """
    return _kernel.run(plan, between_parts, *addresses)


def run_once(operands: int, elements: Sequence[ElementsRecord], product: Product | None = None) -> bool:
    """Run functions or a product on arrays at the addresses in their records; ``operands``: tensors but the result.

    False, and nothing is done, where the kernel does not take these numbers.
    """
    tensors = [(0, 0, 0, 0, 0, number) for number in range(operands + 1)]
    return run(plan(block(1, tensors, elements, product)), *(0, 0) * len(tensors))


def run_batch(
    plans: list[object],
    commands: tuple[Array, Array, Array, Array],
    watched: Array | None,
    regions: Array,
    first: int,
    stop: int,
) -> tuple[int, bool]:
    """Run commands [first, stop) one after the other; the first one that was not, and whether that is for a NaN.

    ``plans``: by the numbers of forms, None where there is none; ``commands``: as in ``plans.batches``, int32, int8,
    int64 and int16 without gaps; ``watched``: for each command one more than the format of its result, int8, if the
    run is to end after the command where a NaN may be in it, else 0; ``regions``: of the memory, int64 (regions, 5).
    """
    return _kernel.run_batch(plans, (*commands, 0 if watched is None else watched), regions, len(regions), first, stop)


def elementwise(operator: Operator, a: Array, b: Array) -> NDArray[np.float32]:
    """One operation (add, subtract, multiply) per element of arrays that broadcast, float32; operands as flushed."""
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    a, b = np.asarray(a, np.float32, order="C"), np.asarray(b, np.float32, order="C")
    result = np.empty(a.shape, np.float32)
    _kernel.elementwise(operator, a, b, result, result.size)
    return result


def unpack(codes: bytes, stream: bytes, result: Array, *heading: int) -> bool:
    """Fill a row with compressed weights of CV18xx; False where the stream ends before.

    ``heading``: as in ``semantics.cv18xx.unpacking``.
    """
    return _kernel.unpack(codes, stream + bytes(8), result, result.size, *heading)  # type: ignore[arg-type]
