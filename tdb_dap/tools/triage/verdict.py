"""From judged stages to the one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.metrics import measure
from tdb_dap.engine.sanitizers.hazards import NAME as HAZARD
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.compilation import Files
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.level import NOT_KNOWN, Level, wide
from tdb_dap.tools.golden.lowering import counterpart
from tdb_dap.tools.triage.calibration import is_too_small, narrowed, thresholds
from tdb_dap.tools.triage.schema import Cost, Kind, Place, StageRow, Triage
from tdb_dap.tools.triage.stages import IMPORTED, MODEL, TOP, TPU, Stage
from tdb_dap.version import __version__

_LITTLE = 1e-4
"""Error over the size of the numbers that is no price."""

_LEAST_JUDGED = 0.5
"""Share of the tensors of stage tpu below which nothing can be said of those that are not wrong."""

_SAME_OUTPUT = 0.999
"""Cosine of the output from which on nothing that counts can be wrong."""

_MOST_COSTS = 5
_NODE = re.compile(r"(.+)_([A-Z]\w*)")


@dataclass(frozen=True)
class _First:
    """The first thing that went wrong. ``way``: whether the op was ``lowered`` wrongly or ``executed`` wrongly."""

    kind: Kind
    stage: Stage
    judged: Judged | None = None
    way: str = ""


def outcome(files: Files, stages: Sequence[Stage], findings: Sequence[Finding]) -> Triage:
    """The verdict on a compilation whose stages have been judged; ``findings``: what the sanitizers found."""
    usable = [stage for stage in stages if stage.is_usable]
    errors = [finding for finding in findings if finding.severity == "error"]
    table = thresholds(files.get("calibration"))
    first = next(_wrong(stages, table), None)
    # A race comes before the numbers that it spoils, and need not spoil them in every run. What else sanitizers find
    # is often a consequence: the op whose numbers are wrong first says more.
    races = bool(errors) and errors[0].filter == HAZARD
    is_fault = bool(errors) and (first is None or (races and first.stage.title == MODEL))
    cosine = _similarity(usable)
    costs = _costs(stages)
    places: tuple[Place, ...] = ()
    tensor = ""
    if is_fault:
        tensor = stages[-1].accused
        places = tuple(_places(files, stages, stages[-1], None, tensor))
    elif first is not None and first.judged is not None:
        tensor = first.judged.name
        places = tuple(_places(files, stages, first.stage, first.judged.op, tensor))
    finding = errors[0].text if is_fault else ""
    kind, sentence = _outcome(files, stages, finding, first, cosine, costs)
    if first is None and not is_fault:
        remarks = [narrowed(one, stage, table) for stage in stages for one in stage.lowered]
        sentence = "; ".join([sentence, *filter(None, remarks)])
    return Triage(
        tool=f"tdb-dap {__version__}",
        directory=str(files.directory),
        verdict=kind,
        sentence=sentence,
        command=_command(files, stages, kind, first, places),
        stage=MODEL if is_fault else first.stage.title if first is not None else "",
        tensor=tensor,
        places=places,
        error=first.judged.error if first is not None and first.judged is not None and not is_fault else None,
        cost=first.judged.cost if first is not None and first.judged is not None and not is_fault else None,
        cosine=cosine,
        stages=tuple(map(_row, stages)),
        costs=costs,
        sanitizers=tuple(finding.text for finding in findings),
    )


def _outcome(
    files: Files,
    stages: Sequence[Stage],
    finding: str,
    first: _First | None,
    cosine: float | None,
    costs: Sequence[Cost],
) -> tuple[Kind, str]:
    """The verdict and its sentence. ``finding``: a sanitizer's, if the bmodel has a fault that comes first."""
    usable = [stage for stage in stages if stage.is_usable]
    if finding:
        return "fault", f"fault: the bmodel's program is wrong, whatever its numbers are in this run: {finding}"
    if first is not None:
        return first.kind, _sentence(first, stages)
    if not any(stage.judged for stage in stages):
        return "incomplete", "incomplete: no stage could be judged; see what is missing"
    if files.is_deployed and files.get("bmodel") is None:
        last = next(stage.title for stage in reversed(stages) if stage.judged)
        text = f"incomplete: no bmodel was written; up to stage {last} no op is wrong"
        return "incomplete", text + _price(cosine, costs)
    stopped = next((stage.stopped for stage in stages if stage.stopped), "")
    if stopped:
        before = next((stage.title for stage in reversed(usable) if stage.title != MODEL), "")
        return "incomplete", f"incomplete: up to stage {before} no op is wrong; the bmodel {stopped}"
    unjudged = [stage.title for stage in stages if not stage.judged]
    rest = f"; not judged: {', '.join(unjudged)}" if unjudged else ""
    partly = _partly(stages)
    tpu = next((stage for stage in stages if stage.title == TPU and stage.level is not None), None)
    is_little = tpu is not None and bool(usable) and tpu.judged < _LEAST_JUDGED * len(tpu.computed)
    if is_little and (cosine is None or cosine < _SAME_OUTPUT):
        text = f"incomplete: too little of stage tpu is known to say that nothing is wrong{_price(cosine, costs)}"
        return "incomplete", text + rest + (partly and f"; judged: {partly}")
    if cosine is not None and any(cost.share > _LITTLE for cost in costs):
        none = f"no op that was judged is wrong ({partly})" if partly else "no op is wrong"
        return "quantisation", f"quantisation: {none}{_price(cosine, costs)}{rest}"
    share = f" ({partly})" if partly else ""
    return "nothing wrong", f"nothing wrong: every op that was judged computes what it should{share}{rest}"


def _partly(stages: Sequence[Stage]) -> str:
    """Numbers of tensors that were judged in the stages where not all were."""
    found = [(stage, len(stage.computed)) for stage in stages if stage.judged]
    return ", ".join(f"{stage.title}: {stage.judged:,} of {n:,} tensors" for stage, n in found if stage.judged < n)


def _wrong(stages: Sequence[Stage], table: Mapping[str, float]) -> Iterator[_First]:
    """All that is wrong, in the order of the stages, in each in the order of the text."""
    for stage in stages:
        if stage.input_differs:
            yield _First("input", stage)
        found = [_First("bug", stage, one, way) for way, one in stage.bugs()]
        found += [_First("calibration", stage, one) for one in stage.lowered if is_too_small(one, stage, table)]
        found.sort(key=lambda one: one.judged.op.line if one.judged is not None else 0)
        yield from found


def _sentence(first: _First, stages: Sequence[Stage]) -> str:
    stage, one = first.stage, first.judged
    if one is None:
        before = stages[stages.index(stage) - 1].title
        return (
            f"input: stage {stage.title} was given another {stage.input_differs} than stage {before}: preprocessing, "
            "or another --test_input; nothing after it can be compared"
        )
    what = f"{one.name} ({one.op.name} at {_file(stage)}:{one.op.line})"
    if first.kind == "calibration":
        return (
            f"calibration: {one.saturated:.0%} of {what} is beyond what its scale can hold: {one.expected:.4g} "
            f"becomes {one.actual:.4g}: its threshold in the calibration table is too small"
        )
    if stage.title == MODEL:
        way = "the bmodel does not compute what its own op says"
    elif first.way == "lowered":
        way = f"stage {stage.title} does not mean what the stage before it says"
    else:
        way = f"what was computed at stage {stage.title} does not follow from the op as it is written"
    size = f"off by {one.error:.3g}" + (f" where its format costs {one.cost:.3g}" if one.cost else "")
    return f"bug: {what}: {way}: {f'{size}; ' if one.error else ''}{one.reason}"


def _price(cosine: float | None, costs: Sequence[Cost]) -> str:
    text = f"; the output has cosine {cosine:.6f} with the model's" if cosine is not None else ""
    if costs:
        text += f"; {costs[0].name} ({costs[0].opcode}) costs most, {costs[0].share:.1%} of its size"
    return text


def _file(stage: Stage) -> str:
    return stage.level.path.name if stage.level is not None else ""


def _row(stage: Stage) -> StageRow:
    unknown = dict.fromkeys(
        one.op.name for one in stage.executed if one.verdict == "unknown" and NOT_KNOWN not in one.reason
    )
    return StageRow(
        stage=stage.title,
        file=stage.path.name if stage.path is not None else "",
        tensors=len(stage.computed),
        known=len(stage.computed & stage.tensors.keys()) - stage.borrowed,
        borrowed=stage.borrowed,
        judged=stage.judged,
        bugs=len({one.name for _, one in stage.bugs()}),
        missing=stage.missing,
        unknown=tuple(unknown),
    )


def _costs(stages: Sequence[Stage]) -> tuple[Cost, ...]:
    """The tensors whose formats cost most when the model is lowered, the dearest first."""
    found = [
        Cost(
            name=one.name,
            opcode=one.op.name,
            stage=stage.title,
            share=one.error / one.reach,
            saturated=one.saturated,
        )
        for stage in stages
        if stage.title == TPU
        for one in stage.lowered
        if one.reach and one.error
    ]
    return tuple(sorted(found, key=lambda cost: -cost.share)[:_MOST_COSTS])


def _similarity(usable: Sequence[Stage]) -> float | None:
    """The least cosine of an output of the last stage with the same tensor of the first one."""
    if len(usable) < 2 or usable[0].level is None or usable[-1].level is None:
        return None
    first, last = usable[0], usable[-1]
    found = []
    for name in _outputs(usable[0].level):
        target = counterpart(usable[-1].level, name, last.tensors)
        one = first.tensors.get(name)
        if one is not None and target is not None and np.size(one) == np.size(last.tensors[target]):
            found.append(_cosine(last.tensors[target], one))
    return min(found, default=None)


def _cosine(one: Array, other: Array) -> float:
    return measure(wide(one).reshape(-1), wide(other).reshape(-1)).cosine


def _outputs(level: Level) -> Iterator[str]:
    read = {name for op in level.ops for name in level.operand_names(op)}
    return (name for name in level.by_name if name not in read)


def _places(files: Files, stages: Sequence[Stage], at: Stage, op: MlirOp | None, name: str) -> Iterator[Place]:
    """The op and those that compute the same tensor at the other levels."""
    wanted = (name, name.split("__")[0])
    seen: set[str] = set()
    for stage in stages:
        level = stage.level
        if level is None or stage.title == MODEL or str(level.path) in seen:
            continue
        seen.add(str(level.path))
        found = (
            op
            if op is not None and level is at.level
            else next((level.by_name[one] for one in wanted if one in level.by_name), None)
        )
        if found is None and stage.title in (IMPORTED, TOP):
            continue
        if found is not None:
            yield Place(stage=stage.title, file=str(level.path), line=found.line, opcode=found.name)
            node = _NODE.fullmatch(found.location) if stage.title == IMPORTED else None
            if node is not None:
                model = files.get("origin_model")
                yield Place(stage="model", file=str(model or ""), line=0, opcode=f"{node[2]}, output {node[1]}")
    path = files.get("final_mlir")
    if path is None:
        return
    try:
        ops: Mapping[str, tuple[MlirOp, ...]] = MlirFile.read(path).by_location
    except BadInput:
        return
    final = next((ops[one][0] for one in wanted if ops.get(one)), None)
    if final is not None:
        yield Place(stage="final", file=str(path), line=final.line, opcode=final.name)


def _command(files: Files, stages: Sequence[Stage], kind: Kind, first: _First | None, places: Sequence[Place]) -> str:
    """The command that shows it, or what to do where there is none."""
    context = _near(files.directory)
    if kind == "fault":
        return f"tdb-dap sanitize {context}{_inputs(files)}"
    if first is None:
        lacking = [stage for stage in stages if stage.missing]
        # What comes late tells more, and what comes first is often not wanted.
        missing = next((stage for stage in lacking if stage.title in (TPU, MODEL)), next(iter(lacking), None))
        return f"{missing.title}: {missing.missing}" if missing is not None else ""
    one = first.judged
    if one is None:
        path = first.stage.path
        return f"compare top.Input of {path.name if path else 'the .mlir'} with what made{_inputs(files)[9:] or ' it'}"
    if first.kind == "calibration":
        table = files.get("calibration")
        return f"give {one.name} a larger threshold in {_near(table) if table else 'the calibration table'}"
    if first.stage.title == MODEL:
        reference = files.get("tpu_output")
        compared = f" --reference {_near(reference)} --blame" if reference is not None else " --golden --blame"
        return f"tdb-dap check {context}{_inputs(files)}{compared}"
    final = next((place for place in places if place.stage == "final"), None)
    if final is not None and files.get("bmodel") is not None:
        return f"tdb-dap explain {context} {final.line}"
    return f"read {_near(first.stage.path)}:{one.op.line}" if first.stage.path is not None else ""


def _inputs(files: Files) -> str:
    path = files.get("mlir_input")
    return f" --inputs {_near(path)}" if path is not None else ""


def _near(path: Path) -> Path:
    """A path as it is typed here: relative if it is below."""
    here = Path(os.path.relpath(path))
    return here if ".." not in here.parts else path
