"""Choosing and storing elements by index. Indices count from the front; the runtime checks none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.host.registry import Parameters, host_operation
from tdb_dap.errors import NotSimulated

_COMBINE: dict[int, Callable[[Array, Array], Array]] = {
    0: lambda old, new: new,
    1: np.add,
    2: np.subtract,
    # Maximum and minimum are added to what is there: so does the runtime's library.
    3: lambda old, new: old + np.maximum(old, new),
    4: lambda old, new: old + np.minimum(old, new),
    5: np.multiply,
}


def _checked(index: Array, extents: Sequence[int], name: str) -> Array:
    """Indices as int64; NotSimulated if one is outside, where the runtime reads or writes foreign memory."""
    wide = index.astype(np.int64)
    if (wide < 0).any() or (wide >= np.array(extents, np.int64)).any():
        raise NotSimulated(f"{name}: an index is outside of 0 to {', '.join(str(e - 1) for e in extents)}")
    return wide


@host_operation("GATHER_PT", axis=int)
def gather_elements(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """result[.., i, ..] = data[.., index[.., i, ..], ..] along an axis."""
    data, axis = inputs[0], p["axis"]
    if not 0 <= axis < data.ndim:
        raise NotSimulated(f"CPU_GATHER_PT along axis {axis} of {data.ndim} is not simulated")
    index = _checked(inputs[1], [data.shape[axis]], "CPU_GATHER_PT")
    # The index may be smaller than the data along the other axes.
    front = data[tuple(slice(None) if a == axis else slice(0, extent) for a, extent in enumerate(index.shape))]
    return [np.take_along_axis(front, index, axis)]


@host_operation("GATHERND_TF", index_is_integer=int, batch_dims=int)
def gather_by_coordinates(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """result[i, ...] = data[coordinates[i]]: the last axis of the index holds coordinates of an element or slice."""
    if p["batch_dims"]:
        raise NotSimulated("CPU_GATHERND_TF with batch dimensions is not simulated")
    data = inputs[0]
    coordinates = _checked(inputs[1], data.shape[: inputs[1].shape[-1]], "CPU_GATHERND_TF")
    return [data[tuple(np.moveaxis(coordinates, -1, 0))]]


@host_operation("TENSOR_SCATTER_OP", data_type=int, operation=int)
def scatter_by_coordinates(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """A copy of the data in which updates are combined with what is at their coordinates, one after another."""
    data, coordinates, updates = inputs
    combine = _COMBINE.get(p["operation"])
    if combine is None:
        raise NotSimulated(f"CPU_TENSOR_SCATTER_OP with the operation {p['operation']} is not simulated")
    depth = coordinates.shape[-1]
    places = _checked(coordinates, data.shape[:depth], "CPU_TENSOR_SCATTER_OP").reshape(-1, depth)
    result = data.copy()
    for place, update in zip(map(tuple, places.tolist()), updates.reshape(-1, *data.shape[depth:]), strict=True):
        result[place] = combine(result[place], update)
    return [result]
