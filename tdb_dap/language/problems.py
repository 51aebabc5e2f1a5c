"""Problems of a model in its source: unreadable files, sanitizers' findings, wrong results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tdb_dap.language.models import sanitized
from tdb_dap.tools.sanitize.schema import CommandPlace, SanitizerFinding

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.language.verdicts import Verdict

STATIC_LIMIT = 200_000
"""Commands up to which a model is looked through unasked; larger ones take ``tdb-dap sanitize``."""


class Problem(Struct, frozen=True):
    """``line``: from 0; ``code``: the sanitizer or check; ``related``: other places, with what they are.

    ``ordinal``: of the command that a finding is about.
    """

    line: int
    text: str
    severity: Literal["error", "warning", "information"]
    code: str = ""
    related: tuple[tuple[CommandPlace, str], ...] = ()
    ordinal: int | None = None


def findings(program: Program) -> list[SanitizerFinding]:
    """Findings known without running the model, and those of a report next to it."""
    reported = sanitized(program)
    by_key = {_key(finding): finding for finding in (*_known(program), *reported)}
    return sorted(by_key.values(), key=lambda finding: finding.command.ordinal)


def _known(program: Program) -> Iterator[SanitizerFinding]:
    from tdb_dap.engine.sanitizers import SANITIZERS
    from tdb_dap.engine.sanitizers.static_analysis import Known
    from tdb_dap.errors import TdbError
    from tdb_dap.tools.sanitize.report import finding_of

    if len(program.commands) > STATIC_LIMIT:
        return
    for known in SANITIZERS:
        observer = known.make(None) if known.in_all else None
        if not isinstance(observer, Known):
            continue
        try:
            for issue in observer.findings(program).values():
                yield from (finding_of(program, finding) for finding in issue)
        except TdbError:  # a form that is not described: a run says which, by name
            continue


def _key(finding: SanitizerFinding) -> tuple[str, int, str]:
    return finding.sanitizer, finding.command.ordinal, finding.text


def problem_of(finding: SanitizerFinding, line: int) -> Problem:
    """A finding at a line of a document, from 0."""
    related = tuple((place, f"{place.token} {place.name}") for place in finding.related)
    return Problem(line, finding.text, finding.severity, finding.sanitizer, related, finding.command.ordinal)


def wrong(verdicts: Iterable[Verdict]) -> Iterator[Problem]:
    """Ops whose results differ: the first is the one to look at, those after it may inherit."""
    severity: Literal["error", "information"] = "error"
    for verdict in verdicts:
        if verdict.verdict == "fail":
            text = f"{verdict.title}: {verdict.text}" if verdict.text else verdict.title
            yield Problem(verdict.line - 1, text, severity, "mismatch")
            severity = "information"
