"""The verdicts of the vendor's debugger, with its tables, its timing and its errors."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tdb_dap.engine.compare import tdb_profile
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput
from tdb_dap.tools.check.options import CheckOptions, resolved
from tdb_dap.tools.programs import remark_sources


def vendor_verdicts(options: CheckOptions, counts: dict[str, int], lists_all: bool = False) -> Iterator[str]:
    """A line for each value that fails, or each that the vendor compares; ``counts`` is filled: state -> values."""
    if options.mode != "cascade" or any((options.blame, options.sanitize, options.keep != "none", options.baseline)):
        raise BadInput(
            "--verdicts tdb prints the vendor's verdicts on a cascade; "
            "it has no other mode, blame, sanitizers, report or baseline"
        )
    limits = Tolerances.parse(options.tolerance, options.excepted)
    model = resolved(options).model
    debugger = replace(model, static_tables="tdb", recording=None).open()
    if debugger.reference is None:
        raise BadInput(f"{model.context}: nothing to compare with; give --reference R.npz")
    remark_sources(debugger.program)
    for point, verdict in tdb_profile.check(debugger, limits.default):
        state = "Ignore" if limits.excepts(point.value.name) else verdict.state
        counts[state] = counts.get(state, 0) + 1
        if state == "Fail" or lists_all:
            role = "operand" if point.is_operand else "result"
            kind = f" {verdict.kind}" if verdict.kind else ""
            numbers = (
                "" if verdict.cosine is None else f" cosine {verdict.cosine:.6f} euclidean {verdict.euclidean:.6f}"
            )
            yield f"{point.record.line} {role} {point.index} {point.value.name}: {state}{kind}{numbers}"
    debugger.close()
