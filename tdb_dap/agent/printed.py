"""Output of the command line's tools, in the words of an agent's tools."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import pairwise

from tdb_dap.tools.sanitize.schema import CommandPlace, SanitizerFinding, SanitizerReport
from tdb_dap.tools.sanitize.text import headline

_FIRST = ("bounds", "hazard")
"""A wild access ends a run, a race makes others read what is not there yet: they explain what else is found."""

_OPTIONS = ("--inputs", "--reference")


def finding_lines(report: SanitizerReport) -> Iterator[str]:
    """The outcome, then each finding with its op; errors before warnings, causes before their consequences."""
    yield headline(report)
    for finding in sorted(report.findings, key=_rank):
        yield f"{finding.severity} [{finding.sanitizer}] {_op(finding.command)}: {finding.text}"
        for other in finding.related:
            yield f"  with {_op(other)}"
    if report.stopped:
        yield f"the run did not reach its end: {report.stopped}"


def _rank(finding: SanitizerFinding) -> tuple[bool, int]:
    kind = finding.sanitizer
    return finding.severity != "error", _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _op(place: CommandPlace) -> str:
    if not place.op:
        return f"{place.token}, of no op"
    return f"{place.token} of {place.op} {place.location} (line {place.line})"


def following_call(text: str) -> tuple[str, str]:
    """A text that ends with a command line (``next: tdb-dap ...``) with calls of the server's tools instead; the verb.

    The verb is empty if there is no such line. Files and ops have been named by others: they stay in the text.
    """
    lines = text.splitlines()
    if not lines or not lines[-1].startswith("next: tdb-dap "):
        return text, ""
    try:
        _, _, verb, context, *rest = shlex.split(lines[-1])
    except ValueError:
        return text, ""
    given = [("context", context)]
    given += [(key[2:], value) for key, value in pairwise(rest) if key in _OPTIONS]
    call = f"open {', '.join(f'{key}={value}' for key, value in given)}; then {verb}"
    call = f"{call} {rest[0]}" if rest and not rest[0].startswith("-") else call
    return "\n".join([*lines[:-1], f"next: {call}"]), verb if verb.isidentifier() else ""
