from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Numbers = NDArray[Any] | int
"""An array without gaps, or an address."""

SOURCES: int
"""Checksum of the sources that this was built from; setup.py computes it."""

def fill(record: int, array: NDArray[Any], format: int, source: int, n: int, c: int, h: int, w: int, /) -> None: ...
def plan(records: bytes, /) -> object: ...
def run(plan: object, between: Callable[[], object], /, *addresses: int) -> bool: ...
def run_batch(
    plans: list[object],
    commands: tuple[Numbers, Numbers, Numbers, Numbers, Numbers],
    regions: Numbers,
    count: int,
    first: int,
    stop: int,
    /,
) -> tuple[int, bool]: ...
def elementwise(operator: int, a: Numbers, b: Numbers, result: Numbers, count: int, /) -> None: ...
def unpack(
    codes: bytes,
    stream: bytes,
    result: Numbers,
    count: int,
    is_signed: bool,
    is_float: bool,
    first_bias: int,
    second_bias: int,
    has_zeros_apart: bool,
    /,
) -> bool: ...
def configure(workers: int, worth: int, part: int, /) -> None: ...
def forget_pool() -> None: ...
def widths() -> list[int]: ...
def choose(lanes: int, /) -> None: ...
