"""Goldens of products of matrices, and of attention, in float and on stored numbers."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden
from tdb_dap.tools.golden.formats import rounded

_LIMITS = (-128, 127)


def product(call: Call, left: Array, right: Array) -> Array:
    """left @ right with the transpositions that the op asks for."""
    if call.flag("hdim_is_batch"):
        left, right = np.swapaxes(left, -3, -2), np.swapaxes(right, -3, -2)
    if call.flag("left_transpose"):
        left = np.swapaxes(left, -1, -2)
    if call.flag("right_transpose"):
        right = np.swapaxes(right, -1, -2)
    result = left @ right
    if call.flag("hdim_is_batch"):
        result = np.swapaxes(result, -3, -2)
    return np.swapaxes(result, -1, -2) if call.flag("output_transpose") else result


@golden("MatMul")
def matrix_product(call: Call) -> Array:
    """Product of matrices with bias and merged activation."""
    if call.get("dq_type", "NONE") != "NONE":
        raise NoGolden("weights that are dequantised on the way")
    result = product(call, call[0], call[1])
    bias = call.optional(2)
    if bias is None:
        return call.relu(result)
    # An LSTM of CV18xx keeps those of its directions apart.
    return call.relu(result + bias.reshape(-1 if bias.size == result.shape[-1] else bias.shape or (1,)))


@golden("tpu.A16MatMul")
def matrix_product_of_packed(call: Call) -> Array:
    """Product with weights of 4 or 8 bits, scaled in groups of ``q_group_size`` along the row (0: the whole row).

    Operands: left, weight, scale, zero point, bias. Two weights of 4 bits share a byte, the first in the lower half.
    """
    product = call[0] @ packed_weight(call).T
    bias = call.optional(4)
    return product if bias is None else product + bias.reshape(-1)


def packed_weight(call: Call) -> Array:
    """The weight of ``tpu.A16MatMul`` as numbers, [n, k]."""
    words, scale, zero = call[1].astype(np.int64), call[2], call.optional(3)
    if not call.flag("w_transpose"):
        raise NoGolden("weights that are not transposed")
    if int(call.number("weight_bits", 8)) == 4:
        words = words & 0xFF
        words = np.stack([words & 15, words >> 4], axis=-1).reshape(words.shape[0], -1)
    group = int(call.number("q_group_size", 0))
    rows = words.shape[0]
    if group > 0:
        words = words.reshape(rows, -1, group)
        scale = scale.reshape(rows, -1, 1)
        zero = zero.reshape(rows, -1, 1) if zero is not None else None
        if scale.shape[1] != words.shape[1]:
            raise NoGolden("scales in another order than the weights")
    elif zero is None:
        if int(call.number("weight_bits", 8)) == 4:
            words = np.where(words > 7, words - 16, words)
        scale = scale.reshape(rows, 1)
    else:
        scale, zero = scale.reshape(rows, 1), zero.reshape(rows, 1)
    return np.asarray((words - (zero if zero is not None else 0)) * scale).reshape(rows, -1)


@golden("tpu.FAttention")
def attention(call: Call) -> Array:
    """softmax(scale q k + mask) v for each head; q [b, mq, heads, dim], k and v with ``kv_head`` heads."""
    dim, heads = int(call.number("dim")), int(call.number("q_head"))
    kv_heads, batch = int(call.number("kv_head", heads)), int(call.number("batch", 1))
    q = call[0].reshape(batch, -1, heads, dim).transpose(0, 2, 1, 3)
    k = call[1].reshape(batch, -1, kv_heads, dim).transpose(0, 2, 1, 3).repeat(heads // kv_heads, axis=1)
    v = call[2].reshape(batch, -1, kv_heads, dim).transpose(0, 2, 1, 3).repeat(heads // kv_heads, axis=1)
    scores = q @ np.swapaxes(k, -1, -2) * call.number("scale", 1)
    if (mask := call.optional(3)) is not None:
        scores = scores + mask.reshape(batch, -1, *scores.shape[-2:])
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (scores / scores.sum(axis=-1, keepdims=True) @ v).transpose(0, 2, 1, 3)


@golden("tpu.Attention", "top.Attention")
def attention_with_projections(call: Call) -> Array:
    """A layer of attention in float: projections, softmax(scale q k + mask) v, and a last projection.

    Operands: queries, keys, values (none: those before), weight and bias of each of the four projections (in the order
    queries, keys, values, output with its weight first), mask. Heads are side by side in the columns.
    """
    if call.operand_types[0] is not None and call.operand_types[0].is_quantised:
        raise NoGolden("stored numbers with a result in float")
    keys = call.optional(1)
    keys = call[0] if keys is None else keys
    values = call.optional(2)
    values = keys if values is None else values
    heads, dim = int(call.number("head", 1)), int(call.number("dim"))

    def projected(x: Array, place: int) -> Array:
        weight, bias = call[place], call.optional(place + 1)
        result = x @ weight.reshape(weight.shape[-2:])
        return result if bias is None else result + bias.reshape(-1)

    def split(x: Array) -> Array:
        return x.reshape(*x.shape[:-1], heads, dim).swapaxes(-2, -3)

    q, k, v = (split(projected(x, place)) for x, place in ((call[0], 3), (keys, 5), (values, 7)))
    scores = q @ k.swapaxes(-1, -2) * call.number("scale", 1)
    if (mask := call.optional(11)) is not None:
        scores = scores + mask.reshape(mask.shape[0], -1, *scores.shape[-2:])
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True) @ v).swapaxes(-2, -3)
    return projected(mixed.reshape(*mixed.shape[:-2], heads * dim), 9)


@golden("tpu.Attention", integer=True)
def attention_of_words(call: Call) -> Array:
    """The same on stored numbers: sums of 32 bits, each requantised to 8, and weights of the softmax in eight bits.

    ``quant_param``: multiplier, shift and zero point of queries, keys, values, scores and mixture; the compiler has
    taken the input's zero point times the weights off the biases; operand 12: exponentials of minus the distance from
    the greatest score; ``scale``: of the softmax's weights, which are rounded to multiples of it.
    """
    if call.optional(11) is not None:
        raise NoGolden("stored numbers with a mask")
    factors = call.numbers("quant_param")
    if len(factors) < 15 or any(factors[2:15:3]):
        raise NoGolden(f"factors {factors}")
    heads, dim = int(call.number("head", 1)), int(call.number("dim"))
    places = [0]
    for place in (1, 2):
        places.append(place if call.optional(place) is not None else places[-1])

    def requantised(sums: Array, place: int) -> Array:
        multiplier, shift = factors[3 * place : 3 * place + 2]
        return np.clip(rounded(sums * (multiplier * 2.0**-shift), "HalfAwayFromZero"), *_LIMITS)

    def projected(words: Array, place: int) -> Array:
        weight, bias = call[place], call.optional(place + 1)
        sums = words @ weight.reshape(weight.shape[-2:])
        return sums if bias is None else sums + bias.reshape(-1)

    def heads_of(number: int) -> Array:
        kind = call.operand_types[places[number]]
        words = call.words(places[number]) + (kind.zero_point if kind is not None else 0)
        projection = requantised(projected(words, 3 + 2 * number), number)
        return projection.reshape(*projection.shape[:-1], heads, dim).swapaxes(-2, -3)

    q, k, v = (heads_of(number) for number in range(3))
    scores = requantised(q @ k.swapaxes(-1, -2), 3)
    exponentials = call[12].reshape(-1)[(scores.max(axis=-1, keepdims=True) - scores).astype(np.int64)]
    steps = 1 / call.number("scale", 1)
    weights = rounded(exponentials / exponentials.sum(axis=-1, keepdims=True) * steps, "HalfAwayFromZero")
    mixed = requantised(weights @ v, 4).swapaxes(-2, -3)
    return projected(mixed.reshape(*mixed.shape[:-2], heads * dim), 9)
