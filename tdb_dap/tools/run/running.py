"""A run of a model to its end, from its options to its outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.observers import NEVER, Observer
from tdb_dap.engine.control.plugin_observers import add_observers
from tdb_dap.engine.control.stops import BACKEND_FAILED, ILLEGAL
from tdb_dap.engine.expressions.values import Value
from tdb_dap.errors import TdbError
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.model_options import ModelOptions

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.tools.hashes.log import Log
    from tdb_dap.tools.hashes.recording import Hashes

NOT_EXACT = "not exact (--fast)"
NOT_LEGAL = "computed by illegal commands (--lenient)"
EXPECTED = "not computed: taken from the reference"
"""Stand wherever results of such a run are shown, and in the file that they are written to."""


class RunOptions(Struct, frozen=True):
    """``raw``: outputs as stored, not dequantised; ``fast``: float sums by BLAS, not exact; ``hashes``: also hash.

    ``lenient``: compute illegal commands, too.
    """

    model: ModelOptions
    raw: bool = False
    fast: bool = False
    hashes: bool = False
    lenient: bool = False


class RunResult(Struct, frozen=True):
    """``outputs``: name -> values; ``summaries``: name -> text; ``divergences``: commands on which backends differ."""

    outputs: dict[str, Array]
    summaries: dict[str, str]
    log: Log | None
    divergences: int
    commands: int
    compares: bool
    remark: str = ""
    """Why the outputs are not what the chip computes; empty if they are."""
    expected: tuple[str, ...] = ()
    """Names of those that were not computed: a dynamic subnet could not be run."""

    @property
    def note(self) -> str:
        """All of that in one line, for a file with the outputs."""
        expected = f"{', '.join(self.expected)} {EXPECTED}" if self.expected else ""
        return "; ".join(filter(None, (self.remark, expected)))


def run(
    options: RunOptions, progress: Progress = SILENT, diverges: Callable[[str], None] = lambda text: None
) -> RunResult:
    """Execute every command; TdbError if the run stops early. ``diverges`` receives where two backends differ."""
    model = options.model
    hashes: Hashes | None = None
    if options.hashes:
        from tdb_dap.tools.hashes.recording import Hashes

        hashes = Hashes(exact=not options.fast)
    debugger = model.open(fast=options.fast, lenient=options.lenient)
    program = debugger.program
    if model.inputs is None and program.context.inputs is None and not program.brings_inputs:
        progress.note("no --inputs given: all inputs are zero")
    progress.start(len(program.commands))
    debugger.listener = _Follower(debugger, progress)
    divergences = _Divergences(diverges)
    debugger.observers += [divergences, *([hashes] if hashes is not None else [])]
    add_observers(debugger)
    stop = debugger.run()
    debugger.close()
    progress.clear()
    if stop.finding is not None:
        if stop.finding.filter == BACKEND_FAILED:
            raise TdbError(f"{stop.finding.details[0]}; --backend numpy does without it")
        hint = "; --lenient computes it all the same" if stop.finding.title == ILLEGAL else ""
        raise TdbError(f"{stop.text}{hint}")
    outputs = debugger.outputs(raw=options.raw)
    remarks = [NOT_EXACT] if options.fast else []
    if options.lenient and program.access_rows.illegal:
        remarks.append(NOT_LEGAL)
    return RunResult(
        outputs,
        {name: Value(name, array.view).text() for name, array in outputs.items()},
        hashes.log if hashes is not None else None,
        divergences.count,
        debugger.ordinal,
        debugger.machine.backend.compares,
        " ".join(remarks),
        tuple(name for name in outputs if debugger.machine.expected.get(name)),
    )


class _Divergences(Observer):
    """Shows and counts where the backends do not agree."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self.count = 0

    def next_look(self, inspector: Inspector) -> int:
        return inspector.ordinal if inspector.machine.compares else NEVER

    def after_command(self, inspector: Inspector, command: Command) -> None:
        text = inspector.machine.divergence
        if text is not None:
            self.count += 1
            self._show(f"{command.place}: {text}")


class _Follower(Listener):
    """Passes on how far a debugger is, and its notes."""

    def __init__(self, debugger: Debugger, progress: Progress) -> None:
        self._debugger = debugger
        self._progress = progress

    def note(self, text: str) -> None:
        self._progress.note(text)

    def between_commands(self) -> None:
        self._progress.update(self._debugger.ordinal)
