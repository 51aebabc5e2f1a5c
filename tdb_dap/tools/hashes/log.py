"""The text form of a log of hashes: version 1, described in docs/check.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadInput

MAGIC = "tdb-dap hashes "
VERSION = 1
HEAD = ("tool", "chip", "model", "inputs", "exact")
"""Rows of the head, in this order, each with a text in JSON."""

_LONGEST = 10_000
"""Characters of a line; names of fused ops have hundreds."""

_HASH = r"[0-9a-f]{8}"
_TENSOR = re.compile(rf"t ([0-9]{{1,9}}) ([0-9]{{1,9}}) ({_HASH}|-) (\S+) (\".*\")")
_COMMAND = re.compile(rf"c ([0-9]{{1,9}}) ([0-9]{{1,9}}) ({_HASH}|-) (\S+) (\S+)")


class Tensor(Struct, frozen=True):
    """A result of an op, or a slice of one, when the op has ended."""

    line: int
    """Line of final.mlir."""
    core: int
    hash: str
    """Hash of its words; ``-`` if nobody knows where they are."""
    opcode: str
    name: str

    @property
    def text(self) -> str:
        """Its line of the file."""
        return f"t {self.line} {self.core} {self.hash} {self.opcode} {json.dumps(self.name)}"


class Command(Struct, frozen=True):
    """A command, after it was executed."""

    ordinal: int
    line: int
    """Line of final.mlir of its op; 0 if it belongs to none."""
    hash: str
    """Hash of the words of all its results; ``-`` if it has none."""
    token: str
    name: str

    @property
    def text(self) -> str:
        """Its line of the file."""
        return f"c {self.ordinal} {self.line} {self.hash} {self.token} {self.name}"


Entry = Tensor | Command


class Log(Struct, frozen=True):
    """A whole log. ``head``: texts by the names in ``HEAD``."""

    head: dict[str, str]
    entries: tuple[Entry, ...]

    @property
    def text(self) -> str:
        """The file."""
        head = [f"{name} {json.dumps(self.head[name])}" for name in HEAD]
        lines = [f"{MAGIC}{VERSION}", *head, *(entry.text for entry in self.entries), f"end {len(self.entries)}"]
        return "\n".join(lines) + "\n"

    @property
    def tensors(self) -> list[Tensor]:
        return [entry for entry in self.entries if isinstance(entry, Tensor)]

    @property
    def commands(self) -> list[Command]:
        return [entry for entry in self.entries if isinstance(entry, Command)]


def is_log(path: Path) -> bool:
    """Whether a file begins as a log does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC.encode()
    except OSError:
        return False


def read(path: Path) -> Log:
    """A received log; BadInput for one that is incomplete or of another version."""
    try:
        lines = bytes(read_file(path, limits.REPORT)).decode().split("\n")
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not a log of hashes: it is no text in UTF-8") from None
    lines = [line.rstrip("\r") for line in lines if line.strip()]
    if lines[:1] != [f"{MAGIC}{VERSION}"]:
        raise BadInput(f"{path}: begins with {quoted(lines[0] if lines else '')}; this tdb-dap reads {MAGIC}{VERSION}")
    first, after = 1 + len(HEAD), len(lines) - 1
    if after < first or lines[-1] != f"end {after - first}":
        raise BadInput(f"{path}: is cut off: its last line must be `end` with the number of entries; copy all of it")
    head = {name: _row(path, number, name, lines[number]) for number, name in enumerate(HEAD, 1)}
    return Log(head, tuple(_entry(path, number, lines[number]) for number in range(first, after)))


def _row(path: Path, number: int, name: str, line: str) -> str:
    title, _, value = line.partition(" ")
    if title != name:
        raise _bad(path, number, line)
    return _string(path, number, value)


def _entry(path: Path, number: int, line: str) -> Entry:
    if len(line) > _LONGEST:
        raise _bad(path, number, line)
    if tensor := _TENSOR.fullmatch(line):
        name = _string(path, number, tensor[5])
        return Tensor(int(tensor[1]), int(tensor[2]), tensor[3], tensor[4], name)
    if command := _COMMAND.fullmatch(line):
        return Command(int(command[1]), int(command[2]), command[3], command[4], command[5])
    raise _bad(path, number, line)


def _string(path: Path, number: int, text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise _bad(path, number, text)
    return value


def _bad(path: Path, number: int, line: str) -> BadInput:
    return BadInput(f"{path}: line {number + 1} is not of a log of hashes: {quoted(line)}")
