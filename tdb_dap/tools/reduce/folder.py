"""From a compilation in which something is wrong to a folder that shows it with as few ops as possible."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.notices import heard_by
from tdb_dap.system.scratch import scratch_directory
from tdb_dap.tools.golden.files.compilation import find
from tdb_dap.tools.reduce.cases import COMPILER, cases_of_top, cases_of_tpu, write
from tdb_dap.tools.reduce.readme import readme, readme_of_slice
from tdb_dap.tools.reduce.search import Failing, Search, size_of
from tdb_dap.tools.reduce.slicing import Sliced, sliced
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.stages import MODEL, TOP, TPU, Stage
from tdb_dap.tools.triage.triaging import examined
from tdb_dap.tools.triage.verdict import outcome

RECORDED = "recorded"
"""Level of a case whose numbers are those of the whole: computed again they are right."""

_OF_SLICE = """#!/bin/sh
cd "$(dirname "$0")" || exit
tdb-dap check reduced --inputs inputs.npz --reference expected.npz
"""

_LEFT_BEHIND = ("compiler_profile_*", "*.layer_group_*.json", "*.profile", "*_weights_*.npz")
"""Files of the compiler that are not needed."""


class Reduced(Struct, frozen=True):
    """``ops``: those that are left, of ``before``; ``level``: where they were cut out, ``top``, ``tpu``,
    ``bmodel`` or RECORDED.

    ``found``: what triage says of them, None if they do not fail or that was not tried; ``sliced``: commands that are
    left, if the bmodel was cut; ``sizes``: elements of the inputs before and after, ``trials``: cases that were tried.
    """

    ops: tuple[str, ...]
    before: int
    level: str
    tensor: str
    triage: Triage | None
    sliced: Sliced | None = None
    sizes: tuple[int, int] = (0, 0)
    trials: int = 0


def reduce(directory: Path, folder: Path, report: Callable[[str], None] = lambda text: None) -> Reduced:
    """Write the smallest case into a new folder.

    Ops are cut out of the imported model and compiled; if none fails alone as the whole does, out of stage tpu; then
    commands out of the bmodel. Shapes and inputs are made smaller as long as it fails the same way. ``report``: what
    is being tried. BadInput if nothing is wrong, or what has to be known of the whole is missing.
    """
    files = find(directory)
    _refuse(folder)
    stages, findings = examined(files)
    triage = outcome(files, stages, findings)
    if triage.is_wrong and triage.tensor and triage.stage not in (TPU, MODEL):
        raise BadInput(
            f"{directory}: {triage.tensor} is wrong in stage {triage.stage!r}; ops are cut out of later stages, so "
            "take the op out of the original model"
        )
    if not triage.is_wrong or not triage.tensor:
        raise BadInput(f"{directory}: nothing to reduce: {triage.sentence}"[:280])
    top, tpu = (
        next((one for one in stages if one.title == title and one.level is not None), None) for title in (TOP, TPU)
    )
    tpu = tpu if tpu is not None and tpu.tensors else None
    if top is None and tpu is None:
        raise BadInput(
            f"{directory}: the tensors before the bmodel are missing; run model_transform with --test_result"
        )
    is_compiled = shutil.which(COMPILER) is not None
    of_top = list(cases_of_top(top, triage.tensor, tpu)) if top is not None and top.tensors else []
    of_tpu = list(cases_of_tpu(tpu, top, triage.tensor, triage.stage)) if tpu is not None else []
    with scratch_directory() as temporary:
        search = Search(files, triage, temporary, is_compiled, report)
        # Without the compiler only stage tpu can be computed.
        possible = [*(of_top if is_compiled else []), *(of_tpu if is_compiled or triage.stage == TPU else [])]
        failing = search.first(iter(possible))
        if failing is not None:
            before, failing = failing.size, search.smallest(failing)
            _finish(folder, failing, triage, before, is_compiled)
            return _reduced(failing, failing.case.main.level.title, triage, (before, failing.size), search.count)
        if triage.stage == TPU and tpu is not None and of_tpu:
            failing = search.recorded(of_tpu[0], tpu)
            if failing is not None:
                _finish(folder, failing, triage, failing.size, is_compiled, is_recorded=True)
                return _reduced(failing, RECORDED, triage, (failing.size, failing.size), search.count)
    bmodel = files.get("bmodel")
    if triage.stage == MODEL and bmodel is not None:
        report("commands of the bmodel")
        left = _sliced(bmodel, triage, stages, folder)
        if left is not None:
            return Reduced((left.opcode,), 0, MODEL, triage.tensor, None, left, trials=search.count)
    first = next(iter([*of_top, *of_tpu]), None)
    if first is None:
        raise BadInput(f"{directory}: {triage.tensor} is not computed by an op that could be cut out")
    write(first, folder, files)
    write_text(folder / "README.md", readme(first, triage, None, folder, (size_of(first), size_of(first))))
    return Reduced(first.main.titles, len(first.main.level.ops), first.main.level.title, triage.tensor, None)


def _reduced(failing: Failing, level: str, triage: Triage, sizes: tuple[int, int], trials: int) -> Reduced:
    main = failing.case.main
    return Reduced(main.titles, len(main.level.ops), level, triage.tensor, failing.verdict, None, sizes, trials)


def _refuse(folder: Path) -> None:
    """BadInput if a new folder cannot be made there."""
    try:
        folder.mkdir(parents=True)
        folder.rmdir()
    except FileExistsError:
        raise BadInput(f"{folder}: is there already; give a new directory") from None
    except OSError as error:
        raise BadInput(f"{folder}: cannot be made: {error.strerror or error}") from None


def _finish(
    folder: Path, failing: Failing, triage: Triage, before: int, is_compiled: bool, is_recorded: bool = False
) -> None:
    """Move the last case to where it was asked for, with the numbers that are wrong and a text."""
    made = failing.folder
    with heard_by(lambda text: None):
        stage = next(one for one in examined(find(made))[0] if one.title == failing.verdict.stage)
    write_npz(made / "actual.npz", {name: np.asarray(array, np.float32) for name, array in stage.tensors.items()})
    for pattern in _LEFT_BEHIND:
        for path in made.glob(pattern):
            path.unlink()
    text = readme(failing.case, triage, failing.verdict, made, (before, failing.size), is_recorded, is_compiled)
    write_text(made / "README.md", text)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, folder)


def _sliced(bmodel: Path, triage: Triage, stages: list[Stage], folder: Path) -> Sliced | None:
    before = next((one for one in stages if one.title == TPU and one.level is not None), None)
    inputs: dict[str, Array] = {
        name: stage.tensors[name]
        for stage in stages
        if stage.level is not None and stage.title != MODEL
        for name in stage.level.inputs()
        if name in stage.tensors
    }
    try:
        left = sliced(bmodel, triage, before, inputs, folder)
    except TdbError:
        left = None
    if left is None:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    write_text(folder / "README.md", readme_of_slice(left, triage, shutil.which(COMPILER) is not None))
    script = folder / "reproduce.sh"
    write_text(script, _OF_SLICE)
    script.chmod(0o755)
    return left
