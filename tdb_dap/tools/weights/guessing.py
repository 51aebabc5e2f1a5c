"""Guesses of how a wrong constant came about: a sign, a factor, numbers that are elsewhere, another tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array

_ALIKE = 0.98
"""Cosine of two rows that hold the same numbers, in whatever format."""

_SHIFTED = 0.9
"""Cosine of all numbers with the shifted ones: those of a group that hold a neighbour's have another scale."""

_MOST_ROWS = 512
_MOST_NUMBERS = 1 << 26

UNKNOWN = "other numbers"

Candidates = Iterable[tuple[str, Callable[[], Array]]]
"""Names of tensors of the same shape, and their numbers."""


def guess(actual: Array, wanted: Array, wrong: Array, others: Candidates = ()) -> str:
    """A phrase that says how ``actual`` came of ``wanted``, both (rows, columns); ``wrong``: where they differ."""
    if wrong.sum() == 1:
        return "one number"
    if not np.isfinite(actual).all():
        return "NaN or infinity"
    if not actual[wrong].any():
        return "zeros"
    if (phrase := _factor(actual[wrong], wanted[wrong])) is not None:
        return phrase
    with np.errstate(all="ignore"):
        for look in (_rolled, _within_rows, _exchanged):
            if (phrase := look(actual, wanted, wrong)) is not None:
                return phrase
    for name, read in others:
        other = read()
        if other.shape == actual.shape and cosine(actual.reshape(-1), other.reshape(-1)) > _ALIKE:
            return f"holds {name}"
    return UNKNOWN


def cosine(one: Array, other: Array) -> float:
    """Similarity of two vectors; 0 where one of them is zero."""
    one, other = one.astype(np.float64), other.astype(np.float64)
    length = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / length if length else 0.0


def _factor(actual: Array, wanted: Array) -> str | None:
    if abs(cosine(actual, wanted)) < 0.995:
        return None
    factor = float(actual.astype(np.float64) @ wanted) / float(wanted.astype(np.float64) @ wanted)
    if abs(factor - 1) < 0.004:
        return None
    return "the sign is wrong" if abs(factor + 1) < 0.02 else f"{factor:.3g} times as large"


def _rolled(actual: Array, wanted: Array, wrong: Array) -> str | None:
    """Rows, or numbers of each row, that are shifted in a circle."""
    if wanted.size > _MOST_NUMBERS or wrong.sum() < 3:
        return None
    for axis, what in ((0, "rows"), (1, "numbers of each row")):
        length = wanted.shape[axis]
        if length < 2:
            continue
        spectrum = np.fft.rfft(wanted, axis=axis).conj() * np.fft.rfft(actual, axis=axis)
        matches = np.fft.irfft(spectrum, length, axis=axis).sum(1 - axis)
        by = int(matches.argmax())
        if by and cosine(np.roll(wanted, by, axis).reshape(-1), actual.reshape(-1)) > _SHIFTED:
            what = "numbers" if wanted.shape[0] == 1 and axis == 1 else what
            return f"{what} rotated by {by if by <= length // 2 else by - length}"
    return None


def _exchanged(actual: Array, wanted: Array, wrong: Array) -> str | None:
    """Rows, or columns, that are at the place of others."""
    return _of_others(actual, wanted, wrong, "row") or _of_others(actual.T, wanted.T, wrong.T, "column")


def _of_others(actual: Array, wanted: Array, wrong: Array, what: str) -> str | None:
    rows = np.flatnonzero(wrong.any(1))
    if len(rows) < 2 or wanted.shape[1] < 8:
        return None
    some = rows[:_MOST_ROWS]
    similar = _unit(actual[some]) @ _unit(wanted).T
    origins = similar.argmax(1)
    if not (similar.max(1) > _ALIKE).all() or (origins == some).all():
        return None
    if len(rows) == 2 and (origins == some[::-1]).all():
        return f"{what}s {some[0]:,} and {some[1]:,} are exchanged"
    return f"{what}s are in another order: {what} {some[0]:,} holds {what} {origins[0]:,}"


def _within_rows(actual: Array, wanted: Array, wrong: Array) -> str | None:
    """Neighbouring numbers that are exchanged, as the two in a byte are."""
    if wanted.shape[1] % 2:
        return None
    pairs = wanted.reshape(len(wanted), -1, 2)[:, :, ::-1].reshape(wanted.shape)
    return "neighbouring numbers are exchanged" if cosine(actual[wrong], pairs[wrong]) > _ALIKE else None


def _unit(rows: Array) -> Array:
    rows = rows.astype(np.float64)
    length = np.sqrt(np.square(rows).sum(1, keepdims=True))
    units: Array = rows / np.where(length, length, 1)
    return units
