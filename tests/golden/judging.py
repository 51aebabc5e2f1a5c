"""Verdicts of the golden in tests: looked at closely and at a glance, which must agree."""

from __future__ import annotations

from collections.abc import Mapping

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.judging import Judged, judge_call
from tdb_dap.tools.golden.library import Call


def judge(op: MlirOp, call: Call, results: Mapping[int, Array]) -> Judged:
    """The verdict on the first result of an op."""
    closely = next(judge_call(op, call, results))
    at_a_glance = next(judge_call(op, call, results, closely=False))
    assert (closely.verdict, closely.reason) == (at_a_glance.verdict, at_a_glance.reason)
    return closely
