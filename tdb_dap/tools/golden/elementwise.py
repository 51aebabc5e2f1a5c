"""Goldens of ops on single elements: arithmetic, comparison, choice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden
from tdb_dap.tools.golden.formats import rounded

_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "Greater": lambda a, b: a > b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "Less": lambda a, b: a < b,
    "LessOrEqual": lambda a, b: a <= b,
    "And": lambda a, b: (a != 0) & (b != 0),
    "Xor": lambda a, b: (a != 0) ^ (b != 0),
}


def _operands(call: Call) -> list[Array]:
    return [array for array in call.inputs if array is not None]


def _scaled(call: Call) -> list[Array]:
    """Operands times their coefficients, where an addition has any."""
    arrays = _operands(call)
    factors = call.attributes.get("coeff")
    if isinstance(factors, list) and len(factors) == len(arrays):
        return [array * float(factor) for array, factor in zip(arrays, factors, strict=True)]
    return arrays


@golden("Add")
def add(call: Call) -> Array:
    """Sum of all operands."""
    total, *others = _scaled(call)
    for array in others:
        total = total + array
    return call.relu(total)


@golden("Sub")
def subtract(call: Call) -> Array:
    """First operand less the others; the other way round with ``is_reverse``."""
    total, *others = _scaled(call)
    for array in others:
        total = total - array
    return call.relu(-total if call.flag("is_reverse") else total)


@golden("Mul")
def multiply(call: Call) -> Array:
    """Product of all operands."""
    total, *others = _operands(call)
    for array in others:
        total = total * array
    return call.relu(total)


@golden("Div")
def divide(call: Call) -> Array:
    """First operand over the second; the other way round with ``is_reverse``."""
    return call.relu(call[1] / call[0] if call.flag("is_reverse") else call[0] / call[1])


@golden("Max")
def maximum(call: Call) -> Array:
    """Greatest of the operands."""
    total, *others = _operands(call)
    for array in others:
        total = np.maximum(total, array)
    return call.relu(total)


@golden("Min")
def minimum(call: Call) -> Array:
    """Least of the operands."""
    total, *others = _operands(call)
    for array in others:
        total = np.minimum(total, array)
    return call.relu(total)


@golden("AddConst")
def add_constant(call: Call) -> Array:
    """Operand plus ``const_val``."""
    return call.relu(call[0] + call.number("const_val"))


@golden("SubConst")
def subtract_constant(call: Call) -> Array:
    """Operand less ``const_val``; ``const_val`` less the operand with ``is_reverse``."""
    constant = call.number("const_val")
    return call.relu(constant - call[0] if call.flag("is_reverse") else call[0] - constant)


@golden("MulConst")
def multiply_constant(call: Call) -> Array:
    """Operand times ``const_val``."""
    return call.relu(call[0] * call.number("const_val"))


@golden("MaxConst")
def maximum_constant(call: Call) -> Array:
    """Greater of operand and ``const_val``."""
    return call.relu(np.maximum(call[0], call.number("const_val")))


@golden("MinConst")
def minimum_constant(call: Call) -> Array:
    """Lesser of operand and ``const_val``."""
    return call.relu(np.minimum(call[0], call.number("const_val")))


@golden("Reciprocal")
def reciprocal(call: Call) -> Array:
    """``const_val`` over the operand."""
    return call.relu(call.number("const_val", 1) / call[0])


@golden("Pow")
def power(call: Call) -> Array:
    """Operand to the power ``exponent``."""
    return np.power(call[0], call.number("exponent"))


@golden("Pow2")
def power_of_constant(call: Call) -> Array:
    """``const_val`` to the power of the operand."""
    return np.power(call.number("const_val"), call[0])


@golden("Pow3", "top.BinaryPow")
def power_of_both(call: Call) -> Array:
    """First operand to the power of the second."""
    return np.power(call[0], call[1])


@golden("Clip")
def clip(call: Call) -> Array:
    """Operand between ``min`` and ``max``."""
    return np.clip(call[0], call.number("min", -np.inf), call.number("max", np.inf))


@golden("Compare")
def compare(call: Call) -> Array:
    """1 where the comparison of two operands holds, 0 elsewhere."""
    return _COMPARISONS[call.get("mode")](call[0], call[1]).astype(np.float64)


@golden("CompareConst")
def compare_constant(call: Call) -> Array:
    """1 where the comparison of the operand with ``const_val`` holds, 0 elsewhere."""
    mode = _COMPARISONS.get(call.get("mode"))
    if mode is None:
        return (call[0] == 0).astype(np.float64)  # "Not"
    constant = np.asarray(call.number("const_val"))
    pair = (constant, call[0]) if call.flag("inversed") else (call[0], constant)
    return mode(*pair).astype(np.float64)


@golden("Where")
def where(call: Call) -> Array:
    """Second operand where the first is not 0, the third elsewhere; either may be a constant."""
    x: Array | float = call.number("x_const_val") if call.flag("x_is_const") else call[1]
    y: Array | float = call.number("y_const_val") if call.flag("y_is_const") else call[2]
    return np.where(call[0] != 0, x, y)


@golden("MaskedFill")
def masked_fill(call: Call) -> Array:
    """``const_val`` where the condition is not 0 (or is, with ``inversed``), the operand elsewhere."""
    chosen = call[0] == 0 if call.flag("inversed") else call[0] != 0
    return np.where(chosen, call.number("const_val"), call[1])


@golden("Cast", "top.DtypeCast", "DtypeCast")
def cast(call: Call) -> Array:
    """The same numbers in another format."""
    result, first = call.result, call.operand_types[0]
    if first is not None and first.is_quantised and result is not None and result.storage in ("i32", "si32"):
        return call.words(0)  # what was stored, as the compiler's interpreter has it
    to = call.get("to")
    is_integer = isinstance(to, str) and "INT" in to.upper()
    if is_integer or (result is not None and not result.is_quantised and result.limits is not None):
        return rounded(call[0], call.get("round_mode", "HalfAwayFromZero"))
    if result is not None and result.storage == "bf16" and call.get("round_mode") == "TowardsZero":
        step = result.step(call[0])
        return np.asarray(np.trunc(call[0] / step) * step)
    return call[0]


@golden("GenericCpu")
def host_function(call: Call) -> Array:
    """A function of the host: ``quant`` gives the same numbers in another format."""
    name = call.get("cpu_op_name")
    if name != "quant":
        raise NoGolden(f"host function {name}")
    return call[0]


@golden("RequantFp")
def requantise_by_float(call: Call) -> Array:
    """Operand times ``scale`` plus ``offset``, in stored numbers of the result."""
    if call.result is None:
        raise NoGolden("no type of the result")
    words = call.words(0) * call.number("scale", 1) + call.number("offset")
    return (words - call.result.zero_point) * call.result.scale
