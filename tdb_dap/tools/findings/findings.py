"""Findings that outlive a build: each with a name that the same fault has in the next one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.files.context import Context

Level = Literal["error", "warning"]
Command = Literal["check", "sanitize", "zoo"]


def model_name(context: Context) -> str:
    """Name of a model: of its directory, or of its bmodel where that has a separate name."""
    file = context.bmodel.name.removesuffix(".xz").removesuffix(".bmodel")
    own = context.directory.absolute().name if file == "compilation" else file
    return os.fsencode(own).decode("utf-8", "backslashreplace")


class Place(Struct, frozen=True):
    """A command or a tensor, and where it stands."""

    file: str
    """final.mlir, or the bmodel where no line is known."""

    line: int
    """Line of the file, 0 where none is known."""

    name: str
    """A few words for it."""

    full_name: str
    """The same, with the op or net that it belongs to."""

    kind: str
    """``instruction`` or ``variable``."""

    text: str = ""
    """One line about it."""


class Finding(Struct, frozen=True):
    """One thing that is wrong."""

    rule: str
    """Name of the rule that is broken."""

    level: Level
    """Its severity."""

    text: str
    """The whole story on one line."""

    place: Place
    """The command or tensor that it is about."""

    identity: str
    """What stays the same in another build: name of the op's location, kind; no line, ordinal or path."""

    related: tuple[Place, ...] = ()
    """Others that have to do with it."""

    fingerprint: str = ""
    """Identity in its net and stage, with a number if there are several alike; ``Findings.of`` makes it."""

    fails: bool = True
    """Whether a build fails because of it, if it is new."""

    is_known: bool = False
    """Whether the baseline has it."""


class Case(Struct, frozen=True):
    """One thing that was examined: an op or a tensor."""

    group: str
    """Kind of thing: the op."""

    name: str
    """Its name."""

    findings: tuple[int, ...] = ()
    """Numbers of the findings about it."""

    left_out: str = ""
    """Why it was not examined; empty if it was."""


class Rule(Struct, frozen=True):
    """A kind of finding."""

    label: str
    """A few words."""

    description: str
    """A sentence."""


class Findings(Struct, frozen=True):
    """Outcome of one command on one net."""

    command: Command
    """The subcommand."""

    model: str
    """Name of the context directory, or of the bmodel."""

    net: str
    """Name of the net."""

    stage: int
    """Number of its stage."""

    rules: Mapping[str, Rule]
    """All that were looked for, by name."""

    findings: tuple[Finding, ...]
    """Those found, in the order of execution."""

    cases: tuple[Case, ...]
    """All that was examined."""

    stopped: str = ""
    """Why the run did not reach the end, if it did not."""

    has_baseline: bool = False
    """Whether ``is_known`` of the findings was decided."""

    @classmethod
    def of(
        cls,
        command: Command,
        model: str,
        net: str,
        stage: int,
        rules: Mapping[str, Rule],
        findings: Iterable[Finding],
        cases: Iterable[Case],
        stopped: str,
    ) -> Findings:
        """Give each finding its fingerprint; those that are alike are numbered in order."""
        alike: Counter[str] = Counter()
        named = []
        for finding in findings:
            key = f"{command}:{net}:{stage}:{finding.rule}:{finding.identity}"
            alike[key] += 1
            named.append(replace(finding, fingerprint=f"{key}:{alike[key]}"))
        return cls(command, model, net, stage, rules, tuple(named), tuple(cases), stopped)

    def with_known(self, fingerprints: Collection[str]) -> Findings:
        """The same, where the findings with these fingerprints are known."""
        marked = (replace(finding, is_known=finding.fingerprint in fingerprints) for finding in self.findings)
        return replace(self, findings=tuple(marked), has_baseline=True)

    def and_those_of(self, other: Findings) -> Findings:
        """Those of both, of one run of the net; ``other`` after these."""
        before = len(self.findings)
        cases = (replace(case, findings=tuple(before + number for number in case.findings)) for case in other.cases)
        return replace(
            self,
            rules={**self.rules, **other.rules},
            findings=(*self.findings, *other.findings),
            cases=(*self.cases, *cases),
            stopped=self.stopped or other.stopped,
        )

    def forgiven(self, rule: str) -> Findings:
        """The same, where no finding of a rule fails a build."""
        findings = (replace(one, fails=False, level="warning") if one.rule == rule else one for one in self.findings)
        return replace(self, findings=tuple(findings))

    @property
    def new(self) -> tuple[Finding, ...]:
        """Findings that are not known."""
        return tuple(finding for finding in self.findings if not finding.is_known)

    @property
    def is_failure(self) -> bool:
        """Whether a build fails."""
        return any(finding.fails for finding in self.new)
