"""Result of a check for one tensor of one op."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tdb_dap.engine.reference.comparison import Comparison

Role = Literal["operand", "result", "output"]
Verdict = Literal["pass", "fail", "unknown", "excepted"]
Reason = Literal[
    "",
    "weight",
    "load or store",
    "no such name",
    "other size",
    "other shape",
    "only NaN",
    "from the reference",
    "not certain",
    "rearranged",
    "unknown layout",
    "unknown type",
    "not in memory",
]
"""Why there is no verdict; empty if there is one."""


class Checked(Struct, frozen=True):
    """One tensor at one op, whole."""

    line: int
    """Line of the op in final.mlir, 0 where no op is known."""
    opcode: str
    name: str
    role: Role
    """Operand or result of the op, or output of the net."""
    index: int
    """Its number among the tensors of that role."""
    dtype: str
    first: int
    """Ordinal of the first command of the op's instances that hold it."""
    last: int
    """Ordinal of the last command of the op's instances that hold it."""
    verdict: Verdict
    reason: Reason = ""
    """Why there is no verdict, in general."""
    note: str = ""
    """Why there is no verdict for this tensor."""
    pieces: int = 1
    """Number of slices it was put together from."""
    covered: float = 1.0
    """Share of the reference that they fill."""
    comparison: Comparison | None = None

    @property
    def key(self) -> tuple[int, Role, int, str]:
        """The same tensor of the same op in another run."""
        return self.line, self.role, self.index, self.name
