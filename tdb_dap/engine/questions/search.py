"""Search of a whole run for tensors with a property: too large, constant, dead channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from tdb_dap.engine.expressions.evaluator import evaluate, require_expression
from tdb_dap.engine.expressions.lexer import words_in
from tdb_dap.engine.expressions.scope import Scope
from tdb_dap.engine.expressions.values import Statistics, Value
from tdb_dap.engine.questions.passes import Progress, ignore
from tdb_dap.engine.questions.tracing import Place
from tdb_dap.engine.questions.whole_tensors import WholeTensor, WholeTensors
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.errors import BadExpression, TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.hardware.dtypes import Array

TENSOR = "x"
"""What a condition calls the tensor that is looked at."""

_MOST_CHANNELS = 64


class Match(Struct, frozen=True):
    """A tensor for which the condition holds. ``count`` of ``size`` elements of what the condition gives are true,
    the first at ``first``; ``channels``: those with a true element, where the condition gives one number per channel or
    per element, at most 64 of ``channel_count``.
    """

    name: str
    place: Place
    shape: tuple[int, ...]
    count: int
    size: int
    first: tuple[int, ...]
    channels: tuple[int, ...]
    channel_count: int
    statistics: Statistics | None


class Search(Struct):
    """``matches``: in the order in which the tensors are complete; ``looked``: tensors for which the condition was
    evaluated; ``skipped``: reason -> tensors for which it was not; ``stopped``: why the run ended early.
    """

    condition: str
    matches: list[Match] = field(default_factory=list[Match])
    looked: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])
    stopped: str = ""


class _WithTensor(Scope, frozen=True):
    """Names as they are, and those of ``own``."""

    own: Mapping[str, Value] = field(default_factory=dict[str, Value])

    def location(self, name: str) -> Value:
        return self.own[name] if name in self.own else super().location(name)


def search(inspector: Inspector, condition: str, progress: Progress = ignore) -> Search:
    """The tensors that ops compute for which a condition on ``x`` holds, over the whole run.

    ``x``: the whole tensor, put together from its slices and cores, real numbers; loads of weights are left out. A
    condition that gives an array holds if any element is true: ``max(abs(x), axis=(0, 2, 3)) == 0`` finds dead
    channels.
    """
    require_expression(condition)
    if TENSOR not in words_in(condition):
        raise BadExpression(f"write {TENSOR} for the tensor, as in max(abs({TENSOR})) > 6e4")
    answer = Search(condition)
    tensors = WholeTensors(inspector, progress)
    for tensor in tensors.walk():
        _look(inspector, tensor, answer)
    answer.stopped = tensors.stopped
    if not answer.looked and len(answer.skipped) == 1 and not answer.stopped:
        raise BadExpression(next(iter(answer.skipped)))
    return answer


def _look(inspector: Inspector, tensor: WholeTensor, answer: Search) -> None:
    numbers = tensor.numbers
    is_weight = any(name in inspector.program.source.weights for name in layer_names(tensor.name))
    if numbers is None or not numbers.size or is_weight:
        why = "loads of weights" if is_weight else tensor.why or "empty"
        answer.skipped[why] += 1
        return
    value = Value(tensor.name, lambda: numbers, is_real=True)
    names = _WithTensor(inspector.machine, inspector.reference, tensor.place.focus, "op", own={TENSOR: value})
    try:
        truth = np.asarray(evaluate(answer.condition, names, only_computed=True).array).astype(bool)
    except TdbError as error:
        answer.skipped[str(error)] += 1
        return
    answer.looked += 1
    if not truth.any():
        return
    channels = _channels(truth, numbers)
    answer.matches.append(
        Match(
            tensor.name,
            tensor.place,
            numbers.shape,
            int(truth.sum()),
            truth.size,
            tuple(int(index) for index in np.argwhere(truth)[0]),
            tuple(channels[:_MOST_CHANNELS]),
            len(channels),
            Statistics.of(numbers),
        )
    )


def _channels(truth: Array, numbers: Array) -> list[int]:
    """Channels with a true element; none where the condition is about the tensor as a whole."""
    if numbers.ndim < 2 or truth.size == 1:
        return []
    if truth.shape == numbers.shape:
        other = tuple(axis for axis in range(truth.ndim) if axis != 1)
        return [int(index) for index in np.flatnonzero(truth.any(axis=other))]
    if truth.ndim == 1 and truth.size == numbers.shape[1]:
        return [int(index) for index in np.flatnonzero(truth)]
    return []
