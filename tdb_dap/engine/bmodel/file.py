"""The bmodel container: a 64-byte header, the metadata block and the payload block."""

from __future__ import annotations

import struct
from pathlib import Path

from tdb_dap.engine.bmodel.metadata import read_metadata
from tdb_dap.engine.bmodel.model_file import ModelFile
from tdb_dap.engine.files.bounded_files import size_of
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.errors import BadInput

MAGIC = 0xFF55AAEE
HEADER = struct.Struct("<IIIQ")
HEADER_BYTES = 64


class Bmodel(ModelFile):
    """A bmodel file; BadInput names what is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = FileBytes(path)
        data = self.content.data
        self.file_size = size_of(path)
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
        self.metadata = read_metadata(data[HEADER_BYTES : HEADER_BYTES + metadata_size].tobytes(), str(path))
        self.payload_start = HEADER_BYTES + metadata_size
        self.payload = data[HEADER_BYTES + metadata_size : expected]
