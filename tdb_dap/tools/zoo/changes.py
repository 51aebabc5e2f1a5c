"""Outcome of a run of a zoo, compared with an earlier one and the baseline."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from msgspec import Struct, field

from tdb_dap.tools.zoo.result import STATUSES
from tdb_dap.tools.zoo.store import Kept, Run, Store
from tdb_dap.tools.zoo.tolerated import Contract, Tolerated

Change = Literal["", "new", "broken", "mended", "worse", "better", "gone"]
"""Difference of a case from the run before: it is new, does not pass any more, passes again, is wrong in another way,
or was not run.
"""

_FLAKY_RUNS = 20
"""Runs that are looked at for cases that come out differently from the same files."""


class Wrong(Struct, frozen=True):
    """One thing that is wrong with a case."""

    what: str
    """Its fingerprint, or ``status:`` and the status where nothing was found."""
    rule: str
    text: str
    is_new: bool
    """The run before had it not."""
    tolerated: Tolerated | None

    @property
    def counts(self) -> bool:
        """Whether a run fails because of it."""
        return self.tolerated is None and self.is_new


class Seen(Struct, frozen=True):
    """A case of a run."""

    case: Kept
    change: Change
    was: Kept | None
    """The same case in the run before."""
    wrong: tuple[Wrong, ...]


class Overview(Struct, frozen=True):
    """A whole run."""

    run: Run
    before: Run | None
    seen: tuple[Seen, ...]
    gone: tuple[str, ...]
    """Cases of the run before that this one has not."""
    contract: Contract
    flaky: dict[str, str] = field(default_factory=dict)
    """Key of a case -> how it came out in the last runs, from the same files."""
    history: tuple[tuple[Run, dict[str, int]], ...] = ()
    """Runs of this zoo, the oldest first, with the number of cases by status."""

    @property
    def counts(self) -> Counter[str]:
        """Cases by status."""
        return Counter(one.case.status for one in self.seen)

    @property
    def failures(self) -> list[tuple[Seen, Wrong]]:
        """All that makes the run fail."""
        return [(one, wrong) for one in self.seen for wrong in one.wrong if wrong.counts]

    @property
    def tolerated(self) -> list[tuple[Seen, Wrong]]:
        """All that is wrong and tolerated."""
        return [(one, wrong) for one in self.seen for wrong in one.wrong if wrong.tolerated is not None]


def overview(store: Store, run: Run, before: Run | None, contract: Contract) -> Overview:
    """Compare two runs; ``before`` None: everything that is wrong counts."""
    earlier = {case.key: case for case in store.cases(before)} if before is not None else {}
    seen = []
    for case in store.cases(run):
        was = earlier.get(case.key)
        known = set(_what(store, was)) if was is not None and was.status != "pass" else set()
        wrong = tuple(
            Wrong(what, rule, text, what not in known, contract.entry(case.key, what))
            for what, (rule, text) in _what(store, case).items()
        )
        seen.append(Seen(case, _change(case, was, before), was, wrong))
    runs = [one for one in store.runs() if one.name == run.name and one.id <= run.id]
    present = {one.case.key for one in seen}
    return Overview(
        run,
        before,
        tuple(seen),
        tuple(key for key in earlier if key not in present),
        contract,
        _flaky(store, runs[-_FLAKY_RUNS:]),
        tuple((one, _counts(store, one)) for one in runs),
    )


def _what(store: Store, case: Kept) -> dict[str, tuple[str, str]]:
    """All that is wrong with a case: fingerprint -> rule and text."""
    if case.status == "pass":
        return {}
    findings = store.findings(case.id)
    rows: dict[str, tuple[str, str]] = {}
    if not findings or case.status != "fail":
        rows[f"status:{case.status}"] = case.status, case.text or case.status
    return rows | {one["fingerprint"]: (one["rule"], one["text"]) for one in findings}


def _change(case: Kept, was: Kept | None, before: Run | None) -> Change:
    if before is None:
        return ""
    if was is None:
        return "new"
    if case.status == was.status:
        return ""
    if was.status == "pass":
        return "broken"
    if case.status == "pass":
        return "mended"
    return "worse" if STATUSES.index(case.status) > STATUSES.index(was.status) else "better"


def _flaky(store: Store, runs: list[Run]) -> dict[str, str]:
    last: dict[str, tuple[str, list[str]]] = {}
    for _, key, status, digest in store.statuses(runs):
        known, statuses = last.get(key, ("", []))
        last[key] = digest, [*(statuses if digest == known else []), status]
    return {key: " ".join(statuses) for key, (digest, statuses) in last.items() if digest and len(set(statuses)) > 1}


def _counts(store: Store, run: Run) -> dict[str, int]:
    return dict(Counter(status for _, _, status, _ in store.statuses([run])))


def ops_of(store: Store, one: Seen) -> list[dict[str, Any]]:
    """Ops of a case that fail, or of which hash or verdict are others than in the run before."""
    ops = store.ops(one.case.id)
    before = {(op["name"], op["opcode"]): op for op in store.ops(one.was.id)} if one.was is not None else {}
    rows = []
    for op in ops:
        was = before.get((op["name"], op["opcode"]))
        differs = was is not None and (was["verdict"] != op["verdict"] or was["hash"] != op["hash"])
        if op["verdict"] == "fail" or differs:
            rows.append({**op, "was": (was["verdict"] or was["hash"]) if was is not None and differs else ""})
    return rows
