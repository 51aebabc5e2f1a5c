"""Input data as users have them: npz by name, or raw bytes as the device takes them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.tensors import Tensor
from tdb_dap.errors import BadInput

# An npz that unpacks to more than this is refused before it fills the memory.
UNPACKED_LIMIT = 16 << 30


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of an npz file (read at once); BadInput names the file and what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > UNPACKED_LIMIT:
            raise BadInput(f"{path}: unpacks to {total >> 30} GiB, more than the limit of {UNPACKED_LIMIT >> 30} GiB")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BadInput(f"{path}: cannot be read as an npz file: {reason}") from None


def load_inputs(path: Path, tensors: Sequence[Tensor]) -> dict[str, Array]:
    """Stored words for every input, by name, from an npz or a raw file.

    An npz gives arrays by input name, or, if no name fits and the counts agree, by position. A raw file (``.dat``,
    ``.bin``) holds the inputs as the device takes them, one after another.
    """
    if path.suffix == ".npz":
        return _from_npz(read_npz(path), path, tensors)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    return _from_bytes(data, path, tensors)


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


def _from_bytes(data: bytes, path: Path, tensors: Sequence[Tensor]) -> dict[str, Array]:
    expected = sum(tensor.view.nbytes for tensor in tensors)
    if len(data) != expected:
        raise BadInput(
            f"{path}: {len(data):,} bytes; the inputs {', '.join(t.name for t in tensors)} take {expected:,}"
        )
    words: dict[str, Array] = {}
    offset = 0
    for tensor in tensors:
        part = np.frombuffer(data, tensor.dtype.bits_dtype, tensor.view.size, offset)
        words[tensor.name] = part.reshape(tensor.shape)
        offset += tensor.view.nbytes
    return words
