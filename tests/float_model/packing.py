"""Folders of small language models whose matrices are packed as GPTQ, AWQ and F8 checkpoints have them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import F8E4M3, Array
from tdb_dap.tools.float_model.safetensors_file import SafetensorsFile

AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
_NAMES = {"<f4": "F32", "<f2": "F16", "<i4": "I32", "|u1": "F8_E4M3"}


def write(folder: Path, config: dict[str, Any], tensors: dict[str, Array]) -> Path:
    """A folder with config.json and one .safetensors file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    header: dict[str, object] = {}
    data = b""
    for name, array in tensors.items():
        form = array.dtype.newbyteorder("<").str if array.dtype.itemsize > 1 else "|u1"
        entry = {"dtype": _NAMES[form], "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        header[name] = entry
        data += array.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return folder


def source(folder: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Configuration and tensors of a float model."""
    config = json.loads((folder / "config.json").read_text())
    tensors: dict[str, Array] = {}
    for path in folder.glob("*.safetensors"):
        file = SafetensorsFile(path)
        tensors |= {name: file.read(name) for name in file.names}
    return config, tensors


def is_packed(name: str) -> bool:
    return "_proj.weight" in name


def quantised(matrix: Array, group: int, order: Array | None = None) -> tuple[Array, Array, Array, Array]:
    """Levels (inputs, outputs), zero points and scales (groups, outputs), and the group of each input.

    ``order``: inputs in the order in which they were put into groups; None: as they are.
    """
    inputs = matrix.shape[1]
    placed = np.arange(inputs) if order is None else order
    groups = np.empty(inputs, np.int32)
    groups[placed] = np.arange(inputs) // group
    columns = matrix.T.astype(np.float64)
    scales = np.empty((inputs // group, matrix.shape[0]))
    zeros = np.empty(scales.shape, np.int64)
    levels = np.empty(columns.shape, np.int64)
    for number in range(len(scales)):
        own = groups == number
        low, high = np.minimum(columns[own].min(0), 0), np.maximum(columns[own].max(0), 0)
        scales[number] = np.asarray((high - low) / 15, np.float16)
        zeros[number] = np.clip(np.rint(-low / scales[number]), 1, 15)
        levels[own] = np.clip(np.rint(columns[own] / scales[number]) + zeros[number], 0, 15)
    return levels, zeros, scales, groups


def words_of(numbers: Array, order: tuple[int, ...] = tuple(range(8))) -> Array:
    """Four bits each along the last axis in words of 32 bits. ``order``: the number in each four bits, lowest first."""
    parts = numbers.reshape(*numbers.shape[:-1], -1, 8)[..., list(order)].astype(np.uint64)
    words = (parts << (np.arange(8, dtype=np.uint64) * np.uint64(4))).sum(-1)
    return words.astype(np.uint32).view(np.int32)


Packed = tuple[dict[str, Array], Array]
"""Tensors in place of a matrix, by what is appended to its name without ``.weight``, and what they stand for."""


def written(
    folder: Path, of: Path, quantisation: Mapping[str, Any], pack: Callable[[str, Array], Packed]
) -> dict[str, Array]:
    """Write a folder whose matrices are packed; returns what they stand for."""
    config, tensors = source(of)
    stored: dict[str, Array] = {}
    meant: dict[str, Array] = {}
    for name, matrix in tensors.items():
        if not is_packed(name):
            stored[name] = matrix
            continue
        parts, meant[name] = pack(name, matrix)
        stored |= {f"{name.removesuffix('.weight')}{ending}": part for ending, part in parts.items()}
    write(folder, {**config, "quantization_config": dict(quantisation)}, stored)
    return meant


def gptq(folder: Path, of: Path, group: int, form: str = "gptq", shuffled: bool = False) -> dict[str, Array]:
    """Write a GPTQ folder; returns what its matrices stand for."""

    def pack(name: str, matrix: Array) -> Packed:
        order = np.random.default_rng(len(name)).permutation(matrix.shape[1]) if shuffled else None
        levels, zeros, scales, groups = quantised(matrix, group, order)
        parts = {
            ".qweight": np.ascontiguousarray(words_of(levels.T).T),
            ".qzeros": words_of(zeros - (form == "gptq")),
            ".scales": scales.astype(np.float16),
            ".g_idx": groups,
        }
        return parts, ((levels - zeros[groups]) * scales[groups]).T

    quantisation = {"quant_method": "gptq", "bits": 4, "group_size": group, "checkpoint_format": form, "sym": False}
    return written(folder, of, {**quantisation, "desc_act": shuffled}, pack)


def awq(folder: Path, of: Path, group: int) -> dict[str, Array]:
    """Write an AWQ folder; returns what its matrices stand for."""

    def pack(name: str, matrix: Array) -> Packed:
        levels, zeros, scales, groups = quantised(matrix, group)
        parts = {
            ".qweight": words_of(levels, AWQ_ORDER),
            ".qzeros": words_of(zeros, AWQ_ORDER),
            ".scales": scales.astype(np.float16),
        }
        return parts, ((levels - zeros[groups]) * scales[groups]).T

    quantisation = {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": True}
    return written(folder, of, quantisation, pack)


def fp8(folder: Path, of: Path, block: tuple[int, int] | None) -> dict[str, Array]:
    """Write a folder in E4M3 with a scale for each block, or each row; returns what its matrices stand for."""

    def pack(name: str, matrix: Array) -> Packed:
        rows, columns = block or (1, matrix.shape[1])
        scales = np.empty((-(-matrix.shape[0] // rows), -(-matrix.shape[1] // columns)), np.float32)
        words, numbers = np.empty(matrix.shape, np.uint8), np.empty(matrix.shape, np.float32)
        for row, column in np.ndindex(scales.shape):
            own = np.s_[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
            scale = scales[row, column] = np.abs(matrix[own]).max() / 448
            words[own] = F8E4M3.encode(np.ascontiguousarray(matrix[own] / scale))
            numbers[own] = F8E4M3.decode(words[own]) * scale
        return {".weight": words, ".weight_scale_inv" if block else ".weight_scale": scales}, numbers

    size = {"weight_block_size": list(block)} if block else {}
    return written(folder, of, {"quant_method": "fp8", "fmt": "e4m3", **size}, pack)
