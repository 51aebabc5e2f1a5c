"""The expression language: what it can say, and what it refuses in one line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tdb_dap.engine.expressions import evaluate
from tdb_dap.engine.values import Value, array_text, number_text
from tdb_dap.errors import BadExpression

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
    ],
)
def test_it_says(text: str, expected: object):
    assert result(text) == pytest.approx(expected) if isinstance(expected, float) else result(text) == expected


def test_a_bare_name_keeps_its_place():
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
        ("ref(x[0])", "an index goes behind it"),
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
def test_it_refuses(text: str, message: str):
    with pytest.raises(BadExpression) as refused:
        evaluate(text, Names())
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_results_are_bounded():
    class Big(Names):
        def location(self, name: str) -> Value:
            return Value(name, np.zeros(1 << 15, np.int8).view)

    with pytest.raises(BadExpression, match="1,073,741,824 elements"):
        evaluate("a[:, None] + a", Big())


def test_texts_of_values():
    assert Value("v", A.view).text() == "f32[3,4] min 0 max 11 mean 5.5"
    assert Value("v", A[0].view, pending=True).text() == "f32[4] (not yet computed) [0.0, 1.0, 2.0, 3.0]"
    broken = np.array([np.nan, np.inf, 1, -2] * 3, np.float32)
    assert Value("v", broken.view).text() == "f32[12] min -2 max 1 mean -0.5 NaN 3 Inf 3"
    assert Value("v", np.full(9, np.nan).view).text() == "f64[9] NaN 9"
    assert Value("v", np.zeros((0, 4)).view).text() == "f64[0,4] []"
    assert Value("v", np.array(3, np.int8).view).text() == "3"


def test_numbers_are_shortest_and_exact():
    assert number_text(np.float32(0.1)) == "0.1"
    assert number_text(np.float16(0.1)) == "0.1"
    assert number_text(np.float32(1e-42)) == "1e-42"
    assert np.float32(number_text(np.float32(16777217.0))) == np.float32(16777217.0)
    assert array_text(np.array([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"
