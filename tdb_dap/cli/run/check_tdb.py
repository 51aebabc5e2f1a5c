"""``tdb-dap check --profile tdb``: the vendor debugger's verdicts."""

from __future__ import annotations

import argparse

from tdb_dap.errors import BadInput


def run_tdb(arguments: argparse.Namespace) -> int:
    """Print one line for each value that the vendor compares. 0: no Fail; 1: some."""
    others = (
        arguments.blame,
        arguments.sanitize,
        arguments.report,
        arguments.dump,
        arguments.baseline,
        arguments.write_baseline,
    )
    if arguments.mode != "cascade" or any(others):
        raise BadInput(
            "--profile tdb prints the vendor's verdicts on a cascade; "
            "it has no other mode, blame, sanitizers, report or baseline"
        )
    from collections import Counter

    from tdb_dap.engine.compare import tdb_profile
    from tdb_dap.engine.reference.tolerance import Tolerances
    from tdb_dap.tools.opening import open_debugger, remark_sources

    limits = Tolerances.parse(arguments.tolerance, arguments.excepted)
    debugger = open_debugger(
        arguments.context,
        arguments.inputs,
        arguments.reference,
        backend=arguments.backend,
        static_tables="tdb",
        history_limit=0,
        cmodel_path=arguments.cmodel_path,
        net=arguments.net,
        stage=arguments.stage,
    )
    if debugger.reference is None:
        raise BadInput(f"{arguments.context}: nothing to compare with; give --reference R.npz")
    remark_sources(debugger.program)
    counts: Counter[str] = Counter()
    for point, found in tdb_profile.check(debugger, limits.default):
        state = "Ignore" if limits.excepts(point.value.name) else found.state
        counts[state] += 1
        if state == "Fail" or arguments.all:
            role = "operand" if point.is_operand else "result"
            similarity = "" if found.cosine is None else f" cosine {found.cosine:.6f} euclidean {found.euclidean:.6f}"
            kind = f" {found.kind}" if found.kind else ""
            print(f"{point.record.line} {role} {point.index} {point.value.name}: {state}{kind}{similarity}")
    debugger.close()
    print(", ".join(f"{state} {count:,}" for state, count in sorted(counts.items())))
    return 1 if counts["Fail"] else 0
