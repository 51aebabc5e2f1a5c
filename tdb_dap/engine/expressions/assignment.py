"""Assigning to what an expression names: a tensor, a slice or an element of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.evaluator import evaluate_place
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.lexer import Names
    from tdb_dap.engine.machine.machine import Machine


class Part(Struct, frozen=True):
    """The elements of ``view`` that each step of ``index`` selects in turn; ``title``: how the user wrote it.

    ``absence``: why memory does not hold the tensor now; empty if it does.
    """

    title: str
    view: View
    index: tuple[Any, ...] = ()
    absence: str = ""

    @property
    def ranges(self) -> ByteRanges:
        """The bytes; BadExpression if the index selects no elements of the view."""
        try:
            return ByteRanges.of(self.view, self.index)
        except (IndexError, TypeError, ValueError):
            raise _no_part(self) from None


def part_named(text: str, names: Names) -> Part:
    """The part of memory that an expression names; BadExpression if it names none."""
    value, index = evaluate_place(text, names)
    if not isinstance(value.view, View):
        raise BadExpression(f"{text.strip()} is not a place in memory")
    return Part(text.strip(), value.view, index, value.absence)


def _no_part(part: Part) -> BadExpression:
    return BadExpression(f"{part.title}: %{part.view.name} of shape {list(part.view.shape)} has no such part")


def assign(machine: Machine, part: Part, numbers: Any) -> None:
    """Overwrite a part with numbers, broadcast to its shape; the other elements keep their bits. It is an edit.

    BadExpression where the index selects nothing, or where memory holds another tensor now.
    """
    if part.absence:
        raise BadExpression(f"{part.title} {part.absence}: writing there would change another tensor")
    words = machine.memory.read(part.view)
    inside = words
    try:
        for step in part.index[:-1]:
            inside = inside[step]
        last = part.index[-1] if part.index else ...
        shape = np.shape(inside[last])
        wanted = np.broadcast_to(np.asarray(numbers), shape)
        inside[last] = part.view.dtype.words_for(np.atleast_1d(wanted)).reshape(shape)
    except (IndexError, TypeError):
        raise _no_part(part) from None
    except ValueError:
        raise BadExpression(
            f"a value of shape {list(np.shape(numbers))} does not fit into {part.title}, shape {list(shape)}"
        ) from None
    if not np.shares_memory(inside, words):
        raise BadExpression(f"{part.title} is a selection of a selection; write it with one index")
    machine.write_words(part.view, words, f"{part.title} = {_brief(numbers)}", part.ranges)


def _brief(numbers: Any) -> str:
    array = np.asarray(numbers)
    return str(array[()]) if array.ndim == 0 else f"an array of shape {list(array.shape)}"
