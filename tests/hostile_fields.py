"""Every field of a file that others made, with a value that it never has: one after another."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tdb_dap.errors import TdbError, sentence

MISSING = object()
VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 1 << 31, 1 << 63, 10**30, 0.5, -1e300, math.nan, math.inf, True, None),
    *("", "x", "../x", "1" * 5000, [], [0], [-1], [math.nan], [[]], {}, {"x": 1}, MISSING),
)
NUMBERS = ("0", "1", "-1", "2147483648", "9223372036854775807", "9" * 30, "9" * 5000, "x", "")

Step = str | int


def places(document: Any, before: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to every field of a document, lists and objects included."""
    if before:
        yield before
    entries = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in entries:
        yield from places(value, (*before, key))


def changed(document: Any, place: tuple[Step, ...], value: Any) -> Any:
    """A copy with another value at a place, or without it."""
    result = inside = copy.deepcopy(document)
    for step in place[:-1]:
        inside = inside[step]
    if value is MISSING:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return result


def walk(document: Any, seed: int, most: int | None) -> Iterator[tuple[str, Any]]:
    """Documents in which one field is wrong, with what is wrong in words; ``most``: chosen at random, None: all."""
    choices = [(place, value) for place in places(document) for value in VALUES]
    if most is not None and most < len(choices):
        choices = Random(seed).sample(choices, most)
    for place, value in choices:
        text = "missing" if value is MISSING else repr(value)[:40]
        yield f"{'.'.join(map(str, place))} {text}", changed(document, place, value)


def walk_numbers(text: str, seed: int, most: int) -> Iterator[tuple[str, str]]:
    """Texts in which one number is another."""
    rng = Random(seed)
    numbers = list(re.finditer(r"\d+", text))
    for match in rng.sample(numbers, min(most, len(numbers))):
        value = rng.choice(NUMBERS)
        line = text.count("\n", 0, match.start()) + 1
        yield f"line {line}: {match[0]} is {value[:24]}", text[: match.start()] + value + text[match.end() :]


def require_one_line(act: Callable[[], object], what: str) -> None:
    """It ends well or with one line for the user; anything else fails the test and says of what."""
    try:
        act()
    except (TdbError, OSError) as error:
        text = sentence(error)
        assert "\n" not in text, f"{what}: {text}"
        assert "internal error" not in text, f"{what}: {text}"
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
