"""The steps of a case, as a function that is called in a separate process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.tools.model_options import ModelOptions
from tdb_dap.tools.report_schema import json_form
from tdb_dap.tools.zoo.cases import Ask, Case
from tdb_dap.tools.zoo.result import CaseFinding, Op, Status

if TYPE_CHECKING:
    from tdb_dap.tools.findings.findings import Findings

LONGEST_TEXT = 400

NEEDED = (
    __name__,
    "tdb_dap.tools.opening",
    "tdb_dap.tools.check.checking",
    "tdb_dap.tools.check.text",
    "tdb_dap.tools.sanitize.sanitizing",
    "tdb_dap.tools.sanitize.text",
    "tdb_dap.targets.semantics.execute",
    "tdb_dap.targets.plans.plan",
)
"""Modules that most steps load when they begin."""

_PICTURES = 3
"""Failing tensors of a case whose picture of errors is kept."""


class Outcome(Struct, frozen=True):
    """``text``: why the status is not ``pass``; ``ops``: what is now known of them."""

    status: Status = "pass"
    text: str = ""
    ops: tuple[Op, ...] = ()
    findings: tuple[CaseFinding, ...] = ()


def ask_of(case: Case, ask: Ask) -> Outcome:
    """Do one thing that is asked of a case."""
    return {"check": _check, "sanitize": _sanitize, "profile": _profile, "run": _run, "hashes": _hashes}[ask](case)


def _model(case: Case, with_reference: bool = False) -> ModelOptions:
    references = (case.reference,) if with_reference and case.reference is not None else ()
    return ModelOptions(case.context, case.inputs, references)


def _check(case: Case) -> Outcome:
    from tdb_dap.tools.check.checking import check
    from tdb_dap.tools.check.options import CheckOptions
    from tdb_dap.tools.check.text import headline

    result = check(CheckOptions(_model(case, with_reference=True), mode="standalone", pictures=True))
    ops = []
    pictures = 0
    for row in result.report.rows:
        if row.role == "operand":
            continue
        details: dict[str, Any] = {}
        if row.verdict == "fail" and row.picture is not None and pictures < _PICTURES:
            details["picture"], pictures = json.dumps(json_form(row.picture)["heat"]), pictures + 1
        if (numbers := row.numbers) is not None:
            details |= {"cosine": numbers.cosine, "euclidean": numbers.euclidean, "max_abs": numbers.max_abs}
        ops.append(Op(line=row.line, opcode=row.opcode, name=row.name, verdict=row.verdict, **details))
    if result.problem:
        return Outcome("error", result.problem, tuple(ops))
    text = headline(result.report).removeprefix("fail: ") if result.is_failure else ""
    return Outcome("fail" if text else "pass", text, tuple(ops), tuple(_findings("check", result.findings)))


def _sanitize(case: Case) -> Outcome:
    from tdb_dap.tools.sanitize.sanitizing import SanitizeOptions, sanitize
    from tdb_dap.tools.sanitize.text import lines

    result = sanitize(_model(case), SanitizeOptions())
    if result.problem:
        return Outcome("error", result.problem)
    text = next(lines(result.report)) if result.findings.is_failure else ""
    return Outcome("fail" if text else "pass", text, findings=tuple(_findings("sanitize", result.findings)))


def _profile(case: Case) -> Outcome:
    from tdb_dap.tools.profile.report import profiled
    from tdb_dap.tools.programs import open_program

    _, report = profiled(open_program(case.context))
    return Outcome(
        ops=tuple(Op(line=op.line, opcode=op.opcode, name=op.name, cycles=max(op.tiu, op.dma)) for op in report.ops)
    )


def _run(case: Case) -> Outcome:
    """The outputs compared with those that are expected, bit for bit; a dump of all tensors may have others as well."""
    from tdb_dap.tools.run.running import RunOptions, run

    result = run(RunOptions(_model(case)))
    if case.outputs is None:
        return Outcome()
    expected = read_npz(case.outputs)
    is_dump = result.outputs.keys() <= expected.keys()
    for name, array in expected.items():
        if name not in result.outputs:
            if is_dump:
                continue
            return Outcome("fail", f"no output is called {name}")
        own = np.asarray(result.outputs[name]).ravel()
        if not np.array_equal(own, array.ravel(), equal_nan=array.dtype.kind == "f"):
            text = f"output {name} is not that of {case.outputs.name}, bit for bit"
            finding = CaseFinding(ask="run", fingerprint=f"run:{name}", rule="outputs", text=text)
            return Outcome("fail", text, findings=(finding,))
    return Outcome()


def _hashes(case: Case) -> Outcome:
    from tdb_dap.tools.hashes.log import Tensor
    from tdb_dap.tools.run.running import RunOptions, run

    log = run(RunOptions(_model(case), hashes=True)).log
    tensors = (entry for entry in log.entries if isinstance(entry, Tensor)) if log is not None else ()
    return Outcome(ops=tuple(Op(line=one.line, opcode=one.opcode, name=one.name, hash=one.hash) for one in tensors))


def _findings(ask: Ask, findings: Findings) -> Iterator[CaseFinding]:
    for one in sorted(findings.findings, key=lambda one: one.fingerprint):
        yield CaseFinding(ask=ask, fingerprint=one.fingerprint, rule=one.rule, text=one.text[:LONGEST_TEXT])
