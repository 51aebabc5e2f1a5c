"""The compiled models that open documents belong to, each read once, and what reports next to them say."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import TdbError
from tdb_dap.tools.check.schema import Report
from tdb_dap.tools.check.schema import Row as CheckedRow
from tdb_dap.tools.report_schema import Reported, read
from tdb_dap.tools.sanitize.schema import SanitizerFinding, SanitizerReport

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

CHECK_REPORT = "check.json"
SANITIZER_REPORT = "sanitize.json"
"""Reports are found under these names in the directory of the model."""

_FILES = tuple(
    f"{name}{suffix}" for name in ("compilation.bmodel", "final.mlir", "tensor_location.json") for suffix in ("", ".xz")
)


class Model(Struct, frozen=True):
    """A compiled model. ``program``: None where it could not be read, and ``reason`` says why."""

    program: Program | None
    reason: str = ""


class Models:
    """By directory, or by file of a lone ``.bmodel``; read again when its files have changed. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Path, tuple[list[tuple[str, int]], Model]] = {}

    def next_to(self, path: Path) -> Model | None:
        """The model in the directory of a file; None if there is none."""
        directory = path.parent
        is_compiled = any((directory / f"compilation.bmodel{suffix}").exists() for suffix in ("", ".xz"))
        return self.at(directory) if is_compiled else None

    def at(self, context: Path) -> Model:
        """The model of a context directory or of a ``.bmodel`` file."""
        with self._lock:
            stamps = _stamps(context)
            known = self._known.get(context)
            if known is None or known[0] != stamps:
                known = self._known[context] = stamps, _read(context)
            return known[1]

    def forget(self, context: Path) -> None:
        """Nobody needs it any more."""
        with self._lock:
            self._known.pop(context, None)


def _read(context: Path) -> Model:
    from tdb_dap.tools.programs import open_program

    try:
        return Model(open_program(context))
    except TdbError as error:
        return Model(None, str(error))


def _stamps(context: Path) -> list[tuple[str, int]]:
    files = [context / name for name in _FILES] if context.is_dir() else [context]
    return [(file.name, file.stat().st_mtime_ns) for file in files if file.exists()]


def checked(program: Program) -> tuple[CheckedRow, ...]:
    """Rows of the report ``check.json`` of this model; nothing if it was another one, or older."""
    report = _report(program, CHECK_REPORT, Report)
    return report.rows if isinstance(report, Report) and report.commands == len(program.commands) else ()


def sanitized(program: Program) -> tuple[SanitizerFinding, ...]:
    """Findings of the report ``sanitize.json`` of this model."""
    report = _report(program, SANITIZER_REPORT, SanitizerReport)
    right = isinstance(report, SanitizerReport) and report.commands == len(program.commands)
    return report.findings if right and isinstance(report, SanitizerReport) else ()


def _report(program: Program, name: str, schema: type[Reported]) -> Reported | None:
    """A report that is newer than the model; other files of that name are none of ours."""
    bmodel = program.context.bmodel
    path = bmodel.parent / name
    try:
        if path.stat().st_mtime_ns < bmodel.stat().st_mtime_ns:
            return None
        return read(schema, bytes(read_file(path, limits.REPORT)))
    except (OSError, TdbError, ValueError):
        return None
