"""Reading of .safetensors files: a header in JSON, then the numbers of all tensors.

The format: https://huggingface.co/docs/safetensors/index#format
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.engine.hardware.dtypes import F8E4M3, F8E5M2, Array
from tdb_dap.errors import BadInput

_FORMATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
_F8 = {"F8_E4M3": F8E4M3, "F8_E5M2": F8E5M2}


class SafetensorsFile:
    """The tensors of one file, read when they are asked for. BadInput where the file is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                if size > limits.REPORT:
                    raise BadInput(f"{path}: its header would have {size:,} bytes; is the file damaged?")
                header: Any = json.loads(file.read(size))
            self._bytes = FileBytes(path)
            self._data = self._bytes.data[8 + size :]
            self._entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
            for name, entry in self._entries.items():
                self._check(name, entry)
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
        except (ValueError, struct.error, AttributeError, RecursionError) as error:
            raise BadInput(f"{path}: is no .safetensors file, or is damaged: {error}") from None

    def _check(self, name: str, entry: Any) -> None:
        """ValueError for an entry whose fields contradict each other, or the size of the file."""
        dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        if not (isinstance(dtype, str) and _are_sizes(shape) and _are_sizes(offsets) and len(offsets) == 2):
            raise ValueError(f"the entry of tensor {name:.80} needs dtype, shape and two data_offsets")
        start, stop = offsets
        if not start <= stop <= self._data.size:
            raise ValueError(f"tensor {name:.80} is at bytes {start:,} to {stop:,} of {self._data.size:,}")
        size = 1 if dtype in _F8 else np.dtype(_FORMATS[dtype]).itemsize if dtype in _FORMATS else None
        if size is not None and math.prod(shape) * size != stop - start:
            raise ValueError(f"tensor {name:.80} of {dtype} and shape {str(shape)[:80]} has {stop - start:,} bytes")

    @property
    def names(self) -> Mapping[str, Any]:
        """Entries of the header by the names of the tensors."""
        return self._entries

    def read(self, name: str) -> Array:
        """Numbers of a tensor as float32, words of 32 bits as int32.

        BadInput for a format that is not known, or bytes that are not there.
        """
        entry = self._entries[name]
        self._bytes.require_intact()
        try:
            start, stop = entry["data_offsets"]
            form = "|u1" if entry["dtype"] in _F8 else _FORMATS[entry["dtype"]]
            words = self._data[start:stop].view(form).reshape(entry["shape"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{self.path}: tensor {name} cannot be read: {error}") from None
        if entry["dtype"] == "BF16":
            return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
        if entry["dtype"] in _F8:
            return _F8[entry["dtype"]].decode(words).astype(np.float32)
        return words if entry["dtype"] == "I32" else words.astype(np.float32)


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < _MOST for value in values)


_MOST = 1 << 48
