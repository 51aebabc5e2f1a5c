"""From a name to where it is defined, and to where it is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tdb_dap.language.text_ranges import TextRange, uri_of
from tdb_dap.language.tokens import Token, token_at

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp


def definitions(mlir: MlirFile, program: Callable[[], Program | None], line: int, column: int) -> list[TextRange]:
    """Definitions of the token there: the op of a value, the line of a location, in earlier stages, too."""
    token = token_at(mlir.lines[line], column) if 0 <= line < len(mlir.lines) else None
    if token is None:
        return []
    if token.kind == "value":
        return _value(mlir, token, line)
    if token.kind == "alias":
        return [
            _range_of(mlir, n, token.text) for n, text in enumerate(mlir.lines) if text.startswith(f"{token.text} = ")
        ]
    if token.kind == "function":
        function = mlir.function_named(token.text[1:])
        return [_range_of(mlir, function.line - 1, token.text)] if function is not None else []
    if token.kind == "op":
        op = mlir.op_at(line + 1)
        return _earlier(program(), op) if op is not None else []
    if token.kind == "location":
        return [_range_of(mlir, op.line - 1, op.name) for op in mlir.by_location.get(token.text, ())]
    return []


def _earlier(program: Program | None, op: MlirOp) -> list[TextRange]:
    """The same op in the stages before final.mlir."""
    if program is None:
        return []
    return [_range_of(origin.file, origin.line - 1, origin.name) for _, origin in program.compile_stages.places(op)]


def _value(mlir: MlirFile, token: Token, line: int) -> list[TextRange]:
    if token.text.startswith("%arg"):
        function = mlir.function_at(line + 1)
        return [_range_of(mlir, function.line - 1, f"{token.text}:")] if function is not None else []
    producer = mlir.op_defining(token.text, line + 1)
    return [_range_of(mlir, producer.line - 1, token.text.partition("#")[0])] if producer is not None else []


def references(
    mlir: MlirFile, program: Callable[[], Program | None], line: int, column: int, with_definition: bool
) -> list[TextRange]:
    """Uses of a value in its function, or a location, an address or a function in the file.

    Of a location also the ops of earlier stages that compute it.
    """
    token = token_at(mlir.lines[line], column) if 0 <= line < len(mlir.lines) else None
    if token is None:
        return []
    ranges = _in_the_file(mlir, program, token, line, column, with_definition)
    if token.kind == "location":
        ranges += [
            text_range for op in mlir.by_location.get(token.text, ())[:1] for text_range in _earlier(program(), op)
        ]
    return ranges


def _in_the_file(
    mlir: MlirFile,
    program: Callable[[], Program | None],
    token: Token,
    line: int,
    column: int,
    with_definition: bool,
) -> list[TextRange]:
    if token.kind == "op":
        return []
    if token.kind == "value":
        ranges = list(_uses_of_value(mlir, token.text.partition("#")[0], line + 1))
    else:
        ranges = list(_uses(mlir, token.text, 1, len(mlir.lines), is_value=False))
    defined = set(definitions(mlir, program, line, column))
    return [text_range for text_range in ranges if with_definition or text_range not in defined]


def _uses_of_value(mlir: MlirFile, name: str, line: int) -> Iterator[TextRange]:
    """Names of the value that a line means; the same id in another region is another value."""
    producer = mlir.op_defining(name, line)
    region = producer.region if producer is not None else mlir.region_at(line)
    if producer is None and region is not None:
        region = region.outermost  # an argument of the function
    first, last = (region.line, region.end_line) if region is not None else (1, len(mlir.lines))
    last = min(last, len(mlir.lines))  # a damaged file may leave a region open
    for text_range in _uses(mlir, name, first, last, is_value=True):
        if mlir.op_defining(name, text_range.line + 1) is producer:
            yield text_range


def _uses(mlir: MlirFile, text: str, first: int, last: int, is_value: bool) -> Iterator[TextRange]:
    pattern = re.compile(re.escape(text) + (r"(?:#\d+)?" if is_value else "") + r"(?![\w.$-])")
    for number in range(first - 1, last):
        line = mlir.lines[number]
        if text in line:
            for match in pattern.finditer(line):
                yield TextRange(uri_of(mlir.path), number, match.start(), match.start() + len(text))


def _range_of(mlir: MlirFile, line: int, text: str) -> TextRange:
    start = max(0, mlir.lines[line].find(text))
    return TextRange(uri_of(mlir.path), line, start, start + len(text.rstrip(":")))
