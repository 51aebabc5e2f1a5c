from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Start = tuple[int, int, int]

SOURCES: int
"""Checksum of the sources that this was built from; setup.py computes it."""

Numbers = NDArray[Any] | int
"""An array without gaps, or an address."""
Grid = tuple[Any, ...]
"""Shape of four axes, and the operands, which broadcast to it: format and words of each."""
Steps = tuple[Numbers, Numbers, Numbers, int, int, int, int, int]
"""Multipliers, amounts and zero points; round mode, held, rectified; limits."""

def packed(numbers: Numbers, rows: int, count: int, size: int, is_signed: bool, packed: Numbers, /) -> None: ...
def multiplies_bytes() -> bool: ...
def interleaved(
    left: Numbers,
    packed: Numbers,
    rows: int,
    image: Numbers,
    taps: Numbers,
    places: Numbers,
    count: int,
    columns: int,
    part: Sequence[int],
    even: Start,
    odd: Start,
    result: Numbers,
    position: int,
    normal: bool,
    swapped: bool,
    /,
) -> None: ...
def grouped(
    left: Numbers,
    rows: int,
    image: Numbers,
    taps: Numbers,
    places: Numbers,
    count: int,
    columns: int,
    part: Sequence[int],
    totals: Numbers,
    size: int,
    nan_wins: bool,
    drops_bits: bool,
    /,
) -> None: ...
def whole(
    left: Numbers,
    left_type: int,
    rows: int,
    image: Numbers,
    type: int,
    taps: Numbers,
    places: Numbers,
    count: int,
    columns: int,
    part: Sequence[int],
    start: Start,
    steps: Steps,
    size: int,
    result: Numbers,
    /,
) -> None: ...
def floats_of(grid: Grid, kind: int, flushes: bool, format: int, result: Numbers, /) -> bool: ...
def reciprocal_roots(grid: Grid, format: int, flushes: bool, steps: int, result: Numbers, /) -> bool: ...
def divided(grid: Grid, format: int, flushes: bool, steps: int, rule: int, result: Numbers, /) -> bool: ...
def series(
    grid: Grid, table: tuple[int, Numbers], rows: int, terms: int, flushes: bool, result: Numbers, /
) -> bool: ...
def whole_of(
    grid: Grid,
    kind: int,
    each: bool,
    steps: tuple[int, int, int],
    mode: int,
    held: bool,
    rectified: bool,
    low: int,
    high: int,
    size: int,
    result: Numbers,
    /,
) -> bool: ...
def plan(
    lane_bytes: int,
    tensors: tuple[tuple[int, ...], ...],
    pieces: tuple[Any, ...],
    product: tuple[Any, ...] | None,
    /,
) -> object: ...
def carry_out(plan: object, /, *addresses: int) -> bool: ...
def share(members: int, worth: int, /) -> None: ...
def forget_threads() -> None: ...
def parts(plan: object, worth: int, /) -> int: ...
def whole_windows(
    image: Numbers,
    type: int,
    weights: Numbers,
    starts: Numbers,
    offsets: Numbers,
    sizes: tuple[int, ...],
    steps: Steps,
    size: int,
    result: Numbers,
    /,
) -> None: ...
def selected(grid: Grid, kind: int, size: int, result: Numbers, /) -> bool: ...
def converted(grid: Grid, how: int, mode: int, low: float, high: float, form: int, result: Numbers, /) -> bool: ...
def exponents(numbers: Numbers, count: int, /) -> tuple[int, int]: ...
def carry_out_some(
    plans: list[object],
    commands: tuple[Numbers, Numbers, Numbers, Numbers],
    regions: Numbers,
    count: int,
    first: int,
    stop: int,
    /,
) -> int: ...
def begin(plan: object, /, *addresses: int) -> object | None: ...
def sum_up(begun: object, part: int, parts: int, /) -> None: ...
def finish(begun: object, /) -> bool: ...
def looked_up(
    rows: Numbers,
    size: int,
    index: Numbers,
    index_size: int,
    batches: int,
    channels: int,
    count: int,
    word: int,
    fill: int,
    fills: bool,
    result: Numbers,
    /,
) -> None: ...
def weighted(
    image: Numbers,
    weights: Numbers,
    starts: Numbers,
    offsets: Numbers,
    sizes: tuple[int, ...],
    format: int,
    negative: int,
    result: Numbers,
    /,
) -> None: ...
def elementwise(kind: int, a: Numbers, b: Numbers, result: Numbers, count: int, /) -> None: ...
def subnormal(numbers: Numbers, count: int, /) -> bool: ...
def widths() -> list[int]: ...
def choose(lanes: int, /) -> None: ...
