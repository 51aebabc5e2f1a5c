"""The expression language of watches, conditions, log messages and the console.

Python's syntax for arithmetic, comparison, slices and calls of listed NumPy functions, plus the names of the debugger:
``%173``, ``in[0]``, ``out[0]``, ``ref[0]``, ``ref(in[0])``, ``#loc("x")``, ``R0:f16[1,64,8,8]``. There are no
attributes, no statements and no other names, and sizes are bounded, so text from any source can be evaluated.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from tdb_dap.engine.addresses import ADDRESS
from tdb_dap.engine.expression_functions import FUNCTIONS, KEYWORDS, Budget, require_bounded, work_of
from tdb_dap.engine.values import Value
from tdb_dap.errors import BadExpression, TdbError

LONGEST = 4000
"""Characters of one expression."""

MOST_NODES = 500
"""Operations and operands of one expression."""


_LONGEST_REASON = 300
"""Characters of what NumPy has to say."""


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
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CONSTANTS: dict[str, Any] = {
    "True": True,
    "False": False,
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "pi": np.pi,
}


def evaluate(text: str, names: Names) -> Value:
    """Value of ``text``; BadExpression, one line, for whatever is wrong with it."""
    tree, own = _parsed(text, names)
    with _refusing(text):
        result = _Evaluator(own, names).visit(tree.body)
        if isinstance(result, Value):
            return result
        if isinstance(result, _List):
            raise BadExpression(f"{_short(text)}: choose one, for instance {_short(text)}[0]")
        array = np.asarray(result)
    return Value(text.strip(), lambda: array)


@contextmanager
def _refusing(text: str) -> Iterator[None]:
    """NumPy raises nearly everything; to the user all of it is a wrong expression."""
    try:
        with np.errstate(all="ignore"):
            yield
    except TdbError:
        raise
    except MemoryError:
        raise BadExpression(f"{_short(text)}: the result is too large") from None
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadExpression(f"{_short(text)}: {message[:_LONGEST_REASON]}") from None


def evaluate_place(text: str, names: Names) -> tuple[Value, tuple[Any, ...]]:
    """A value that ``text`` names and the indices behind it: ``in[0][2, :4]`` is the value in[0] and the index (2, :4).

    BadExpression if it computes something instead.
    """
    tree, own = _parsed(text, names)
    with _refusing(text):
        found, index = _Evaluator(own, names).place(tree.body)
    if isinstance(found, _List):
        raise BadExpression(f"{_short(text)}: choose one, for instance {_short(text)}[0]")
    if not isinstance(found, Value):
        raise BadExpression(f"{_short(text)} is not a place in memory")
    return found, index


def require_expression(text: str) -> None:
    """BadExpression if ``text`` can never be evaluated, whatever its names stand for."""
    _parsed(text, None)


def _parsed(text: str, names: Names | None) -> tuple[ast.Expression, dict[str, Callable[[], Any]]]:
    """Syntax tree of a text within the bounds, and what its identifiers of the debugger's own stand for."""
    if len(text) > LONGEST:
        raise BadExpression(f"the expression is longer than {LONGEST} characters")
    source, own = _translate(text, names)
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadExpression(f"cannot understand {_short(text)!r}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise BadExpression(f"the expression has more than {MOST_NODES} parts")
    return tree, own


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def _translate(text: str, names: Names | None) -> tuple[str, dict[str, Callable[[], Any]]]:
    """Python source in which the debugger's names are identifiers, and what these stand for."""
    own: dict[str, Callable[[], Any]] = {}
    parts: list[str] = []
    after_operand = False
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise BadExpression(f"cannot understand {_short(text)!r}")
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
        return lambda: _List(match["list"], names)
    return None


def _nothing() -> None:
    """What a name stands for while only the syntax is looked at."""


class _List:
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


class _Evaluator(ast.NodeVisitor):
    """Evaluates the node kinds listed here and refuses all others."""

    def __init__(self, own: dict[str, Callable[[], Any]], names: Names) -> None:
        self._own = own
        self._names = names
        self._budget = Budget()

    def generic_visit(self, node: ast.AST) -> Any:
        what = {"Attribute": "attributes (a.b)", "JoinedStr": "strings", "Lambda": "functions"}.get(
            type(node).__name__, type(node).__name__.lower()
        )
        raise BadExpression(f"expressions cannot use {what} here")

    def number(self, node: ast.AST) -> Any:
        """The operand as a number or array."""
        result = self.visit(node)
        if isinstance(result, _List):
            raise BadExpression("in, out and ref are lists; choose one, for instance in[0]")
        return result.array if isinstance(result, Value) else result

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bool, int, float)) or node.value is None:
            return node.value
        raise BadExpression("expressions hold numbers only")

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self._own:
            return self._own[node.id]()
        if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        if node.id in FUNCTIONS:
            raise BadExpression(f"{node.id} is a function; write {node.id}(...)")
        return self._names.location(node.id)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        apply = _OPERATORS[type(node.op)]
        left, right = self.number(node.left), self.number(node.right)
        require_bounded(node.op, left, right)
        self._budget.spend(work_of(node.op, left, right))
        return apply(left, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operand = self.number(node.operand)
        self._budget.spend(work_of(None, operand))
        if isinstance(node.op, ast.Not):
            return not operand
        if isinstance(node.op, ast.Invert):
            return ~operand if not isinstance(operand, bool) else not operand
        return -operand if isinstance(node.op, ast.USub) else +operand

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        result: Any = None
        for part in node.values:
            result = self.number(part)
            if bool(result) != isinstance(node.op, ast.And):
                break
        return result

    def visit_Compare(self, node: ast.Compare) -> Any:
        left, result = self.number(node.left), None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            if type(op) not in _COMPARISONS:
                raise BadExpression("comparisons are ==, !=, <, <=, > and >=")
            right = self.number(comparator)
            require_bounded(None, left, right)
            self._budget.spend(work_of(None, left, right))
            this = _COMPARISONS[type(op)](left, right)
            result = this if result is None else np.logical_and(result, this)
            left = right
        return result

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self.visit(node.body if self.number(node.test) else node.orelse)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        whole = self.visit(node.value)
        index = self.visit(node.slice)
        if isinstance(whole, _List):
            return whole[index]
        array = np.asarray(whole.array if isinstance(whole, Value) else whole)
        if isinstance(index, Value | np.ndarray):
            self._budget.spend(work_of(None, index.array if isinstance(index, Value) else index))
        return array[index.array if isinstance(index, Value) else index]

    def place(self, node: ast.AST) -> tuple[Any, tuple[Any, ...]]:
        """What is indexed, and all indices behind it."""
        if not isinstance(node, ast.Subscript):
            return self.visit(node), ()
        whole, steps = self.place(node.value)
        index = self.visit(node.slice)
        index = index.array if isinstance(index, Value) else index
        return (whole[index], ()) if isinstance(whole, _List) else (whole, (*steps, index))

    def visit_Slice(self, node: ast.Slice) -> slice:
        return slice(*(None if part is None else self.number(part) for part in (node.lower, node.upper, node.step)))

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.number(element) for element in node.elts)

    def visit_List(self, node: ast.List) -> Any:
        return np.asarray([self.number(element) for element in node.elts])

    def _expected(self, node: ast.Call) -> Value:
        """``ref(%16)``."""
        found = self.visit(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(found, Value):
            raise BadExpression("ref(...) takes one tensor, such as ref(in[0]) or ref(%16); an index goes behind it")
        return self._names.expected(found)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "ref":
            return self._expected(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            named = repr(node.func.id) if isinstance(node.func, ast.Name) else "that"
            raise BadExpression(f"{named} is not a function here; there are {' '.join(sorted(FUNCTIONS))}")
        if any(keyword.arg not in KEYWORDS for keyword in node.keywords):
            raise BadExpression(f"{node.func.id}: keywords are {', '.join(sorted(KEYWORDS))}")
        function = FUNCTIONS[node.func.id]
        if function.takes_values:
            return function.call(*(self.visit(argument) for argument in node.args))
        arguments = [self.number(argument) for argument in node.args]
        if function.elementwise:
            require_bounded(None, *arguments)
        self._budget.spend(function.work * work_of(None, *arguments))
        return function.call(*arguments, **{str(k.arg): self.number(k.value) for k in node.keywords})
