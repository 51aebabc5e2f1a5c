"""The text of an exported script."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.tools.export.bundle import renamed
from tdb_dap.tools.export.names import TensorNames, identifier

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program
    from tdb_dap.targets.chips.chip import Chip
    from tdb_dap.tools.export.recording import Step

_WIDTH = 118
_PAGE = 1 << 12


def step_id(command: Command, program: Program) -> str:
    """``B12``, with the core where there are several."""
    return command.token + (f"@core{command.core}" if program.core_count > 1 else "")


def data_key(step: str, space: Space, core: int) -> str:
    """Start of the names under which the bytes for a step are in the npz file."""
    return f"{step}/{space.value}{core}"


def model_text(target: Chip, steps: Sequence[Step]) -> str:
    """The module ``chip/model.py``: the chip's numbers, and the parts of DDR that the script uses."""
    assert target.rules is not None
    ddr = "".join(f"    {start:#x}: {size},\n" for start, size in _regions(steps))
    text = f'''"""The numbers of the chip, and the parts of DDR in use."""

from tdb_dap.engine.hardware.geometry import Geometry, Space, Window
from tdb_dap.targets.kernel.constants import Reciprocal
from tdb_dap.targets.rules import Extremum, Rules

GEOMETRY = {_value(target.geometry)}

RULES = {_value(target.rules)}

DDR = {{
{ddr}}}
"""First byte -> size."""
'''
    return renamed(text)


def _regions(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Pages of DDR that any command touches, neighbours joined."""
    pages: set[tuple[int, int]] = set()
    for step in steps:
        for view in (*step.bound.operands.values(), *step.bound.results.values()):
            if isinstance(view, View) and view.space is Space.GLOBAL and view.size:
                ranges = view.byte_ranges()
                pages.add((ranges[0][0] // _PAGE, -(-ranges[-1][1] // _PAGE)))
    start = stop = 0
    for first, last in sorted(pages):
        if first > stop or not stop:
            if stop:
                yield start * _PAGE, (stop - start) * _PAGE
            start = first
        stop = max(stop, last)
    if stop:
        yield start * _PAGE, (stop - start) * _PAGE


def _value(what: Any) -> str:
    """An expression that makes a value again."""
    if isinstance(what, Enum):
        return f"{type(what).__name__}.{what.name}"
    if isinstance(what, Struct):
        parts = ", ".join(f"{name}={_value(getattr(what, name))}" for name in what.__struct_fields__)
        return f"{type(what).__name__}({parts})"
    if isinstance(what, tuple):
        return f"({''.join(_value(part) + ', ' for part in what)})"
    return repr(what)


Kept = Mapping[int, Sequence[tuple[str, View]]]
"""Ordinal of a command -> (name, place) of what is a result once it has run."""


def script_text(program: Program, steps: Sequence[Step], title: str, kept: Kept) -> str:
    """The script."""
    writer = _Writer(program, steps, kept)
    body = list(writer.body())
    return "\n".join([*writer.head(title), "def main() -> Chip:", *body, "", "    return chip", *_TAIL, ""])


_TAIL = (
    "",
    "",
    'if __name__ == "__main__":',
    "    for name, tensor in main().results.items():",
    "        print(name, tensor.dtype, tensor.shape, tensor.ravel()[:8])",
)


class _Writer:
    def __init__(self, program: Program, steps: Sequence[Step], kept: Kept) -> None:
        self._program = program
        self._steps = steps
        self._kept = kept
        self._names = TensorNames(program)
        self._instructions: dict[tuple[str, int], tuple[str, Step]] = {}
        self._dtypes: set[str] = set()
        for step in steps:
            key = (step.bound.family.name, step.bound.fields.sub)
            if key not in self._instructions:
                name = identifier(step.command.name)
                taken = any(name == other for other, _ in self._instructions.values())
                self._instructions[key] = (f"{name}_{key[1]}" if taken else name, step)

    def head(self, title: str) -> Iterator[str]:
        """Everything above ``main``: to be asked for after the body, which uses number formats."""
        functions = sorted({(step.function.__module__, step.function.__name__) for _, step in self._entries()})
        about = visible(title).replace("\\", "\\\\").replace('"', '\\"')  # it may hold what ends a docstring
        yield f'"""{about}\n\nEvery step below is one command of the chip, with its text above it. Edit and run.\n"""'
        yield ""
        yield "from pathlib import Path"
        yield ""
        yield renamed(f"from tdb_dap.engine.hardware.dtypes import {', '.join(sorted(self._dtypes))}")
        yield renamed("from tdb_dap.engine.hardware.views import Layout")
        yield renamed("from tdb_dap.tools.export.runtime import Chip, Constant, Instruction")
        yield "from chip.model import DDR, GEOMETRY, RULES"
        for module, name in functions:
            yield renamed(f"from {module} import {name} as {_function(module, name)}")
        yield ""
        for name, step in self._entries():
            function = _function(step.function.__module__, step.function.__name__)
            yield f"{name} = Instruction({function}, {step.bound.fields.sub}, {tuple(step.bound.results)!r})"
        yield ""
        yield ""

    def _entries(self) -> list[tuple[str, Step]]:
        return list(self._instructions.values())

    def body(self) -> Iterator[str]:
        """The commands."""
        cores = max(step.command.core for step in self._steps) + 1
        yield f'    chip = Chip(GEOMETRY, RULES, {cores}, DDR, Path(__file__).parent / "memory.npz")'
        line = None
        for step in self._steps:
            lines = step.command.mlir_lines
            if lines != line and lines:
                yield ""
                yield f"    # --- {visible(self._op(lines[0]))}"
            line = lines
            yield from self._step(step)

    def _op(self, line: int) -> str:
        op = self._program.source.op_at(line)
        return f"{op.name} {op.location}, line {line} of final.mlir" if op is not None else f"line {line}"

    def _step(self, step: Step) -> Iterator[str]:
        command, bound = step.command, step.bound
        name = step_id(command, self._program)
        yield ""
        yield from textwrap.wrap(visible(command.asm), _WIDTH, initial_indent="    # ", subsequent_indent="    #     ")
        if step.restored:
            sizes = Counter[str]()
            for content in step.restored:
                sizes[content.space.title] += len(content.data)
            places = ", ".join(f"{size:,} bytes of {title}" for title, size in sizes.items())
            yield f'    chip.restore("{name}")  # {places}'
        roles: list[str] = []
        for role, what in (*bound.results.items(), *bound.operands.items()):
            if isinstance(what, Constant):
                word = what.bits & ((1 << (8 * what.dtype.itemsize)) - 1)
                roles.append(f"{role}=Constant({word:#x}, {self._dtype(what.dtype.name)})")
                continue
            assert isinstance(what, View)
            tensor, is_new = self._names.of(what, role, command)
            if is_new:
                yield from self._declared(tensor, what)
            roles.append(f"{role}={tensor}")
        instruction, _ = self._instructions[bound.family.name, bound.fields.sub]
        fields = ", ".join(f"{field}={value}" for field, value in step.fields.items())
        arguments = [f"chip, {name!r}, dict({fields})", *roles]
        if step.registers:
            arguments.append(f"registers={step.registers!r}")
        if command.core:
            arguments.append(f"core={command.core}")
        yield from _call(instruction, arguments)
        if step.restored_after:
            yield f'    chip.restore("{name} end")  # what is between, of other ops'
        for title, view in self._kept.get(command.ordinal, ()):
            tensor, is_new = self._names.of(view, "result", command)
            if is_new:
                yield from self._declared(tensor, view)
            yield f"    chip.results[{title!r}] = {tensor}.numbers"

    def _dtype(self, name: str) -> str:
        self._dtypes.add(name.upper())
        return name.upper()

    def _declared(self, name: str, view: View) -> Iterator[str]:
        arguments = [
            repr(view.space.value),
            f"{view.address:#x}",
            repr(view.shape),
            self._dtype(view.dtype.name),
            f"Layout.{view.layout.name}",
        ]
        if view.strides is not None:
            arguments.append(repr(tuple(int(stride) for stride in view.strides)))
        for key, value in (("core", view.core), ("width", view.width)):
            if value:
                arguments.append(f"{key}={value}")
        if view.lane_mask is not None:
            arguments.append(f"lane_mask={view.lane_mask:#x}")
        yield from _call(f"{name} = chip.tensor", arguments)


def _function(module: str, name: str) -> str:
    """A name for a semantic function that no other module's function has."""
    return f"{module.rsplit('.', 1)[-1]}_{name.strip('_')}"


def _call(function: str, arguments: Sequence[str]) -> Iterator[str]:
    """A call in one line if it fits, else an argument per line."""
    line = f"    {function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"    {function}("
    for argument in arguments:
        yield from textwrap.wrap(
            f"{argument},", _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_long_words=False
        )
    yield "    )"


def checks(steps: Sequence[Step], program: Program) -> dict[str, int]:
    """CRC-32 of the results of each command."""
    return {step_id(step.command, program): step.checksum for step in steps}


def restored_arrays(steps: Sequence[Step], program: Program) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of memory.npz."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for step in steps:
        grouped: dict[str, list[Any]] = {}
        name = step_id(step.command, program)
        for moment, parts_then in ((name, step.restored), (f"{name} end", step.restored_after)):
            for part in parts_then:
                grouped.setdefault(data_key(moment, part.space, part.core), []).append(part)
        for key, parts in grouped.items():
            arrays[f"{key}/runs"] = np.concatenate([part.runs for part in parts])
            arrays[f"{key}/bytes"] = np.frombuffer(b"".join(part.data for part in parts), np.uint8)
    return arrays
