"""Reading files that somebody else has made: regular ones only, no more than a limit, ``.xz`` unpacked as it goes."""

from __future__ import annotations

import lzma
import stat
from pathlib import Path

from tdb_dap.engine.files import limits
from tdb_dap.errors import BadInput

_CHUNK = 1 << 20


def size_of(path: Path) -> int:
    """Bytes of a file; BadInput if it cannot be looked at or is none (a device or a pipe may have no end)."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{path}: cannot be read: not a file")
    return status.st_size


def read_file(path: Path, most: int = limits.TEXT) -> bytes | bytearray:
    """The contents, of an ``.xz`` file what it unpacks to; BadInput beyond ``most`` bytes and for what is no file."""
    size = size_of(path)
    if path.suffix == ".xz":
        return unpack(path, min(most, limits.unpacked(size)))
    if size > most:
        raise BadInput(f"{path}: has {size:,} bytes, more than the limit of {limits.readable(most)}")
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def unpack(path: Path, most: int) -> bytearray:
    """Unpack an ``.xz`` file; BadInput as soon as it is more than ``most`` bytes."""
    data = bytearray()
    decompressor = _decompressor()
    try:
        with path.open("rb") as packed:
            while True:
                part = b""
                if decompressor.eof or decompressor.needs_input:
                    part = decompressor.unused_data or packed.read(_CHUNK)
                    if not part:
                        break
                if decompressor.eof:  # streams that were packed one after another are one file
                    decompressor = _decompressor()
                data += decompressor.decompress(part, _CHUNK)
                if len(data) > most:
                    raise BadInput(f"{path}: unpacks to more than {limits.readable(most)}; unpack it to a file first")
    except lzma.LZMAError as error:
        raise BadInput(f"{path}: damaged .xz file ({error}); copy it again") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    if not decompressor.eof:
        raise BadInput(f"{path}: damaged .xz file (it ends too early); copy it again")
    return data


def _decompressor() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=limits.UNPACKING_MEMORY)
