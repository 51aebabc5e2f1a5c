"""Tools that the server runs on a model, each as a function that is called in a separate process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import TdbError
from tdb_dap.system.notices import heard_by
from tdb_dap.system.progress import Progress

if TYPE_CHECKING:
    from tdb_dap.tools.model_options import ModelOptions
    from tdb_dap.tools.sanitize.schema import SanitizerReport


@dataclass(frozen=True)
class Printed:
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
    from tdb_dap.tools.check.checking import CheckOptions, check
    from tdb_dap.tools.check.html import html
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


def _text(lines: Iterable[str], problem: str = "") -> str:
    """Lines as a terminal shows them; TdbError if there is nothing but a problem."""
    text = visible("\n".join(lines)).strip()
    if problem and not text:
        raise TdbError(problem)
    return f"{text}\nnot finished: {problem}" if problem else text
