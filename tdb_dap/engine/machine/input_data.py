"""Input data as users have them: arrays by name, one array, or raw bytes as the device takes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from msgspec import Struct

from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, start_of
from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.strides import is_same_order
from tdb_dap.engine.machine.npz import read_npy, read_npz
from tdb_dap.errors import BadInput

_ARCHIVE = b"PK\x03\x04"
_NPY = b"\x93NUMPY"

_PICTURES = (
    (0, b"\xff\xd8\xff", "JPEG"),
    (0, b"\x89PNG", "PNG"),
    (6, b"\0\0\0\0", "BMP"),
    (0, b"GIF8", "GIF"),
    (8, b"WEBP", "WebP"),
    (0, b"II*\0", "TIFF"),
    (0, b"MM\0*", "TIFF"),
)
"""Bytes by which pictures are known: offset, bytes, kind."""

_MOST_SIBLINGS = 256
"""Files of a folder that are looked at for one that fits."""


class Taken(Protocol):
    """An input of a net, as the file or the program describes it."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...


class InputData(Struct, frozen=True):
    """Contents of a file of inputs.

    ``arrays``: by name, or one of the name "" where the file names none; None: ``raw`` holds the inputs as the device
    takes them, one after another.
    """

    path: Path
    arrays: Mapping[str, Array] | None
    raw: bytes | bytearray = b""

    @classmethod
    def read(cls, path: Path) -> InputData:
        """The contents of an ``.npz``, ``.npy`` or raw file, told apart by how it begins; BadInput if it is damaged."""
        start = start_of(path)
        if path.suffix == ".npz" or start.startswith(_ARCHIVE):
            return cls(path, read_npz(path))
        if start.startswith(_NPY):
            return cls(path, {"": read_npy(path)})
        return cls(path, None, read_file(path, limits.UNPACKED))

    def words(self, tensors: Sequence[Tensor]) -> dict[str, Array]:
        """Stored words for every input, by name. BadInput says what does not fit, and which file would."""
        if self.arrays is None:
            return self._cut(tensors)
        named = self._named(tensors, self.arrays)
        where = str(self.path) if "" in self.arrays else f"{self.path}[%s]"
        return {
            tensor.name: tensor.lower(array, where.replace("%s", tensor.name))
            for tensor, array in zip(tensors, named, strict=True)
        }

    def fits(self, tensors: Sequence[Taken]) -> bool:
        """Whether there is an array, or as many bytes, for each of these inputs; no number is looked at."""
        if self.arrays is None:
            return len(self.raw) == _bytes_of(tensors)
        try:
            named = self._named(tensors, self.arrays)
        except BadInput:
            return False
        return all(is_same_order(array.shape, tensor.shape) for array, tensor in zip(named, tensors, strict=True))

    def is_within(self, tensors: Sequence[Taken]) -> bool:
        """Whether there is an array for each of these inputs that is no larger, as a dynamic net takes them."""
        try:
            named = self._named(tensors, self.arrays or {})
        except BadInput:
            return False
        return all(_is_within(array.shape, tensor.shape) for array, tensor in zip(named, tensors, strict=True))

    def shaped(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The inputs in the shapes of the arrays, where those are smaller: a dynamic net takes them, too."""
        if self.arrays is None or self.fits(tensors):
            return tuple(tensors)
        named = self._named(tensors, self.arrays)
        return tuple(
            tensor.in_shape(array.shape) if _is_within(array.shape, tensor.shape) else tensor
            for tensor, array in zip(tensors, named, strict=True)
        )

    def _named(self, tensors: Sequence[Taken], arrays: Mapping[str, Array]) -> list[Array]:
        """An array for each input: by name, else by position where the counts agree; BadInput if one is missing."""
        known = [tensor.name for tensor in tensors]
        names = ", ".join(known)
        if "" in arrays and len(known) != 1:
            raise BadInput(
                f"{self.path}: holds one array; the model's inputs are {names}: give an .npz with these names"
            )
        by_position = "" in arrays or (len(known) > 1 and not any(name in arrays for name in known))
        if by_position and len(arrays) == len(known):
            return list(arrays.values())
        missing = [name for name in known if name not in arrays]
        if missing:
            raise BadInput(
                f"{self.path}: has no array named {', '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}, "
                f"the model's inputs are {names}"
            )
        return [arrays[name] for name in known]

    def _cut(self, tensors: Sequence[Tensor]) -> dict[str, Array]:
        """The words of each input out of the raw bytes."""
        expected = _bytes_of(tensors)
        if len(self.raw) != expected:
            names = ", ".join(tensor.name for tensor in tensors)
            picture = self._picture()
            if picture:
                raise BadInput(f"{self.path}: is a {picture} picture; {self._instead(tensors)}")
            raise BadInput(f"{self.path}: {len(self.raw):,} bytes; the inputs {names} take {expected:,}")
        words: dict[str, Array] = {}
        offset = 0
        for tensor in tensors:
            part = np.frombuffer(self.raw, tensor.dtype.bits_dtype, tensor.view.size, offset)
            words[tensor.name] = part.reshape(tensor.shape)
            offset += tensor.view.nbytes
        return words

    def _picture(self) -> str:
        """The kind of a picture, empty if it is none."""
        raw = self.raw
        kinds = [kind for offset, mark, kind in _PICTURES if raw[offset : offset + len(mark)] == mark]
        is_bitmap = raw[:2] == b"BM" and int.from_bytes(raw[2:6], "little") == len(raw)
        return next((kind for kind in kinds if kind != "BMP" or is_bitmap), "")

    def _instead(self, tensors: Sequence[Tensor]) -> str:
        """The file to give in place of a picture."""
        wanted = ", ".join(f"{t.name} {t.dtype}[{','.join(map(str, t.shape))}]" for t in tensors)
        fitting: list[tuple[bool, bool, str]] = []
        for sibling in itertools.islice(sorted(self.path.absolute().parent.glob("*.npz")), _MOST_SIBLINGS):
            try:
                data = InputData.read(sibling)
            except BadInput:
                continue
            if data.arrays is not None and data.fits(tensors):
                arrays = data._named(tensors, data.arrays)
                is_stored = all(a.dtype == t.dtype.numpy for a, t in zip(arrays, tensors, strict=True))
                fitting.append((not is_stored, "_in" not in sibling.stem, sibling.name))
        if fitting:
            return f"give its numbers: {self.path.with_name(min(fitting)[2])} holds {wanted}"
        return (
            f"give its numbers, {wanted}, as .npz or .npy; model_transform --test_input writes them as *_in_f32.npz, "
            "model_deploy with fused preprocessing as *_in_ori.npz"
        )


def load_inputs(path: Path, tensors: Sequence[Tensor]) -> dict[str, Array]:
    """Stored words for every input, by name, from an ``.npz``, ``.npy`` or raw file (``.dat``, ``.bin``).

    An npz gives arrays by input name, or, if no name fits and the counts agree, by position; an npy is the only input.
    BadInput names what does not fit.
    """
    return InputData.read(path).words(tensors)


def _is_within(shape: tuple[int, ...], largest: tuple[int, ...]) -> bool:
    return len(shape) == len(largest) and all(1 <= own <= most for own, most in zip(shape, largest, strict=True))


def _bytes_of(tensors: Sequence[Taken]) -> int:
    return sum(math.prod(tensor.shape) * tensor.dtype.itemsize for tensor in tensors)
