"""From judged stages to the one sentence."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.sanitizers.hazards import NAME as HAZARD
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.compilation import Files
from tdb_dap.tools.golden.files.onnx_inputs import input_shapes
from tdb_dap.tools.golden.files.onnx_model import SUFFIX
from tdb_dap.tools.golden.files.stage_files import text_of
from tdb_dap.tools.golden.judging import TAINTED, Judged
from tdb_dap.tools.golden.level import NOT_KNOWN, wide
from tdb_dap.tools.triage.calibration import is_of_model, is_too_small, narrowed, thresholds
from tdb_dap.tools.triage.effects import Shadow
from tdb_dap.tools.triage.outputs import differing_output, outputs_of, similarity
from tdb_dap.tools.triage.precision import floats, format_to_keep
from tdb_dap.tools.triage.ranges import BrokenOutput, beyond_range, broken_outputs
from tdb_dap.tools.triage.schema import Cost, Kind, Place, StageRow, Triage
from tdb_dap.tools.triage.stages import IMPORTED, MODEL, TOP, TPU, Stage
from tdb_dap.version import __version__

_LITTLE = 1e-4
"""Error over the size of the numbers that is no price."""

_LEAST_JUDGED = 0.5
"""Share of the tensors of stage tpu below which nothing can be said of those that are not wrong."""

_SAME_OUTPUT = 0.999
"""Cosine of the output from which on nothing that counts can be wrong."""

_TOO_LITTLE = "too little of stage tpu is known to say that nothing is wrong"

_GOOD_PART = 0.25
"""Part of what the output has lost from which on one op is the reason."""

_MOST_COSTS = 5
_NODE = re.compile(r"(.+)_([A-Z]\w*)")


class _First(Struct, frozen=True):
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
    broken = _broken(usable)
    cosine = similarity(usable)
    outcome_is_bad = bool(broken) or (cosine is not None and cosine < _SAME_OUTPUT)
    wrong = list(_wrong(stages, table, outcome_is_bad))
    first = wrong[0] if wrong else None
    # A race comes before the numbers that it spoils, and need not spoil them in every run. What else sanitizers find
    # is often a consequence: the op whose numbers are wrong first says more.
    races = bool(errors) and errors[0].filter == HAZARD
    is_fault = bool(errors) and (first is None or (races and first.stage.title == MODEL))
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
    kind, sentence = _outcome(files, stages, finding, first, cosine, costs, broken)
    is_broken_off = first is None and not is_fault and _broke_off(files, stages)
    if first is None and not is_fault:
        remarks = [text for stage in stages for one in stage.lowered if (text := narrowed(one, stage, table))]
        sentence = "; ".join([sentence, *filter(None, (*remarks, *_harmless(stages)))])
    keep, keep_in = _to_keep(stages) if kind == "range" else ((), "")
    return Triage(
        tool=f"tdb-dap {__version__}",
        directory=str(files.directory),
        verdict=kind,
        sentence=sentence,
        command=_command(files, stages, kind, first, places, cosine),
        stage=MODEL if is_fault else first.stage.title if first is not None else IMPORTED if is_broken_off else "",
        tensor=tensor,
        places=places,
        error=first.judged.error if first is not None and first.judged is not None and not is_fault else None,
        cost=first.judged.cost if first is not None and first.judged is not None and not is_fault else None,
        cosine=cosine,
        stages=tuple(map(_row, stages)),
        costs=costs,
        sanitizers=tuple(finding.text for finding in findings),
        others=tuple(_others(wrong)),
        keep=keep,
        keep_in=keep_in,
    )


def _outcome(
    files: Files,
    stages: Sequence[Stage],
    finding: str,
    first: _First | None,
    cosine: float | None,
    costs: Sequence[Cost],
    broken: Sequence[BrokenOutput] = (),
) -> tuple[Kind, str]:
    """The verdict and its sentence. ``finding``: a sanitizer's, if the bmodel has a fault that comes first."""
    usable = [stage for stage in stages if stage.is_usable]
    what = f"{broken[0]}: " if broken else ""
    if finding:
        return "fault", f"fault: {what}the bmodel's program is wrong for any input: {finding}"
    if first is not None:
        return first.kind, _sentence(first, stages, what, cosine)
    if broken:
        return "incomplete", f"incomplete: {broken[0]}, and no op that was judged makes them"
    if _broke_off(files, stages):
        return (
            "incomplete",
            f"incomplete: model_transform broke off at stage {IMPORTED}: {_why_broken_off(files, stages)}",
        )
    if not any(stage.judged for stage in stages):
        return "incomplete", "incomplete: no stage could be judged; see what is missing"
    if any(stage.is_foreign for stage in stages):
        last = next((stage.title for stage in reversed(stages) if stage.judged), "")
        lacking = next(stage.missing for stage in stages if stage.is_foreign).partition(":")[0]
        return "nothing wrong", f"nothing wrong: judged up to stage {last}, as {lacking}{_price(cosine, ())}"
    if files.is_deployed and files.get("bmodel") is None:
        last = next(stage.title for stage in reversed(stages) if stage.judged)
        text = f"incomplete: no bmodel was written; up to stage {last} no op is wrong"
        if _is_too_little(stages, cosine):
            text = f"incomplete: no bmodel was written, and {_TOO_LITTLE}"
        return "incomplete", text + _price(cosine, costs)
    stopped = next((stage.stopped for stage in stages if stage.stopped), "")
    if stopped:
        before = next((stage.title for stage in reversed(usable) if stage.title != MODEL), "")
        return "incomplete", f"incomplete: up to stage {before} no op is wrong; the bmodel {stopped}"
    if differing := differing_output(stages):
        return "incomplete", f"incomplete: up to stage {TPU} no op is wrong; {differing}, and {_unproven(stages[-1])}"
    unjudged = [stage.title for stage in stages if not stage.judged]
    rest = f"; not judged: {', '.join(unjudged)}" if unjudged else ""
    partly = _partly(stages)
    if _is_too_little(stages, cosine):
        text = f"incomplete: {_TOO_LITTLE}{_price(cosine, costs)}"
        return "incomplete", text + rest + (partly and f"; judged: {partly}")
    if cosine is not None and any(cost.share > _LITTLE for cost in costs):
        none = f"no op that was judged is wrong ({partly})" if partly else "no op is wrong"
        return "quantisation", f"quantisation: {none}{_price(cosine, costs)}{rest}"
    share = f" ({partly})" if partly else ""
    return "nothing wrong", f"nothing wrong: every op that was judged computes what it should{share}{rest}"


def _unproven(stage: Stage) -> str:
    return "no op of it that was judged is wrong" if stage.judged else "its ops are not judged"


def _is_too_little(stages: Sequence[Stage], cosine: float | None) -> bool:
    """Whether most ops of the lowered model are not judged, and its outputs do not say that it is right."""
    tpu = next((stage for stage in stages if stage.title == TPU and stage.level is not None), None)
    is_little = tpu is not None and tpu.judged < _LEAST_JUDGED * len(tpu.computed)
    return is_little and any(stage.is_usable for stage in stages) and (cosine is None or cosine < _SAME_OUTPUT)


def _partly(stages: Sequence[Stage]) -> str:
    """Numbers of tensors that were judged in the stages where not all were."""
    counts = [(stage, len(stage.computed)) for stage in stages if stage.judged]
    return ", ".join(f"{stage.title}: {stage.judged:,} of {n:,} tensors" for stage, n in counts if stage.judged < n)


def _wrong(stages: Sequence[Stage], table: Mapping[str, float], is_bad: bool) -> Iterator[_First]:
    """All that is wrong, in the order of the stages, in each in the order of the text.

    ``is_bad``: whether the output is: numbers beyond a range, such as those of a mask, may do no harm.
    """
    for stage in stages:
        if stage.input_differs:
            yield _First("input", stage)
        faults = [_First("bug", stage, one, way) for way, one in stage.bugs()]
        faults += [_First("calibration", stage, one) for one in _cut_off(stages, stage, table, is_bad)]
        if is_bad:
            faults += [_First("range", stage, one) for one in _overflowed(stage)]
        faults.sort(key=lambda one: one.judged.op.line if one.judged is not None else 0)
        yield from faults


def _cut_off(stages: Sequence[Stage], stage: Stage, table: Mapping[str, float], is_bad: bool) -> list[Judged]:
    """Tensors that the calibration table cuts off so far that the output shows it.

    Calibration cuts rare large numbers off on purpose: it is at fault if that alone costs a good part of what the
    output has lost.
    """
    top = next((other for other in stages if other.title == TOP), None)
    suspects = [one for one in stage.lowered if is_too_small(one, stage, table) and is_of_model(one, stage, top)]
    if not suspects or not is_bad:
        return []
    if top is None or top.level is None or stage.level is None:
        return suspects
    shadow = Shadow(top.level, stage.level, stage.tensors, stage.tensors)
    lost = 1 - shadow.cosine([])
    return [one for one in suspects if 1 - shadow.alone(one.name.split("__")[0]) > _GOOD_PART * lost]


def _overflowed(stage: Stage) -> Iterator[Judged]:
    """The tensors of a stage with numbers beyond the range of their format."""
    by_name: dict[str, Judged] = {}
    for one in (*stage.executed, *stage.lowered):
        if one.verdict == "overflow":
            by_name.setdefault(one.name, one)
    return iter(by_name.values())


def _harmless(stages: Sequence[Stage]) -> Iterator[str]:
    """A remark on numbers beyond a range that do not spoil the output."""
    stage = next((stage for stage in reversed(stages) if any(True for _ in _overflowed(stage))), None)
    if stage is not None:
        names = [one.name for one in _overflowed(stage)]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"numbers of {names[0]}{more} are beyond the range of their format, which the output does not show"


def _broken(usable: Sequence[Stage]) -> list[BrokenOutput]:
    if len(usable) < 2 or usable[0].level is None:
        return []
    return list(broken_outputs(usable[0], usable[-1], list(outputs_of(usable[0].level))))


def _to_keep(stages: Sequence[Stage]) -> tuple[tuple[str, ...], str]:
    """The ops whose numbers are beyond the range of the model's format, and the format to keep them in."""
    by_title = {stage.title: stage for stage in stages}
    top, tpu = by_title.get(TOP), by_title.get(TPU)
    if top is None or tpu is None or top.level is None or tpu.level is None:
        return (), ""
    return tuple(beyond_range(top.level, tpu.level, top.tensors)), format_to_keep(tpu.level, is_range=True)


def _others(wrong: Sequence[_First]) -> Iterator[str]:
    """Everything that is wrong but the first, each tensor once."""
    seen = {_name(wrong[0])} if wrong else set()
    for other in wrong[1:]:
        one = other.judged
        if one is not None and one.name not in seen:
            seen.add(one.name)
            place = f"{one.op.name} at {_file(other.stage)}:{one.op.line}"
            yield f"{other.kind}: {one.name} ({place}), stage {other.stage.title}"


def _name(first: _First) -> str:
    return first.judged.name if first.judged is not None else ""


def _broke_off(files: Files, stages: Sequence[Stage]) -> bool:
    """Whether model_transform ended before it had computed the model, with an input that it was given."""
    imported, top = stages[0], stages[1]
    is_there = imported.level is not None or top.level is not None
    was_asked = files.get("mlir_input") is not None or _other_shape(files, stages)
    return not files.is_deployed and is_there and not imported.tensors and not top.tensors and bool(was_asked)


def _other_shape(files: Files, stages: Sequence[Stage]) -> str:
    """An input with another shape in the imported text than in the model; empty if there is none."""
    model = files.get("origin_model")
    level = next((stage.level for stage in stages if stage.level is not None), None)
    try:
        shapes = input_shapes(model) if model is not None and model.suffix == SUFFIX else {}
    except BadInput:
        return ""
    for name in level.inputs() if level is not None else ():
        kind = level.type_named(name) if level is not None else None
        wanted = shapes.get(name)
        if wanted and kind is not None and kind.shape and not _fits(kind.shape, wanted):
            first, second = ("x".join(map(str, shape)) for shape in (kind.shape, wanted))
            return f"top.Input {name} is {first}, the model's input {second}"
    return ""


def _fits(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    return len(shape) == len(wanted) and all(n in (0, m) for m, n in zip(shape, wanted, strict=True))


def _why_broken_off(files: Files, stages: Sequence[Stage]) -> str:
    return _other_shape(files, stages) or "it left no tensors of the model that it was given an input for"


def _sentence(first: _First, stages: Sequence[Stage], before: str, cosine: float | None) -> str:
    """``before``: what is wrong with an output, said first."""
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
            f"calibration: {before}{one.saturated:.0%} of {what} is beyond what its scale can hold: {one.expected:.4g} "
            f"becomes {one.actual:.4g}: its threshold in the calibration table is too small"
        )
    if first.kind == "range":
        reach = f"{what} reaches {_largest(stages, one):,.6g}, {_ends(stage, one)}"
        share = f"; {one.overflowed:.1%} of its numbers became infinite{_price(cosine, ())}"
        return f"range: {before}{reach}{'' if before else share}"
    if stage.title == MODEL:
        way = "the bmodel does not compute what its own op says"
    elif first.way == "lowered":
        way = f"stage {stage.title} does not mean what the stage before it says"
    else:
        way = f"what was computed at stage {stage.title} does not follow from the op as it is written"
    size = f"off by {one.error:.3g}" + (f" where its format costs {one.cost:.3g}" if one.cost else "")
    return f"bug: {before}{what}: {way}: {f'{size}; ' if one.error else ''}{one.reason}"


def _largest(stages: Sequence[Stage], one: Judged) -> float:
    """The imported model's own largest number of a tensor; what is formed on the way if that is larger."""
    own = next((stage.tensors[one.name] for stage in stages if one.name in stage.tensors), np.zeros(0))
    finite = np.abs(wide(own)[np.isfinite(wide(own))])
    return max(one.largest, float(finite.max(initial=0.0)))


def _ends(stage: Stage, one: Judged) -> str:
    """The end of the range of a tensor's format, and the formats that its op can be kept in."""
    kind = stage.level.type_named(one.name) if stage.level is not None else None
    text = text_of(stage.level.path) if stage.level is not None else None
    own = kind.storage.upper() if kind is not None and np.isfinite(kind.range) else "its format"
    end = f"{own} ends at {kind.range:,.6g}" if kind is not None and np.isfinite(kind.range) else f"beyond {own}"
    wider = [name for name in reversed(floats(text.chip if text is not None else "")) if name not in (own, "F16")]
    return f"{end}: keep it in {' or '.join(wider)}" if wider else f"{end}; the chip has no wider format"


def _price(cosine: float | None, costs: Sequence[Cost]) -> str:
    text = f"; the output has cosine {cosine:.6f} with the model's" if cosine is not None else ""
    if costs:
        text += f"; {costs[0].name} ({costs[0].opcode}) costs most, {costs[0].share:.1%} of its size"
    return text


def _file(stage: Stage) -> str:
    return stage.level.path.name if stage.level is not None else ""


def _row(stage: Stage) -> StageRow:
    unknown = dict.fromkeys(
        one.op.name
        for one in stage.executed
        if one.verdict == "unknown" and NOT_KNOWN not in one.reason and one.reason != TAINTED
    )
    return StageRow(
        stage=stage.title,
        file=stage.path.name if stage.path is not None else "",
        tensors=len(stage.computed),
        known=len(stage.computed & stage.tensors.keys()) - stage.borrowed,
        borrowed=stage.borrowed,
        zeros=stage.zeros,
        judged=stage.judged,
        bugs=len({one.name for _, one in stage.bugs()}),
        missing=stage.missing,
        unknown=tuple(unknown),
    )


def _costs(stages: Sequence[Stage]) -> tuple[Cost, ...]:
    """The tensors whose formats cost most, the dearest first: when the model is lowered, or on the chip.

    The compiler's interpreter may form in f32 what the chip sums in its own format.
    """
    costs: dict[str, Cost] = {}
    for stage in stages:
        judged = stage.lowered if stage.title == TPU else stage.executed if stage.title == MODEL else ()
        for one in judged:
            if not one.reach or not one.error or one.verdict == "bug":
                continue
            known = costs.get(one.name)
            cost = Cost(
                name=one.name,
                opcode=one.op.name,
                stage=stage.title,
                share=one.error / one.reach,
                saturated=max(one.saturated, known.saturated if known is not None else 0.0),
            )
            if known is None or known.share < cost.share:
                costs[one.name] = cost
    return tuple(sorted(costs.values(), key=lambda cost: -cost.share)[:_MOST_COSTS])


def _places(files: Files, stages: Sequence[Stage], at: Stage, op: MlirOp | None, name: str) -> Iterator[Place]:
    """The op and those that compute the same tensor at the other levels."""
    wanted = (name, name.split("__")[0])
    seen: set[str] = set()
    for stage in stages:
        level = stage.level
        if level is None or stage.title == MODEL or str(level.path) in seen:
            continue
        seen.add(str(level.path))
        places = (
            op
            if op is not None and level is at.level
            else next((level.by_name[one] for one in wanted if one in level.by_name), None)
        )
        if places is None and stage.title in (IMPORTED, TOP):
            continue
        if places is not None:
            yield Place(stage=stage.title, file=str(level.path), line=places.line, opcode=places.name)
            node = _NODE.fullmatch(places.location) if stage.title == IMPORTED else None
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


def _command(
    files: Files,
    stages: Sequence[Stage],
    kind: Kind,
    first: _First | None,
    places: Sequence[Place],
    cosine: float | None,
) -> str:
    """The command that shows it, or what to do where there is none. ``cosine``: of the output."""
    context = _word(files.directory)
    if kind == "range":
        return f"tdb-dap triage {context} --quantize-table quantize_table.txt"
    if kind == "incomplete" and first is None and _broke_off(files, stages):
        if _other_shape(files, stages):
            return "model_transform: check --input_shapes and --channel_format against the model's input"
        return "model_transform: its last lines give the reason"
    if any(stage.is_foreign for stage in stages) and first is None:
        return ""
    if kind == "incomplete" and differing_output(stages) and files.get("tpu_output") is not None:
        return f"tdb-dap check {context}{_inputs(files)} --reference {_word(files.paths['tpu_output'])}"
    if kind == "fault":
        return f"tdb-dap sanitize {context}{_inputs(files)}"
    if first is None and files.get("bmodel") is None and _is_too_little(stages, cosine):
        return "model_deploy: compile with --compare_all"
    if first is None:
        lacking = [stage for stage in stages if stage.missing]
        # What comes late tells more, and what comes first is often not wanted.
        missing = next((stage for stage in lacking if stage.title in (TPU, MODEL)), next(iter(lacking), None))
        is_far = kind == "quantisation" and cosine is not None and cosine < _SAME_OUTPUT
        if is_far and (missing is None or missing.title == IMPORTED) and _can_keep_more(stages):
            return f"tdb-dap triage {context} --quantize-table quantize_table.txt"
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
        compared = f" --reference {_word(reference)} --blame" if reference is not None else " --golden --blame"
        return f"tdb-dap check {context}{_inputs(files)}{compared}"
    final = next((place for place in places if place.stage == "final"), None)
    if final is not None and files.get("bmodel") is not None:
        return f"tdb-dap explain {context} {final.line}"
    return f"read {_near(first.stage.path)}:{one.op.line}" if first.stage.path is not None else ""


def _can_keep_more(stages: Sequence[Stage]) -> bool:
    """Whether it can be said what an op costs, and the chip has a format that is more precise than the model's."""
    levels = {stage.title: stage.level for stage in stages if stage.is_usable}
    top, tpu = levels.get(TOP), levels.get(TPU)
    return top is not None and tpu is not None and bool(format_to_keep(tpu))


def _inputs(files: Files) -> str:
    path = files.get("mlir_input")
    return f" --inputs {_word(path)}" if path is not None else ""


def _word(path: Path) -> str:
    """A path in a command line; whoever made a folder has named it."""
    return shlex.quote(str(_near(path)))


def _near(path: Path) -> Path:
    """A path as it is typed here: relative if it is below."""
    here = Path(os.path.relpath(path))
    return here if ".." not in here.parts else path
