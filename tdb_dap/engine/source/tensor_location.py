"""Reading ``tensor_location.json``: which commands each emitted op instance owns, and the text about its tensors.

The file of a large model has hundreds of megabytes, nearly all of it about tensors that nobody asks for. The numbers of
each record are decoded at once; what describes its operands, results and buffers stays text until it is looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput

_COMPILE_AGAIN = "compile the model again with --debug"


class LocationRecord(msgspec.Struct, gc=False):
    """One record. ``before``, ``after``: (TIU, DMA) commands emitted when the op began and ended.

    ``is_local``: whether the op stands in a layer group; None in files of releases that do not say so.
    ``is_certain``: whether its commands are known to be its own; the compiler's always are.
    """

    line: int = msgspec.field(name="file-line")
    opcode: str
    subnet_id: int
    core_id: int
    before: tuple[int, int] = msgspec.field(name="tiu_dma_id(before)")
    after: tuple[int, int] = msgspec.field(name="tiu_dma_id(after)")
    operands: msgspec.Raw
    results: msgspec.Raw
    buffers: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))
    is_local: bool | None = None
    is_certain: bool = True

    def list_of(self, key: str) -> list[Any]:
        """The entries of ``operands``, ``results`` or ``buffers``; BadInput if that is not a list."""
        entries: list[Any] = self.decoded(key, getattr(self, key), list[Any])
        return entries

    def texts_of(self, key: str) -> list[bytes]:
        """The same entries as the file has them."""
        return list(map(bytes, self.decoded(key, getattr(self, key), list[msgspec.Raw])))

    def decoded(self, key: str, text: bytes | msgspec.Raw, type_: Any = Any) -> Any:
        """Decode ``text``, which is one of these lists or an entry of it; BadInput names the list."""
        try:
            return msgspec.json.decode(text, type=type_)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(
                f"tensor_location.json: the {key} of {self.opcode} at line {self.line} are damaged ({error}); "
                f"{_COMPILE_AGAIN}"
            ) from None


_DECODER = msgspec.json.Decoder(list[LocationRecord])


def read_records(path: Path) -> list[LocationRecord]:
    """All records of a file, unpacking ``.xz``; BadInput names the file, the record and what is wrong with it."""
    # Read, not mapped: the records refer to these bytes, and the compiler may write the file again meanwhile.
    return decode_records(read_file(path), path)


def decode_records(data: bytes | bytearray, path: Path) -> list[LocationRecord]:
    """All records of a file's bytes; BadInput names the file, the record and what is wrong with it."""
    try:
        return _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise BadInput(f"{path}: not a usable list of records: {error}; {_COMPILE_AGAIN}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not valid JSON ({error}); {_COMPILE_AGAIN}") from None
