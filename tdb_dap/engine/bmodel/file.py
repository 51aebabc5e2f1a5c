"""The bmodel container: a 64-byte header, the metadata block and the payload block.

The file is mapped, not read: spans of the payload are views of the mapping, private to this process, so weights
cost no memory until a page of them is touched. A ``.xz`` file has to be unpacked into memory instead.
"""

from __future__ import annotations

import mmap
import shutil
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.bmodel.metadata import Metadata, Span, read_metadata
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.errors import BadInput

MAGIC = 0xFF55AAEE
CV18XX_MAGIC = b"CviModel"
HEADER = struct.Struct("<IIIQ")
HEADER_BYTES = 64


class Bmodel:
    """A bmodel file. ``metadata`` is parsed at once; ``payload`` is uint8, mapped, private and writable.

    ``payload_start``: where it begins in the unpacked file; ``file_size``: bytes of the file as it was read, packed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        data = _open(path)
        self.file_size = size_of(path)
        if data[:8].tobytes() == CV18XX_MAGIC:
            raise BadInput(
                f"{path}: a model of CV18xx, whose commands are neither listed nor simulated; `tdb-dap info` shows "
                "what it holds. Compile for another chip to debug the net"
            )
        if data.size < HEADER_BYTES:
            raise BadInput(f"{path}: not a bmodel: {data.size:,} bytes are less than its {HEADER_BYTES}-byte header")
        magic, header_size, metadata_size, payload_size = HEADER.unpack(data[: HEADER.size].tobytes())
        if magic != MAGIC:
            raise BadInput(
                f"{path}: not a bmodel: it starts with {magic:#010x} instead of {MAGIC:#010x}; "
                "give the compiler's context directory or its compilation.bmodel"
            )
        expected = header_size + metadata_size + payload_size
        if header_size != HEADER_BYTES or expected > data.size:
            raise BadInput(
                f"{path}: truncated bmodel: its header announces {expected:,} bytes and the file has "
                f"{data.size:,}; copy or compile it again"
            )
        self.metadata: Metadata = read_metadata(data[HEADER_BYTES : HEADER_BYTES + metadata_size].tobytes(), str(path))
        self.payload_start = HEADER_BYTES + metadata_size
        self.payload: NDArray[np.uint8] = data[HEADER_BYTES + metadata_size : expected]

    def copy_to(self, path: Path) -> None:
        """Write the file as it is on disk, unpacked."""
        if self.path.suffix == ".xz":
            path.write_bytes(read_file(self.path, limits.UNPACKED))
        else:
            shutil.copyfile(self.path, path)

    def bytes_of(self, span: Span, what: str) -> NDArray[np.uint8]:
        """The bytes of a span of the payload (a view); BadInput if it reaches beyond the file."""
        if span.start + span.size > self.payload.size:
            raise BadInput(
                f"{self.path}: {what} should be {span.size:,} bytes at {span.start:,} of the payload, which has only "
                f"{self.payload.size:,}; copy or compile the model again"
            )
        return self.payload[span.start : span.start + span.size]

    def private_bytes_of(self, span: Span, what: str) -> NDArray[np.uint8]:
        """As ``bytes_of``, but its own to write into: the payload, and every other such array, stay as they are.

        Of a mapped file a page is copied when it is written; an unpacked one is copied as a whole.
        """
        ours = self.bytes_of(span, what)
        if self.path.suffix == ".xz" or not ours.size:
            return ours.copy()
        first = self.payload_start + span.start
        return _open(self.path)[first : first + span.size]


def _open(path: Path) -> NDArray[np.uint8]:
    if path.suffix == ".xz":
        return np.frombuffer(read_file(path, limits.UNPACKED), np.uint8)
    if size_of(path) == 0:
        return np.zeros(0, np.uint8)
    try:
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
