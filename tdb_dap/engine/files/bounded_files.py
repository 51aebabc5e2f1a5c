"""Reading untrusted files: regular ones only, no more than a limit, ``.xz`` unpacked as it goes."""

from __future__ import annotations

import hashlib
import io
import lzma
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tdb_dap.engine.files import limits
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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


def start_of(path: Path, count: int = 8) -> bytes:
    """The first bytes of a file, by which its kind is known; BadInput if it is none."""
    size_of(path)
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def read_lines(path: Path, most: int = limits.TEXT) -> tuple[list[str], str]:
    """The lines of a text in UTF-8, and the SHA-256 of its bytes; BadInput as of ``read_file``.

    No more than the lines is ever in memory. As of ``split``, the last one is what follows the last end of a line.
    """
    digest = hashlib.sha256()
    if path.suffix == ".xz":
        return _lines(io.BytesIO(read_file(path, most)), digest), digest.hexdigest()
    size = size_of(path)
    if size > most:
        raise BadInput(f"{path}: has {size:,} bytes, more than the limit of {limits.readable(most)}")
    try:
        with path.open("rb", buffering=0) as file:
            return _lines(file, digest), digest.hexdigest()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


class _Digested(io.RawIOBase):
    """Bytes that are counted in for a checksum on their way."""

    def __init__(self, file: IO[bytes], digest: hashlib._Hash) -> None:
        self._file = file
        self._digest = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        part = self._file.read(len(memoryview(buffer)))
        self._digest.update(part)
        memoryview(buffer)[: len(part)] = part
        return len(part)


def _lines(file: IO[bytes], digest: hashlib._Hash) -> list[str]:
    lines: list[str] = []
    is_open = True
    with io.TextIOWrapper(io.BufferedReader(_Digested(file, digest), _CHUNK), "utf-8", errors="replace") as text:
        for line in text:
            is_open = not line.endswith("\n")
            lines.append(line.removesuffix("\n"))
    if not is_open or not lines:
        lines.append("")
    return lines


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
