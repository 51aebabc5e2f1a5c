"""Comparisons of weights as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.tools.weights.checking import WeightsReport

_MOST_SHOWN = 20
_MOST_NAMED = 6
FILLED = "filled by the host"


def lines(report: WeightsReport) -> Iterator[str]:
    """Verdicts as text: the count of proven constants, then those that are wrong and those not traced."""
    yield f"{report.proven:,} constants ({report.numbers:,} numbers) are as the model before conversion has them"
    for fault in report.faults[:_MOST_SHOWN]:
        yield f"wrong: {fault.tensor} in {fault.net}: {fault.summary}"
    if len(report.faults) > _MOST_SHOWN:
        yield f"{len(report.faults) - _MOST_SHOWN:,} more constants are wrong"
    yield from untraced_lines(report)


def untraced_lines(report: WeightsReport) -> Iterator[str]:
    """The constants that could not be compared by reason, without those that the host fills."""
    by_reason: dict[str, list[str]] = {}
    for one in report.untraced:
        if one.why != FILLED:
            by_reason.setdefault(one.why, []).append(
                one.tensor if one.tensor == one.net else f"{one.tensor} in {one.net}"
            )
    for why, names in by_reason.items():
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        yield f"not traced: {', '.join(names[:_MOST_NAMED])}{more}: {why}"
