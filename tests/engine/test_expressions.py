"""The expression language: what it can say, and what it refuses in one line."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np
import pytest

from tdb_dap.engine.expressions.evaluator import _COMPARISONS, _OPERATORS, _Evaluator, evaluate, pinned
from tdb_dap.engine.expressions.values import Value, array_text, number_text
from tdb_dap.engine.hardware.dtypes import BY_NAME, DType
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.errors import BadExpression
from tdb_dap.targets.chips.registry import chips

A = np.arange(12, dtype=np.float32).reshape(3, 4)


class Names:
    """A place with one tensor under every kind of name."""

    def value(self, name: str) -> Value:
        return Value(name, A.view)

    def values(self, kind: str) -> Sequence[Value]:
        return [Value(kind, A.view), Value(kind, (A + 1).view)]

    def location(self, name: str) -> Value:
        if name not in ("x", "conv1 [2]"):
            raise BadExpression(f"there is no tensor named {name!r}")
        return Value(name, A.view)

    def alias(self, number: int) -> Value:
        return Value(f"#loc{number}", lambda: np.asarray(number))

    def memory(self, address: str, core: int | None, dtype: str, shape: tuple[int, ...]) -> Value:
        return Value(f"{address} {core} {dtype} {shape}", lambda: np.zeros(shape))

    def at(self, address: str) -> Value:
        return Value(address, A.view)

    def expected(self, value: Value) -> Value:
        return Value(f"ref {value.title}", lambda: value.array + 1)

    def border(self, kind: str, name: str) -> Value:
        return Value(f"{kind} {name}", A.view)

    def seen_from(self, focus: int, level: str, line: int | None) -> Names:
        return Moment(focus)


class Moment(Names):
    """The same names at another moment, where the numbers are those of the moment more."""

    def __init__(self, focus: int) -> None:
        self.focus = focus

    def values(self, kind: str) -> Sequence[Value]:
        return [Value(kind, lambda: A + 10 * self.focus)]

    def value(self, name: str) -> Value:
        return Value(name, lambda: A + 4 * self.focus)


def result(text: str) -> object:
    return evaluate(text, Names()).array.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("7 % 3", 1),
        ("7 %3", 1),
        ("%5[0, 1] % 2", 1.0),
        ("in[0][2, 3]", 11.0),
        ("in [1][0][0]", 1.0),
        ("out[-1][0, 0]", 1.0),
        ("ref[0][0, :2]", [0.0, 1.0]),
        ("ref(in[0])[2, 3] - ref (%5)[0, 0]", 11.0),
        ('#loc("x")[1, 1]', 5.0),
        ('#loc("conv1 [2]")[1, 1]', 5.0),
        ("#loc(3) + #loc4", 7),
        ("x[0, 1] == 1", True),
        ("max(abs(x - %1)) < 1e-6", True),
        ("1 < 2 < 3 and not 0", True),
        ("R0[0, 1]", 1.0),
        ("%R4.64[0, 1]", 1.0),
        ("shape(R1.0x40:f16[1, 2, 3])", [1, 2, 3]),
        ("sum(x, axis=1)[0]", 6.0),
        ("x[1:, ::2]", [[4.0, 6.0], [8.0, 10.0]]),
        ("where(x[0] > 1, 1, 0)", [0, 0, 1, 1]),
        ("5 if sum(x) > 0 else 6", 5),
        ("cosine(x, x)", 1.0),
        ("len(x)", 3),
        ("-3 ** 2", -9),
        ("max([1, 2, 3])", 3),
        ("x[0, [0, 1]]", [0.0, 1.0]),
        ("[1, 2][1]", 2),
        ("~5 + +2", -4),
        ("in[0]@7[1, 1] + %5@op7[0, 0] + R0@3:4[0, 0]", 103.0),
        ('input("x")[0, 1] + weight("w")@2[1, 0]', 5.0),
    ],
)
def test_it_says(text: str, expected: object) -> None:
    assert result(text) == pytest.approx(expected) if isinstance(expected, float) else result(text) == expected


def test_a_bare_name_keeps_its_place() -> None:
    assert evaluate("%173", Names()).title == "%173"
    assert evaluate("R0@core1:f16[1,64,8,8]", Names()).title == "R0 1 f16 (1, 64, 8, 8)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot understand"),
        ("1 +", "cannot understand"),
        ("in", "cannot understand"),
        ("out[0", "cannot understand"),
        ("out", "no tensor named 'out'"),
        ("in[9]", "in[9] does not exist here: there are 2, from 0"),
        ("in[0:1]", "takes one number"),
        ("nothing", "no tensor named 'nothing'"),
        ("x.shape", "attributes"),
        ("().__class__", "attributes"),
        ("__import__('os')", "not a function here"),
        ("open('x')", "not a function here"),
        ("'text'", "numbers only"),
        ("lambda: 1", "cannot use"),
        ("[i for i in x]", "cannot use"),
        ("f'{x}'", "cannot use"),
        ("(y := 3)", "cannot use"),
        ("sum(x, out=x)", "keywords are axis, keepdims"),
        ("max", "max is a function"),
        ("ref(x[0])", "an index goes after it"),
        ("ref(x, x)", "takes one tensor"),
        ("ref(3)", "takes one tensor"),
        ("x + x[:2]", "cannot be broadcast"),
        ("x[99]", "out of bounds"),
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "too large"),
        ("1 << 10 ** 6", "too large"),
        ("x[0][:, None] * " * 3 + "x", "cannot"),
        ("(" * 5000, "longer than"),
        ("+".join("1" * 600), "more than 500 parts"),
        ("R0:f16[1,2", "cannot understand"),
        ("x and x", "ambiguous"),
        ("🙂", "cannot understand"),
    ],
)
def test_it_refuses(text: str, message: str) -> None:
    with pytest.raises(BadExpression) as refused:
        evaluate(text, Names())
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_results_are_bounded() -> None:
    class Big(Names):
        def location(self, name: str) -> Value:
            return Value(name, np.zeros(1 << 15, np.int8).view)

    with pytest.raises(BadExpression, match="1,073,741,824 elements"):
        evaluate("a[:, None] + a", Big())


def test_texts_of_values() -> None:
    assert Value("v", A.view).text() == "f32[3,4] min 0 max 11 mean 5.5"
    assert Value("v", A[0].view, pending=True).text() == "f32[4] (not yet computed)"
    broken = np.array([np.nan, np.inf, 1, -2] * 3, np.float32)
    assert Value("v", broken.view).text() == "f32[12] min -2 max 1 mean -0.5 NaN 3 Inf 3"
    assert Value("v", np.full(9, np.nan).view).text() == "f64[9] NaN 9"
    assert Value("v", np.zeros((0, 4)).view).text() == "f64[0,4] []"
    assert Value("v", np.array(3, np.int8).view).text() == "3"


def test_numbers_are_shortest_and_exact() -> None:
    assert number_text(np.float32(0.1)) == "0.1"
    assert number_text(np.float16(0.1)) == "0.1"
    assert number_text(np.float32(1e-42)) == "1e-42"
    assert np.float32(number_text(np.float32(16777217.0))) == np.float32(16777217.0)
    assert array_text(np.array([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"


# A form of the grammar is a method named after a node of Python's syntax; these two tests walk all of them.

FORMS = {
    "Constant": "3",
    "Name": "x",
    "BinOp": "1 + 2",
    "UnaryOp": "-1",
    "BoolOp": "1 and 2",
    "Compare": "1 < 2",
    "IfExp": "1 if 2 else 3",
    "Subscript": "x[0]",
    "Slice": "x[0:1]",
    "Tuple": "x[0, 1]",
    "List": "max([1, 2])",
    "Call": "max(x)",
}


def test_every_form_of_the_grammar_has_an_example() -> None:
    visits = {name.removeprefix("visit") for name in vars(_Evaluator) if name.startswith("visit")}
    assert visits == {f"_{form}" for form in FORMS}


@pytest.mark.parametrize(("form", "text"), FORMS.items())
def test_a_form_of_the_grammar_is_what_python_calls_it(form: str, text: str) -> None:
    assert form in {type(node).__name__ for node in ast.walk(ast.parse(text, mode="eval"))}
    assert result(text) is not None


@pytest.mark.parametrize("operation", [*_OPERATORS, *_COMPARISONS], ids=lambda operation: operation.__name__)
def test_every_operation_is_computed_as_python_does(operation: type[ast.AST]) -> None:
    left, right = ast.Constant(6), ast.Constant(2)
    made = operation()
    if isinstance(made, ast.MatMult):
        assert result("x[0] @ x[1]") == 38.0
        return
    node: ast.expr
    if isinstance(made, ast.operator):
        node = ast.BinOp(left, made, right)
    else:
        assert isinstance(made, ast.cmpop)
        node = ast.Compare(left, [made], [right])
    text = ast.unparse(ast.fix_missing_locations(ast.Expression(node)))
    assert result(text) == eval(text)


# Names that keep their meaning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in[0]", "in[0]@5"),
        ("in[0][2, :4] + ref[1]", "in[0]@5[2, :4] + ref[1]@5"),
        ("%16 - ref(%16)", "%16@5 - ref(%16@5)"),
        ("%11#1 % 2", "%11#1@5 % 2"),
        ("in[0]@op3 + %4@7:2", "in[0]@op3 + %4@7:2"),
        ('#loc("a b") * #loc(3)', '#loc("a b")@5 * #loc(3)@5'),
        ("relu4", '#loc("relu4")@5'),
        ("max(abs(in[0]), axis=1) if True else nan", "max(abs(in[0]@5), axis=1) if True else nan"),
        ("R0:f16[1,64]", "R0@core1:f16[1,64]"),
        ("R0@core0:f16[1,64]", "R0@core0:f16[1,64]"),
        ("%R1.64 + G0x40", "%R1.64@5 + G0x40@5"),
        ('input("x")[0]', 'input("x")@5[0]'),
        ("1 +", "1 +"),
    ],
)
def test_a_pinned_expression_names_its_moment(text: str, expected: str) -> None:
    assert pinned(text, "@5", 1) == expected
    assert pinned(expected, "@9", 0) == expected, "once pinned it stays"


# Stored and real numbers

STORED = MappedTensor(
    {
        "name": "q",
        "address": 0,
        "layout": "continuous",
        "memory_type": "<3x4xui8>",
        "type": "tensor<3x4x!quant.uniform<u8:f32, 0.5:4>>",
        "reshape": "",
        "slice": "",
    },
    chips()["BM1684X"].geometry,
    0,
)


class Quantised(Names):
    """A tensor of stored numbers, and what the reference knows of it."""

    def value(self, name: str) -> Value:
        return Value(name, lambda: np.arange(12, dtype=np.uint8).reshape(3, 4), None, STORED)

    def expected(self, value: Value) -> Value:
        return Value(f"ref {value.title}", lambda: value.real, is_real=True)


def test_a_stored_number_is_shown_with_what_it_stands_for() -> None:
    def shown(text: str) -> str:
        return evaluate(text, Quantised()).text()

    assert shown("%1[2, 0]") == "8 → 2"
    assert shown("%1[1]") == "ui8[4] [4, 5, 6, 7] → [0, 0.5, 1, 1.5]"
    assert shown("%1") == "ui8[3,4] min 0 → -2 max 11 → 3.5 mean 5.5 → 0.75"
    assert shown("real(%1)[2, 0]") == "2.0"
    assert shown("real(%1[2])") == "f32[4] [2.0, 2.5, 3.0, 3.5]"
    assert shown("%1[2, 0] + 1") == "9"


@pytest.mark.parametrize(
    "text", ["%1 - ref(%1)", "max(abs(%1[0] - ref(%1)[0]))", "ref(%1) == %1", "cosine(%1, real(%2))"]
)
def test_stored_and_real_numbers_are_not_mixed(text: str) -> None:
    with pytest.raises(BadExpression, match=r"holds stored numbers and .* real ones; write real"):
        evaluate(text, Quantised()).array  # noqa: B018


@pytest.mark.parametrize("text", ["max(abs(real(%1) - ref(%1)))", "sum(real(%1[0]) - ref(%1)[0])"])
def test_real_numbers_compare_with_the_reference(text: str) -> None:
    assert evaluate(text, Quantised()).array.item() == 0


# What a number format holds


@pytest.mark.parametrize("dtype", BY_NAME.values(), ids=str)
def test_a_format_takes_what_it_holds_and_refuses_the_rest(dtype: DType) -> None:
    for number in (dtype.minimum if not dtype.is_float else -dtype.largest, 0, dtype.largest):
        assert dtype.decode(dtype.words_for(np.array([number])))[0] == number
    beyond = [2 * dtype.largest + 1, -2 * dtype.largest - 2]
    if dtype.is_float:
        assert np.isnan(dtype.decode(dtype.words_for(np.array([np.nan])))[0])
    else:
        beyond += [dtype.maximum + 1, dtype.minimum - 1, 0.5, np.nan, np.inf, 2**70]
    for number in beyond:
        with pytest.raises(BadExpression, match=rf"^{dtype.name} (holds whole numbers from|reaches as far as) "):
            dtype.words_for(np.array([0, number]))


@pytest.mark.parametrize("name", ["conv.1", "/model.6/m.1/cv2/conv/Conv_output_0_Conv", "onnx::Conv_12", "a-b.c"])
def test_a_name_with_signs_means_its_tensor(name: str) -> None:
    class Signs(Names):
        def location(self, wanted: str) -> Value:
            if wanted != name:
                raise BadExpression(f"there is no tensor named {wanted!r}")
            return Value(wanted, A.view)

    assert evaluate(name, Signs()).title == name
    with pytest.raises(BadExpression):
        evaluate(f"{name}x", Signs())


def test_a_plain_name_is_seen_from_a_command() -> None:
    seen: list[tuple[int, str, int | None]] = []

    class Moments(Names):
        def seen_from(self, focus: int, level: str, line: int | None) -> Moments:
            seen.append((focus, level, line))
            return self

    assert evaluate("x@30", Moments()).title == "x"
    assert evaluate("x@op7 + 1", Moments()).shape == A.shape
    assert seen == [(30, "command", None), (7, "op", None)]
