"""Goldens of functions of one number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden
from tdb_dap.tools.golden.formats import TensorType

_BF16 = TensorType(None, "bf16")
PLACES = 256
"""Numbers of a table of CV18xx."""

_ERF = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x: Array) -> Array:
    """x times the normal distribution up to x."""
    return 0.5 * x * (1 + _ERF(x / math.sqrt(2)))


def gelu_by_tanh(x: Array) -> Array:
    """GELU with the distribution approximated by tanh."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def hard_sigmoid(x: Array, alpha: float = 1 / 6, beta: float = 0.5) -> Array:
    """alpha x + beta between 0 and 1."""
    return np.clip(alpha * x + beta, 0, 1)


def elu(x: Array, alpha: float = 1.0) -> Array:
    """x where positive, alpha (exp(x) - 1) elsewhere."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "TANH": np.tanh,
    "SIGMOID": sigmoid,
    "EXP": np.exp,
    "LN": np.log,
    "LOG2": np.log2,
    "SQRT": np.sqrt,
    "RSQRT": lambda x: 1 / np.sqrt(x),
    "SQUARE": np.square,
    "SILU": lambda x: x * sigmoid(x),
    "SWISH": lambda x: x * sigmoid(x),
    "GELU": gelu,
    "TGELU": gelu_by_tanh,
    "QGELU": lambda x: x * sigmoid(1.702 * x),
    "ERF": _ERF,
    "HSWISH": lambda x: x * hard_sigmoid(x),
    "HSIGMOID": hard_sigmoid,
    "SOFT_PLUS": softplus,
    "MISH": lambda x: x * np.tanh(softplus(x)),
    "ELU": elu,
    "ABSVAL": np.abs,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "ROUND": np.rint,
    "SIGN": np.sign,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "ARCTANH": np.arctanh,
    "ARCCOS": np.arccos,
    "SOFT_SIGN": lambda x: x / (1 + np.abs(x)),
    "LOG_SIGMOID": lambda x: -softplus(-x),
}
"""Mode of tpu.Active -> its function."""

_TOP = {
    "Tanh": "TANH",
    "Exp": "EXP",
    "Sqrt": "SQRT",
    "Rsqrt": "RSQRT",
    "SiLU": "SILU",
    "Erf": "ERF",
    "HardSwish": "HSWISH",
    "Softplus": "SOFT_PLUS",
    "Mish": "MISH",
    "Abs": "ABSVAL",
    "Floor": "FLOOR",
    "Ceil": "CEIL",
    "Round": "ROUND",
    "Sign": "SIGN",
    "Sin": "SIN",
    "Cos": "COS",
    "Tan": "TAN",
    "Sinh": "SINH",
    "Cosh": "COSH",
    "Arctanh": "ARCTANH",
    "Arccos": "ARCCOS",
    "Softsign": "SOFT_SIGN",
    "LogSigmoid": "LOG_SIGMOID",
}


@golden("tpu.Active")
def active(call: Call) -> Array:
    """The function that ``mode`` names; modes with parameters take them from ``coeffs``."""
    mode = str(call.get("mode"))
    if mode == "GELU":
        return any_gelu(call)
    parameters = call.attributes.get("coeffs")
    values = [float(value) for value in parameters] if isinstance(parameters, list) else []
    if mode == "ELU" and values:
        return elu(call[0], values[0])
    if mode == "HSIGMOID" and len(values) == 2:
        return hard_sigmoid(call[0], values[1], values[0])
    if mode == "SWISH" and values:
        return call[0] * sigmoid(values[0] * call[0])
    if mode not in FUNCTIONS:
        raise NoGolden(f"no golden function for mode {mode}")
    return FUNCTIONS[mode](call[0])


@golden(*(f"top.{name}" for name in _TOP))
def named(call: Call) -> Array:
    """The function that the op is named after."""
    return FUNCTIONS[_TOP[call.name.removeprefix("top.")]](call[0])


@golden("Sigmoid")
def scaled_sigmoid(call: Call) -> Array:
    """scale * sigmoid(x) + bias; its logarithm with ``log``."""
    if call.flag("log"):
        return -softplus(-call[0])
    return sigmoid(call[0]) * call.number("scale", 1) + call.number("bias")


@golden("top.GELU")
def any_gelu(call: Call) -> Array:
    """GELU, exact or as ``approx_mode`` says."""
    mode = call.get("approx_mode", "normal")
    return {"tanh": FUNCTIONS["TGELU"], "sigmoid": FUNCTIONS["QGELU"]}.get(mode, gelu)(call[0])


@golden("top.Log")
def logarithm(call: Call) -> Array:
    """Natural logarithm."""
    return np.log(call[0])


@golden("top.LogB")
def logarithm_of_base(call: Call) -> Array:
    """Logarithm to ``base``."""
    return np.log(call[0]) / math.log(call.number("base", math.e))


@golden("top.Elu", "top.ELU")
def any_elu(call: Call) -> Array:
    """ELU with ``alpha``."""
    return elu(call[0], call.number("alpha", 1))


@golden("top.HardSigmoid")
def any_hard_sigmoid(call: Call) -> Array:
    """Hard sigmoid with ``alpha`` and ``beta``."""
    return hard_sigmoid(call[0], call.number("alpha", 1 / 6), call.number("beta", 0.5))


@golden("top.Swish")
def swish(call: Call) -> Array:
    """x * sigmoid(beta x)."""
    return call[0] * sigmoid(call.number("beta", 1) * call[0])


@golden("Relu")
def relu(call: Call) -> Array:
    """x where positive, 0 elsewhere, at most ``relu_limit`` if that is positive."""
    limit = call.number("relu_limit", -1)
    return np.clip(call[0], 0, limit if limit > 0 else None)


@golden("LeakyRelu")
def leaky_relu(call: Call) -> Array:
    """x where positive, ``alpha`` x elsewhere."""
    return np.where(call[0] > 0, call[0], call.number("alpha") * call[0])


@golden("PRelu", "top.PRelu", "top.PReLU", "tpu.PReluOp", "top.PRelu")
def prelu(call: Call) -> Array:
    """x where positive, x times the slope of its channel elsewhere."""
    x, slope = call[0], call[1]
    if slope.size == x.shape[1] if x.ndim > 1 else False:
        slope = slope.reshape(-1, *[1] * (x.ndim - 2))
    return np.where(x > 0, x, slope * x)


def sloped(x: Array, base: Array, slopes: Array, low: float, high: float) -> Array:
    """The table of ``base`` from ``low`` to ``high`` in 256 steps at x, ``slopes`` between them; see ``looked_up``."""
    if low >= high:
        raise NoGolden(f"a table from {low:g} to {high:g}")
    steps = _BF16.stored(_BF16.stored(x - (low + high) / 2) * _BF16.stored(np.array(PLACES / (high - low))))
    place = np.clip(np.trunc(np.nan_to_num(steps)), -PLACES // 2, PLACES // 2 - 1).astype(np.int64)
    return np.asarray(base[place % PLACES] + slopes[place % PLACES] * _BF16.stored(steps - place))


@golden("tpu.LutBF16")
def looked_up(call: Call) -> Array:
    """Base table at the place of x, and what the second table says of the distance from it. Both have 256 numbers.

    ``Slope``: ``min_range`` to ``max_range`` in 256 steps, linear between them; all that follows from x is rounded to
    bfloat16. ``Mantissa``: base of sign and exponent times the second table at the low byte of x, ``Log``: plus it.
    """
    x, base, second = call[0], call[1].reshape(-1), call[2].reshape(-1)
    if base.size != PLACES or second.size != PLACES:
        raise NoGolden(f"tables of {base.size:,} and {second.size:,} numbers")
    mode = call.get("lut_mode")
    if mode == "Slope":
        return sloped(x, base, second, call.number("min_range"), call.number("max_range"))
    if mode not in ("Mantissa", "Log"):
        raise NoGolden(f"no golden function for mode {mode}")
    exponent = np.frexp(x)[1] - 1 + 63 + np.where(x < 0, PLACES // 2, 0)
    place = np.where(x == 0, 0, exponent).astype(np.int64) % PLACES
    low_byte = (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.int64) % PLACES
    return base[place] * second[low_byte] if mode == "Mantissa" else base[place] + second[low_byte]


@golden("Softmax")
def softmax(call: Call) -> Array:
    """exp(beta x) over its sum along ``axis``; the logarithm of that with ``log``."""
    x = call[0] * call.number("beta", 1)
    axis = call.axis(x.ndim)
    x = x - x.max(axis=axis, keepdims=True)
    total = np.exp(x).sum(axis=axis, keepdims=True)
    return x - np.log(total) if call.flag("log") else np.exp(x) / total
