"""``tdb-dap run``: simulate a model to its end."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli.options import data_options, model_arguments
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.observers import NEVER, Observer
from tdb_dap.engine.control.stops import BACKEND_FAILED
from tdb_dap.engine.files.atomic_files import refuse_unwritable, write_text
from tdb_dap.engine.rendering.printable import direct
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.inspector import Inspector


NOT_EXACT = "not exact (--fast)"
"""Stands wherever results of a fast run are shown, and in the file that they are written to."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    data_options(parser)
    parser.add_argument("--outputs", metavar="OUT.npz", type=Path, help="write the outputs, dequantised, by name")
    parser.add_argument("--raw", action="store_true", help="write the numbers as stored, not dequantised")
    parser.add_argument(
        "--hashes",
        metavar="FILE",
        type=Path,
        help="write a short hash of each tensor and command; `tdb-dap diff A B` compares two such files",
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help=f"leave float convolutions and matrix products to BLAS: {NOT_EXACT}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Execute every command, write the outputs and print a line for each."""
    import numpy as np

    from tdb_dap.engine.control.plugin_observers import add_observers
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.machine.npz import write_npz
    from tdb_dap.tools.opening import open_debugger

    if arguments.outputs is not None:
        refuse_unwritable(arguments.outputs)
    hashes = None
    if arguments.hashes is not None:
        from tdb_dap.tools.hashes.recording import Hashes

        refuse_unwritable(arguments.hashes)
        hashes = Hashes(exact=not arguments.fast)
    debugger = open_debugger(
        arguments.context,
        arguments.inputs,
        arguments.reference,
        backend=arguments.backend,
        static_tables=arguments.static_tables,
        history_limit=0,
        fast=arguments.fast,
        cmodel_path=arguments.cmodel_path,
        net=arguments.net,
        stage=arguments.stage,
        recording=arguments.recording,
    )
    beside = debugger.program.context.inputs is not None or debugger.program.brings_inputs
    if arguments.inputs is None and not beside:
        print("tdb-dap: no --inputs given: all inputs are zero", file=sys.stderr)
    debugger.listener = _Bar(debugger) if sys.stderr.isatty() and not arguments.quiet else _Notes()
    divergences = _Divergences()
    debugger.observers.append(divergences)
    if hashes is not None:
        debugger.observers.append(hashes)
    add_observers(debugger)
    stop = debugger.run()
    debugger.close()
    if stop.finding is not None:
        if stop.finding.filter == BACKEND_FAILED:
            raise TdbError(f"{stop.finding.details[0]}; --backend numpy does without it")
        raise TdbError(stop.text)
    outputs = debugger.outputs(raw=arguments.raw)
    if arguments.outputs is not None:
        write_npz(arguments.outputs, {**outputs, **({"__note__": np.array(NOT_EXACT)} if arguments.fast else {})})
    if hashes is not None:
        write_text(arguments.hashes, hashes.log.text)
    for name, array in outputs.items():
        print(f"{name} {Value(name, array.view).text()}" + (f" {NOT_EXACT}" if arguments.fast else ""))
    if debugger.machine.backend.compares:
        print(f"lockstep: {divergences.count:,} of {debugger.ordinal:,} commands diverge")
    return 1 if divergences.count else 0


class _Divergences(Observer):
    """Prints where the backends do not agree, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def next_look(self, inspector: Inspector) -> int:
        return inspector.ordinal if inspector.machine.compares else NEVER

    def after_command(self, inspector: Inspector, command: Command) -> None:
        text = inspector.machine.divergence
        if text is not None:
            self.count += 1
            print(f"command {command.ordinal} ({command.token} {command.name}): {text}")


class _Notes(Listener):
    """Prints what the user has to know of how the program is executed."""

    def note(self, text: str) -> None:
        print(f"tdb-dap: {text}", file=sys.stderr)


class _Bar(_Notes):
    """A line on a terminal that says how far the run is."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._total = len(debugger.program.commands)
        self._next = time.monotonic() + 0.5

    def between_commands(self) -> None:
        done = self._debugger.ordinal
        if time.monotonic() < self._next and done < self._total:
            return
        self._next = time.monotonic() + 0.1
        end = "\r\033[K" if done == self._total else ""
        print(f"\r{done:,} of {self._total:,} commands{end}", end="", file=direct(sys.stderr), flush=True)
