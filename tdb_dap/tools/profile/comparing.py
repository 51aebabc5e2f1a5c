"""Comparison of estimates with the compiler's figures, and of both with what a board took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tdb_dap.tools.profile.schedule import schedule
from tdb_dap.tools.profile.schema import Comparison

if TYPE_CHECKING:
    from tdb_dap.tools.profile.profiling import Profile


def compare(profile: Profile) -> Comparison | None:
    """None where the compiler has left no figures, or of fewer than two commands."""
    both = [t for t in profile.commands if t.given is not None and not t.command.is_system]
    if len(both) < 2:
        return None
    ours = np.array([t.estimated for t in both])
    theirs = np.array([t.given for t in both], np.float64)
    estimated = schedule(profile.program, [t.estimated for t in profile.commands])
    given = schedule(profile.program, [t.estimated if t.given is None else t.given for t in profile.commands])
    return Comparison(
        commands=len(both),
        rank=_rank_correlation(ours, theirs),
        ratio=_quotient(float(ours.sum()), float(theirs.sum())),
        total=_quotient(max(s.stop for s in estimated), max(s.stop for s in given)),
    )


def compare_with_measured(profile: Profile) -> Comparison | None:
    """Expected times of the commands compared with measured ones; None where fewer than two were measured."""
    both = [t for t in profile.commands if t.origin == "measured" and not t.command.is_system]
    if len(both) < 2:
        return None
    expected = np.array([t.expected for t in both])
    taken = np.array([t.cycles for t in both])
    scheduled = schedule(profile.program, [t.expected for t in profile.commands])
    return Comparison(
        commands=len(both),
        rank=_rank_correlation(expected, taken),
        ratio=_quotient(float(expected.sum()), float(taken.sum())),
        total=_quotient(max(s.stop for s in scheduled), profile.total),
    )


def _quotient(a: float, b: float) -> float:
    return a / b if b else 1.0


def _rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's: Pearson's of the ranks, equal numbers sharing the mean of theirs; 1 if either never changes."""
    first, second = _ranks(a), _ranks(b)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    ordered = np.sort(numbers)
    return (np.searchsorted(ordered, numbers, "left") + np.searchsorted(ordered, numbers, "right")) / 2
