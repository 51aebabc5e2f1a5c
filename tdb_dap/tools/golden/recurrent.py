"""Goldens of recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.activations import PLACES, sigmoid, sloped
from tdb_dap.tools.golden.calls import Call, NoGolden, golden

State = tuple[Array, ...]
Disturb = Callable[[Array], Array]
"""What becomes of the numbers of each moment before the next one takes them."""
Function = Callable[[Array], Array]


def _unchanged(numbers: Array) -> Array:
    return numbers


@golden("LSTM")
def lstm(call: Call, disturb: Disturb = _unchanged) -> tuple[Array, ...]:
    """All hidden states, the last, and the last cell state; gates in the order input, output, forget, cell.

    Operands: x [time, batch, features], filter, recurrence, bias (of both), first hidden and first cell state. Without
    a filter (CV18xx) x is the product with it, and the last four operands are tables of both functions.
    """
    sigmoid, tanh = _functions(call)

    def step(gates: Array, state: State, recurrence: Array, bias: Array) -> State:
        hidden, cell = state
        i, o, f, c = np.split(disturb(gates + disturb(hidden @ recurrence.T) + bias), 4, axis=-1)
        i, o, f, c = (disturb(gate) for gate in (sigmoid(i), sigmoid(o), sigmoid(f), tanh(c)))
        cell = disturb(f * cell) + disturb(i * c)
        return o * disturb(tanh(cell)), cell

    return _run(call, 4, 2, step, disturb)


@golden("GRU")
def gru(call: Call, disturb: Disturb = _unchanged) -> tuple[Array, ...]:
    """All hidden states and the last; gates in the order update, reset, hidden."""
    is_linear_first = call.flag("linear_before_reset")
    if call.optional(1) is None:
        raise NoGolden("it has no filter")

    def step(gates: Array, state: State, recurrence: Array, bias: Array) -> State:
        (hidden,) = state
        wz, wr, wh = np.split(gates, 3, axis=-1)
        rz, rr, rh = np.split(recurrence, 3, axis=0)
        bz, br, bh = np.split(bias, 3)
        update, reset = sigmoid(wz + hidden @ rz.T + bz), sigmoid(wr + hidden @ rr.T + br)
        own = reset * (hidden @ rh.T + bh) if is_linear_first else (reset * hidden) @ rh.T + bh
        new = np.tanh(wh + own)
        return ((1 - update) * new + update * hidden,)

    return _run(call, 3, 1, step, disturb)


RECURRENT: Mapping[str, Callable[[Call, Disturb], tuple[Array, ...]]] = {"tpu.LSTM": lstm, "tpu.GRU": gru}
"""Ops in which roundings of one moment go into the next."""


def _functions(call: Call) -> tuple[Function, Function]:
    """Sigmoid and hyperbolic tangent; where there is no filter those of the tables, whose ranges are the compiler's."""
    if call.optional(1) is not None:
        return sigmoid, np.tanh
    tables = [table.reshape(-1) for table in call.inputs[-4:] if table is not None and table.size == PLACES]
    if len(tables) != 4:
        raise NoGolden("it has neither a filter nor tables")
    sigmoids, sigmoid_slopes, tangents, tangent_slopes = tables
    return (
        lambda x: sloped(x, sigmoids, sigmoid_slopes, -12, 12),
        lambda x: sloped(x, tangents, tangent_slopes, -15, 15),
    )


def _run(
    call: Call, gates: int, states: int, step: Callable[[Array, State, Array, Array], State], disturb: Disturb
) -> tuple[Array, ...]:
    x, filters, recurrences, bias = call[0], call.optional(1), call[2], call.optional(3)
    if call.flag("batch_first"):
        raise NoGolden("batches first")
    size = int(call.number("hidden_size"))
    directions = 2 if call.flag("bidirectional") else 1
    time, batch, _ = x.shape
    if filters is None:
        products = x.reshape(time, batch, directions, gates * size)
        bias = (
            None if bias is None else np.stack([np.zeros((directions, gates * size)), bias.reshape(directions, -1)], 1)
        )
    else:
        filters = filters.reshape(directions, gates * size, -1)
    recurrences = recurrences.reshape(directions, gates * size, size)
    both = np.zeros((directions, 2, gates * size)) if bias is None else bias.reshape(directions, 2, gates * size)
    outputs: Array = np.zeros((time, directions, batch, size))
    last: list[State] = []
    for direction in range(directions):
        starts = [call.optional(4 + i) for i in range(states)]
        state: State = tuple(
            np.zeros((batch, size)) if start is None else start.reshape(directions, batch, size)[direction]
            for start in starts
        )
        for moment in range(time) if direction == 0 else reversed(range(time)):
            product = products[moment, :, direction] if filters is None else x[moment] @ filters[direction].T
            given = disturb(product) + both[direction, 0]
            state = tuple(map(disturb, step(given, state, recurrences[direction], both[direction, 1])))
            outputs[moment, direction] = state[0]
        last.append(state)
    return (outputs, *(np.stack([state[i] for state in last]) for i in range(states)))
