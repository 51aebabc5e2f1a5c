"""The debugger's own names in the text of an expression: found, and replaced by identifiers that Python knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.hardware.addresses import ADDRESS
from tdb_dap.errors import BadExpression
from tdb_dap.system.patterns import pattern

Level = Literal["command", "op"]
"""Whether ``in`` and ``out`` mean the operands of the hardware command or of the op in final.mlir."""


class Names(Protocol):
    """Lookup of the debugger's own names. Each raises BadExpression for what does not exist."""

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
        """Expected value of a tensor that has a name."""
        ...

    def border(self, kind: str, name: str) -> Value:
        """An ``input`` or ``output`` of the net or of the subnet in focus, or a ``weight``."""
        ...

    def seen_from(self, focus: int, level: Level, line: int | None) -> Names:
        """The names as a command sees them, whatever has been executed; BadExpression if there is no such command."""
        ...


_TOKEN = pattern(
    rf"""
      (?P<string>"[^"]*"|'[^']*')
    | (?P<location>\#loc\(\s*(?:"(?P<name>[^"]*)"|'(?P<name2>[^']*)')\s*\)) | \#loc\(?\s*(?P<alias>\d+)\s*\)?
    | (?P<border>\b(?:input|output|weight)\b)\s*\(\s*(?:"(?P<border1>[^"]*)"|'(?P<border2>[^']*)')\s*\)
    | (?P<cast>%?{ADDRESS}(?:@core(?P<core>\d+))?:(?P<dtype>[a-z]\w*)\[(?P<dims>[\d,\s]+)\])
    | (?P<value>%(?![RGSL]\d)\w+(?:\#\d+)?)
    | (?P<address>%?{ADDRESS}(?![\w:]))
    | (?P<item>\b(?:in|out|ref)\b)\s*\[\s*(?P<number0>-?\d+)\s*\](?=@(?:op)?\d)
    | (?P<list>\b(?:in|out|ref)(?=\s*\[))
    | (?P<tensor>\b[A-Za-z_]\w*(?:\.\w+)*)(?=@(?:op)?\d)
    | (?P<dotted>\b[A-Za-z_]\w*(?:\.\w+)+)
    | (?P<word>[A-Za-z_]\w*) | (?P<number>(?:\d[\w.]*|\.\d\w*)(?:(?<=[eE])[+-]\d+)?)
    | (?P<space>\s+) | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_MOMENT = pattern(r"@(?P<op>op)?(?P<focus>\d{1,12})(?::(?P<line>\d{1,12}))?(?!\w)")
"""What may follow a name: the command that sees it, ``@202``; its op, ``@op202``; from a line, ``@202:40``."""

_DEPENDENT = ("location", "alias", "border", "value", "address", "item", "list", "tensor", "dotted")
"""Tokens whose meaning depends on where the program stands."""


def shortened(text: str) -> str:
    """The text in one line of 60 characters, to be quoted in an error."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def translated(text: str, names: Names | None) -> tuple[str, dict[str, Callable[[], Any]]]:
    """Python source in which the debugger's names are identifiers, and what these stand for."""
    own: dict[str, Callable[[], Any]] = {}
    parts: list[str] = []
    for token in _tokens(text):
        meaning = _meaning(token, names) if token.match is not None else None
        if meaning is None:
            parts.append(token.text)
            continue
        name = f"__{len(own)}"
        own[name] = meaning
        parts.append(name)
    return "".join(parts), own


def pinned(text: str, moment: str, core: int, is_tensor: Callable[[str], bool]) -> str:
    """The expression with every name that depends on where the program stands tied to a moment, such as ``@202``.

    ``core``: whose local memory an address without a core means; ``is_tensor``: whether a plain word is a tensor.
    """
    parts: list[str] = []
    tokens = list(_tokens(text))
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if token.match is None:
            parts.append(f'#loc("{token.text}"){moment}' if is_tensor(token.text) else token.text)
        elif token.match["cast"]:
            address, colon, rest = token.text.partition(":")
            parts.append(address + ("" if "@" in address else f"@core{core}") + colon + rest)
        elif token.match["list"]:  # in[0]: the moment follows the index
            closing = next((i for i in range(position, len(tokens)) if tokens[i].text == "]"), None)
            inside = tokens[position : closing + 1] if closing is not None else []
            parts += [token.text, *(each.text for each in inside), moment if inside else ""]
            position += len(inside)
        else:
            parts += [token.text, "" if token.moment is not None else moment]
    return "".join(parts)


def places_in(text: str) -> list[str]:
    """The places that an expression names by address and type, such as ``R0x1000:f32[16]``, in their order."""
    return [token.text for token in _tokens(text) if token.match is not None and token.match["cast"]]


def names_operands(text: str) -> bool:
    """Whether an expression names ``in``, ``out`` or ``ref`` of where the program stands."""
    return any(token.match is not None and (token.match["list"] or token.match["item"]) for token in _tokens(text))


def words_in(text: str) -> set[str]:
    """The plain words of an expression: functions, constants and tensors with such names."""
    return {token.text for token in _tokens(text) if token.match is None and token.text.isidentifier()}


class _Token(Struct, frozen=True):
    """A piece of an expression."""

    text: str
    match: re.Match[str] | None = None
    """Match of a name of the debugger's own."""
    moment: re.Match[str] | None = None
    """What ties it to a command."""


def _tokens(text: str) -> Iterator[_Token]:
    after_operand = False
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadExpression(f"cannot understand {shortened(text)!r}")
        kind = match.lastgroup or ""
        token = match[0]
        if not after_operand and (match["cast"] or any(match[name] for name in _DEPENDENT)):
            moment = None if match["cast"] or match["list"] else _MOMENT.match(text, match.end())
            position = moment.end() if moment else match.end()
            yield _Token(text[match.start() : position], match, moment)
            after_operand = True
            continue
        if token[0] in "%#" and len(token) > 1:  # a modulo, since an operand came before it
            token, kind = token[0], "other"
        elif match["item"] or match["border"]:
            token, kind = match["item"] or match["border"], "word"
        yield _Token(token)
        position += len(token)
        if kind != "space":
            after_operand = kind in ("word", "number", "string", "address") or token in (")", "]")
            after_operand = after_operand and token not in ("and", "or", "not", "if", "else", "in", "is")


def _meaning(token: _Token, names: Names | None) -> Callable[[], Any]:
    """Value of a token of the debugger's own; without names only its syntax counts."""
    match, moment = token.match, token.moment
    if names is None or match is None:
        return _nothing
    known = names
    if moment is not None:
        line = int(moment["line"]) if moment["line"] else None
        level: Level = "op" if moment["op"] or line is not None else "command"
        known = names.seen_from(int(moment["focus"]), level, line)
    if match["location"]:
        name = match["name"] if match["name"] is not None else match["name2"]
        return lambda: known.location(name)
    if match["alias"]:
        return lambda: known.alias(int(match["alias"]))
    if match["border"]:
        border = match["border1"] if match["border1"] is not None else match["border2"]
        return lambda: known.border(match["border"], border)
    if match["cast"]:
        address = match["cast"].split(":", 1)[0].split("@")[0]
        shape = tuple(int(d) for d in "".join(match["dims"].split()).split(",") if d)
        core = int(match["core"]) if match["core"] else None
        return lambda: known.memory(address, core, match["dtype"], shape)
    if match["value"]:
        return lambda: known.value(match["value"])
    if match["tensor"]:
        return lambda: known.location(match["tensor"])
    if match["dotted"]:
        return lambda: _dotted(match["dotted"], known)
    if match["address"]:
        return lambda: known.at(match["address"])
    if match["item"]:
        return lambda: NameList(match["item"], known)[int(match["number0"])]
    return lambda: NameList(match["list"], known)


def _dotted(name: str, names: Names) -> Value:
    """The tensor of a name with dots, which is not Python's attribute of anything."""
    try:
        return names.location(name)
    except BadExpression as error:
        raise BadExpression(f"{error}, and expressions cannot use attributes (a.b)") from None


def _nothing() -> None:
    """Stand-in for a name while only the syntax is checked."""


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
