"""A compiled file, whatever its container: a description, and a payload that spans of it are in."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.bmodel.metadata import Metadata, Span
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.errors import BadInput


class ModelFile:
    """A compiled file. ``payload``: of ``content``, uint8, private and writable.

    ``payload_start``: where it begins in the unpacked file; ``file_size``: bytes of the file as it was read, packed.
    """

    path: Path
    content: FileBytes
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

        Of a mapped file a page is copied when it is written; one that was read is copied as a whole.
        """
        ours = self.bytes_of(span, what)
        first = self.payload_start + span.start
        if not self.content.is_mapped or first + span.size > self.content.data.size:
            return ours.copy()
        return self.content.private()[first : first + span.size]
