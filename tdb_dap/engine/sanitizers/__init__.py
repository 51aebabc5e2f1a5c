"""Checks for what is wrong with a program although no number shows it yet; one module each.

Those that look at the whole program before it runs are functions that yield findings, those that look at
what happens are observers. All of them are exception filters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from tdb_dap.engine.control.exception_filter import Filter
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression

_PLACES = "places not to report, separated by commas: names of locations, op names, mlir:31"


def _part(module: str, name: str) -> Any:
    """Something of a sanitizer's module, which is not loaded before it is used: clients ask for the names at once."""
    return getattr(import_module(f"{__name__}.{module}"), name)


def _before_the_run(module: str, function: str) -> Callable[[], Observer]:
    """A sanitizer that knows all its findings before the program runs."""

    def make() -> Observer:
        known: Observer = _part("static_analysis", "Known")(_part(module, function))
        return known

    return make


def _birth(special: str) -> Callable[[], Observer]:
    def make() -> Observer:
        observer: Observer = _part("origins", "Origin")(_part("origins", special))
        return observer

    return make


def _uninitialized() -> Observer:
    observer: Observer = _part("uninitialized", "Uninitialized")()
    return observer


def _words(condition: str | None) -> list[str]:
    return [word.strip() for word in (condition or "").split(",") if word.strip()]


def _suppressing(observer: Observer, patterns: list[str]) -> Observer:
    if not patterns:
        return observer
    suppressing: Observer = _part("suppression", "Suppressing")(observer, tuple(patterns))
    return suppressing


def _with_places(make: Callable[[], Observer]) -> Callable[[str | None], Observer]:
    return lambda condition: _suppressing(make(), _words(condition))


def _saturation(condition: str | None) -> Observer:
    """A number is a percentage, everything else a place."""
    share: float = _part("saturation", "DEFAULT_SHARE")
    patterns: list[str] = []
    for word in _words(condition):
        number = word.removesuffix("%").strip()
        try:
            share = float(number) / 100
        except ValueError:
            patterns.append(word)
            continue
        if not 0 <= share <= 1:
            raise BadExpression(f"saturate: {quoted(word)} is not a percentage; give 0 to 100, for example 5%")
    return _suppressing(_part("saturation", "Saturation")(share), patterns)


def _filter(name: str, label: str, description: str, make: Callable[[], Observer], is_default: bool = True) -> Filter:
    return Filter(name, label, description, _with_places(make), condition=_PLACES, in_all=is_default)


SANITIZERS: tuple[Filter, ...] = (
    _filter(
        "bounds",
        "Access out of bounds",
        "Stop after a command that leaves its memory, its lane, its bank, or the buffers of its op.",
        _before_the_run("bounds", "bounds"),
    ),
    _filter(
        "uninitialized",
        "Uninitialized memory is used",
        "Stop where bytes that no command wrote, or that another op left there, reach DDR or an output.",
        _uninitialized,
    ),
    _filter(
        "hazard",
        "Race between engines or cores",
        "Stop after a command that touches the same bytes as one of another engine or core, and nothing orders them.",
        _before_the_run("hazards", "hazards"),
    ),
    _filter(
        "decode",
        "Malformed command",
        "Stop after a command with reserved bits set, undefined codes, wrong ids or waits.",
        _before_the_run("decoding", "decoding"),
    ),
    _filter(
        "legal",
        "Illegal command",
        "Stop at a command that the chip does not have: misaligned, beyond its lane, of formats that do not fit.",
        _before_the_run("decoding", "legality"),
    ),
    _filter(
        "unused",
        "A result is not used",
        "Stop after a command whose results no command reads before they are overwritten or the program ends.",
        _before_the_run("unused", "unused"),
    ),
    _filter("nan", "First NaN", "Stop after a command that makes a NaN from numbers.", _birth("NAN")),
    _filter(
        "inf",
        "First infinity",
        "Stop after a command that makes an infinity from finite numbers.",
        _birth("INF"),
        is_default=False,
    ),
    _filter(
        "denormal",
        "First subnormal number",
        "Stop after a command that makes a subnormal number from others; the chip may flush it to zero.",
        _birth("DENORMAL"),
        is_default=False,
    ),
    Filter(
        "saturate",
        "Results are clipped",
        "Stop after a command that clips too many of its results to the ends of their number format.",
        _saturation,
        condition=f"share of clipped results that is too many, default 1%; {_PLACES}",
        in_all=False,
    ),
)
"""Every sanitizer. ``in_all``: those that correct models pass; the others look for what may be meant."""

BY_NAME: dict[str, Filter] = {known.name: known for known in SANITIZERS}


def made(entries: Mapping[str, str | None], suppressed: Sequence[str] = ()) -> dict[str, Observer]:
    """Observers by name. ``suppressed``: places that none of them is to report, besides those in the conditions."""
    return {name: _suppressing(BY_NAME[name].make(condition), [*suppressed]) for name, condition in entries.items()}


def chosen(entries: Sequence[str]) -> dict[str, str | None]:
    """Name -> condition, from ``all``, ``NAME`` or ``NAME: CONDITION``; BadExpression names what is not known."""
    chosen_names: dict[str, str | None] = {}
    for entry in entries:
        name, _, condition = (part.strip() for part in entry.partition(":"))
        if name == "all":
            chosen_names.update({known.name: condition or None for known in SANITIZERS if known.in_all})
        elif name in BY_NAME:
            chosen_names[name] = condition or None
        else:
            raise BadExpression(f"there is no sanitizer {quoted(name)}; there are all, {', '.join(BY_NAME)}")
    return chosen_names
