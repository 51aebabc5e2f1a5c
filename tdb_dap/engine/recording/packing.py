"""Packed chunks of recordings: Zstandard, by the package ``zstandard`` or, from Python 3.14 on, by Python itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class CannotUnpack(Exception):
    """Bytes that are no packed chunk, or one of another size."""


class Packer:
    """Packs chunks, each with its size. ``level``: 1 (fast) to 19."""

    def __init__(self, level: int) -> None:
        self._level = level
        package = _package()
        self._compressor = (
            package.ZstdCompressor(level=level, write_checksum=False, write_content_size=True) if package else None
        )

    def pack(self, content: bytes | bytearray) -> bytes:
        """The packed chunk."""
        if self._compressor is not None:
            return bytes(self._compressor.compress(bytes(content)))
        return bytes(_standard().compress(bytes(content), self._level))


class Unpacker:
    """Unpacks chunks. ``window``: bytes of working memory that one may ask for, a power of two."""

    def __init__(self, window: int) -> None:
        self._window = window
        package = _package()
        self._decompressor = package.ZstdDecompressor(max_window_size=window) if package else None

    def unpack(self, packed: Any, size: int) -> bytes:
        """The content, of exactly ``size`` bytes; CannotUnpack if it is damaged or of another size."""
        if self._decompressor is not None:
            package = _package()
            try:
                if package.frame_content_size(packed) != size:
                    raise CannotUnpack("its size is not the announced one")
                content = bytes(self._decompressor.decompress(packed, max_output_size=size))
            except package.ZstdError:
                raise CannotUnpack("it cannot be unpacked") from None
        else:
            content = self._by_python(bytes(packed), size)
        if len(content) != size:
            raise CannotUnpack("its size is not the announced one")
        return content

    def _by_python(self, packed: bytes, size: int) -> bytes:
        module = _standard()
        try:
            if module.get_frame_info(packed).decompressed_size != size:
                raise CannotUnpack("its size is not the announced one")
            options = {module.DecompressionParameter.window_log_max: self._window.bit_length() - 1}
            return bytes(module.ZstdDecompressor(options=options).decompress(packed, max_length=size))
        except module.ZstdError:
            raise CannotUnpack("it cannot be unpacked") from None


def _package() -> Any:
    """The package; None where it is not installed and Python can do without it."""
    try:
        return import_module("zstandard")
    except ImportError:
        _standard()
        return None


def _standard() -> Any:
    """Python's own module; ImportError of the package where Python is older."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("zstandard")
