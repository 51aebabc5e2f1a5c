"""Tensors at the border of subnets that have memory of their own, as on the vendor's runtime.

The compiler gives every tensor an address, and may give one address to two of them that are needed at the same time: a
result of the TPU that is an output of the net, and a result of the host. On the runtime inputs and outputs of a net are
in the user's memory, results of the host in the host's; before a subnet runs on the TPU, what it reads is copied to
where it was compiled for, and after it the net's outputs are copied from there. Found by recording that runtime.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.bmodel import RunMode, Stage, SubnetInfo, TensorInfo
from tdb_dap.engine.hardware.geometry import Geometry, Space

_PAGE = 4096
_COMPUTING = (RunMode.TPU_STATIC, RunMode.TPU_DYNAMIC, RunMode.CPU)


class BorderCopy(Struct, frozen=True):
    """A copy of a tensor between its own memory and where a subnet was compiled for it to be.

    ``subnet``: index of the subnet; ``is_before``: before it, to there, else after it, from there.
    """

    subnet: int
    is_before: bool
    source: TensorInfo
    destination: TensorInfo


def with_own_memories(stage: Stage, geometry: Geometry, end: int) -> tuple[Stage, tuple[BorderCopy, ...]]:
    """The stage in which no border tensor that is still needed shares its memory, and the copies that this takes.

    ``end``: offset in DDR above everything else. Tensors that nothing endangers stay where they are, so most
    stages are returned as they came. Nets with branches are left alone: which subnets follow is only known in a run.
    """
    if not all(info.run_mode in _COMPUTING for info in stage.subnets):
        return stage, ()
    moved: dict[str, TensorInfo] = {}
    for name, info in _endangered(stage):
        end = -(-end // _PAGE) * _PAGE
        address = geometry.device_address(Space.GLOBAL, end)
        if name not in moved and geometry.locate(address) == (Space.GLOBAL, end):
            moved[name] = replace(info, address=address)
            end += info.size
    if not moved:
        return stage, ()
    subnets = tuple(_moved_subnet(info, moved) for info in stage.subnets)
    inputs, outputs = _moved(stage.inputs, moved), _moved(stage.outputs, moved)
    return replace(stage, inputs=inputs, outputs=outputs, subnets=subnets), tuple(_copies(stage, moved))


def _moved(tensors: tuple[TensorInfo, ...], moved: dict[str, TensorInfo]) -> tuple[TensorInfo, ...]:
    return tuple(
        replace(tensor, address=moved[tensor.name].address) if tensor.name in moved else tensor for tensor in tensors
    )


def _moved_subnet(info: SubnetInfo, moved: dict[str, TensorInfo]) -> SubnetInfo:
    """The host reads and writes a tensor in its own memory; the TPU's commands have addresses that stay."""
    if info.run_mode is not RunMode.CPU:
        return info
    return replace(info, inputs=_moved(info.inputs, moved), outputs=_moved(info.outputs, moved))


def _copies(stage: Stage, moved: dict[str, TensorInfo]) -> Iterator[BorderCopy]:
    for index, info in enumerate(stage.subnets):
        if info.run_mode is RunMode.CPU:
            continue
        for tensor in info.inputs:
            if tensor.name in moved:
                yield BorderCopy(index, True, moved[tensor.name], tensor)
        for tensor in info.outputs:
            if tensor.name in moved:
                yield BorderCopy(index, False, tensor, moved[tensor.name])


class _Life(Struct, frozen=True):
    """A tensor is needed from after subnet ``first`` (-1: from the start) until subnet ``last`` has read it."""

    info: TensorInfo
    first: int
    last: int
    made_by: RunMode | None

    def shares_bytes(self, other: _Life) -> bool:
        return (
            self.info.address < other.info.address + other.info.size
            and other.info.address < self.info.address + self.info.size
        )


def _endangered(stage: Stage) -> Iterator[tuple[str, TensorInfo]]:
    """Names and tensors that may be written over while they are needed, and that the runtime keeps elsewhere."""
    outputs = {tensor.name for tensor in stage.outputs}
    given = {tensor.name for tensor in stage.inputs}
    lives = _lives(stage, outputs)
    on_tpu = [index for index, info in enumerate(stage.subnets) if info.run_mode is not RunMode.CPU]
    for name, life in lives.items():
        if name not in outputs and name not in given and life.made_by is not RunMode.CPU:
            continue
        others = (other for key, other in lives.items() if key != name and life.shares_bytes(other))
        if any(life.first < index < life.last for index in on_tpu) or any(_meet(life, other) for other in others):
            yield name, life.info


def _meet(one: _Life, other: _Life) -> bool:
    """Whether one of two tensors in the same place is written while the other one is needed."""
    return one.first < other.first < one.last or other.first < one.first < other.last


def _lives(stage: Stage, outputs: set[str]) -> dict[str, _Life]:
    lives = {tensor.name: _Life(tensor, -1, -1, None) for tensor in stage.inputs}
    for index, info in enumerate(stage.subnets):
        for tensor in info.inputs:
            if tensor.name in lives:
                lives[tensor.name] = replace(lives[tensor.name], last=index)
        for tensor in info.outputs:
            lives[tensor.name] = _Life(tensor, index, index, info.run_mode)
    count = len(stage.subnets)
    return {name: replace(life, last=count) if name in outputs else life for name, life in lives.items()}
