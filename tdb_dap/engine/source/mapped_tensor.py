"""A tensor that the source map names: where it is, and what part of the whole it is."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property, lru_cache
from typing import Any

from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import BY_NAME, DType
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.strides import contiguous, in_words
from tdb_dap.engine.hardware.views import Layout, View, strides_of
from tdb_dap.engine.source.element_types import ElementType, element_type
from tdb_dap.engine.source.marks import NO_MARKS, Marks
from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

_FLOAT8 = "f8E4M3"
_LARGEST_F8E4M3 = 448
_SLICE = pattern(r"(\d+):(\d+)")
_LOCAL_LAYOUTS = {
    "eu_align": Layout.ALIGN_EU,
    "compact": Layout.COMPACT,
    "eu_align_xn": Layout.ALIGN_XN,
    "compact_xn": Layout.COMPACT_XN,
}
_DENSE_LAYOUTS = {"continuous": Layout.CONTIGUOUS, "continuous_xn": Layout.CONTIGUOUS_XN}
_UNROLLED = pattern(r"(?:load_|store_)?(.+)_pipe\d+_slice\d+")
_TEXTS = ("name", "layout", "memory_type", "type", "reshape", "slice")
_ADDRESSES = range(1 << 48)
_KEPT = 1 << 12
"""Texts of shapes and slices that are not parsed again: a network has few."""


def dtype_of(memory_type: str) -> DType | None:
    """The format of a tensor as the compiler's records have its type; None for one that is not known."""
    return BY_NAME.get(memory_type.strip("<>").split("x")[-1])


@lru_cache(_KEPT)
def shape_of(text: str) -> tuple[int, ...]:
    """Dimensions of ``<1x16x32x32xf32>`` or ``<1x16x1x32x32>``."""
    parts = text.strip("<>").split("x")
    return tuple(integer(part) for part in parts if part.isdigit())


@lru_cache(_KEPT)
def _slices(text: str) -> tuple[slice, ...]:
    """Slices of ``[0:1, 0:16]``; none where it is empty."""
    return tuple([slice(integer(start), integer(stop)) for start, stop in _SLICE.findall(text)])


def layer_names(name: str) -> tuple[str, ...]:
    """The names under which reference data may know a value, best first.

    ``load_x`` is x in local memory; of a group that the compiler has unrolled (``--opt 3``), ``x_pipe0_slice1`` is a
    slice of x.
    """
    unrolled = _UNROLLED.fullmatch(name)
    names = (name, name.removeprefix("load_"), *(unrolled.groups() if unrolled else ()))
    return tuple(dict.fromkeys(names))


class MappedTensor:
    """A tensor that the source map names. ``scale`` and ``zero_point`` turn stored integers into numbers.

    ``rearranged``: the load spread the channels of the image for the convolution that follows, so that the bytes are
    not those of the layout that the record names.
    """

    def __init__(self, record: Mapping[str, Any], geometry: Geometry, core: int, marks: Marks = NO_MARKS) -> None:
        self._geometry = geometry
        self.core = core
        if not isinstance(record, dict):
            raise _unusable("record")
        for key in _TEXTS:
            if not isinstance(record.get(key), str):
                raise _unusable(key)
        self.name: str = record["name"]
        self.rearranged = self.name in marks.rearranged
        self.layout: str = record["layout"]
        if self.layout.endswith("_xn") and self.name in marks.coefficients:
            self.layout = self.layout.removesuffix("_xn")
        self.memory_type: str = record["memory_type"]
        self.type_text: str = record["type"]
        self.reshape: tuple[int, ...] = shape_of(record["reshape"])
        self.slice_text: str = record["slice"]
        if not isinstance(record.get("address"), int) or record["address"] not in _ADDRESSES:
            raise _unusable("address")
        self.address: int = record["address"]
        shape = record.get("shape", [])
        if not isinstance(shape, list) or not all(isinstance(extent, int) for extent in shape):
            raise _unusable("shape")
        # Compilers before 1.15 do not write the shape; it is that of the memory type.
        self.shape: tuple[int, ...] = tuple(shape or shape_of(self.memory_type))
        if not self._is_a_part:
            # The index of a nearest resize in a layer group has the slice of the resized tensor next to its own shape,
            # and in DDR an address that is moved on by it.
            self._widen()

    def _widen(self) -> None:
        """Make it all of its tensor."""
        self.address -= self._moved_on()
        self.slice_text = ""
        dtype = self.memory_type.strip("<>").split("x")[-1]
        self.memory_type = f"<{'x'.join(map(str, self.shape))}x{dtype}>"

    def widened(self) -> MappedTensor:
        """The whole tensor that it is a part of."""
        result = copy(self)
        result.__dict__.pop("view", None)
        result._widen()
        return result

    def _moved_on(self) -> int:
        """Bytes by which the slice moves the address on in a tensor in DDR."""
        dtype = dtype_of(self.memory_type)
        if self.layout not in _DENSE_LAYOUTS or dtype is None or len(self.slices or ()) != len(self.reshape):
            return 0
        starts = [part.start for part in self.slices or ()]
        return dtype.itemsize * sum(a * b for a, b in zip(starts, contiguous(self.reshape), strict=True))

    def shifted(self, by: tuple[int, ...]) -> MappedTensor:
        """The part of the same tensor that begins so far after it, ``by`` axis; itself where that is not known."""
        view = self.view
        if view is None or view.strides is None or len(by) != len(view.shape):
            return self
        result = copy(self)
        result.__dict__.pop("view", None)
        result.address += view.dtype.itemsize * sum(a * b for a, b in zip(by, view.strides, strict=True))
        offsets = by if len(by) != 4 or len(self.slices or ()) != 5 else (*by[:2], 0, *by[2:])
        if self.slices is not None and len(offsets) == len(self.slices):
            moved = (f"{part.start + a}:{part.stop + a}" for part, a in zip(self.slices, offsets, strict=True))
            result.slice_text = f"[{', '.join(moved)}]"
        return result

    @cached_property
    def element_type(self) -> ElementType | None:
        """Type of its elements as the compiler writes it; None for a form that is not known.

        Then nobody knows what stored numbers stand for.
        """
        try:
            return element_type(self.type_text)
        except BadInput:
            return None

    @cached_property
    def scale(self) -> float:
        """Factor from stored numbers to those they stand for; 8-bit floats have the largest number of calibration."""
        kind = self.element_type
        if kind is not None and kind.storage.startswith(_FLOAT8) and kind.calibrated is not None:
            return kind.calibrated[1] / _LARGEST_F8E4M3
        return kind.scale if kind is not None else 1.0

    @property
    def zero_point(self) -> int:
        """Stored number that stands for 0."""
        return self.element_type.zero_point if self.element_type is not None else 0

    @property
    def slices(self) -> tuple[slice, ...] | None:
        """The part of the whole tensor that this value is; None for all of it."""
        return _slices(self.slice_text) or None

    @property
    def whole_shape(self) -> tuple[int, ...]:
        """Shape of the whole tensor that this value is a part of, as far as the record says it."""
        return self.reshape or self.shape

    @property
    def _is_a_part(self) -> bool:
        """Whether the slice is within the tensor."""
        return all(part.stop <= extent for part, extent in zip(self.slices or (), self.reshape, strict=False))

    @property
    def is_3d_group(self) -> bool:
        """Depth is folded into the batch, (n, c, d, h, w) stored as (d*n, c, h, w)."""
        return self.layout.endswith("group3d")

    @cached_property
    def view(self) -> View | None:
        """View of it in memory; None if the layout is not known, or for a table in L2 recorded as if it were local."""
        dtype = dtype_of(self.memory_type)
        if dtype is None:
            return None
        shape = shape_of(self.memory_type)
        address = self.address
        plain = self.layout.removesuffix("_group3d")
        local = _LOCAL_LAYOUTS.get(plain)
        if local is not None:
            n, c, h, w = (*shape, 1, 1, 1, 1)[:4] if len(shape) <= 4 else shape[:4]
            strides = strides_of(self._geometry, local, address, (n, c, h, w), dtype)
            space, offset = self._geometry.locate_tiu(address)
            if space is Space.LOCAL and offset >= self._geometry.lane_bytes:
                return None
            return View(space, offset, (n, c, h, w), dtype, local, strides, self._geometry, core=self.core)
        dense = _DENSE_LAYOUTS.get(plain)
        if dense is None:
            return None
        space, offset = self._geometry.locate(address)
        steps = self._dense(shape) if dense is Layout.CONTIGUOUS else in_words(self._dense(shape), dtype)
        return View(space, offset, shape, dtype, dense, steps, self._geometry, core=self.core)

    def _dense(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A slice of a tensor in DDR has the strides of the whole tensor (n, c, d, h, w)."""
        if len(self.reshape) != 5 or len(shape) != 4:
            return contiguous(shape)
        _, c, d, h, w = self.reshape
        return (h * w, d * h * w, w, 1) if self.is_3d_group else (c * d * h * w, d * h * w, w, 1)

    def expected(self, tensor: NDArray[Any]) -> NDArray[Any]:
        """The part of reference data for the whole tensor that this value should hold; ValueError if it cannot fit."""
        part = tensor.reshape(self.reshape) if self.reshape else tensor
        if self.slices is not None:
            part = part[self.slices]
        return self.arranged(part)

    def arranged(self, part: NDArray[Any]) -> NDArray[Any]:
        """A part of reference data with its axes in the order of memory."""
        return part.transpose(2, 0, 1, 3, 4) if self.is_3d_group else part


def _unusable(key: str) -> BadInput:
    return BadInput(f"tensor_location.json: a tensor has no usable {key!r}; compile the model again with --debug")
