"""Write the reference of docs/python.md from signatures and docstrings.

python -m scripts.generate_python_reference            rewrite it
python -m scripts.generate_python_reference --check    exit 1 if it is out of date
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import tdb_dap
from scripts.generated import ROOT, write_or_check
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.breakpoints import Breakpoints
from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.expressions.values import Statistics, Value
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.program.ops import Op, Ops
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.rendering.tables import Table
from tdb_dap.notebook import InteractiveDebugger

PAGE = ROOT / "docs" / "python.md"
BEGIN = "<!-- written by scripts/generate_python_reference.py from the docstrings; overwritten -->"
END = "<!-- end of the reference -->"
WIDTH = 120
ANNOTATION = re.compile(r"(: |-> )'([^']*)'")

REFERENCE: tuple[tuple[str, type[Any], str], ...] = (
    (
        "The debugger, `dbg`",
        InteractiveDebugger,
        "ordinal at_end op run reverse step walk run_to travel skip_to undo_edit restart pause close "
        "read write evaluate outputs who_wrote check profile set_filters memory",
    ),
    ("`dbg.breakpoints`", Breakpoints, "add remove clear"),
    ("`dbg.program`", Program, "ops listing ddr_regions"),
    ("`dbg.program.ops`", Ops, "named table"),
    ("An op", Op, "name ordinals commands first last text row"),
    (
        "A command, `dbg.program.commands[i]`",
        Command,
        "name token asm tdb_asm descriptor fields operands results attributes mlir_lines is_system",
    ),
    ("`dbg.memory`", Memory, "local static l2 global_ neuron read_bytes write_bytes"),
    ("A value, `dbg.evaluate(...)`", Value, "array real shape dtype_name statistics text"),
    ("Its statistics", Statistics, "text"),
    ("A stop", Stop, ""),
    ("What it found", Finding, ""),
    ("A table", Table, "columns column where"),
)
"""Heading, class, and its members in the order in which they are listed."""


def reference() -> Iterator[str]:
    """Blocks, to be parted by empty lines."""
    yield "### `tdb_dap.open`"
    yield _code(_signature("tdb_dap.open", tdb_dap.open))
    yield textwrap.fill(_text(tdb_dap.open), WIDTH)
    for heading, kind, members in REFERENCE:
        yield f"### {heading}"
        yield textwrap.fill(_text(kind), WIDTH)
        if members:
            yield "\n".join(_member(kind, name) for name in members.split())


def _member(kind: type[Any], name: str) -> str:
    found = inspect.getattr_static(kind, name)
    if isinstance(found, property | cached_property):
        function = found.fget if isinstance(found, property) else found.func
        title = f"{name}: {inspect.signature(function).return_annotation}"  # type: ignore[arg-type]
    else:
        function, title = found, _signature(name, found)
    return textwrap.fill(f"- `{title}`: {_text(function)}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    given = [p for p in signature.parameters.values() if p.name != "self"]
    return name + ANNOTATION.sub(r"\1\2", str(signature.replace(parameters=given)))


def _code(text: str) -> str:
    """A signature that is too long for a line, a parameter each."""
    head, _, rest = text.partition("(")
    inner, _, result = rest.rpartition(") -> ")
    parts = re.split(r", (?=\w+: )", inner)
    return "\n".join(["```text", f"{head}(", *(f"    {part}," for part in parts), f") -> {result}", "```"])


def _text(thing: Any) -> str:
    """The docstring as one paragraph; every member listed has one."""
    if not thing.__doc__:
        sys.exit(f"{thing.__qualname__} has no docstring")
    return " ".join(inspect.cleandoc(thing.__doc__).replace("``", "`").split())


def page(text: str) -> str:
    """The page with a fresh reference."""
    before, _, rest = text.partition(BEGIN)
    return "\n\n".join([before + BEGIN, *reference(), END + rest.partition(END)[2]])


def texts() -> dict[Path, str]:
    """The page, as it should be."""
    return {PAGE: page(PAGE.read_text("utf-8"))}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
