"""The outcome of a run for terminals, pull requests and continuous integration."""

from __future__ import annotations

from collections.abc import Iterator

from tdb_dap.engine.rendering.printable import counted, visible
from tdb_dap.errors import BadInput
from tdb_dap.tools.findings.findings import Case, Finding, Findings, Place, Rule
from tdb_dap.tools.zoo.changes import Overview, Seen, Wrong, ops_of
from tdb_dap.tools.zoo.result import STATUSES
from tdb_dap.tools.zoo.store import Store

_LISTED = 20


def headline(overview: Overview) -> str:
    """One line: what the run came to."""
    counts = ", ".join(f"{overview.counts[status]:,} {status}" for status in STATUSES if overview.counts[status])
    new = len(overview.failures)
    cases = counted(len(overview.seen), "case")
    text = f"run {overview.run.id} of {visible(overview.run.name)}: {cases}, {counts or 'none done'}"
    if overview.run.ended is None:
        text += f"; not at its end, {overview.run.cases:,} cases were asked for"
    baseline = f" compared with run {overview.before.id}" if overview.before is not None else ""
    return (
        f"{text}; {new:,} new {'thing' if new == 1 else 'things'} wrong{baseline}"
        if new
        else f"{text}; nothing new{baseline}"
    )


def lines(overview: Overview) -> Iterator[str]:
    """The first cases that are wrong and new, with the commands that show it."""
    cases = list(dict.fromkeys(one.case.key for one, _ in overview.failures))
    by_key = {one.case.key: one for one, _ in overview.failures}
    for key in cases[:_LISTED]:
        one = by_key[key]
        wrong = [wrong for wrong in one.wrong if wrong.counts]
        change = f", {one.change}" if one.change else ""
        yield f"{visible(key)}: {one.case.status}{change}: {visible(_story(one))}"
        if len(wrong) > 1:
            yield f"    and {len(wrong) - 1:,} more"
        yield f"    {visible(one.case.command)}"
    if len(cases) > _LISTED:
        yield f"and {len(cases) - _LISTED:,} more cases; tdb-dap zoo report shows them all"


def case_lines(store: Store, overview: Overview, key: str) -> Iterator[str]:
    """Status of a case, what is wrong, and its first ops that fail or have changed; BadInput without such a case."""
    one = next((one for one in overview.seen if one.case.key == key), None)
    if one is None:
        raise BadInput(f"{key}: is no case of run {overview.run.id} of {overview.run.name}")
    was = (
        f"; {one.was.status} in run {overview.before.id}" if one.was is not None and overview.before is not None else ""
    )
    yield f"{visible(key)} ({visible(one.case.chip)}, {visible(one.case.precision)}): {one.case.status}{was}"
    if one.case.text:
        yield f"    {visible(one.case.text)}"
    for wrong in one.wrong[:_LISTED]:
        yield f"    {visible(wrong.rule)}: {visible(wrong.text)}{'' if wrong.is_new else ' (known)'}"
    if len(one.wrong) > _LISTED:
        yield f"    and {len(one.wrong) - _LISTED:,} more things wrong"
    ops = ops_of(store, one)
    for op in ops[:_LISTED]:
        numbers = ", ".join(f"{name} {op[name]:.6g}" for name in ("cosine", "max_abs") if op[name] is not None)
        text = f"line {op['line']} {op['opcode']} {op['name']}: {op['verdict'] or 'another hash'}"
        yield f"    {visible(text)}{f', {numbers}' if numbers else ''}"
    if len(ops) > _LISTED:
        yield f"    and {len(ops) - _LISTED:,} more ops"
    yield f"    {visible(one.case.command)}"


def _story(one: Seen) -> str:
    """One line about a case: what its tool said, or the first finding that counts."""
    return one.case.text or next(wrong.text for wrong in one.wrong if wrong.counts)


def markdown(overview: Overview) -> str:
    """The same for a pull request, with the changes and what is tolerated."""
    parts = [f"## {_cell(headline(overview))}", ""]
    failing = list(dict.fromkeys(one.case.key for one, _ in overview.failures))
    by_key = {one.case.key: one for one in overview.seen}
    if failing:
        parts += ["| case | status | first thing wrong | see it |", "|---|---|---|---|"]
        for key in failing[:_LISTED]:
            one = by_key[key]
            parts.append(f"| {_cell(key)} | {one.case.status} | {_cell(_story(one))} | `{_cell(one.case.command)}` |")
        if len(failing) > _LISTED:
            parts.append(f"\nand {len(failing) - _LISTED:,} more")
        parts.append("")
    mended = [one.case.key for one in overview.seen if one.change == "mended"]
    if mended:
        parts += [f"Mended: {_cell(', '.join(mended[:_LISTED]))}.", ""]
    if overview.tolerated:
        parts += ["| tolerated | owner | until |", "|---|---|---|"]
        for one, wrong in overview.tolerated[:_LISTED]:
            assert wrong.tolerated is not None
            text = _cell(f"{one.case.key}: {wrong.text}")
            parts.append(f"| {text} | {_cell(wrong.tolerated.owner)} | {wrong.tolerated.until} |")
        parts.append("")
    for entry in overview.contract.expired:
        parts.append(f"Tolerated no more since {entry.until}: {_cell(entry.case)} ({_cell(entry.owner)}).")
    if overview.flaky:
        parts.append(f"Not the same twice: {_cell(', '.join(list(overview.flaky)[:_LISTED]))}.")
    return "\n".join(parts).rstrip() + "\n"


def _cell(text: str) -> str:
    return visible(text).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def findings_of(overview: Overview) -> Findings:
    """The run as findings, which JUnit and SARIF can hold: a case of the zoo is a test case."""
    findings: list[Finding] = []
    cases = []
    rules = {}
    for one in overview.seen:
        numbers = []
        for wrong in one.wrong:
            rules[wrong.rule] = Rule(wrong.rule, f"CaseFinding in a model of a zoo: {wrong.rule}.")
            numbers.append(len(findings))
            findings.append(_finding(one, wrong))
        cases.append(Case(f"{one.case.chip}.{one.case.precision}", one.case.key, tuple(numbers)))
    stopped = "" if overview.run.ended is not None else "the run has not come to its end"
    return Findings("zoo", overview.run.name, overview.run.name, 0, rules, tuple(findings), tuple(cases), stopped, True)


def _finding(one: Seen, wrong: Wrong) -> Finding:
    key = one.case.key
    return Finding(
        rule=wrong.rule,
        level="error" if wrong.counts else "warning",
        text=f"{key}: {wrong.text}",
        place=Place(key, 0, key, f"{key} {wrong.what}", "variable"),
        identity=f"{key}:{wrong.what}",
        fingerprint=f"zoo:{key}:{wrong.what}",
        fails=wrong.counts,
        is_known=not wrong.counts,
    )
