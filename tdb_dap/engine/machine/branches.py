"""Nets with branches (ONNX If): which subnets run, and what is taken from the one that ran.

A SWITCH subnet reads a condition: where that is 0 the first of its next subnets follows, else the second. A MERGE
subnet copies each of its outputs from the branch that was executed. Found by running models on the vendor's runtime.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from tdb_dap.engine.bmodel import SubnetInfo
from tdb_dap.engine.commands.net_tensors import borders
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.host_subnets import Outcome
from tdb_dap.engine.program.program import Subnet
from tdb_dap.errors import NotSimulated

_BRANCHES = 2


class Branches:
    """The decisions of one run. What has been decided holds until the same SWITCH is executed again."""

    def __init__(self, infos: Sequence[SubnetInfo], subnets: Sequence[Subnet]) -> None:
        self._infos = {info.id: info for info in infos}
        self._starts = [subnet.start for subnet in subnets]
        self._ids = [subnet.id for subnet in subnets]
        self._taken: dict[int, int] = {}
        self._left_out: frozenset[int] = frozenset()

    @property
    def leaves_out_any(self) -> bool:
        """Whether there are commands that are left out."""
        return bool(self._left_out)

    def leaves_out(self, ordinal: int) -> bool:
        """Whether a command is of a branch that was decided against."""
        if not self._left_out:
            return False
        return self._ids[bisect_right(self._starts, ordinal) - 1] in self._left_out

    def decide(self, info: SubnetInfo, memory: Memory) -> Outcome:
        """Carry out a SWITCH; NotSimulated where it does more than choose between two subnets."""
        inputs, outputs = borders(info, memory.geometry)
        if len(info.next_ids) != _BRANCHES or not inputs or inputs[0].view.size != 1 or outputs:
            what = f"{len(info.next_ids)} branches and {len(outputs)} outputs"
            raise NotSimulated(f"subnet {info.id} (SWITCH) with {what} is not simulated")
        condition = inputs[0].dtype.decode(memory.read(inputs[0].view)).reshape(-1)[0]
        self._taken[info.id] = int(condition != 0)
        self._left_out = frozenset().union(*(self._not_taken(id) for id in self._taken))
        chosen = info.next_ids[self._taken[info.id]]
        return Outcome((), f"subnet {info.id} (SWITCH): {inputs[0].name} is {condition:g}, subnet {chosen} follows")

    def merge(self, info: SubnetInfo, memory: Memory) -> Outcome:
        """Carry out a MERGE: outputs from what the executed branch has computed; NotSimulated if that is not one."""
        inputs, outputs = borders(info, memory.geometry)
        if len(info.merged_from) != len(outputs):
            raise NotSimulated(f"subnet {info.id} (MERGE): {len(info.merged_from)} sources for {len(outputs)} outputs")
        writes: list[tuple[View, Array]] = []
        for output, indices in zip(outputs, info.merged_from, strict=True):
            ran = [inputs[i] for i in indices if 0 <= i < len(inputs) and self._has_run(inputs[i].name)]
            if len(ran) != 1 or ran[0].dtype != output.dtype or ran[0].view.size != output.view.size:
                names = ", ".join(tensor.name for tensor in ran) or "none"
                raise NotSimulated(
                    f"subnet {info.id} (MERGE): which tensor becomes {output.name} is not known: {names}"
                )
            writes.append((output.view, memory.read(ran[0].view).reshape(output.view.shape)))
        return Outcome(tuple(writes))

    def _has_run(self, name: str) -> bool:
        """Whether a tensor comes from a subnet that was not left out."""
        makers = [i.id for i in self._infos.values() if any(tensor.name == name for tensor in i.outputs)]
        return any(maker not in self._left_out for maker in makers)

    def _not_taken(self, switch: int) -> frozenset[int]:
        """The subnets that only the other branch of a SWITCH leads to."""
        ids, taken = self._infos[switch].next_ids, self._taken[switch]
        return self._reached(ids[1 - taken]) - self._reached(ids[taken])

    def _reached(self, start: int) -> frozenset[int]:
        ordinals: set[int] = set()
        open_ = [start]
        while open_:
            id = open_.pop()
            if id in self._infos and id not in ordinals:
                ordinals.add(id)
                open_ += self._infos[id].next_ids
        return frozenset(ordinals)
