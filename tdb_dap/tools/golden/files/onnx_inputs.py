"""Inputs and initialisers of an ONNX model, read without the package ``onnx``.

Only what is needed of the encoding of protocol buffers: a message is a row of (field number, kind, value); kind 0 is a
number in groups of 7 bits, 2 is bytes with their length before them. Field numbers are those of onnx.proto: the graph
is 7, its inputs 11, its weights 5; of an input the name is 1 and the type 2, in which the tensor is 1, its shape 2,
each axis 1 and its extent 1. Of a weight the extents are 1, the format 2, the name 8 and the bytes 9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput

_FLOATS: Mapping[object, str] = {1: "<f4", 10: "<f2", 11: "<f8"}
"""Number of a format -> how its numbers are stored."""

_FIXED = {1: 8, 5: 4}
"""Kind of a value -> its bytes, if that is all."""


def input_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the inputs by name, 0 for an axis without a fixed extent; BadInput if the file is no ONNX model."""
    data = bytes(read_file(path))
    try:
        graph = next(value for number, value in _fields(data) if number == 7 and isinstance(value, bytes))
        entries = [(number, value) for number, value in _fields(graph) if isinstance(value, bytes)]
        weights = {_text(value, 8) for number, value in entries if number == 5}
        shapes = {_text(value, 1): tuple(_extents(value)) for number, value in entries if number == 11}
    except (StopIteration, IndexError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read as an ONNX model: {error or 'it has no graph'}") from None
    return {name: shape for name, shape in shapes.items() if name not in weights}


def weights(path: Path) -> dict[str, Array]:
    """Initialisers of floats whose bytes are in the file, by name; none if the file cannot be read."""
    arrays: dict[str, Array] = {}
    try:
        data = bytes(read_file(path))
        for graph in _inside(data, 7):
            for tensor in _inside(graph, 5):
                fields = list(_fields(tensor))
                form = next((_FLOATS.get(value) for number, value in fields if number == 2 and value in _FLOATS), None)
                raw = next((value for number, value in fields if number == 9 and isinstance(value, bytes)), b"")
                if form is not None and raw:
                    arrays[_text(tensor, 8)] = np.frombuffer(raw[: len(raw) // 4 * 4], form)
    except (BadInput, OSError, IndexError, ValueError):
        return {}
    return arrays


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message; ValueError if it ends too early."""
    place = 0
    while place < len(data):
        key, place = _number(data, place)
        kind = key & 7
        if kind == 0:
            value, place = _number(data, place)
            yield key >> 3, value
            continue
        if kind == 2:
            size, place = _number(data, place)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError(f"a value of kind {kind} at byte {place:,}")
        if size > len(data) - place:
            raise ValueError(f"it ends before byte {place + size:,}")
        yield key >> 3, data[place : place + size]
        place += size


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number and where the next value begins."""
    number = 0
    for index in range(10):
        byte = data[place + index]
        number |= (byte & 127) << 7 * index
        if byte < 128:
            return number, place + index + 1
    raise ValueError(f"a number without an end at byte {place:,}")


def _text(data: bytes, number: int) -> str:
    content = next((value for field, value in _fields(data) if field == number), b"")
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else ""


def _inside(data: bytes, number: int) -> Iterator[bytes]:
    return (value for field, value in _fields(data) if field == number and isinstance(value, bytes))


def _extents(data: bytes) -> Iterator[int]:
    for kind in _inside(data, 2):
        for tensor in _inside(kind, 1):
            for shape in _inside(tensor, 2):
                for axis in _inside(shape, 1):
                    value = next((value for field, value in _fields(axis) if field == 1), 0)
                    yield value if isinstance(value, int) else 0
