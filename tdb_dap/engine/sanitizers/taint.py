"""Dependence of a command's results on undefined bytes of its operands, found by executing it.

It is executed twice on copies of its operands in which the undefined bytes hold different numbers; where the results
differ, they depend on these bytes. That needs no rule for any instruction, never accuses a result that does not
change, and follows padding that is multiplied away, selected away or never looked at. Both fillings are of
opposite sign, so that of two compared or rectified numbers one always shows. A zero of either sign is zero: what is
multiplied by zero does not depend on any number, only on whether it is one (``Dependence.clears``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import Description, Moving, Target
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadAccess, NotSimulated

_PERIOD = 4099
"""Numbers until those for undefined bytes repeat: a prime, so that no window or stride meets equal ones in order."""


class _Masks:
    """The masks of operands in place of their words; catches what is written."""

    def __init__(self, masks: Mapping[View, Array]) -> None:
        self._masks = masks
        self.written: dict[View, Array] = {}

    def read(self, view: View) -> Array:
        mask = self._masks.get(view)
        return np.zeros(view.shape, view.dtype.bits_dtype) if mask is None else mask.copy()

    def peek(self, view: View) -> Array:
        return self.read(view)

    def write(self, view: View, bits: Array) -> None:
        self.written[view] = np.ascontiguousarray(bits)


class _Pretended(_Masks):
    """Operands with other numbers in their marked bytes."""

    def __init__(self, memory: Memory, masks: Mapping[View, Array], complement: bool) -> None:
        super().__init__(masks)
        self._memory = memory
        self._complement = complement

    def read(self, view: View) -> Array:
        words = self._memory.read(view)
        mask = self._masks.get(view)
        if mask is None:
            return words
        # Each operand has its own, or the difference of two would be nothing.
        noise = np.resize(_noise(view.dtype, list(self._masks).index(view), self._complement), words.shape)
        noise ^= words
        noise &= mask
        noise ^= words
        return noise


@lru_cache(maxsize=64)
def _noise(dtype: DType, number: int, complement: bool) -> Array:
    """Words that are numbers of common size in floats (sums of any floats would mostly be NaN), else anything."""
    # SplitMix64, to do without numpy.random, which takes long to load: https://prng.di.unimi.it/splitmix64.c
    steps = np.arange(1 + number * _PERIOD, 1 + (number + 1) * _PERIOD, dtype=np.uint64)
    random = steps * np.uint64(0x9E3779B97F4A7C15)
    random = (random ^ (random >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    random = (random ^ (random >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    random ^= random >> np.uint64(31)
    if dtype.is_float:
        signs = np.where(random & np.uint64(1), 1.0, -1.0)
        numbers = signs * np.exp2(-2 + 10 * (random >> np.uint64(11)).astype(np.float64) / (1 << 53))
        return dtype.encode(-1.5 * numbers if complement else numbers)
    words = random.astype(dtype.bits_dtype)
    words = ~words if complement else words
    return words & 15 if dtype.per_byte > 1 else words


class Dependence(Struct, frozen=True):
    """For each result the bytes that depend on undefined ones: words with all bits of these bytes set.

    ``clears``: whether floats of a result are zero whatever number the undefined bytes hold, and not if they hold none.
    """

    results: Mapping[View, Array]
    clears: bool = False


def dependent(target: Target, description: Description, memory: Memory, marks: Mapping[View, Array]) -> Dependence:
    """Dependence of a command's results on marked bytes of its operands.

    ``marks``: of the operands that have any. A command that cannot be executed with other numbers depends on them all.
    """
    results = [view for view in description.results if isinstance(view, View)]
    masks = {view: _mask(words) for view, words in marks.items()}
    runs: list[dict[View, Array]] = []
    for complement in (False, True):
        pretended = _Pretended(memory, masks, complement)
        try:
            target.execute(description, pretended)
        except (NotSimulated, BadAccess, IndexError, ValueError, OverflowError):
            return Dependence({view: np.full(view.shape, _all(view.dtype), view.dtype.bits_dtype) for view in results})
        runs.append(pretended.written)
    by_byte = any(_is_partial(mask) for mask in masks.values())
    dependent_values: dict[View, Array] = {}
    clears = False
    for view in results:
        one, other = (np.ascontiguousarray(run[view]).reshape(view.shape) for run in runs)
        differs = one != other
        depends = np.where(differs, _all(view.dtype), view.dtype.bits_dtype.type(0))
        if view.dtype.is_float and differs.any():
            zero = (view.dtype.widen(one) == 0) & (view.dtype.widen(other) == 0)
            clears = clears or bool((differs & zero).any())
            depends[zero] = 0
        dependent_values[view] = depends & _mask(one ^ other) if by_byte else depends
    return Dependence(dependent_values, clears)


def moved(target: Target, description: Description, marks: Mapping[View, Array]) -> Dependence | None:
    """As ``dependent`` of a command that moves words, whatever these are; None of all others.

    It depends on no memory: marks go where their bytes go.
    """
    if not isinstance(target, Moving) or not target.is_move(description):
        return None
    masks = _Masks({view: _mask(words) for view, words in marks.items()})
    try:
        target.execute(description, masks)
    except (NotSimulated, BadAccess, IndexError, ValueError, OverflowError):
        return None
    return Dependence({view: words.reshape(view.shape) for view, words in masks.written.items()})


def _all(dtype: DType) -> np.generic:
    """A word with every bit set."""
    return dtype.bits_dtype.type(np.iinfo(dtype.bits_dtype).max)


def _mask(words: Array) -> Array:
    """Words with all bits set of the bytes that are not 0."""
    data = np.ascontiguousarray(words)
    return np.negative((data.view(np.uint8) != 0).view(np.int8)).view(data.dtype).reshape(words.shape)


def _is_partial(mask: Array) -> bool:
    """Whether some element has bytes of both kinds: then numbers are moved in units that are not theirs."""
    return bool(((mask != 0) & (mask != np.iinfo(mask.dtype).max)).any())
