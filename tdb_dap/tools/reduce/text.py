"""The outcome of a reduction as text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from tdb_dap.tools.reduce.folder import RECORDED, Reduced


def fails(case: Reduced) -> bool:
    """Whether the reduced case fails by itself, as far as that was shown."""
    return case.sliced is not None or (case.triage is not None and case.level != RECORDED)


def lines(case: Reduced, folder: Path) -> Iterator[str]:
    """The rest of the model in ``folder``, and whether it still fails."""
    has_compiler = shutil.which("model_deploy") is not None
    if case.sliced is not None:
        left = case.sliced
        yield f"{folder}: {left.opcode}, {left.own:,} commands; {left.commands:,} of {left.before:,} with all"
        alone = "; compiled alone it does not fail" if has_compiler else ""
        yield f"still fails: the op has the numbers that it has in the whole bmodel{alone}"
        return
    level = "tpu" if case.level == RECORDED else case.level
    yield f"{folder}: {len(case.ops)} of {case.before} ops ({', '.join(case.ops)}), cut out of stage {level}"
    if case.triage is not None and case.level == RECORDED:
        yield f"fails with the numbers that the whole model had, not computed again: {case.triage.sentence}"
    elif case.triage is not None:
        yield f"{case.sizes[1]:,} of {case.sizes[0]:,} elements of its inputs; {case.trials} cases were tried"
        yield f"still fails: {case.triage.sentence}"
    elif not has_compiler:
        yield "not compiled: model_deploy is not here; run reproduce.sh where it is, then tdb-dap triage"
    else:
        yield "could not be reduced: up to 3 ops of any stage do not fail alone like the whole model"
