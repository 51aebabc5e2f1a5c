"""Results of expressions at one moment: a number, the summary of a tensor, or why there is neither."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.values import SMALL, Statistics, Value, array_text, brief_number
from tdb_dap.errors import TdbError


class Cell(Struct, frozen=True):
    """``number``: a single number; ``numbers``: the elements of a small tensor; ``statistics``: of a larger one;
    ``absence``: why there is nothing, empty if there is. One of them is there. ``pending``: it is not computed yet.
    """

    number: bool | int | float | None = None
    numbers: tuple[bool | int | float, ...] = ()
    statistics: Statistics | None = None
    absence: str = ""
    pending: bool = False

    @classmethod
    def of(cls, value: Value) -> Cell:
        """The cell of a value now; its numbers are read."""
        try:
            array = np.asarray(value.array)
            if value.pending:
                return cls(absence="not yet computed", pending=True)
        except TdbError as error:
            return cls(absence=str(error))
        if array.size == 1:
            return cls(array.reshape(-1)[0].item())
        if array.size <= SMALL:
            return cls(numbers=tuple(array.reshape(-1).tolist()), absence="" if array.size else "empty")
        return cls(statistics=Statistics.of(array))

    @property
    def text(self) -> str:
        """As a table shows it: ``0.25``, ``[1 2]``, ``min -3 max 4 mean 0.1``, ``(not yet computed)``."""
        if self.absence:
            return f"({self.absence})"
        if self.statistics is not None:
            return self.statistics.text
        if self.number is not None:
            return brief_number(self.number, 7)
        return f"[{' '.join(brief_number(number, 6) for number in self.numbers)}]"

    @property
    def exact(self) -> str:
        """Text that reads back as the same number; of a larger tensor its summary."""
        if self.number is not None and not self.absence:
            return repr(self.number)
        return array_text(np.asarray(self.numbers)) if self.numbers else self.text

    @property
    def as_float(self) -> float:
        """The number; NaN where there is not a single one."""
        return math.nan if self.number is None or self.absence else float(self.number)
