"""Values that a test knows to be there, and of their kind."""

from __future__ import annotations

from typing import TypeVar

from tdb_dap.engine.hardware.views import Operand, View

T = TypeVar("T")


def known(thing: T | None) -> T:
    """What is not None."""
    assert thing is not None
    return thing


def view_of(operand: Operand | None) -> View:
    """An operand that is in memory."""
    assert isinstance(operand, View)
    return operand
