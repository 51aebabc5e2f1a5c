"""The debugger's own names in the text of an expression: found, and replaced by identifiers that Python knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tdb_dap.engine.addresses import ADDRESS
from tdb_dap.engine.values import Value
from tdb_dap.errors import BadExpression


class Names(Protocol):
    """Where the debugger's own names are looked up. Each raises BadExpression for what does not exist."""

    def value(self, name: str) -> Value:
        """An MLIR value, ``%173``."""
        ...

    def values(self, kind: str) -> Sequence[Value]:
        """``in``, ``out`` or ``ref`` of the current frame."""
        ...

    def location(self, name: str) -> Value:
        """The tensor with this location name."""
        ...

    def alias(self, number: int) -> Value:
        """The tensor whose location is ``#loc<number>``."""
        ...

    def memory(self, address: str, core: int | None, dtype: str, shape: tuple[int, ...]) -> Value:
        """Memory read as a tensor."""
        ...

    def at(self, address: str) -> Value:
        """The operand or result of the current command that the listing prints under this address."""
        ...

    def expected(self, value: Value) -> Value:
        """What the reference says of a tensor that has a name."""
        ...


_TOKEN = re.compile(
    rf"""
      (?P<string>"[^"]*"|'[^']*')
    | (?P<location>\#loc\(\s*(?:"(?P<name>[^"]*)"|'(?P<name2>[^']*)')\s*\)) | \#loc\(?\s*(?P<alias>\d+)\s*\)?
    | (?P<cast>%?{ADDRESS}(?:@core(?P<core>\d+))?:(?P<dtype>[a-z]\w*)\[(?P<dims>[\d,\s]+)\])
    | (?P<value>%(?![RGSL]\d)\w+(?:\#\d+)?)
    | (?P<address>%?{ADDRESS}(?![\w:]))
    | (?P<list>\b(?:in|out|ref)(?=\s*\[))
    | (?P<word>[A-Za-z_]\w*) | (?P<number>(?:\d[\w.]*|\.\d\w*)(?:(?<=[eE])[+-]\d+)?)
    | (?P<space>\s+) | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def shortened(text: str) -> str:
    """The text in one line of 60 characters, to be quoted in an error."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def translated(text: str, names: Names | None) -> tuple[str, dict[str, Callable[[], Any]]]:
    """Python source in which the debugger's names are identifiers, and what these stand for."""
    own: dict[str, Callable[[], Any]] = {}
    parts: list[str] = []
    after_operand = False
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadExpression(f"cannot understand {shortened(text)!r}")
        kind = match.lastgroup or ""
        meaning = None if after_operand else _meaning(match, names)
        if meaning is not None:
            name = f"__{len(own)}"
            own[name] = meaning
            parts.append(name)
            position = match.end()
            after_operand = True
            continue
        token = match[0]
        if token[0] in "%#" and len(token) > 1:  # a modulo, since an operand came before it
            token, kind = token[0], "other"
        parts.append(token)
        position += len(token)
        if kind != "space":
            after_operand = kind in ("word", "number", "string", "address") or token in (")", "]")
            after_operand = after_operand and token not in ("and", "or", "not", "if", "else", "in", "is")
    return "".join(parts), own


def _meaning(match: re.Match[str], names: Names | None) -> Callable[[], Any] | None:
    """What a token of the debugger's own stands for; None for tokens of Python. Without names it means nothing yet."""
    if names is None:
        own = ("location", "alias", "cast", "value", "address", "list")
        return _nothing if any(match[kind] for kind in own) else None
    if match["location"]:
        name = match["name"] if match["name"] is not None else match["name2"]
        return lambda: names.location(name)
    if match["alias"]:
        return lambda: names.alias(int(match["alias"]))
    if match["cast"]:
        address = match["cast"].split(":", 1)[0].split("@")[0]
        shape = tuple(int(d) for d in match["dims"].replace(" ", "").strip(",").split(",") if d)
        core = int(match["core"]) if match["core"] else None
        return lambda: names.memory(address, core, match["dtype"], shape)
    if match["value"]:
        return lambda: names.value(match["value"])
    if match["address"]:
        return lambda: names.at(match["address"])
    if match["list"]:
        return lambda: NameList(match["list"], names)
    return None


def _nothing() -> None:
    """What a name stands for while only the syntax is looked at."""


class NameList:
    """``in``, ``out`` or ``ref`` before it is indexed."""

    def __init__(self, kind: str, names: Names) -> None:
        self._kind = kind
        self._names = names

    def __getitem__(self, index: object) -> Value:
        values = self._names.values(self._kind)
        if not isinstance(index, int) or isinstance(index, bool):
            raise BadExpression(f"{self._kind}[...] takes one number")
        if not -len(values) <= index < len(values):
            have = f"there are {len(values)}, from 0" if values else "there are none"
            raise BadExpression(f"{self._kind}[{index}] does not exist here: {have}")
        return values[index]
