from collections.abc import Sequence
from typing import Any

Start = tuple[int, int, int]

SOURCES: int
"""Checksum of the sources that this was built from; setup.py computes it."""

def packed(numbers: int, rows: int, count: int, size: int, packed: int, /) -> None: ...
def interleaved(
    left: int,
    packed: int,
    rows: int,
    image: int,
    taps: int,
    places: int,
    count: int,
    columns: int,
    part: Sequence[int],
    even: Start,
    odd: Start,
    result: int,
    position: int,
    normal: bool,
    swapped: bool,
    /,
) -> None: ...
def grouped(
    left: int,
    rows: int,
    image: int,
    taps: int,
    places: int,
    count: int,
    columns: int,
    part: Sequence[int],
    totals: int,
    size: int,
    nan_wins: bool,
    drops_bits: bool,
    /,
) -> None: ...
def whole(
    left: int,
    rows: int,
    image: int,
    type: int,
    taps: int,
    places: int,
    count: int,
    columns: int,
    part: Sequence[int],
    start: Start,
    steps: Steps,
    size: int,
    result: int,
    /,
) -> None: ...

Operand = tuple[Any, ...]
"""Format, address, steps along four axes, and the array itself."""
Steps = tuple[int, int, int, int, int, int, int, int]
"""Addresses of multipliers, amounts and zero points; round mode, held, rectified; limits."""

def floats_of(grid: tuple[Operand, ...], kind: int, flushes: bool, result: int, format: int, /) -> None: ...
def reciprocal_roots(grid: tuple[Operand, ...], format: int, flushes: bool, steps: int, result: int, /) -> None: ...
def divided(grid: tuple[Operand, ...], format: int, flushes: bool, steps: int, rule: int, result: int, /) -> None: ...
def series(grid: tuple[Operand, ...], coefficients: int, terms: int, flushes: bool, result: int, /) -> None: ...
def whole_of(
    grid: tuple[Operand, ...],
    kind: int,
    each: bool,
    steps: tuple[int, int, int],
    mode: int,
    held: bool,
    rectified: bool,
    low: int,
    high: int,
    size: int,
    result: int,
    /,
) -> None: ...
def whole_windows(
    image: int,
    type: int,
    weights: int,
    starts: int,
    offsets: int,
    sizes: tuple[int, ...],
    steps: Steps,
    size: int,
    result: int,
    /,
) -> None: ...
def whole_of_floats(
    grid: tuple[Operand, ...], mode: int, low: float, high: float, size: int, result: int, /
) -> None: ...
def floats_of_floats(grid: tuple[Operand, ...], flushes: bool, format: int, result: int, /) -> None: ...
def floats_of_whole(grid: tuple[Operand, ...], result: int, /) -> None: ...
def rounded(grid: tuple[Operand, ...], mode: int, format: int, result: int, /) -> None: ...
def exponents(numbers: int, count: int, /) -> tuple[int, int]: ...
def looked_up(
    rows: int,
    size: int,
    index: int,
    index_size: int,
    batches: int,
    channels: int,
    count: int,
    word: int,
    fill: int,
    fills: bool,
    result: int,
    /,
) -> None: ...
def weighted(
    image: int,
    weights: int,
    starts: int,
    offsets: int,
    sizes: tuple[int, ...],
    format: int,
    negative: int,
    result: int,
    /,
) -> None: ...
def elementwise(kind: int, a: int, b: int, result: int, count: int, /) -> None: ...
def subnormal(numbers: int, count: int, /) -> bool: ...
def widths() -> list[int]: ...
def choose(lanes: int, /) -> None: ...
