"""Expected data as users have it: an npz by name, one array, or raw outputs; names of the compiler or of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, size_of, start_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import open_npz, read_npy
from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

_FORMATS = pattern(r"_(f32|f16|bf16|f8e4m3|f8e5m2|[us]?i(4|8|16|32))$")
"""What the compiler adds to the name of a tensor that it casts."""
_OF_NODE = pattern(r"(.+)_[A-Z]\w*")
"""The importer calls the result of an ONNX node by the node's output and its type."""


def open_expected(path: Path, outputs: Sequence[Tensor], defers: bool = False) -> Mapping[str, Array]:
    """Expected arrays by name, of a file whose kind follows from its first bytes.

    An ``.npy`` is the only output of the net; a raw file holds all outputs one after another, as the device stores them
    or as float32. ``defers``: see ``open_npz``. BadInput says what the file is, and what would be taken.
    """
    start = start_of(path)
    if path.suffix == ".npz" or start.startswith(b"PK\x03\x04"):
        return open_npz(path, defers)
    if start.startswith(b"\x93NUMPY"):
        if len(outputs) != 1:
            names = ", ".join(tensor.name for tensor in outputs)
            raise BadInput(f"{path}: holds one array; the outputs are {names}: give an .npz with these names")
        return {outputs[0].name: read_npy(path)}
    return _raw(path, outputs)


def _raw(path: Path, outputs: Sequence[Tensor]) -> dict[str, Array]:
    size = size_of(path)
    stored = sum(tensor.view.nbytes for tensor in outputs)
    floats = 4 * sum(tensor.view.size for tensor in outputs)
    if not outputs or size not in (stored, floats):
        names = ", ".join(tensor.name for tensor in outputs)
        also = f", as float32 {floats:,}" if floats != stored else ""
        raise BadInput(
            f"{path}: {size:,} bytes, no .npz and no .npy; the outputs {names} take {stored:,}{also}: give the "
            "..._tpu_outputs.npz, or raw outputs of that size"
        )
    data = read_file(path, limits.UNPACKED)
    arrays: dict[str, Array] = {}
    offset = 0
    for tensor in outputs:
        count = tensor.view.size
        if size == stored:
            words = np.frombuffer(data, tensor.dtype.bits_dtype, count, offset)
            arrays[tensor.name] = tensor.raise_(words).astype(np.float32).reshape(tensor.shape)
            offset += tensor.view.nbytes
        else:
            arrays[tensor.name] = np.frombuffer(data, np.float32, count, offset).reshape(tensor.shape)
            offset += 4 * count
    return arrays


def onnx_names(name: str) -> tuple[str, ...]:
    """The names that the ONNX model may have for a tensor of the compiler, best first.

    ``output0_Transpose`` is the result ``output0`` of a Transpose, ``output0_Transpose_f32`` the same after a cast.
    """
    plain = _FORMATS.sub("", name)
    node = _OF_NODE.fullmatch(plain)
    return (plain, node[1]) if node else (plain,)
