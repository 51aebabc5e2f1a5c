"""Outcome of a case: what each thing that was asked of it came to, and what is known of its ops."""

from __future__ import annotations

from typing import Literal, get_args

from tdb_dap.tools.report_schema import Reported

Status = Literal["pass", "fail", "error", "memory", "timeout", "crash"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""Outcomes, the best first: nothing found; something found; it could not be done; too much memory; too much time; its
process died.
"""


class Op(Reported, frozen=True, kw_only=True):
    """A tensor of an op. ``verdict``: of the check, empty where it did not look."""

    line: int
    opcode: str
    name: str
    verdict: str = ""
    cosine: float | None = None
    euclidean: float | None = None
    max_abs: float | None = None
    cycles: float | None = None
    hash: str = ""
    picture: str = ""
    """Largest errors by channel and place, rows of numbers in JSON; of some that fail."""


class CaseFinding(Reported, frozen=True, kw_only=True):
    """One thing that is wrong. ``fingerprint``: the same fault has the same in another build."""

    ask: str
    fingerprint: str
    rule: str
    text: str


class Step(Reported, frozen=True, kw_only=True):
    """One thing that was asked. ``text``: its last words where it did not pass."""

    ask: str
    status: Status
    text: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


class Result(Reported, frozen=True, kw_only=True):
    """A case that has been worked on."""

    key: str
    digest: str = ""
    """Hash of its files; empty if they are not there."""

    steps: tuple[Step, ...] = ()
    ops: tuple[Op, ...] = ()
    findings: tuple[CaseFinding, ...] = ()
    worker: str = ""
    """Machine, and process if it was one of a cluster."""

    versions: tuple[tuple[str, str], ...] = ()
    command: str = ""
    """Command line that shows the first thing that is wrong, or the case."""

    @property
    def status(self) -> Status:
        """The worst of its steps."""
        return max((step.status for step in self.steps), key=STATUSES.index, default="error")

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def megabytes(self) -> float:
        return max((step.megabytes for step in self.steps), default=0.0)

    @property
    def text(self) -> str:
        """Why its status is not ``pass``, on one line."""
        worst = next((step for step in self.steps if step.status == self.status), None)
        return worst.text if worst is not None and worst.status != "pass" else ""
