"""Faults of what the net of a picture is given: pixels, order and positions of patches, and what each of them sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.llm.pictures.patches import spread
from tdb_dap.tools.llm.pictures.reading import Pictures

_SHARE = 1e-4
"""Error of the share of a learnt position that is computed in another order of operations."""


def picture_faults(pictures: Pictures, held: Mapping[str, Array]) -> tuple[str, ...]:
    """Faults, a phrase each. ``held``: inputs of the net by name, in its shapes."""
    return tuple(_faults(pictures, held))


def _faults(pictures: Pictures, held: Mapping[str, Array]) -> Iterator[str]:
    assert pictures.config is not None
    count, unit = pictures.patches, pictures.config.unit
    for name, wanted in pictures.inputs.items():
        actual = held[name]
        if name == "input_states":
            yield from _pixels(wanted[:count], actual[:count], pictures.tolerance)
        elif "mask" in name:
            yield from _mask(name, wanted.reshape(wanted.shape[-2:])[:count], actual.reshape(actual.shape[-2:])[:count])
        elif name == "pos_idx":
            yield from _shares(pictures, held, count)
        elif name != "pos_weight":
            what, size = ("token", count // unit) if name == "reverse_index" else ("patch", count)
            yield from _integers(name, what, wanted[:size], actual[:size])


def _pixels(wanted: Array, actual: Array, tolerance: float) -> Iterator[str]:
    wrong = np.flatnonzero(~(np.abs(wanted - actual) <= tolerance).all(1))
    if not wrong.size:
        return
    patch = int(wrong[0])
    number = int(np.argmax(~(np.abs(wanted[patch] - actual[patch]) <= tolerance)))
    alike = np.flatnonzero((np.abs(wanted - actual[patch]) <= tolerance).all(1))
    origin = f": it holds those of patch {alike[0]}" if alike.size else ""
    yield (
        f"input_states {actual[patch, number]:g} instead of {wanted[patch, number]:g} at patch {patch}, "
        f"{wrong.size:,} of {len(wanted):,} patches differ{origin}"
    )


def _mask(name: str, wanted: Array, actual: Array) -> Iterator[str]:
    wrong = np.argwhere((wanted == 0) != (actual == 0))
    if wrong.size:
        row, column = wrong[0]
        which = "is hidden from" if wanted[row, column] == 0 else "is seen by"
        yield f"{name}: patch {column} {which} patch {row}"


def _shares(pictures: Pictures, held: Mapping[str, Array], count: int) -> Iterator[str]:
    """Indices and shares together: at the border of two places several pairs stand for one."""
    assert pictures.config is not None
    one, other = (
        spread({name: inputs[name][:count] for name in ("pos_idx", "pos_weight")}, pictures.config.side)
        for inputs in (pictures.inputs, held)
    )
    wrong = np.argwhere(~(np.abs(one - other) <= _SHARE))
    if wrong.size:
        patch, place = wrong[0]
        yield (
            f"pos_idx, pos_weight: learnt position {place} has the share {other[patch, place]:.4f} instead of "
            f"{one[patch, place]:.4f} at patch {patch}"
        )


def _integers(name: str, what: str, wanted: Array, actual: Array) -> Iterator[str]:
    wrong = np.argwhere(wanted != actual)
    if wrong.size:
        at = tuple(wrong[0])
        many = f"{len(wrong):,} of {wanted.size:,} differ"
        yield f"{name} {actual[at]:g} instead of {wanted[at]:g} at {what} {at[0]}, {many}"
