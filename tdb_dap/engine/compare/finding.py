"""Result of a check for one tensor of one op."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tdb_dap.engine.reference.comparison import Comparison

Role = Literal["operand", "result", "output"]
Verdict = Literal["pass", "fail", "unknown", "excepted"]
Reason = Literal["", "weight", "load or store", "no such name", "other size", "rearranged", "unknown layout"]
"""Why there is no verdict; empty if there is one."""


@dataclass(frozen=True)
class Checked:
    """One tensor at one op, whole.

    ``line``: of the op in final.mlir, 0 for what no op is known of; ``role``, ``index``: which of its tensors;
    ``first``, ``last``: ordinals of the first command and of the last one of the op's instances that hold it;
    ``pieces``: how many slices it was put together from; ``covered``: share of the reference that they fill;
    ``reason``, ``note``: why there is no verdict, in general and for this tensor.
    """

    line: int
    opcode: str
    name: str
    role: Role
    index: int
    dtype: str
    first: int
    last: int
    verdict: Verdict
    reason: Reason = ""
    note: str = ""
    pieces: int = 1
    covered: float = 1.0
    comparison: Comparison | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[int, Role, int, str]:
        """The same tensor of the same op in another run."""
        return self.line, self.role, self.index, self.name
