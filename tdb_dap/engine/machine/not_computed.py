"""Tensors that are not computed yet: arrays whose numbers cannot be taken for results."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotFinished

_KNOWN = frozenset({"shape", "size", "ndim", "dtype", "why", "way", "nbytes", "__class__", "__dict__", "view"})
"""What can be asked of a tensor before it is computed."""


class NotComputed(np.ndarray):
    """Array in place of a tensor that is not computed; ``why`` it is not computed, ``way`` to what memory holds.

    Every use of its numbers raises NotFinished: elements, arithmetic, functions of NumPy, methods. As with masked
    arrays, ``numpy.asarray`` takes the mark away.
    """

    why: str
    way: str

    @classmethod
    def mark(cls, numbers: Array, why: str, way: str = "outputs(partial=True)") -> NotComputed:
        """The same numbers, marked."""
        marked = np.ascontiguousarray(numbers).view(cls)
        marked.why, marked.way = why, way
        return marked

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        marks = object.__getattribute__(self, "__dict__")
        why, way = marks.get("why", "a tensor is not computed"), marks.get("way", "outputs(partial=True)")
        raise NotFinished(f"{why}; {way} gives what memory holds")

    def __getattribute__(self, name: str) -> Any:
        if name in _KNOWN:
            return super().__getattribute__(name)
        return object.__getattribute__(self, "_refuse")()

    def __repr__(self) -> str:
        return f"<{self.why}>"

    __str__ = __repr__
    __array_ufunc__ = __array_function__ = __getitem__ = __setitem__ = __iter__ = __contains__ = _refuse
    __float__ = __int__ = __index__ = __bool__ = __complex__ = _refuse
