"""A line-indexed scanner of final.mlir.

The compiler prints one operation per line, in generic form; only operations with a region span several. One pass over
the lines finds operations, functions and groups; operands, attributes and locations are parsed when asked for. A line
that is not understood is kept as an operation without a name: never an error.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tdb_dap.engine.files.bounded_files import read_lines
from tdb_dap.engine.source.common_paths import common_path
from tdb_dap.engine.source.mlir_attributes import closing, integer, parse_attributes
from tdb_dap.system.patterns import pattern

_OPERATION = pattern(r'\s*(?:(%[^=]*?) = )?(?:"([^"]+)"\(|(func\.func|module|return|call|func\.call|func\.return)\b)')
_ALIAS = pattern(r"#(loc\d*) = loc\((.*)\)\s*$")
_FUNCTION_NAME = pattern(r"func\.func (?:private |public )?@([\w.$-]+)")
_MODULE_NAME = pattern(r"module @([^\s{]+)")
_MODE = pattern(r'module\.mode = "(\w+)"')
_VALUE = pattern(r"%[\w.$-]+(?:#\d+)?")


class SourceFile(Struct, frozen=True):
    """A file of a text. ``before``: lines of the text before its first; ``sha256``: as in ``MlirFile``."""

    path: Path
    sha256: str = ""
    before: int = 0


class Function(Struct, frozen=True):
    """A function of the module: ``name`` without @, first and last line."""

    name: str
    line: int
    end_line: int


class Region(Struct, eq=False):
    """A list of operations between braces: the body of a function, or one of the bodies of an operation.

    A value id such as ``%38`` is unique in its region and those around it, but not in a function: the printer of MLIR
    starts its numbers again after each body, so two bodies side by side use the same ids.
    """

    line: int
    """Line of its opening brace."""
    end_line: int
    """Line of its closing brace."""
    function: str
    parent: Region | None
    """The region around it, None for a function's body."""
    owner: int | None
    """Line of the operation it belongs to, None for a function's body."""
    values: dict[str, MlirOp] = field(default_factory=dict[str, "MlirOp"])
    """Operations by the ids of their results."""
    inner: list[Region] = field(default_factory=list["Region"])
    """The regions inside."""

    @property
    def outermost(self) -> Region:
        """The body of the function around it."""
        return self if self.parent is None else self.parent.outermost

    def definitions(self, value: str) -> Iterator[MlirOp]:
        """The operations here and in the regions inside that define a value, in the order of the text."""
        if (op := self.values.get(value)) is not None:
            yield op
        for region in self.inner:
            yield from region.definitions(value)


class MlirOp(Struct, dict=True):
    """One operation. Lines are 1-based."""

    file: MlirFile
    line: int
    end_line: int
    name: str
    results: tuple[str, ...]
    region: Region | None
    """Where it stands; None outside of functions."""
    bodies: list[Region] = field(default_factory=list["Region"])
    """Its own regions, such as the body of a group."""

    @property
    def function(self) -> str:
        """Name of the function around it; empty outside of functions."""
        return self.region.function if self.region is not None else ""

    @property
    def group_line(self) -> int | None:
        """The line of the operation whose body it stands in; None at the level of the function."""
        return self.region.owner if self.region is not None else None

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

    def result_index(self, value: str) -> int:
        """Index of the result ``%11#2``; results print as ``%11:5 = ...`` or ``%a, %b = ...``."""
        name, _, number = value.partition("#")
        before = 0
        for given, count in _counted(self.text.partition(" = ")[0]):
            if given == name:
                return before + integer(number or "0")
            before += count
        return 0

    @property
    def result_count(self) -> int:
        """Number of values it computes."""
        return sum(count for _, count in _counted(self.text.partition(" = ")[0])) if self.results else 0

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
    """An indexed final.mlir. ``text``: all of it, or its lines; ``sha256``: of the file as it was read; empty if it was
    compressed.

    ``files``: of a text that several files make, one behind the other. ``parts``: the compiler's own files whose lines,
    with other names in them, are those of the text, where that is a file by itself; their paths are those of the user's
    copies, or empty.
    """

    def __init__(
        self,
        text: str | list[str],
        path: Path,
        sha256: str = "",
        files: Sequence[SourceFile] = (),
        parts: Sequence[SourceFile] = (),
    ) -> None:
        self.path = path
        self.sha256 = sha256
        self.files = tuple(files) or (SourceFile(path, sha256),)
        self.parts = tuple(parts) or self.files
        self._files_before = [file.before for file in self.files]
        self.lines = text.split("\n") if isinstance(text, str) else text
        self.functions: list[Function] = []
        self.module = ""
        self._ops: dict[int, MlirOp] = {}
        self._regions: list[Region] = []
        self._scan()

    @classmethod
    def read(cls, path: Path) -> MlirFile:
        """Read a file, unpacking ``.xz``; BadInput if it cannot be read."""
        lines, sha256 = read_lines(path)
        return cls(lines, path, "" if path.suffix == ".xz" else sha256)

    def _scan(self) -> None:
        """One pass: a stack of open braces gives region, function and the closing line of each operation."""
        open_braces: list[tuple[str, MlirOp | None, Region | None]] = []
        region: Region | None = None
        match_operation = _OPERATION.match
        for number, line in enumerate(self.lines, 1):
            if line.startswith("#"):
                continue
            stripped = line.lstrip()
            if stripped.startswith("}"):
                opener: MlirOp | None = None
                if open_braces:
                    kind, opener, closed = open_braces.pop()
                    if closed is not None:
                        closed.end_line = number
                        region = closed.parent
                    if kind == "function" and closed is not None:
                        self.functions.append(Function(closed.function, closed.line, number))
                    elif opener is not None:
                        opener.end_line = number
                if line.rstrip().endswith("{"):  # "}, {" opens the next region of the same operation
                    opened = self._open(number, region, opener) if opener is not None else None
                    open_braces.append(("region", opener, opened))
                    region = opened or region
                continue
            match = match_operation(line)
            opens = line.endswith("{")
            if match is None:
                if opens:
                    open_braces.append(("block", None, None))
                continue
            results, name, keyword = match.groups()
            if keyword == "func.func":
                named = _FUNCTION_NAME.search(line)
                if opens:
                    region = Region(number, len(self.lines) + 1, named.group(1) if named else "", None, None)
                    self._regions.append(region)
                    open_braces.append(("function", None, region))
                continue
            if keyword == "module":
                named = _MODULE_NAME.search(line)
                self.module = named.group(1) if named else ""
                if opens:
                    open_braces.append(("module", None, None))
                continue
            op = MlirOp(self, number, number, name or keyword, _results(results), region)
            self._ops[number] = op
            if region is not None:
                for result in op.results:
                    region.values[result] = op
            if opens:
                opened = self._open(number, region, op)
                open_braces.append(("operation", op, opened))
                region = opened

    def _open(self, line: int, around: Region | None, op: MlirOp) -> Region:
        """The next body of an operation."""
        opened = Region(line, len(self.lines) + 1, op.function, around, op.line)
        if around is not None:
            around.inner.append(opened)
        op.bodies.append(opened)
        self._regions.append(opened)
        return opened

    def lines_with(self, text: str) -> list[tuple[int, str]]:
        """The lines that have a text, each after its number."""
        return [(number, line) for number, line in enumerate(self.lines, 1) if text in line]

    @cached_property
    def _aliases(self) -> dict[str, str]:
        aliases: dict[str, str] = {}
        for line in self.lines:
            if line.startswith("#loc") and (match := _ALIAS.match(line)):
                aliases[match.group(1)] = match.group(2)
        return aliases

    def resolve(self, location: str, depth: int = 0) -> tuple[str, ...]:
        """Names of the text inside ``loc(...)``: aliases followed, fused locations in order, unknown left out."""
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
        _ = self._aliases

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)

    @property
    def ops(self) -> Mapping[int, MlirOp]:
        """Operations by line."""
        return self._ops

    @cached_property
    def mode(self) -> str:
        """The number format that was asked for, as the compiler calls it: ``INT8``, ``W4BF16``; empty if not said."""
        matches = (_MODE.search(line) for line in self.lines if line.lstrip().startswith("module"))
        return next((match[1] for match in matches if match), "")

    def place_of(self, line: int) -> tuple[SourceFile, int]:
        """The file that a line of the text is of, and its number there."""
        file = self.files[max(0, bisect_right(self._files_before, line - 1) - 1)]
        return file, line - file.before

    def part_of(self, line: int) -> tuple[SourceFile, int]:
        """The compiler's own file that a line of the text is of, and its number there."""
        part = self.parts[max(0, bisect_right(self.parts, line - 1, key=lambda part: part.before) - 1)]
        return part, line - part.before

    def place_text(self, line: int) -> str:
        """``line 12``; where there are several files ``block_0/final.mlir:12``."""
        file, number = self.place_of(line)
        return f"line {number}" if len(self.files) == 1 else f"{self.name_of(file)}:{number}"

    @staticmethod
    def name_of(file: SourceFile) -> str:
        """A file with its folder, which tells the nets of a model apart."""
        return f"{file.path.parent.name}/{file.path.name}"

    def last_line_of(self, file: SourceFile) -> int:
        """The last line of the text that is of a file, or a part."""
        alike = self.files if file in self.files else self.parts
        starts = (other.before for other in alike if other.before > file.before)
        return min(starts, default=len(self.lines))

    def op_at(self, line: int) -> MlirOp | None:
        """The operation that starts on a line."""
        return self._ops.get(line)

    def function_at(self, line: int) -> Function | None:
        """The innermost function that contains a line."""
        for function in self.functions:
            if function.line <= line <= function.end_line:
                return function
        return None

    @property
    def bodies(self) -> Iterator[Region]:
        """The bodies of the functions."""
        return (region for region in self._regions if region.parent is None)

    @cached_property
    def last_line_of_main(self) -> int | None:
        """Line at which ``main`` returns; None if there is no such function."""
        main = self.function_named("main")
        returns = [op.line for op in self._ops.values() if op.function == "main" and "return" in op.name]
        return returns[-1] if returns else main.end_line - 1 if main is not None else None

    def function_named(self, name: str) -> Function | None:
        for function in self.functions:
            if function.name == name:
                return function
        return None

    def region_at(self, line: int) -> Region | None:
        """The innermost region that a line stands in; None outside of functions. A brace's line is not inside."""
        index = bisect_left(self._regions, line, key=lambda region: region.line) - 1
        region = self._regions[index] if index >= 0 else None
        while region is not None and line >= region.end_line:
            region = region.parent
        return region

    def op_defining(self, value: str, line: int) -> MlirOp | None:
        """The operation that defines ``%7`` or ``%7#0`` as it is meant on a line: in its region or one around it."""
        return self.op_visible_in(self.region_at(line), value)

    def op_visible_in(self, region: Region | None, value: str) -> MlirOp | None:
        """The operation that defines a value in a region or one around it."""
        name = value.partition("#")[0]
        while region is not None:
            if (op := region.values.get(name)) is not None:
                return op
            region = region.parent
        return None

    @cached_property
    def common_paths(self) -> Mapping[str, str]:
        """By function, the path that most names of its ops begin with."""
        names: dict[str, list[str]] = {}
        for op in self._ops.values():
            names.setdefault(op.function, []).extend(op.locations)
        return {function: common_path(all_names) for function, all_names in names.items()}

    @cached_property
    def by_location(self) -> Mapping[str, tuple[MlirOp, ...]]:
        """Operations by location name, fused ones under each of their names."""
        by_name: dict[str, list[MlirOp]] = {}
        for op in self._ops.values():
            for name in op.locations:
                by_name.setdefault(name, []).append(op)
        return {name: tuple(ops) for name, ops in by_name.items()}


def _results(text: str | None) -> tuple[str, ...]:
    """``%11:5`` is one name for five results; ``%a, %b`` are two."""
    return tuple(name for name, _ in _counted(text)) if text else ()


def _counted(text: str) -> Iterator[tuple[str, int]]:
    """The names before an operation, and for how many results each stands."""
    for part in text.split(","):
        name, _, count = part.strip().partition(":")
        yield name, integer(count) if count.isdigit() else 1
