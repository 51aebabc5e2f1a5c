"""An exported op or model: a folder that stands alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.files.atomic_files import whole_path, write_text
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput
from tdb_dap.tools.export import bundle, script
from tdb_dap.tools.export.names import identifier
from tdb_dap.tools.export.recording import Step, computes, record
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.source.mapped_tensor import MappedTensor
    from tdb_dap.engine.source.op_records import OpRecord
    from tdb_dap.targets.chips.chip import Chip

_RUNTIME = "tdb_dap.tools.export.runtime"


def export(debugger: Debugger, target: Chip, records: Sequence[OpRecord], folder: Path, title: str) -> int:
    """Write ops, or the whole program if ``records`` is empty, to ``folder``; returns how many commands.

    The debugger, at its start, is run up to the last of them. BadInput if the folder is not empty, or something of it
    cannot be exported.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder}: exists and is not an empty directory; choose another place")
    program = debugger.program
    chosen = {o for r in records for o in r.ordinals} if records else range(len(program.commands))
    ordinals = sorted(o for o in chosen if computes(program.commands[o], target))
    if not ordinals:
        raise BadInput(f"{title}: has no commands that compute or move anything; nothing to export")
    values = _Values(records)
    debugger.observers.append(values)
    if not records:
        values.inputs = {tensor.name: debugger.machine.read(tensor.view) for tensor in program.inputs}
        values.kept = {ordinals[-1]: [(tensor.name, tensor.view) for tensor in program.outputs]}
    steps = list(record(debugger, ordinals, target, lambda ordinal: (v for _, v in values.kept.get(ordinal, ()))))
    debugger.observers.remove(values)
    if not records:
        values.expected = {tensor.name: debugger.machine.read(tensor.view) for tensor in program.outputs}
    name = identifier(title.split(",")[0]).lower()
    roots = {_RUNTIME, *(step.function.__module__ for step in steps)}
    heading = f"{title}; {program.context.mlir or program.context.bmodel}, {program.chip}, by tdb-dap {__version__}."
    files = {
        f"{name}.py": script.script_text(program, steps, heading, values.kept),
        "chip/model.py": script.model_text(target, steps),
        f"test_{name}.py": _TEST.format(name=name),
        "checksums.json": json.dumps(script.checks(steps, program), indent=1),
        "commands.json": json.dumps([_described(step) for step in steps], indent=1),
        "README.md": _README.format(heading=visible(heading), name=name, count=len(steps)),
    }
    with whole_path(folder) as unfinished:
        unfinished.mkdir(parents=True)
        bundle.write(roots, unfinished)
        for path, text in files.items():
            write_text(unfinished / path, text)
        write_npz(unfinished / "memory.npz", script.restored_arrays(steps, program), packed=True)
        write_npz(unfinished / "inputs.npz", values.inputs, packed=True)
        write_npz(unfinished / "expected.npz", values.expected, packed=True)
    return len(steps)


class _Values(Observer):
    """Notes the named operands and results of the ops that are exported.

    ``inputs``, ``expected``: numbers by name; ``kept``: see ``script.Kept``.
    """

    def __init__(self, records: Sequence[OpRecord]) -> None:
        self._wanted = {record.index for record in records}
        self.inputs: dict[str, Array] = {}
        self.expected: dict[str, Array] = {}
        self.kept: dict[int, list[tuple[str, View]]] = {}

    def before_op(self, inspector: Inspector, record: OpRecord) -> None:
        if record.index in self._wanted:
            for value in record.operands:
                if value.view is not None:
                    self.inputs[_title(value, record)] = inspector.machine.read(value.view)

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        if record.index in self._wanted:
            for value in record.results:
                if value.view is not None:
                    title = _title(value, record)
                    self.expected[title] = inspector.machine.read(value.view)
                    self.kept.setdefault(_last_that_computes(inspector, record), []).append((title, value.view))


def _last_that_computes(inspector: Inspector, record: OpRecord) -> int:
    commands = inspector.program.commands
    return next((o for o in reversed(record.ordinals) if commands[o].results), record.last)


def _title(value: MappedTensor, record: OpRecord) -> str:
    return f"{value.name} {record.slice_text}".strip() + (f" core {record.core}" if record.core else "")


def _described(step: Step) -> dict[str, Any]:
    command = step.command
    return {
        "ordinal": command.ordinal,
        "id": command.token,
        "core": command.core,
        "engine": command.engine,
        "name": command.name,
        "asm": command.asm,
        "descriptor": command.descriptor.hex(),
        "fields": dict(command.fields),
    }


_TEST = '''"""The script computes what the chip computes, bit for bit."""

import json
from pathlib import Path

import numpy as np

from {name} import main

HERE = Path(__file__).parent


def test_every_command_and_the_results_are_equal():
    chip = main()
    wanted = json.loads((HERE / "checksums.json").read_text())
    wrong = [step for step, checksum in wanted.items() if chip.checksums.get(step) != checksum]
    assert not wrong, f"the first command that differs is {{wrong[0]}}"
    with np.load(HERE / "expected.npz") as expected:
        for name in expected.files:
            assert np.array_equal(chip.results[name], expected[name], equal_nan=True), name


if __name__ == "__main__":
    test_every_command_and_the_results_are_equal()
    print("equal")
'''

_README = """# {heading}

* `{name}.py`: {count} commands of the chip in NumPy, one after another; needs Python 3.10 and NumPy only.
* `test_{name}.py`: compares the result of every command with what was recorded; run it alone or with pytest.
* `memory.npz`: bytes that the script does not compute, by the command before which they are put in place.
* `inputs.npz`, `expected.npz`: numbers that go in and that come out, by name.
* `commands.json`: the commands as the chip gets them: descriptors, fields, text.
* `chip/`: the arithmetic of the instructions that occur.
"""
