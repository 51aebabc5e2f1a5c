"""A line-indexed scanner of final.mlir.

The compiler prints one operation per line, in generic form; only operations with a region span several. One pass over
the lines finds operations, functions and groups; operands, attributes and locations are parsed when asked for. A line
that is not understood is kept as an operation without a name: never an error.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tdb_dap.engine.files import read_file
from tdb_dap.engine.mlir_attributes import closing, parse_attributes

_OPERATION = re.compile(
    r'\s*(?:(%[^=]*?) = )?(?:"([^"]+)"\(|(func\.func|module|return|call|func\.call|func\.return)\b)'
)
_ALIAS = re.compile(r"#(loc\d*) = loc\((.*)\)\s*$")
_FUNCTION_NAME = re.compile(r"func\.func (?:private |public )?@([\w.$-]+)")
_MODULE_NAME = re.compile(r"module @([^\s{]+)")
_VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")


@dataclass(frozen=True)
class Function:
    """A function of the module: ``name`` without @, first and last line."""

    name: str
    line: int
    end_line: int


@dataclass
class MlirOp:
    """One operation. Lines are 1-based; ``group_line`` is the line of the enclosing region operation or None."""

    file: MlirFile
    line: int
    end_line: int
    name: str
    results: tuple[str, ...]
    function: str
    group_line: int | None

    @property
    def text(self) -> str:
        """The text of its first line."""
        return self.file.lines[self.line - 1].strip()

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Value ids it uses, such as ``%13`` or ``%11#0``."""
        text = self.text
        if self.name in ("return", "func.return"):
            return tuple(_VALUE.findall(text.partition(" : ")[0]))
        start = text.find("(", text.find(self.name))
        return tuple(_VALUE.findall(text[start : closing(text, start) + 1])) if start >= 0 else ()

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes: numbers, strings, truth values and lists of them as Python values, the rest as text."""
        text = self.file.lines[self.end_line - 1].strip()
        if self.end_line != self.line:
            start = text.find("{")
        else:
            arguments = text.find("(", text.find(self.name))
            start = text.find("{", closing(text, arguments)) if arguments >= 0 else text.find("{")
        return parse_attributes(text, start) if start >= 0 else {}

    @cached_property
    def types(self) -> str:
        """The type part: ``(operand types) -> result types``."""
        text = self.file.lines[self.end_line - 1]
        end = text.rfind(" loc(")
        start = text.rfind(" : (", 0, end if end >= 0 else None)
        return text[start + 3 : end if end >= 0 else None].strip() if start >= 0 else ""

    @cached_property
    def locations(self) -> tuple[str, ...]:
        """Names of its location; several if it is fused."""
        text = self.file.lines[self.end_line - 1]
        start = text.rfind("loc(")
        return self.file.resolve(text[start + 4 : closing(text, start + 3)]) if start >= 0 else ()

    @property
    def location(self) -> str:
        """First name of its location, or the empty string."""
        return self.locations[0] if self.locations else ""


class MlirFile:
    """An indexed final.mlir. ``sha256``: of the file as it was read; empty if it was compressed."""

    def __init__(self, text: str, path: Path, sha256: str = "") -> None:
        self.path = path
        self.sha256 = sha256
        self.lines = text.split("\n")
        self.functions: list[Function] = []
        self.module = ""
        self._ops: dict[int, MlirOp] = {}
        self._scan()

    @classmethod
    def read(cls, path: Path) -> MlirFile:
        """Read a file, unpacking ``.xz``; BadInput if it cannot be read."""
        data = read_file(path)
        text = io.TextIOWrapper(io.BytesIO(data), "utf-8", errors="replace").read()
        return cls(text, path, "" if path.suffix == ".xz" else hashlib.sha256(data).hexdigest())

    def _scan(self) -> None:
        """One pass: a stack of open regions gives function, group and the closing line of each operation."""
        open_regions: list[tuple[str, int, MlirOp | None]] = []
        function, group = "", None
        match_operation = _OPERATION.match
        for number, line in enumerate(self.lines, 1):
            if line.startswith("#"):
                continue
            stripped = line.lstrip()
            if stripped.startswith("}"):
                if open_regions:
                    kind, start, op = open_regions.pop()
                    if kind == "function":
                        self.functions.append(Function(function, start, number))
                        function = ""
                    elif op is not None:
                        op.end_line = number
                        group = op.group_line
                if line.rstrip().endswith("{"):
                    # "}, {" opens the next region of the same operation.
                    open_regions.append(("region", number, None))
                continue
            found = match_operation(line)
            opens = line.endswith("{")
            if found is None:
                if opens:
                    open_regions.append(("block", number, None))
                continue
            results, name, keyword = found.groups()
            if keyword == "func.func":
                named = _FUNCTION_NAME.search(line)
                function = named.group(1) if named else ""
                if opens:
                    open_regions.append(("function", number, None))
                continue
            if keyword == "module":
                named = _MODULE_NAME.search(line)
                self.module = named.group(1) if named else ""
                if opens:
                    open_regions.append(("module", number, None))
                continue
            op = MlirOp(self, number, number, name or keyword, _results(results), function, group)
            self._ops[number] = op
            if opens:
                open_regions.append(("operation", number, op))
                group = number

    @cached_property
    def _aliases(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self.lines:
            if line.startswith("#loc") and (match := _ALIAS.match(line)):
                found[match.group(1)] = match.group(2)
        return found

    def resolve(self, location: str, depth: int = 0) -> tuple[str, ...]:
        """Names behind the text inside ``loc(...)``: aliases followed, fused locations in order, unknown left out."""
        location = location.strip()
        if depth > 16 or not location or location == "unknown":
            return ()
        if location.startswith("#"):
            return self.resolve(self._aliases.get(location[1:], ""), depth + 1)
        if location.startswith('"'):
            return (location[1 : location.rfind('"')],) if location.count('"') > 1 else ()
        if location.startswith("fused"):
            start = location.find("[", location.rfind(">") + 1)
            inner = location[start + 1 : location.rfind("]")]
            names: list[str] = []
            for part in re.findall(r'#loc\d*|"[^"]*"|unknown', inner):
                names.extend(self.resolve(part, depth + 1))
            return tuple(names)
        return ()

    def prepare(self) -> None:
        """Work out in advance what looking up values and locations needs."""
        _ = self._aliases, self._definitions

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)

    @property
    def ops(self) -> Mapping[int, MlirOp]:
        """Operations by line."""
        return self._ops

    def op_at(self, line: int) -> MlirOp | None:
        """The operation that starts on a line."""
        return self._ops.get(line)

    def function_at(self, line: int) -> Function | None:
        """The innermost function that contains a line."""
        for function in self.functions:
            if function.line <= line <= function.end_line:
                return function
        return None

    def function_named(self, name: str) -> Function | None:
        for function in self.functions:
            if function.name == name:
                return function
        return None

    def op_defining(self, value: str, line: int) -> MlirOp | None:
        """The operation that defines ``%7`` or ``%7#0`` in the function around ``line``."""
        function = self.function_at(line)
        if function is None:
            return None
        defined = self._definitions.get(function.name, {})
        return defined.get(value.split("#")[0])

    @cached_property
    def _definitions(self) -> dict[str, dict[str, MlirOp]]:
        found: dict[str, dict[str, MlirOp]] = {}
        for op in self._ops.values():
            for result in op.results:
                found.setdefault(op.function, {})[result] = op
        return found

    @cached_property
    def by_location(self) -> Mapping[str, tuple[MlirOp, ...]]:
        """Operations by location name, fused ones under each of their names."""
        found: dict[str, list[MlirOp]] = {}
        for op in self._ops.values():
            for name in op.locations:
                found.setdefault(name, []).append(op)
        return {name: tuple(ops) for name, ops in found.items()}


def _results(text: str | None) -> tuple[str, ...]:
    """``%11:5`` is one name for five results; ``%a, %b`` are two."""
    return tuple(part.split(":")[0].strip() for part in text.split(",")) if text else ()
