"""Subnets that are not made of the chip's commands: operations on the host, and dynamic subnets.

A CPU subnet is computed here. A dynamic one, whose commands are made while it runs, is not: where somebody else knows
its outputs (the vendor's runtime, reference data) they are put in their place, and the session says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct, field

from tdb_dap.engine.bmodel import ModelFile, SubnetInfo
from tdb_dap.engine.bmodel.metadata import CpuOperation
from tdb_dap.engine.commands.net_tensors import Tensor, borders
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated


class Source(Protocol):
    """Somebody who knows the outputs of subnets that cannot be computed here.

    ``title``: who, in words; ``reason``: why nothing is known, if something went wrong; ``is_expected``: whether it
    knows what they should be, and not what they are.
    """

    @property
    def title(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def is_expected(self) -> bool: ...

    def whole(self, name: str) -> Array | None:
        """All numbers of a tensor, dequantised or as stored; None where they are not known."""
        ...


class Outcome(Struct, frozen=True):
    """Stored words that a subnet leaves in views; ``note``: what the user has to know about them.

    ``shapes``: tensors that turned out smaller than the room they have, by name; ``expected``: of each whether it
    was not computed, but is what it should be.
    """

    writes: tuple[tuple[View, Array], ...]
    note: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    expected: Mapping[str, bool] = field(default_factory=dict)


def on_the_host(info: SubnetInfo, name: str, bmodel: ModelFile, memory: Memory) -> Outcome:
    """The outputs of a CPU subnet; NotSimulated if its operation is not known."""
    from tdb_dap.engine.host import execute

    if len(info.cpu_operations) != 1:
        raise NotSimulated(f"{name}: a CPU subnet of {len(info.cpu_operations)} operations is not simulated yet")
    inputs, outputs = borders(info, memory.geometry)
    operation = info.cpu_operations[0]
    if operation.function:
        return _function(operation, inputs, outputs, memory)
    for tensor in (*inputs, *outputs):
        if tensor.dtype.name not in ("f32", "si32"):
            raise NotSimulated(f"{name} with {tensor.dtype} data ({tensor.name}) is not simulated yet")
    given = [tensor.dtype.decode(memory.read(tensor.view)) for tensor in inputs]
    parameters = bmodel.bytes_of(operation.parameters, f"the parameters of {name}").tobytes()
    made = execute(name.removeprefix("CPU_"), given, parameters)
    pairs = list(zip(outputs, made, strict=False))
    return Outcome(tuple(_words(tensor, memory, numbers) for tensor, numbers in pairs), shapes=_smaller(pairs))


def _function(operation: CpuOperation, inputs: Sequence[Tensor], outputs: Sequence[Tensor], memory: Memory) -> Outcome:
    """The outputs of a function whose arguments have names."""
    from tdb_dap.engine.host.functions import HostTensor, Room, call

    given = [HostTensor(memory.read(tensor.view), tensor.dtype) for tensor in inputs]
    rooms = [Room(tensor.view.shape, tensor.dtype) for tensor in outputs]
    made = call(operation.function, given, rooms, operation.arguments)
    return Outcome(tuple((tensor.view, bits) for tensor, bits in zip(outputs, made, strict=True)))


def _smaller(pairs: Sequence[tuple[Tensor, Array]]) -> dict[str, tuple[int, ...]]:
    return {tensor.name: numbers.shape for tensor, numbers in pairs if numbers.size < tensor.view.size}


def _words(tensor: Tensor, memory: Memory, numbers: Array) -> tuple[View, Array]:
    """An output as its tensor stores it; a shorter one fills the front and leaves the rest as it was."""
    bits = tensor.dtype.encode(numbers).reshape(-1)
    if bits.size > tensor.view.size:
        raise NotSimulated(f"{tensor.name} has room for {tensor.view.size:,} numbers; {bits.size:,} were computed")
    if bits.size < tensor.view.size:
        bits = np.concatenate([bits, memory.read(tensor.view).reshape(-1)[bits.size :]])
    return tensor.view, bits.reshape(tensor.view.shape)


def known_elsewhere(info: SubnetInfo, name: str, memory: Memory, sources: Sequence[Source]) -> Outcome:
    """A dynamic subnet's outputs from the first source that knows all of them; NotSimulated names what is missing."""
    _, outputs = borders(info, memory.geometry)
    for source in sources:
        pairs = [(tensor, numbers) for tensor in outputs if (numbers := source.whole(tensor.name)) is not None]
        if len(pairs) == len(outputs):
            writes = tuple(_words(tensor, memory, _stored(tensor, numbers)) for tensor, numbers in pairs)
            note = f"subnet {info.id} ({name}) is dynamic: {_listed(outputs)} from {source.title}"
            expected = {tensor.name: source.is_expected for tensor in outputs}
            return Outcome(writes, note, _smaller(pairs), expected)
    reasons = "".join(f" ({source.reason})" for source in sources if source.reason)
    raise NotSimulated(
        f"subnet {info.id} ({name}) is dynamic: its commands are made while it runs, which is not simulated; with "
        f"reference data for {', '.join(tensor.name for tensor in outputs)} the run continues from there{reasons}"
    )


def _listed(tensors: Sequence[Tensor]) -> str:
    return f"its output{'s' if len(tensors) > 1 else ''} {', '.join(tensor.name for tensor in tensors)}"


def _stored(tensor: Tensor, numbers: Array) -> Array:
    """Numbers as the tensor's format holds them: x / scale + zero point, rounded, for scaled integers."""
    if not tensor.dtype.is_float and numbers.dtype.kind == "f":
        scaled = np.rint(numbers.astype(np.float64) / tensor.scale + tensor.zero_point)
        return np.clip(scaled, tensor.dtype.minimum, tensor.dtype.maximum)
    return numbers
