"""The table of docs/sanitizers.md: which sanitizer finds how many faults of each kind."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.robustness.mutate_models.faults import KINDS
from scripts.robustness.mutate_models.judging import MISMATCH, REFUSED, Verdict

WANTED = 0.95
FINDERS = ("bounds", "uninitialized", "hazard", "unused", "decode", "legal", "nan", REFUSED, MISMATCH)


def found_share(changing: Sequence[Verdict]) -> str:
    """How many of the faults that change something are found, in words."""
    alone = sum(verdict.is_found for verdict in changing)
    both = sum(bool(verdict.finders) for verdict in changing)
    return (
        f"of {len(changing)} that change something {alone} are found ({_share(alone, len(changing))}), "
        f"with a reference {both} ({_share(both, len(changing))})"
    )


def table(verdicts: Sequence[Verdict], models: int, seed: int) -> list[str]:
    """Markdown: a row for each kind of fault, a column for each finder."""
    changing = [verdict for verdict in verdicts if verdict.changes]
    lines = [
        f"{len(verdicts):,} faults in {models} models, seed {seed}; {found_share(changing)}.",
        "",
        f"| fault | made | change something | found | {' | '.join(FINDERS)} | with a reference |",
        "|---" * (5 + len(FINDERS)) + "|",
    ]
    for kind in KINDS:
        lines.append(_row(kind, [verdict for verdict in verdicts if verdict.kind == kind]))
    lines.append(_row("all", verdicts))
    return lines


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    changing = [verdict for verdict in verdicts if verdict.changes]
    cells = [_share(sum(finder in verdict.finders for verdict in changing), len(changing)) for finder in FINDERS]
    alone = _share(sum(verdict.is_found for verdict in changing), len(changing))
    both = _share(sum(bool(verdict.finders) for verdict in changing), len(changing))
    return f"| {name} | {len(verdicts)} | {len(changing)} | {alone} | {' | '.join(cells)} | {both} |"


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else ""
