"""Tools that the server runs on a model, each as a function that is called in a separate process."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import TdbError
from tdb_dap.system.notices import heard_by
from tdb_dap.system.progress import Progress

if TYPE_CHECKING:
    from tdb_dap.tools.model_options import ModelOptions
    from tdb_dap.tools.sanitize.schema import SanitizerReport


class Printed(Struct, frozen=True):
    """``text``: what a terminal shows; ``page``, ``report``: of a check, of the sanitizers."""

    is_wrong: bool
    text: str
    page: str = ""
    report: SanitizerReport | None = None


class _Notes(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(f"tdb-dap: {text}")


def run_triage(directory: Path) -> Printed:
    """The verdict on a compilation."""
    from tdb_dap.tools.triage.text import lines
    from tdb_dap.tools.triage.triaging import triage

    result = triage(directory)
    return Printed(result.is_wrong or bool(result.problem), _text(lines(result), result.problem))


def run_check(model: ModelOptions, blame: bool) -> Printed:
    """The table of a check, and its page."""
    from tdb_dap.engine.files.bounded_files import read_file
    from tdb_dap.engine.files.context import Context
    from tdb_dap.tools.check.checking import check
    from tdb_dap.tools.check.html import html
    from tdb_dap.tools.check.options import CheckOptions
    from tdb_dap.tools.check.text import console

    notes = _Notes()
    result = check(CheckOptions(model, blame=blame, pictures=True), notes)
    mlir = Context.find(model.context).mlir
    page = html(result.report, read_file(mlir).decode("utf-8", "replace") if mlir is not None else "")
    text = _text([*console(result.report, result.findings), *notes.lines], result.problem)
    return Printed(result.is_failure or bool(result.problem), text, page)


def run_sanitizers(model: ModelOptions) -> Printed:
    """The findings of the sanitizers, and their report."""
    from tdb_dap.tools.sanitize.sanitizing import SanitizeOptions, sanitize
    from tdb_dap.tools.sanitize.text import lines

    result = sanitize(model, SanitizeOptions())
    text = _text(lines(result.report), result.problem)
    return Printed(result.findings.is_failure or bool(result.problem), text, report=result.report)


def run_reduce(directory: Path, folder: Path) -> Printed:
    """The smallest failing case."""
    from tdb_dap.tools.reduce.folder import reduce
    from tdb_dap.tools.reduce.text import fails, lines

    case = reduce(directory, folder)
    return Printed(not fails(case), _text(lines(case, folder)))


def run_info(context: Path) -> Printed:
    """The contents of a model."""
    from tdb_dap.tools.info.describing import info

    notices: list[str] = []
    with heard_by(lambda text: notices.append(f"tdb-dap: {text}")):
        lines = list(info(context))
    return Printed(False, _text([*lines, *notices]))


def run_profile(context: Path) -> Printed:
    """Time by engine and op, and memory in use."""
    from tdb_dap.tools.profile.report import profiled
    from tdb_dap.tools.profile.text import MOST_OPS, lines
    from tdb_dap.tools.programs import open_program

    _, report = profiled(open_program(context))
    return Printed(False, _text(lines(report, limit=MOST_OPS)))


def run_tokens_profile(model: Path, ids: list[int], tokens: int) -> Printed:
    """Time of a completion by token, net and kind of op."""
    from tdb_dap.tools.llm.opening import PromptOptions
    from tdb_dap.tools.llm.profiling import with_tokens
    from tdb_dap.tools.profile.report import profiled
    from tdb_dap.tools.profile.text import MOST_OPS, lines

    debugger = PromptOptions(model, ids, tokens).open()
    try:
        report = with_tokens(debugger, *profiled(debugger.program))
    finally:
        debugger.close()
    return Printed(False, _text(lines(report, limit=MOST_OPS)))


def run_diff(a: Path, b: Path, inputs: Path | None) -> Printed:
    """Two compiled models side by side."""
    from tdb_dap.engine.reference.tolerance import Tolerances
    from tdb_dap.tools.diff.comparing import compare_models
    from tdb_dap.tools.diff.text import lines

    report = compare_models(a, b, inputs, Tolerances.parse([], []), lambda done: None)
    return Printed(not report.is_same, _text(lines(report)))


def run_zoo(store: Path, case: str) -> Printed:
    """The newest run of a zoo compared with the one before, or one of its cases."""
    from tdb_dap.tools.zoo.changes import overview
    from tdb_dap.tools.zoo.store import Store
    from tdb_dap.tools.zoo.summary import case_lines, headline, lines
    from tdb_dap.tools.zoo.tolerated import NOTHING

    with Store(store, reading=True) as kept:
        run = kept.run()
        result = overview(kept, run, kept.before(run), NOTHING)
        if case:
            text = [*case_lines(kept, result, case)]
            return Printed(any(one.case.key == case and one.wrong for one in result.seen), _text(text))
        return Printed(bool(result.failures), _text([headline(result), *lines(result)]))


def run_weights(model: Path, reference: Path | None) -> Printed:
    """The constants of a compiled model compared with the weights before conversion."""
    from tdb_dap.tools.llm.weights import weights_of
    from tdb_dap.tools.weights.text import lines

    report = weights_of(model, reference)
    return Printed(bool(report.faults), _text(lines(report)))


def run_answer(
    model: Path,
    prompt: str | list[int],
    tokens: int,
    reference: Path | None,
    recording: Path | None,
    picture: Path | None = None,
) -> Printed:
    """A completion, or one that was recorded, and where it is first wrong. ``picture``: its rows where it is a .npz."""
    from tdb_dap.tools.float_model.model import FloatModel
    from tdb_dap.tools.llm.language_model import read_model
    from tdb_dap.tools.llm.opening import PromptOptions, open_model, open_recorded
    from tdb_dap.tools.llm.running import Answering, prompt_of, require_pictures
    from tdb_dap.tools.llm.sources import weights_report
    from tdb_dap.tools.llm.stop_tokens import stop_tokens
    from tdb_dap.tools.llm.text import look_lines, token_line, verdict_lines

    has_rows = picture is not None and picture.suffix == ".npz"
    image, embeds = (None, picture) if has_rows else (picture, None)
    read, options = read_model(model), PromptOptions(model, prompt or None, tokens, image=image, embeds=embeds)
    ids, pictures = options.shown(read, reference) if prompt else ([], None)
    float_model = FloatModel(reference, room=read.room) if reference is not None else None
    report = weights_report(read, float_model) if float_model is not None else None
    folders = [read.context.bmodel.parent, *([reference] if reference is not None else [])]
    if recording is not None:
        debugger, stops = open_recorded(recording), frozenset[int]()
        if not ids:
            ids, pictures = replace(options, prompt=prompt_of(debugger)).shown(read, reference)
    else:
        debugger, stops = open_model(read, ids, tokens, (), 0, pictures=pictures), stop_tokens(folders)
    try:
        require_pictures(debugger.program, pictures)
        answering = Answering(
            debugger, read, ids, (), float_model, gives_back=True, weights=report, stops=stops, pictures=pictures
        )
        done = list(answering.tokens())
    finally:
        debugger.close()
    text = [token_line(token, None) for token in done]
    if report is not None:
        text += [*verdict_lines(done, report), *look_lines(options, recording, False, ids, done)]
    is_wrong = any(part.is_wrong for token in done for part in token.parts)
    return Printed(is_wrong or bool(report is not None and report.faults), _text(text))


def _text(lines: Iterable[str], problem: str = "") -> str:
    """Lines as a terminal shows them; TdbError if there is nothing but a problem."""
    text = visible("\n".join(lines)).strip()
    if problem and not text:
        raise TdbError(problem)
    return f"{text}\nnot finished: {problem}" if problem else text
