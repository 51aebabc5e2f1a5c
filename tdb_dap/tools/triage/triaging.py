"""The whole of it: find the files, judge the stages, run the bmodel, say what is wrong first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from tdb_dap.engine.control.stops import Finding
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.check.causes.signs import other_sign
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.triage import model
from tdb_dap.tools.triage.alone import compare, read_inputs
from tdb_dap.tools.triage.language_models import advice, converted
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.stages import MODEL, Stage, held_against, stages
from tdb_dap.tools.triage.verdict import outcome
from tdb_dap.tools.weights.blaming import op_weights


def triage(directory: Path, progress: Callable[[int], None] = lambda done: None) -> Triage:
    """The verdict on the compilation in a directory; BadInput if there is none. ``progress``: commands executed.

    A language model's nets have no stages of their own with data, unless they were converted with test inputs.
    """
    converter = converted(directory)
    try:
        files = find(directory)
        is_judged = not files.is_alone or converter is None
        result = with_causes(outcome(files, *examined(files, progress)), files) if is_judged else None
    except BadInput:
        if converter is None:
            raise
        result = None
    if result is None or (converter is not None and result.problem):
        assert converter is not None
        raise BadInput(advice(converter))
    return result


def with_causes(result: Triage, files: Files) -> Triage:
    """A bug's verdict with what is known of its op: a wrong weight, another sign. Only then weights are read."""
    line = next((place.line for place in result.places if place.stage == "final"), 0)
    bmodel = files.get("bmodel")
    if result.verdict != "bug" or not line or bmodel is None:
        return result
    try:
        program = open_program(files.directory if files.is_deployed else bmodel)
        weights = op_weights(program, (line,))
        sign = other_sign(program, line) if result.stage == MODEL else ""
    except TdbError:
        return result
    # That the bmodel's weights are right says nothing of an earlier stage.
    text = weights.text if weights is not None and (result.stage == MODEL or weights.wrong) else ""
    return replace(result, sentence="; ".join(filter(None, (result.sentence, text, sign))))


def examined(files: Files, progress: Callable[[int], None] = lambda done: None) -> tuple[list[Stage], list[Finding]]:
    """The stages of a compilation, judged, the bmodel last; and what the sanitizers find in it."""
    judged = stages(files)
    findings: list[Finding] = []
    bmodel = files.get("bmodel")
    if bmodel is None:
        judged.append(Stage(MODEL, missing="there is none: run model_deploy to its end"))
    elif any(stage.is_foreign for stage in judged):
        chip = next(stage.missing for stage in judged if stage.is_foreign)
        judged.append(Stage(MODEL, bmodel, missing=chip, is_foreign=True))
    else:
        last = next((stage for stage in reversed(judged) if stage.level is not None and stage.title == "tpu"), None)
        inputs = {
            name: stage.tensors[name]
            for stage in judged
            if stage.level is not None
            for name in stage.level.inputs()
            if name in stage.tensors
        }
        if files.is_alone:
            inputs = read_inputs(files)
        executed, findings = model.run(bmodel, last, inputs, progress)
        if files.is_alone and not executed.stopped:
            compare(executed, files)
        if last is not None and executed.executed:
            executed.executed = [held_against(one, last.level, executed.tensors, last) for one in executed.executed]
            last.borrow(executed, next((one for one in reversed(judged[: judged.index(last)]) if one.is_usable), None))
        judged.append(executed)
    return judged, findings
