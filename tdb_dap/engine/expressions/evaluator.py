"""The expression language of watches, conditions, log messages and the console.

Python's syntax for arithmetic, comparison, slices and calls of listed NumPy functions, plus the names of the debugger:
``%173``, ``in[0]``, ``out[0]``, ``ref[0]``, ``ref(in[0])``, ``#loc("x")``, ``R0:f16[1,64,8,8]``. There are no
attributes, no statements and no other names, and sizes are bounded, so text from any source can be evaluated.
"""

from __future__ import annotations

import ast
import keyword
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tdb_dap.engine.expressions import lexer
from tdb_dap.engine.expressions.functions import FUNCTIONS, KEYWORDS, Budget, require_bounded, work_of
from tdb_dap.engine.expressions.lexer import NameList, Names, shortened, translated
from tdb_dap.engine.expressions.values import Value
from tdb_dap.errors import BadExpression, TdbError
from tdb_dap.system.patterns import pattern

_SIGNS = pattern(r"\w[/:.-]+\w|^/\w")
"""What names of tensors have that are no words."""

LONGEST = 4000
"""Characters of one expression."""

MOST_NODES = 500
"""Operations and operands of one expression."""

_LONGEST_REASON = 300
"""Characters of what NumPy has to say."""


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
_NOT_TENSORS = frozenset({"out", "ref", "input", "output", "weight", *_CONSTANTS, *FUNCTIONS, *KEYWORDS})
"""Words that never mean the tensor of this name."""


class NotYetComputed(BadExpression):
    """Numbers are asked for that no command has computed by this moment."""


def evaluate(text: str, names: Names, only_computed: bool = False) -> Value:
    """Value of ``text``; BadExpression, one line, for whatever is wrong with it.

    A text that is the name of a tensor as a whole means this tensor, whatever signs it has. What is computed from the
    numbers of a tensor that is not yet computed is not yet computed either: with ``only_computed`` that raises
    NotYetComputed, before anything is computed from them.
    """
    if (tensor := _named_so(text, names)) is not None:
        return _computed(tensor) if only_computed else tensor
    tree, own = _parsed(text, names)
    evaluator = _Evaluator(own, names, only_computed)
    with _refusing(text):
        result = evaluator.visit(tree.body)
        if isinstance(result, Value):
            return _computed(result) if only_computed else result
        if isinstance(result, NameList):
            raise BadExpression(f"{shortened(text)}: choose one, for instance {shortened(text)}[0]")
        array = np.asarray(result)
    return Value(text.strip(), lambda: array, pending=evaluator.is_pending)


def _computed(value: Value) -> Value:
    if value.pending:
        raise NotYetComputed(f"{value.title} is not yet computed")
    return value


def _named_so(text: str, names: Names) -> Value | None:
    """The tensor of a name that is no word: names of ONNX have slashes, colons and dots."""
    name = text.strip()
    if not _SIGNS.search(name) or len(name) > LONGEST:
        return None
    try:
        return names.location(name)
    except BadExpression:
        return None


@contextmanager
def _refusing(text: str) -> Iterator[None]:
    """NumPy raises nearly everything; to the user all of it is a wrong expression."""
    try:
        with np.errstate(all="ignore"):
            yield
    except TdbError:
        raise
    except MemoryError:
        raise BadExpression(f"{shortened(text)}: the result is too large") from None
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadExpression(f"{shortened(text)}: {message[:_LONGEST_REASON]}") from None


def evaluate_place(text: str, names: Names) -> tuple[Value, tuple[Any, ...]]:
    """A value that ``text`` names and the indices after it: ``in[0][2, :4]`` is the value in[0] and the index (2, :4).

    BadExpression if it computes something instead.
    """
    if (tensor := _named_so(text, names)) is not None:
        return tensor, ()
    tree, own = _parsed(text, names)
    with _refusing(text):
        value, index = _Evaluator(own, names).place(tree.body)
    if isinstance(value, NameList):
        raise BadExpression(f"{shortened(text)}: choose one, for instance {shortened(text)}[0]")
    if not isinstance(value, Value):
        raise BadExpression(f"{shortened(text)} is not a place in memory")
    return value, index


def pinned(text: str, moment: str, core: int) -> str:
    """The expression as one that means the same for the whole session; as it is if it cannot be understood.

    ``moment``: what its names need after them (``Scope.moment``); ``core``: whose local memory addresses mean.
    """
    try:
        return lexer.pinned(text, moment, core, _is_tensor)
    except BadExpression:
        return text


def _is_tensor(word: str) -> bool:
    return word.isidentifier() and not keyword.iskeyword(word) and word not in _NOT_TENSORS


def require_expression(text: str) -> None:
    """BadExpression if ``text`` can never be evaluated, whatever its names stand for."""
    _parsed(text, None)


def _parsed(text: str, names: Names | None) -> tuple[ast.Expression, dict[str, Callable[[], Any]]]:
    """Syntax tree of a text within the bounds, and what its identifiers of the debugger's own stand for."""
    if len(text) > LONGEST:
        raise BadExpression(f"the expression is longer than {LONGEST} characters")
    source, own = translated(text, names)
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadExpression(f"cannot understand {shortened(text)!r}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise BadExpression(f"the expression has more than {MOST_NODES} parts")
    return tree, own


class _Evaluator(ast.NodeVisitor):
    """Evaluates the node kinds listed here and refuses all others."""

    def __init__(self, own: dict[str, Callable[[], Any]], names: Names, only_computed: bool = False) -> None:
        self._own = own
        self._names = names
        self._only_computed = only_computed
        self._budget = Budget()
        self._units: dict[bool, str] = {}
        self.is_pending = False
        """Whether numbers of a tensor were used that is not yet computed."""

    def _numbers(self, value: Any) -> Any:
        """The array of a Value, and whether it is computed; anything else as it is."""
        if not isinstance(value, Value):
            return value
        if self._only_computed:
            _computed(value)
        self.is_pending |= value.pending
        return value.array

    def _note(self, value: Any) -> Any:
        """Refuse to compute with stored and with real numbers at once; BadExpression says how to write it."""
        if isinstance(value, Value) and (value.is_real or value.is_quantised):
            self._units.setdefault(value.is_real, value.title)
            if len(self._units) == 2:
                stored, real = shortened(self._units[False]), shortened(self._units[True])
                raise BadExpression(
                    f"{stored} holds stored numbers and {real} real ones; write real(...) around the first"
                )
        return value

    def generic_visit(self, node: ast.AST) -> Any:
        what = {"Attribute": "attributes (a.b)", "JoinedStr": "strings", "Lambda": "functions"}.get(
            type(node).__name__, type(node).__name__.lower()
        )
        raise BadExpression(f"expressions cannot use {what} here")

    def number(self, node: ast.AST) -> Any:
        """The operand as a number or array."""
        result = self._note(self.visit(node))
        if isinstance(result, NameList):
            raise BadExpression("in, out and ref are lists; choose one, for instance in[0]")
        return self._numbers(result)

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
        value = self.visit(node.value)
        index = self.visit(node.slice)
        if isinstance(value, NameList):
            return value[index]
        array = np.asarray(self._numbers(value))
        index = self._numbers(index)
        if isinstance(index, np.ndarray):
            self._budget.spend(work_of(None, index))
        part = array[index]
        if isinstance(value, Value) and (value.is_real or value.is_quantised):  # a part is still of the same unit
            return Value(value.title, lambda: part, None, value.named, value.pending, is_real=value.is_real)
        return part

    def place(self, node: ast.AST) -> tuple[Any, tuple[Any, ...]]:
        """Indexed expression, and all indices after it."""
        if not isinstance(node, ast.Subscript):
            return self.visit(node), ()
        value, steps = self.place(node.value)
        index = self.visit(node.slice)
        index = self._numbers(index)
        return (value[index], ()) if isinstance(value, NameList) else (value, (*steps, index))

    def visit_Slice(self, node: ast.Slice) -> slice:
        return slice(*(None if part is None else self.number(part) for part in (node.lower, node.upper, node.step)))

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.number(element) for element in node.elts)

    def visit_List(self, node: ast.List) -> Any:
        array = np.asarray([self.number(element) for element in node.elts])
        if array.dtype == np.object_:
            raise BadExpression("a list holds numbers of 64 bits at most")
        return array

    def _expected(self, node: ast.Call) -> Value:
        """``ref(%16)``."""
        argument = self.visit(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if not isinstance(argument, Value):
            raise BadExpression("ref(...) takes one tensor, such as ref(in[0]) or ref(%16); an index goes after it")
        return self._names.expected(argument)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "ref":
            return self._expected(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            named = repr(node.func.id) if isinstance(node.func, ast.Name) else "that"
            raise BadExpression(f"{named} is not a function here; there are {' '.join(sorted(FUNCTIONS))}")
        if any(keyword.arg not in KEYWORDS for keyword in node.keywords):
            raise BadExpression(f"{node.func.id}: keywords are {', '.join(sorted(KEYWORDS))}")
        function = FUNCTIONS[node.func.id]
        if function.of_shape:
            before = self.is_pending, self._only_computed
            self._only_computed = False
            sizes = function.call(*(self.number(argument) for argument in node.args))
            self.is_pending, self._only_computed = before
            return sizes
        if function.takes_values:
            return self._note(function.call(*(self.visit(argument) for argument in node.args)))
        arguments = [self.number(argument) for argument in node.args]
        if function.elementwise:
            require_bounded(None, *arguments)
        self._budget.spend(function.work * work_of(None, *arguments))
        return function.call(*arguments, **{str(k.arg): self.number(k.value) for k in node.keywords})
