"""The error of each op over the depth of the model, as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tdb_dap.tools.check.schema import ORIGINS, Row

_WIDTH, _HEIGHT = 1150, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 10, 12, 24
_POWERS = (-8, 1)
"""Powers of ten at the lower and the upper end; what is beyond is drawn at the end."""


def depth_plot(rows: Sequence[Row], culprit: Row | None) -> str:
    """An SVG element with one dot for each op that was compared: 1 - Euclidean similarity of its worst result.

    Ops at fault are red, others that differ orange. Empty if nothing was compared.
    """
    worst: dict[tuple[int, str], Row] = {}
    for row in rows:
        if row.role == "operand" or row.numbers is None:
            continue
        key = (row.line, row.name if not row.line else "")
        before = worst.get(key)
        if before is None or _badness(row) > _badness(before):
            worst[key] = row
    shown = sorted(worst.values(), key=lambda row: (row.last, row.line))
    if not shown:
        return ""
    step = (_WIDTH - _LEFT - _RIGHT) / len(shown)
    dots = "".join(_dot(row, _LEFT + step * (i + 0.5), row == culprit) for i, row in enumerate(shown))
    return (
        f'<figure class="plot"><svg class="depth" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-label="Error over depth">'
        f"{_scale()}{dots}</svg><figcaption>Error (1 - Euclidean similarity) of each op that was compared, in the "
        "order of execution; red: at fault, orange: differs</figcaption></figure>"
    )


def _badness(row: Row) -> tuple[bool, bool, float]:
    return _is_fault(row), row.verdict == "fail", _error(row)


def _is_fault(row: Row) -> bool:
    return row.blame is not None and row.blame.kind in ORIGINS


def _error(row: Row) -> float:
    """Infinite where the similarity is no number."""
    assert row.numbers is not None
    error = 1 - row.numbers.euclidean
    return error if math.isfinite(error) else math.inf


def _dot(row: Row, x: float, is_culprit: bool) -> str:
    error = _error(row)
    red = _is_fault(row) or (is_culprit and row.blame is None)
    kind = ' class="fault"' if red else ' class="fail"' if row.verdict == "fail" else ""
    circle = f'<circle{kind} cx="{x:.1f}" cy="{_y(error):.0f}"><title>{escape(row.name)}: {error:.2g}</title></circle>'
    return f'<a href="#L{row.line}">{circle}</a>' if row.line else circle


def _y(error: float) -> float:
    low, high = _POWERS
    power = low if error <= 0 else high if error == math.inf else min(max(math.log10(error), low), high)
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - power) / (high - low)


def _scale() -> str:
    lines = []
    for power in range(_POWERS[0], _POWERS[1] + 1, 2):
        y = f"{_y(10.0**power):.0f}"
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/><text x="8" y="{y}">1e{power}</text>'
        )
    return "".join(lines)
