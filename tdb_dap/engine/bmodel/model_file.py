"""A compiled file, whatever its container: a description, and a payload that spans of it are in.

The file is mapped, not read: spans of the payload are views of the mapping, private to this process, so weights
cost no memory until a page of them is touched. A ``.xz`` file has to be unpacked into memory instead.
"""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.bmodel.metadata import Metadata, Span
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.errors import BadInput


class ModelFile:
    """A compiled file. ``payload`` is uint8, mapped, private and writable.

    ``payload_start``: where it begins in the unpacked file; ``file_size``: bytes of the file as it was read, packed.
    """

    path: Path
    metadata: Metadata
    payload: NDArray[np.uint8]
    payload_start: int
    file_size: int

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
        first = self.payload_start + span.start
        if self.path.suffix == ".xz" or not ours.size or first + span.size > size_of(self.path):
            return ours.copy()
        return mapped(self.path)[first : first + span.size]


def mapped(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, unpacking ``.xz``; what is written into them does not reach the file."""
    if path.suffix == ".xz":
        return np.frombuffer(read_file(path, limits.UNPACKED), np.uint8)
    if size_of(path) == 0:
        return np.zeros(0, np.uint8)
    try:
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
