"""Input data as users have them: npz by name, or raw bytes as the device takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.errors import BadInput


def load_inputs(path: Path, tensors: Sequence[Tensor]) -> dict[str, Array]:
    """Stored words for every input, by name, from an npz or a raw file.

    An npz gives arrays by input name, or, if no name fits and the counts agree, by position. A raw file (``.dat``,
    ``.bin``) holds the inputs as the device takes them, one after another.
    """
    if path.suffix == ".npz":
        return _from_npz(read_npz(path), path, tensors)
    return _from_bytes(path, tensors)


def _from_npz(arrays: Mapping[str, Array], path: Path, tensors: Sequence[Tensor]) -> dict[str, Array]:
    known = [tensor.name for tensor in tensors]
    found = {name: arrays[name] for name in known if name in arrays}
    if not found and len(arrays) == len(tensors) and len(tensors) > 1:
        found = dict(zip(known, arrays.values(), strict=True))
    missing = [name for name in known if name not in found]
    if missing:
        raise BadInput(
            f"{path}: has no array named {', '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}, "
            f"the model's inputs are {', '.join(known)}"
        )
    return {tensor.name: tensor.lower(found[tensor.name], f"{path}[{tensor.name}]") for tensor in tensors}


def _from_bytes(path: Path, tensors: Sequence[Tensor]) -> dict[str, Array]:
    expected = sum(tensor.view.nbytes for tensor in tensors)
    size = size_of(path)
    if size != expected:
        raise BadInput(f"{path}: {size:,} bytes; the inputs {', '.join(t.name for t in tensors)} take {expected:,}")
    data = read_file(path, limits.UNPACKED)
    words: dict[str, Array] = {}
    offset = 0
    for tensor in tensors:
        part = np.frombuffer(data, tensor.dtype.bits_dtype, tensor.view.size, offset)
        words[tensor.name] = part.reshape(tensor.shape)
        offset += tensor.view.nbytes
    return words
