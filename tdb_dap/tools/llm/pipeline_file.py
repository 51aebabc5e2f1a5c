"""Launches of the nets of one bmodel in an order of one's own, written in YAML or JSON.

A step is one of::

    - fill: net.tensor          # value: a number, a list, or FILE.npz:NAME
    - copy: net.tensor          # to: net.tensor
    - largest: net.tensor       # to: net.tensor; the index of the largest number
    - launch: net               # token: its number in the call stack, if it is for one
    - for: name                 # from: 0, until: 4, steps: [...]

``net:1`` is the second stage of a net, ``[first:stop]`` elements of a tensor. In braces stands arithmetic with the
names of the loops around: ``history_k[{64 * t}:{64 * t + 64}]``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.documents import read_document
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.program.schedule import Border, NetStep, Schedule, Step, copied, filled, largest
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadInput

_MOST_STEPS = 100_000
_MOST_TURNS = 4 * _MOST_STEPS
"""Of all loops together: one may be around another that has no steps."""
_MOST_PARTS = 50
_LARGEST = 1 << 62
_BORDER = re.compile(r"([^.:\[\]\s]+)(?::(\d+))?\.([^\[\]]+?)(?:\[(\d+):(\d+)\])?")
_NET = re.compile(r"([^.:\[\]\s]+)(?::(\d+))?")
_BRACES = re.compile(r"\{([^{}]*)\}")
_KEYS: dict[str, frozenset[str]] = {
    "fill": frozenset({"value"}),
    "copy": frozenset({"to"}),
    "largest": frozenset({"to"}),
    "launch": frozenset({"token"}),
    "for": frozenset({"from", "until", "steps"}),
}
_OPTIONAL = frozenset({"token", "from"})
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def read_pipeline(path: Path) -> Schedule:
    """The steps of a file; BadInput names the step that is wrong, and says what it may be."""
    schedule = _Reader(path).steps(read_document(path, limits.REPORT), "", {})
    steps: list[Step] = []
    for step in schedule:
        steps.append(step)
        if len(steps) > _MOST_STEPS:
            raise BadInput(f"{path}: has more than {_MOST_STEPS:,} steps")
    if not any(isinstance(step, NetStep) for step in steps):
        raise BadInput(f"{path}: launches no net; add a step such as 'launch: encoder'")
    return Schedule(tuple(steps))


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[Path, Mapping[str, Array]] = {}
        self._turns = 0

    def steps(self, given: Any, where: str, names: Mapping[str, int]) -> Iterator[Step]:
        """``where``: the steps around, ``3.1``; ``names``: numbers of the loops around."""
        if not isinstance(given, list) or not given:
            raise self._bad(where, "is no list of steps")
        for number, one in enumerate(given, 1):
            yield from self._step(one, f"{where}.{number}" if where else str(number), names)

    def _step(self, one: Any, where: str, names: Mapping[str, int]) -> Iterator[Step]:
        kinds = [kind for kind in _KEYS if isinstance(one, dict) and kind in one]
        if len(kinds) != 1:
            raise self._bad(where, f"is none of {', '.join(_KEYS)}: {quoted(str(one)[:80])}")
        kind = kinds[0]
        keys = set(one) - {kind}
        if unknown := sorted(map(str, keys - _KEYS[kind])):
            raise self._bad(where, f"{kind} has no {', '.join(unknown)}; it has {', '.join(sorted(_KEYS[kind]))}")
        if missing := sorted(_KEYS[kind] - keys - _OPTIONAL):
            raise self._bad(where, f"{kind} lacks {', '.join(missing)}")
        if kind == "for":
            yield from self._loop(one, where, names)
        elif kind == "launch":
            match = _NET.fullmatch(self._text(one[kind], where, names))
            if match is None:
                raise self._bad(where, f"{quoted(str(one[kind]))} is no net; write net or net:STAGE")
            token = self._number(one["token"], where, names) if "token" in one else None
            yield NetStep(match[1], int(match[2] or 0), token)
        elif kind == "fill":
            yield filled(self._border(one[kind], where, names), self._value(one["value"], where, names))
        else:
            make = copied if kind == "copy" else largest
            yield make(self._border(one[kind], where, names), self._border(one["to"], where, names))

    def _loop(self, one: Mapping[str, Any], where: str, names: Mapping[str, int]) -> Iterator[Step]:
        name = one["for"]
        if not isinstance(name, str) or not name.isidentifier():
            raise self._bad(where, f"{quoted(str(name))} is no name for a loop")
        start = self._number(one.get("from", 0), where, names)
        stop = self._number(one["until"], where, names)
        if stop - start > _MOST_STEPS:
            raise self._bad(where, f"runs {stop - start:,} times; at most {_MOST_STEPS:,}")
        for value in range(start, stop):
            self._turns += 1
            if self._turns > _MOST_TURNS:
                raise self._bad(where, f"all loops together run more than {_MOST_TURNS:,} times")
            yield from self.steps(one["steps"], where, {**names, name: value})

    def _border(self, given: Any, where: str, names: Mapping[str, int]) -> Border:
        match = _BORDER.fullmatch(self._text(given, where, names))
        if match is None:
            raise self._bad(where, f"{quoted(str(given))} is no tensor; write net.tensor, or net.tensor[first:stop]")
        first = int(match[4] or 0)
        count = int(match[5]) - first if match[5] is not None else None
        if count is not None and count < 1:
            raise self._bad(where, f"{quoted(str(given))} has no elements")
        return Border(match[1], match[3], first, count, int(match[2] or 0))

    def _value(self, given: Any, where: str, names: Mapping[str, int]) -> Array:
        text = self._text(given, where, names) if isinstance(given, str) else ""
        path, _, name = text.rpartition(":")
        if path.endswith(".npz"):
            return self._array(Path(path), name, where)
        try:
            numbers = np.asarray(self._number(given, where, names) if text else given)
        except ValueError:
            numbers = np.asarray(None)
        if numbers.dtype.kind not in "iuf":
            raise self._bad(where, f"{quoted(str(given)[:80])} is no number, no list of them and no FILE.npz:NAME")
        return numbers

    def _array(self, path: Path, name: str, where: str) -> Array:
        file = self._path.parent / path.expanduser()
        try:
            arrays = self._files.setdefault(file, read_npz(file))
        except BadInput as error:
            raise self._bad(where, str(error)) from None
        if name not in arrays:
            raise self._bad(where, f"{file} has no {quoted(name)}; it has {', '.join(list(arrays)[:6])}")
        return arrays[name]

    def _text(self, given: Any, where: str, names: Mapping[str, int]) -> str:
        if not isinstance(given, str):
            raise self._bad(where, f"{quoted(str(given)[:80])} is no name")
        return _BRACES.sub(lambda match: str(self._computed(match[1], where, names)), given.strip())

    def _number(self, given: Any, where: str, names: Mapping[str, int]) -> int:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        text = self._text(given, where, names)
        try:
            return int(text)
        except ValueError:
            raise self._bad(where, f"{quoted(str(given)[:80])} is no whole number") from None

    def _computed(self, text: str, where: str, names: Mapping[str, int]) -> int:
        try:
            tree = ast.parse(text.strip(), mode="eval")
            if sum(1 for _ in ast.walk(tree)) <= _MOST_PARTS:
                return _arithmetic(tree.body, names)
        except (SyntaxError, ValueError, ArithmeticError, LookupError, RecursionError):
            pass
        known = f" of {', '.join(names)}" if names else ""
        raise self._bad(where, f"{{{text}}} cannot be computed; it is arithmetic (+ - * // %) of numbers{known}")

    def _bad(self, where: str, what: str) -> BadInput:
        return BadInput(f"{self._path}: {f'step {where} ' if where else ''}{what}")


def _arithmetic(node: ast.expr, names: Mapping[str, int]) -> int:
    """ValueError, LookupError or ArithmeticError for what is none."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_arithmetic(node.operand, names)
    if isinstance(node, ast.BinOp):
        value = _OPERATORS[type(node.op)](_arithmetic(node.left, names), _arithmetic(node.right, names))
        if abs(value) <= _LARGEST:
            return value
    raise ValueError
