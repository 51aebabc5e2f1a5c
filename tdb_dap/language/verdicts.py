"""Verdicts of the comparison for each op: by a session, or by the report of a check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tdb_dap.tools.check.schema import Row

_WORST = ("fail", "pass", "excepted", "unknown")
_WORDS = {
    "pass": "as expected",
    "fail": "differs from the reference",
    "excepted": "left out of the comparison",
    "unknown": "not compared",
}


class Verdict(BaseModel):
    """Of one op. ``line``: of final.mlir, from 1; ``text``: what differs, empty if nothing does."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)

    line: int = Field(ge=1)
    verdict: Literal["pass", "fail", "unknown", "excepted"]
    text: str = ""

    @property
    def title(self) -> str:
        """In a few words."""
        return _WORDS[self.verdict]


class Judged(BaseModel):
    """The notification ``tdb/verdicts``: what a session says of the ops of a document; None: it says nothing more."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)

    uri: str
    verdicts: tuple[Verdict, ...] | None


class Current(BaseModel):
    """The notification ``tdb/current``: the line, from 1, at which a session stands in a document; None: in none."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)

    uri: str
    line: int | None


def by_op(rows: Iterable[Row]) -> tuple[Verdict, ...]:
    """The worst of the results of each op; an op of which only operands were compared has no separate verdict."""
    results: dict[int, list[Row]] = {}
    for row in rows:
        if row.line > 0 and row.role != "operand":
            results.setdefault(row.line, []).append(row)
    return tuple(_worst(line, verdicts) for line, verdicts in sorted(results.items()))


def _worst(line: int, rows: list[Row]) -> Verdict:
    row = min(rows, key=lambda row: _WORST.index(row.verdict))
    texts = [*row.complaints, row.blame.text if row.blame is not None else ""] if row.verdict == "fail" else []
    text = f"{row.name}: {'; '.join(part for part in texts if part)}" if texts else ""
    return Verdict(line=line, verdict=row.verdict, text=text)
