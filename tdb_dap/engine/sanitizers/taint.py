"""Dependence of a command's results on undefined bytes of its operands, found by executing it.

It is executed twice on copies of its operands in which the undefined bytes hold different numbers; where the results
differ, they depend on these bytes. That needs no rule for any instruction, never accuses a result that does not
change, and follows padding that is multiplied away, selected away or never looked at. Both fillings are of
opposite sign, so that of two compared or rectified numbers one always shows. A zero of either sign is zero: what is
multiplied by zero does not depend on any number, only on whether it is one (``Dependence.clears``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import Description, Target
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadAccess, NotSimulated


class _Pretended:
    """Operands with other numbers in their marked bytes; catches what is written."""

    def __init__(self, memory: Memory, marks: Mapping[View, Array], seed: int, complement: bool) -> None:
        self._memory = memory
        self._marks = marks
        self._seed = seed
        self._complement = complement
        self.written: dict[View, Array] = {}

    def read(self, view: View) -> Array:
        words = self._memory.read(view)
        marks = self._marks.get(view)
        if marks is None:
            return words
        data = np.ascontiguousarray(words).view(np.uint8)
        marked = np.ascontiguousarray(marks).view(np.uint8) != 0
        noise = self._noise(view, words.size).view(np.uint8).reshape(data.shape)
        return np.where(marked, noise, data).view(words.dtype).reshape(words.shape)

    def _noise(self, view: View, size: int) -> Array:
        """Words that are numbers of common size in floats (sums of any floats would mostly be NaN), else anything."""
        # Each operand has its own, or the difference of two would be nothing.
        random = np.random.default_rng((self._seed, list(self._marks).index(view)))
        dtype = view.dtype
        if dtype.is_float:
            numbers = random.choice((-1.0, 1.0), size) * np.exp2(random.uniform(-2, 8, size))
            return dtype.encode(-1.5 * numbers if self._complement else numbers)
        words = np.frombuffer(random.bytes(size * dtype.itemsize), dtype.bits_dtype)
        words = ~words if self._complement else words
        return words & 15 if dtype.per_byte > 1 else words

    def peek(self, view: View) -> Array:
        return self.read(view)

    def write(self, view: View, bits: Array) -> None:
        self.written[view] = np.ascontiguousarray(bits)


class Dependence(Struct, frozen=True):
    """For each result the bytes that depend on undefined ones: truth values, last axis by byte.

    ``clears``: whether floats of a result are zero whatever number the undefined bytes hold, and not if they hold none.
    """

    results: Mapping[View, Array]
    clears: bool = False


def dependent(
    target: Target, description: Description, memory: Memory, marks: Mapping[View, Array], seed: int
) -> Dependence:
    """Dependence of a command's results on marked bytes of its operands.

    ``marks``: of the operands that have any. A command that cannot be executed with other numbers depends on them all.
    """
    results = [view for view in description.results if isinstance(view, View)]
    runs: list[dict[View, Array]] = []
    for complement in (False, True):
        pretended = _Pretended(memory, marks, seed, complement)
        try:
            target.execute(description, pretended)
        except (NotSimulated, BadAccess, IndexError, ValueError, OverflowError):
            return Dependence({view: np.ones(_bytes_shape(view), np.bool_) for view in results})
        runs.append(pretended.written)
    by_byte = any(_is_partial(words, view) for view, words in marks.items())
    dependent_values: dict[View, Array] = {}
    clears = False
    for view in results:
        one, other = (np.ascontiguousarray(run[view]).reshape(view.shape) for run in runs)
        differs = (one.view(np.uint8) != other.view(np.uint8)).reshape(_bytes_shape(view))
        if view.dtype.is_float and differs.any():
            zero = (view.dtype.widen(one) == 0) & (view.dtype.widen(other) == 0)
            clears = clears or bool((differs.any(-1) & zero).any())
            differs &= ~zero[..., np.newaxis]
        dependent_values[view] = differs if by_byte else np.broadcast_to(differs.any(-1, keepdims=True), differs.shape)
    return Dependence(dependent_values, clears)


def _bytes_shape(view: View) -> tuple[int, ...]:
    return (*view.shape, view.dtype.itemsize)


def _is_partial(words: Array, view: View) -> bool:
    """Whether some element has bytes of both kinds: then numbers are moved in units that are not theirs."""
    if view.dtype.itemsize == 1:
        return False
    marked = np.ascontiguousarray(words).view(np.uint8).reshape(_bytes_shape(view)) != 0
    return bool((marked.any(-1) & ~marked.all(-1)).any())
