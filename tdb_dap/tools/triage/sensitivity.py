"""The price of each op's precision at the outputs, and the table that tells the compiler which ops to keep in float."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.files.stage_files import text_of
from tdb_dap.tools.triage import compiling
from tdb_dap.tools.triage.effects import Sensitive, Shadow
from tdb_dap.tools.triage.precision import floats, format_to_keep, type_of
from tdb_dap.tools.triage.ranges import beyond_range
from tdb_dap.tools.triage.stages import MODEL, TOP, TPU, Stage, stages
from tdb_dap.tools.triage.triaging import examined

_LEAST_KNOWN = 0.9
"""Share of the tensors of stage tpu that have to be known."""

_MOST_COMPILED = 3
"""Tables that are compiled, each with more ops, until the output is as good as was asked for."""


def table(kept: Sequence[str], chip: str, kept_in: str) -> str:
    """The compiler's ``--quantize_table``: these ops in a float format."""
    head = [f"# {chip}: ops that are kept in {kept_in}", "# op_name   quantize_mode"]
    return "\n".join([*head, *(f"{name} {kept_in}" for name in kept), ""])


class Mixed(Struct, frozen=True):
    """The worth of mixed precision: ``ranked`` ops, those ``kept`` in the format ``kept_in``.

    Least cosines of an output: ``now`` (NaN if it holds NaNs or infinities), ``then`` as promised, and ``came``, of the
    model compiled by the table; None where the compiler is not there, or has failed: ``failure`` says how. ``beyond``:
    how many ops are kept because their numbers are beyond the range of their format.
    """

    ranked: tuple[Sensitive, ...]
    kept: tuple[str, ...]
    kept_in: str
    now: float
    then: float
    table: str
    beyond: int = 0
    came: float | None = None
    failure: str = ""

    def is_reached(self, wanted: float) -> bool:
        """Whether the output is as good as was asked for: compiled, or promised where nothing was compiled."""
        return not self.failure and (self.then if self.came is None else self.came) >= wanted


def mixed(directory: Path, wanted: float, report: Callable[[str], None] = lambda text: None) -> Mixed:
    """The table with which the output of a compilation reaches a cosine; BadInput if its stages are not there.

    Where the compiler is there, the model is compiled by the table; as long as its output is worse than promised and
    than asked for, by one that promises more. ``report`` is called before each time.
    """
    files = find(directory)
    shadow, top, tpu = _shadow(directory, files)
    assert top.level is not None
    assert tpu.level is not None
    text = text_of(tpu.level.path)
    chip = text.chip if text is not None else "the chip"
    beyond = beyond_range(top.level, tpu.level, top.tensors)
    kept_in = format_to_keep(tpu.level, is_range=bool(beyond)) or format_to_keep(tpu.level)
    ranked = tuple(shadow.ranked())
    is_finite = all(np.isfinite(tpu.tensors[name]).all() for name in tpu.tensors if name in tpu.computed)
    now = shadow.cosine([]) if is_finite else math.nan
    if not kept_in:
        own = text.mode if text is not None else "its own"
        failure = f"{chip} has no float that is more precise than {own}: {', '.join(floats(chip))}"
        return Mixed(ranked, (), own, now, now, table((), chip, own), failure="" if now >= wanted else failure)
    aim, made = wanted, None
    for attempt in range(_MOST_COMPILED):
        kept, then = shadow.chosen(aim, beyond)
        previous, made = made, Mixed(ranked, tuple(kept), kept_in, now, then, table(kept, chip, kept_in), len(beyond))
        if previous is not None and previous.kept == made.kept:
            return previous
        if not kept or not compiling.is_there(files):
            return made
        report(f"compiling by a table of {len(kept):,} ops ({attempt + 1})")
        try:
            made = replace(made, came=compiling.compiled(files, made.table))
        except BadInput as error:
            return replace(made, failure=str(error))
        if made.came is None or made.came >= wanted:
            return made
        # What came is further from 1 than what was promised: the promise has to be nearer by as much.
        aim = 1 - (1 - wanted) * min(0.5, (1 - then) / (1 - made.came))
    assert made is not None
    return made


def _shadow(directory: Path, files: Files) -> tuple[Shadow, Stage, Stage]:
    """The imported model with the errors of the lowered one, and both; BadInput if too little is known of them."""
    judged = examined(files)[0] if files.get("bmodel") is not None else stages(files)
    by_title = {stage.title: stage for stage in judged if stage.is_usable}
    top, tpu = by_title.get(TOP), by_title.get(TPU)
    if top is None or tpu is None or top.level is None or tpu.level is None:
        raise BadInput(
            f"{directory}: the tensors of the stages top and tpu are needed; run model_transform with --test_result "
            "and model_deploy with --test_input, --test_reference and --debug"
        )
    known, count = len(tpu.computed & tpu.tensors.keys()), len(tpu.computed)
    if known < _LEAST_KNOWN * count:
        raise BadInput(
            f"{directory}: {known:,} of {count:,} tensors of stage tpu are known, too few to say what an op costs; "
            "compile with --compare_all"
        )
    text = text_of(tpu.level.path)
    is_range = bool(beyond_range(top.level, tpu.level, top.tensors))
    kept = format_to_keep(tpu.level, is_range) or format_to_keep(tpu.level) or "F32"
    others = text.mode if text is not None and text.mode in ("F16", "BF16", "F32") else kept
    tensors = _tensors(tpu, by_title.get(MODEL))
    shadow = Shadow(top.level, tpu.level, tensors, tpu.tensors, type_of(kept), type_of(others))
    if not shadow.errors:
        raise BadInput(f"{directory}: no op of stage top has a counterpart in stage tpu that can be computed")
    return shadow, top, tpu


def _tensors(tpu: Stage, run: Stage | None) -> Mapping[str, Array]:
    """The tensors of the lowered model: the chip's, whose small differences from the interpreter's add up."""
    if run is None or run.stopped or any(one.verdict in ("bug", "unknown") for one in run.executed):
        return tpu.tensors
    return {**tpu.tensors, **{name: array for name, array in run.tensors.items() if name in tpu.computed}}
