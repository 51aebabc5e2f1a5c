"""Faults of what a net is given, in a phrase each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array


def traced(fault: tuple[str, ...], origin: Callable[[], str]) -> tuple[str, ...]:
    """A fault with the origin of its numbers, where that is known."""
    text = origin() if fault else ""
    return tuple(f"{one}: {text}" for one in fault) if text else fault


def same(name: str, wanted: Array, actual: Array, first: int | None = None, rows: int = 1) -> tuple[str, ...]:
    """Fault of numbers that are copied or counted, and so are exact; none if they are right.

    ``first``: position of the first of ``rows`` rows; None: they are not of positions.
    """
    wanted = np.asarray(wanted).reshape(-1)
    different = np.flatnonzero(wanted != actual)
    if not different.size:
        return ()
    at = int(different[0])
    where = f"position {first + at // max(1, wanted.size // rows)}" if first is not None else f"number {at:,}"
    many = f", {different.size:,} of {wanted.size:,} differ" if wanted.size > 1 else ""
    return (f"{name} {actual[at]:g} instead of {wanted[at]:g} at {where}{many}",)
