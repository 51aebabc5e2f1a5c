"""Files of findings that are known: a build fails because of new ones only."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput
from tdb_dap.tools.findings.findings import Command, Findings
from tdb_dap.tools.report_schema import Reported, json_text, read
from tdb_dap.version import __version__


class Known(Reported, frozen=True, kw_only=True):
    """A finding that is known. ``text``: for readers; it is not compared."""

    fingerprint: str
    rule: str
    text: str


class Baseline(Reported, frozen=True, kw_only=True):
    """The findings of one command on one stage of one net, by fingerprint."""

    version: Literal[1] = 1
    tool: str
    command: Command
    net: str
    stage: int
    findings: tuple[Known, ...]

    @classmethod
    def of(cls, findings: Findings) -> Baseline:
        """All that was found, in the order of the fingerprints."""
        known = (Known(fingerprint=one.fingerprint, rule=one.rule, text=one.text) for one in findings.findings)
        ordered = tuple(sorted(known, key=lambda one: one.fingerprint))
        tool = f"tdb-dap {__version__}"
        return cls(tool=tool, command=findings.command, net=findings.net, stage=findings.stage, findings=ordered)

    def text(self) -> str:
        """Contents of the file."""
        return json_text(self, 1) + "\n"

    def applied(self, findings: Findings, path: Path) -> Findings:
        """The findings with the known ones marked; BadInput, which names ``path``, if it is of something else."""
        own, other = ((one.command, one.net, one.stage) for one in (self, findings))
        if own != other:
            of, wanted = (f"{command} of net {net}, stage {stage}" for command, net, stage in (own, other))
            raise BadInput(f"--baseline {path}: is of {of}, not of {wanted}; --write-baseline makes one for each")
        return findings.with_known({known.fingerprint for known in self.findings})

    def gone(self, findings: Findings) -> tuple[Known, ...]:
        """Those that were looked for and not found any more; none if the run did not reach its end."""
        if findings.stopped:
            return ()
        present = {finding.fingerprint for finding in findings.findings}
        return tuple(one for one in self.findings if one.rule in findings.rules and one.fingerprint not in present)


def read_baseline(path: Path) -> Baseline:
    """Read a file; BadInput if it is none."""
    try:
        return read(Baseline, bytes(read_file(path, limits.REPORT)))
    except ValueError as error:
        raise BadInput(f"{path}: is no baseline ({error}); --write-baseline {path} makes one") from None
