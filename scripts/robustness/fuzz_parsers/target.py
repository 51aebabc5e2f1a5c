"""What is fuzzed, and the rule."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tdb_dap.errors import TdbError
from tdb_dap.system.interruption import Interrupted, asking

LONGEST_ERROR = 1000
"""Characters of an error; names in it are cut."""

LONGEST_SECONDS = 10.0
"""Of processor time for one input: the wall clock would count what other programs do."""

TARGETS: dict[str, Target] = {}


@dataclass(frozen=True)
class Target:
    """``run`` gets any bytes. ``seeds``: inputs to begin with; ``errors``: what it may raise besides TdbError.

    ``words``: what is put in while mutating; ``longest``: bytes of an input.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    errors: tuple[type[Exception], ...]
    words: tuple[str, ...]
    longest: int


def target(
    name: str,
    seeds: Callable[[], Iterable[bytes]],
    errors: tuple[type[Exception], ...] = (),
    words: Iterable[str] = (),
    longest: int = 4096,
) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    """Declare a target."""

    def declare(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
        TARGETS[name] = Target(name, run, seeds, errors, tuple(words), longest)
        return run

    return declare


def attempt(target: Target, data: bytes, longest: float = LONGEST_SECONDS) -> None:
    """One execution; whatever it raises is against the rule."""
    known: tuple[type[Exception], ...] = (TdbError, *target.errors)
    start = time.process_time()
    try:
        target.run(data)
    except known as error:
        text = str(error)
        assert text, "an error without a word"
        assert "\n" not in text, f"an error of several lines: {text!r}"
        assert len(text) <= LONGEST_ERROR, f"an error of {len(text):,} characters: {text[:200]!r}"
    seconds = time.process_time() - start
    assert seconds <= longest, f"{seconds:.1f} s of processor time"


@contextmanager
def for_a_moment(seconds: float = 2.0) -> Iterator[None]:
    """Commands that are executed inside are given up after that: a single one may be made to take hours.

    That they can be given up, as by a user who pauses the run, is what is asked of them.
    """
    end = time.process_time() + seconds
    with suppress(Interrupted), asking(lambda: time.process_time() > end):
        yield


def lines(data: bytes) -> list[str]:
    """The input as text."""
    return data.decode("utf-8", "replace").split("\n")
