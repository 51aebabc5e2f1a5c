"""NumPy's files. What they say of themselves is checked before memory is taken; nothing in them is executed."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.atomic_files import whole_file
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput

_SUFFIX = ".npy"
_CHUNK = 1 << 20

_TROUBLE = (
    *(OSError, ValueError, EOFError, KeyError, RecursionError, MemoryError, OverflowError, TypeError),
    *(NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What the readers raise for files that are damaged, encrypted, or packed in a way that they do not know."""


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of an npz file (read at once); BadInput names the file and what is wrong with it."""
    most = limits.unpacked(size_of(path))
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > most:
                raise BadInput(
                    f"{path}: unpacks to {total:,} bytes, more than {limits.readable(most)}, the limit for a file of "
                    "its size; save it without compression (numpy.savez)"
                )
            if len(members) > limits.ARRAYS:
                raise BadInput(f"{path}: holds {len(members):,} arrays, more than the limit of {limits.ARRAYS:,}")
            return {member.filename.removesuffix(_SUFFIX): _member(archive, member) for member in members}
    except _TROUBLE as error:
        raise _unusable(path, "an npz file", error) from None


def read_npy(path: Path) -> Array:
    """The array of an npy file; BadInput names the file and what is wrong with it."""
    data = read_file(path, limits.UNPACKED)
    try:
        return _array(io.BytesIO(data), len(data))
    except _TROUBLE as error:
        raise _unusable(path, "an npy file", error) from None


def write_npz(path: Path, arrays: Mapping[str, Array], packed: bool = False) -> None:
    """Arrays by any name (``numpy.savez`` takes ``file`` for its own); BadInput if it cannot be written."""
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with whole_file(path) as file, zipfile.ZipFile(file, "w", kind) as archive:
        for name, array in arrays.items():
            with archive.open(f"{visible(name)}{_SUFFIX}", "w", force_zip64=True) as member:
                npy.write_array(member, np.asarray(array), allow_pickle=False)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as file:
        try:
            return _array(file, member.file_size)
        except _TROUBLE as error:
            raise ValueError(f"{member.filename[:80]!r}: {error or type(error).__name__}") from None


def _array(file: IO[bytes], size: int) -> Array:
    """An array of a file of ``size`` bytes; ValueError if its header announces more than that, or objects."""
    version = npy.read_magic(file)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read_header is None:
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
    shape, by_column, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError("holds Python objects, which are not read: they could be programs")
    wanted = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or math.prod(shape) * max(1, dtype.itemsize) > size:
        raise ValueError(f"its header announces shape {_short(shape)} of {dtype}, and it has {size:,} bytes")
    array: Array = np.empty(shape, dtype, order="F" if by_column else "C")
    target: Array = array.reshape(-1, order="A").view(np.uint8) if wanted else np.empty(0, np.uint8)
    taken = 0
    while taken < wanted and (part := file.read(min(_CHUNK, wanted - taken))):
        target[taken : taken + len(part)] = np.frombuffer(part, np.uint8)
        taken += len(part)
    if taken < wanted:
        raise ValueError(f"its header announces {wanted:,} bytes and {taken:,} came")
    return array


def _short(shape: tuple[int, ...]) -> str:
    text = ", ".join(map(str, shape))
    return f"[{text if len(text) < 80 else text[:60] + ', ...'}]"


def _unusable(path: Path, kind: str, error: Exception) -> BadInput:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    text = str(reason).split("\n")[0][:200] or type(error).__name__
    return BadInput(f"{path}: cannot be read as {kind}: {text}")
