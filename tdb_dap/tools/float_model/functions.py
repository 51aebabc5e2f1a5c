"""Functions of arrays that the float models share."""

from __future__ import annotations

import math

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array

ACTIVATIONS = ("silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "relu")
"""Names of activations in config.json."""

_PIECE = 1 << 22
"""Numbers of a weight that are made float64 at once."""


def product(states: Array, weight: Array) -> Array:
    """States times the transposed weight, in float64; in pieces, as a float64 copy of a large weight would not fit."""
    step = max(1, _PIECE // weight.shape[1])
    pieces = [states @ weight[start : start + step].astype(np.float64).T for start in range(0, len(weight), step)]
    return np.concatenate(pieces, -1)


def softmax(scores: Array) -> Array:
    """Weights of the last axis, whose sum is 1."""
    weights: Array = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def short_name(activation: str) -> str:
    """The converter's name of an activation."""
    return {"swish": "silu", "quick_gelu": "swish", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu"}.get(
        activation, activation
    )


def activated(numbers: Array, activation: str) -> Array:
    """Numbers after one of ``ACTIVATIONS``."""
    if activation == "relu":
        return np.maximum(numbers, 0)
    if activation in ("silu", "swish", "quick_gelu"):
        result: Array = numbers / (1 + np.exp(-numbers * (1.702 if activation == "quick_gelu" else 1)))
        return result
    if activation == "gelu":
        error = np.vectorize(math.erf, otypes=[np.float64])(numbers / math.sqrt(2))
        return 0.5 * numbers * (1 + error)
    inner = math.sqrt(2 / math.pi) * (numbers + 0.044715 * numbers**3)
    return 0.5 * numbers * (1 + np.tanh(inner))
