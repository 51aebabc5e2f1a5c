"""Amplifications as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdb_dap.engine.rendering.printable import aligned, counted
from tdb_dap.tools.perturb.schema import Amplified, Perturbed

COLUMNS = (
    "line",
    "op",
    "tensor",
    "verdict",
    "moved in",
    "moved out",
    "amplified",
    "must be",
    "gain",
    "excess/rounding",
)
_MOST = 12


def lines(result: Perturbed, is_all: bool = False) -> Iterator[str]:
    """The outcome in one sentence, the ranked table, and the sentence again where the table is long."""
    yield headline(result)
    shown = result.rows if is_all else result.rows[: max(_MOST, len(result.of("beyond")))]
    if shown:
        yield ""
        yield from _table(shown)
    if len(shown) < len(result.rows):
        yield f"... and {len(result.rows) - len(shown):,} more; --all lists them"


def headline(result: Perturbed) -> str:
    """Outcome in one sentence."""
    beyond = result.of("beyond")
    moved, runs = counted(len(result.rows), "tensor"), counted(result.runs, "perturbation")
    counts = f"{moved} moved in {runs}, {result.still:,} did not"
    unknown = result.of("unknown")
    if unknown:
        counts += f", no golden for {len(unknown):,}"
    if not beyond:
        return f"pass: no op makes more of the last place than it must; {counts}"
    first = min(beyond, key=lambda row: row.line)
    return (
        f"fail: {len(beyond):,} beyond their condition number, the first is {first.name} ({first.opcode} at line "
        f"{first.line}); {counts}"
    )


def _table(rows: Sequence[Amplified]) -> list[str]:
    return aligned([COLUMNS, *map(_cells, rows)])


def _cells(row: Amplified) -> tuple[str, ...]:
    condition = "" if row.condition is None else f"{row.condition:.3g}"
    gain = "" if row.gain is None else f"{row.gain:.3f}"
    last = row.reason if row.verdict == "unknown" else f"{row.ratio:.3g}"
    moved = (f"{row.moved_in:.2e}", f"{row.moved_out:.2e}", f"{row.amplification:.3g}")
    return (str(row.line), row.opcode, row.name, row.verdict, *moved, condition, gain, last)
