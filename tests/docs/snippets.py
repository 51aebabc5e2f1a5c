"""Snippets of the pages on editors, read by a parser of their own language into plain values.

Values are dicts, lists, strings, numbers and booleans; what is not a constant (a call, a variable) is its source text
or None.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sexpdata
import tomli
import yaml
from luaparser import ast as lua
from luaparser import astnodes

from scripts.generated import ROOT

PROGRAM = "tdb-dap"


@dataclass(frozen=True)
class Snippet:
    """A fenced block of a page, or a whole file.

    where: page and line, or the file. language: as the fence says it, or the file's ending. text: what is in it.
    """

    where: str
    language: str
    text: str

    def values(self) -> list[Any]:
        """Everything in it; raises what the parser raises if it is not well-formed."""
        return READERS[self.language](self.text)


def of_page(page: Path) -> list[Snippet]:
    """The fenced blocks of a page."""
    text = page.read_text("utf-8")
    blocks = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    name = page.relative_to(ROOT).as_posix()
    return [Snippet(f"{name}:{text[: match.start()].count(chr(10)) + 1}", match[1], match[2]) for match in blocks]


def of_file(file: Path) -> Snippet:
    """A file as one snippet."""
    return Snippet(file.relative_to(ROOT).as_posix(), file.suffix[1:], file.read_text("utf-8"))


def _lua(text: str) -> list[Any]:
    tables = [node for node in lua.walk(lua.parse(text)) if isinstance(node, astnodes.Table | astnodes.Call)]
    inner = {id(field.value) for node in tables if isinstance(node, astnodes.Table) for field in node.fields}
    return [_lua_value(node) for node in tables if isinstance(node, astnodes.Table) and id(node) not in inner]


def _lua_value(node: Any) -> Any:
    if isinstance(node, astnodes.Table):
        named = {_lua_key(field): _lua_value(field.value) for field in node.fields if _lua_key(field) is not None}
        return named or [_lua_value(field.value) for field in node.fields]
    if isinstance(node, astnodes.String):
        return node.raw
    if isinstance(node, astnodes.Number):
        return node.n
    if isinstance(node, astnodes.TrueExpr | astnodes.FalseExpr):
        return isinstance(node, astnodes.TrueExpr)
    return None


def _lua_key(field: Any) -> str | None:
    """Name of a field; None for an item of a list."""
    key = field.key
    if isinstance(key, astnodes.Name):
        return str(key.id)
    return key.raw if isinstance(key, astnodes.String) else None


def _elisp(text: str) -> list[Any]:
    return [_elisp_value(form) for form in sexpdata.parse(text)]


def _elisp_value(form: Any) -> Any:
    if isinstance(form, sexpdata.Quoted):
        return _elisp_value(form.x)
    if isinstance(form, sexpdata.Symbol):
        name = form.value()
        return False if name == ":json-false" else name
    if not isinstance(form, list):
        return form
    plist: dict[str, Any] = {}
    rest = []
    items = iter(form)
    for item in items:
        name = item.value() if isinstance(item, sexpdata.Symbol) else ""
        if name.startswith(":") or name in DAPE:
            plist[name.removeprefix(":")] = _elisp_value(next(items))
        else:
            rest.append(_elisp_value(item))
    return {**plist, "": rest} if plist else rest


DAPE = ("command", "command-args")
"""dape's own properties, which have no colon."""


def _sh(text: str) -> list[Any]:
    lines = [shlex.split(line, comments=True) for line in text.replace("\\\n", "").splitlines()]
    return [line for line in lines if line]


READERS: dict[str, Callable[[str], list[Any]]] = {
    "lua": _lua,
    "elisp": _elisp,
    "json": lambda text: [json.loads(text)],
    "toml": lambda text: [tomli.loads(text)],
    "yaml": lambda text: [yaml.safe_load(text)],
    "sh": _sh,
}


def nested(value: Any) -> Iterator[Any]:
    """A value and all that is in it."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from nested(item)


def configurations(values: list[Any]) -> list[dict[str, Any]]:
    """Every launch or attach configuration, its ``request`` and the fields that the adapter gets."""
    found = []
    for value in nested(values):
        if not isinstance(value, dict):
            continue
        fields = {name: inner for name, inner in value.items() if name not in ("", *CLIENTS_OWN)}
        if value.get("request") in ("launch", "attach"):
            if "completion" in value:  # Helix: a template, whose arguments stand apart
                fields = {"request": value["request"], **value["args"]}
            found.append(fields)
        elif value.get("command") in ("launch", "attach"):  # Kate: the request as it is sent
            found.append({"request": value["command"], **fields})
    return found


CLIENTS_OWN = ("label", "adapter", "dap-server-path", "command", "command-args")
"""Keys of a configuration that a client keeps for itself: two of Zed, one of dap-mode, two of dape."""


def command_lines(values: list[Any]) -> list[list[str]]:
    """Every command line that starts our program, without its name."""
    found = []
    for value in nested(values):
        if isinstance(value, dict) and value.get("command") == PROGRAM:
            arguments = value["args"] if "args" in value else value["command-args"]
            found.append([str(part) for part in arguments])
        elif isinstance(value, list) and PROGRAM in value:
            after = value[value.index(PROGRAM) + 1 :]
            found.append([str(part) for part in after if isinstance(part, str)])
        elif isinstance(value, str) and value.startswith(f"{PROGRAM} "):
            found.append(shlex.split(value)[1:])
    return found
