"""Subnets that are not made of the chip's commands: operations on the host, and dynamic subnets.

A CPU subnet is computed here. A dynamic one, whose commands are made while it runs, is not: where reference data holds
its outputs they are put in their place, and the session says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tdb_dap.engine.bmodel import Bmodel, SubnetInfo
from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.geometry import Geometry
from tdb_dap.engine.memory import Memory
from tdb_dap.engine.tensors import Tensor, borders
from tdb_dap.engine.views import View
from tdb_dap.errors import BadInput, NotSimulated

Known = Callable[[str], "Array | None"]
"""Numbers of a tensor from reference data, by name; None where it has none."""


@dataclass(frozen=True)
class Outcome:
    """What a subnet leaves behind: stored words for views; ``note``: what the user has to know about them."""

    writes: tuple[tuple[View, Array], ...]
    note: str = ""


def on_the_host(info: SubnetInfo, name: str, bmodel: Bmodel, memory: Memory) -> Outcome:
    """The outputs of a CPU subnet; NotSimulated if its operation is not known."""
    from tdb_dap.engine.host import execute

    if len(info.cpu_operations) != 1:
        raise NotSimulated(f"{name}: a CPU subnet of {len(info.cpu_operations)} operations is not simulated yet")
    inputs, outputs = borders(info, memory.geometry)
    for tensor in (*inputs, *outputs):
        if tensor.dtype.name not in ("f32", "si32"):
            raise NotSimulated(f"{name} with {tensor.dtype} data ({tensor.name}) is not simulated yet")
    given = [tensor.dtype.decode(memory.read(tensor.view)) for tensor in inputs]
    parameters = bmodel.bytes_of(info.cpu_operations[0].parameters, f"the parameters of {name}").tobytes()
    made = execute(name.removeprefix("CPU_"), given, parameters)
    return Outcome(tuple(_words(tensor, memory, numbers) for tensor, numbers in zip(outputs, made, strict=False)))


def _words(tensor: Tensor, memory: Memory, numbers: Array) -> tuple[View, Array]:
    """An output as its tensor stores it; a shorter one fills the front and leaves the rest as it was."""
    bits = tensor.dtype.encode(numbers).reshape(-1)
    if bits.size > tensor.view.size:
        raise NotSimulated(f"{tensor.name} has room for {tensor.view.size:,} numbers; {bits.size:,} were computed")
    whole = bits if bits.size == tensor.view.size else memory.read(tensor.view).reshape(-1).copy()
    whole[: bits.size] = bits
    return tensor.view, whole.reshape(tensor.view.shape)


def from_reference(info: SubnetInfo, name: str, geometry: Geometry, known: Known) -> Outcome:
    """The outputs of a dynamic subnet as reference data has them; NotSimulated names those that it lacks."""
    _, outputs = borders(info, geometry)
    found = {tensor.name: known(tensor.name) for tensor in outputs}
    missing = [tensor for tensor, numbers in found.items() if numbers is None]
    if missing:
        raise NotSimulated(
            f"subnet {info.id} ({name}) is dynamic: its commands are made while it runs, which is not simulated; with "
            f"reference data for {', '.join(missing)} the run goes on from there"
        )
    writes = tuple((tensor.view, _lowered(tensor, found[tensor.name])) for tensor in outputs)
    return Outcome(writes, f"subnet {info.id} ({name}) is dynamic: {_listed(outputs)} taken from the reference")


def _listed(tensors: Sequence[Tensor]) -> str:
    return f"its output{'s' if len(tensors) > 1 else ''} {', '.join(tensor.name for tensor in tensors)}"


def _lowered(tensor: Tensor, numbers: Array | None) -> Array:
    """Stored words of dequantised numbers: (x / scale + zero point), rounded, for scaled integers."""
    if numbers is None or numbers.size != tensor.view.size:
        size = 0 if numbers is None else numbers.size
        raise NotSimulated(f"the reference holds {size:,} numbers for {tensor.name}, which has {tensor.view.size:,}")
    if not tensor.dtype.is_float and numbers.dtype.kind == "f":
        scaled = numbers.astype(np.float64) / tensor.scale + tensor.zero_point
        numbers = np.clip(np.rint(scaled), tensor.dtype.minimum, tensor.dtype.maximum)
    try:
        return tensor.lower(numbers, "reference")
    except BadInput as error:
        raise NotSimulated(str(error)) from None
