"""The table of detection rates, and its place in docs/sanitizers.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scripts.mutate_models.faults import KINDS
from scripts.mutate_models.judging import MISMATCH, REFUSED, Verdict

BEGIN = "<!-- written by `make mutate`; what stands between these marks is overwritten -->"
END = "<!-- end of what `make mutate` writes -->"
WANTED = 0.95
FINDERS = ("bounds", "uninitialized", "hazard", "unused", "decode", "nan", REFUSED, MISMATCH)


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


def replace_part(path: Path, lines: list[str]) -> None:
    """Put lines between the marks in a file."""
    before, rest = path.read_text("utf-8").split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    path.write_text(before + "\n".join([BEGIN, "", *lines, "", END]) + after, "utf-8")
