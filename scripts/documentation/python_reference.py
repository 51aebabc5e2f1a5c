"""The Python interface, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import tdb_dap
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.breakpoints import Breakpoints
from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.expressions.values import Statistics, Value
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.program.ops import Op, Ops
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.rendering.tables import Table
from tdb_dap.notebook import InteractiveDebugger

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


def page() -> str:
    """The whole page."""
    return "\n\n".join(_blocks()) + "\n"


def _blocks() -> Iterator[str]:
    yield "# Python interface"
    yield "What `tdb_dap.open` returns; [how to use it](../python.md)."
    yield "## `tdb_dap.open`"
    yield _code(_signature("tdb_dap.open", tdb_dap.open))
    yield _text(tdb_dap.open)
    for heading, kind, members in REFERENCE:
        yield f"## {heading}"
        yield _text(kind)
        if members:
            yield "\n".join(_member(kind, name) for name in members.split())


def _member(kind: type[Any], name: str) -> str:
    member = inspect.getattr_static(kind, name)
    if isinstance(member, property | cached_property):
        function = member.fget if isinstance(member, property) else member.func
        title = f"{name}: {inspect.signature(function).return_annotation}"  # type: ignore[arg-type]
    else:
        function, title = member, _signature(name, member)
    return f"- `{title}`: {_text(function)}"


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
