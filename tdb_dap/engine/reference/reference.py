"""Comparison of computed tensors with reference data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.strides import is_same_order, transposed_from
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.npz import LargeNpz
from tdb_dap.engine.reference.comparison import Comparison, compare
from tdb_dap.engine.reference.expected_files import onnx_names
from tdb_dap.engine.reference.tolerance import Tolerance, Tolerances
from tdb_dap.engine.source.mapped_tensor import MappedTensor, layer_names
from tdb_dap.errors import BadAccess, BadInput

__all__ = ["Comparison", "Reference", "Tolerance", "Tolerances", "compare", "numbers_of", "stored_form"]


_KINDS = "biuf"
"""Kinds of NumPy's formats that are real numbers."""
_OF_A_STEP = 0.01
"""Part of the step from one stored number to the next that single precision may have moved an expected one."""
_FEW = 0.01
"""Share of the numbers of a tensor that may be between stored ones."""


class Reference:
    """Reference tensors by location name. ``paths``: where they come from; the first of several that has a name wins.

    ``sources``: one mapping of names to tensors for each path.
    """

    title = "the reference"
    reason = ""
    is_expected = True
    is_computed = False
    """Whether it was computed on the inputs of the run that is compared with it."""

    def __init__(
        self,
        paths: Sequence[Path],
        sources: Iterable[Mapping[str, Array]],
        tolerance: Tolerance | Tolerances | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self.tolerances = tolerance if isinstance(tolerance, Tolerances) else Tolerances(tolerance or Tolerance())
        self._sources: dict[str, Mapping[str, Array]] = {}
        self.ambiguous: frozenset[str] = frozenset()
        """Names of several results of one op: which of them a file holds is not known."""
        self._own_names: dict[str, str] = {}
        """Name of a tensor in the model -> its name in the file, where that is another one."""
        for source in sources:
            for name in source:
                self._sources.setdefault(name, source)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._sources)

    def know_onnx_names(self, names: Iterable[str]) -> bool:
        """Also find what the files have by the ONNX model's names under these ``names`` of the compiled model.

        Whether there was such.
        """
        before = len(self._own_names)
        for name in names:
            own = next((each for each in onnx_names(name) if each in self._sources), None)
            if own is not None and name not in self._sources:
                self.know_as(name, own)
        return len(self._own_names) > before

    def know_as(self, name: str, own: str) -> None:
        """Also find the array ``own`` of a file under a name of the compiled model."""
        self._own_names[name] = own
        self._sources[name] = self._sources[own]

    def has_size(self, name: str, size: int) -> bool:
        """Whether an array of a file has this number of elements."""
        shape = self.shape(name)
        return shape is not None and prod(shape) == size

    def _numbers(self, name: str) -> Array:
        return self._sources[name][self._own_names.get(name, name)]

    def verify(self) -> None:
        """Read through what was not when it was opened; BadInput if it is damaged."""
        for source in self._sources.values():
            if isinstance(source, LargeNpz):
                source.verify()

    def read_unverified(self) -> None:
        """Verify nothing more when it is read: who opened it calls ``verify``, here or in another process."""
        for source in self._sources.values():
            if isinstance(source, LargeNpz):
                source.read_unverified()

    def check_names(self, known: Iterable[str]) -> None:
        """BadInput if no name of the reference occurs in the program, or what it holds there cannot be compared.

        Of ``known`` no more is looked at than needed: to name the tensors of a large program takes seconds.
        """
        suspects = {
            name
            for name, source in self._sources.items()
            if not _is_comparable(source, self._own_names.get(name, name))
        }
        is_known = False
        for name in known:
            if name not in self._sources:
                continue
            is_known = True
            if not suspects:
                break
            if name in suspects and (dtype := self._numbers(name).dtype).kind not in _KINDS:
                files = ", ".join(str(path) for path in self.paths)
                raise BadInput(f"{files}: {name}: {dtype} cannot be compared; give real numbers")
        if self._sources and not is_known:
            some = ", ".join(list(self._sources)[:4])
            files = ", ".join(str(path) for path in self.paths)
            raise BadInput(
                f"{files}: no name in it ({some}, ...) is a tensor of this model; give the model's own "
                "..._tpu_outputs.npz"
            )

    def has(self, value: MappedTensor) -> bool:
        return any(name in self._sources for name in layer_names(value.name))

    def whole(self, name: str, shape: tuple[int, ...] = ()) -> Array | None:
        """All numbers of a tensor; None if there is none of that name.

        ``shape``: of the tensor in the model; where the file has its axes in another order, they are put in this one.
        """
        own = self.own_name(name)
        return None if own is None else in_order_of(self._numbers(own), shape)

    def is_in_order(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether what the file has of a tensor lists the same elements in the same order as ``shape``, or is none."""
        own = self.shape(name)
        return own is None or not shape or prod(own) != prod(shape) or is_same_order(own, shape)

    def own_name(self, name: str) -> str | None:
        """The name that ``whole`` finds a tensor by."""
        names = (known for known in layer_names(name) if known in self._sources)
        return next((known for known in names if known not in self.ambiguous), None)

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Shape of what ``whole`` finds, most often without reading it."""
        own = self.own_name(name)
        if own is None:
            return None
        source = self._sources[own]
        if isinstance(source, LargeNpz):
            return source.shape(self._own_names.get(own, own))
        return self._numbers(own).shape

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors, as far as that is known without making them."""
        sources = {id(source): source for source in self._sources.values()}.values()
        return sum(
            source.nbytes if isinstance(source, LargeNpz) else sum(array.nbytes for array in source.values())
            for source in sources
            if isinstance(source, LargeNpz | dict)
        )

    def named(self, *names: str) -> Array | None:
        """The tensor of exactly the first of these names that is known."""
        return next((self._numbers(name) for name in names if name in self._sources), None)

    def expected(self, value: MappedTensor) -> Array | None:
        """Expected numbers of a value, float32, or None if the reference does not know it or cannot be laid over it.

        In the shape of the value's view (the compiler's records count five axes, memory four), so that the two can be
        subtracted and an index means the same in both; where their sizes differ, in the shape of the record.
        """
        name = self.own_name(value.name)
        if name is None or value.rearranged or value.element_type is None:
            return None
        try:
            with np.errstate(over="ignore"):  # infinite is what a chip would have of it, and differs
                part = self._part(name, value).astype(np.float32, copy=False)
        except (ValueError, IndexError):
            return None
        fits = value.view is not None and value.view.size == part.size
        return part.reshape(value.view.shape) if fits and value.view is not None else part

    def is_stored(self, value: MappedTensor) -> bool:
        """Whether all but few expected numbers are some that the value's format has; True where none is known.

        Those of the compiler's interpreter are, those of a model before quantisation are not.
        """
        expected = self.expected(value)
        words = None if expected is None else stored_form(value, expected)
        if expected is None or words is None:
            return True
        step = _OF_A_STEP * (value.scale if value.scale != 1 else np.abs(expected.reshape(words.shape)) / 128)
        distance = np.abs(numbers_from(value, words) - expected.reshape(words.shape))
        return bool(np.count_nonzero(distance > step) <= _FEW * words.size)

    def fits(self, value: MappedTensor) -> bool:
        """Whether there are expected numbers of a value, as many as its view has; no number is read."""
        shape = self.shape(value.name)
        if shape is None or value.view is None or value.rearranged or value.element_type is None:
            return False
        try:
            return value.view.size == value.expected(np.broadcast_to(np.float32(0), shape)).size
        except (ValueError, IndexError):
            return False

    def _part(self, name: str, value: MappedTensor) -> Array:
        """The numbers of a value, of a large file without the rest of the tensor."""
        source = self._sources[name]
        if not self.is_in_order(name, value.whole_shape):
            return value.expected(in_order_of(self._numbers(name), value.whole_shape))
        if isinstance(source, LargeNpz) and value.reshape and value.slices is not None:
            own = self._own_names.get(name, name)
            return value.arranged(source.part(own, value.reshape, value.slices))
        return value.expected(self._numbers(name))

    def other_inputs(self, machine: Machine) -> list[str]:
        """Names of the net's inputs that were given other numbers than the reference has for them.

        Then no difference says anything of an op. Inputs that nobody gave are zero.
        """
        names: list[str] = []
        for tensor in machine.program.inputs:
            expected = self.whole(tensor.name, tensor.shape)
            words = machine.inputs.get(tensor.name)
            is_unknown = words is None and machine.program.brings_inputs
            if is_unknown or expected is None or expected.size != tensor.view.size:
                continue
            if self.tolerances.excepts(tensor.name):
                continue
            if words is not None and tensor.holds(words, expected):
                continue
            actual = np.zeros(expected.shape) if words is None else tensor.given(words).reshape(expected.shape)
            tolerance = self.tolerances.of(tensor.name, tensor.dtype.name)
            sides = (actual.astype(np.float32), expected.astype(np.float32))
            if compare(tensor.name, *sides, tolerance, tensor.dtype, 1 / (abs(tensor.scale) or 1.0)).complaints:
                names.append(tensor.name)
        return names

    def doubt(self, machine: Machine) -> str:
        """Why no difference from it would say anything of an op: the run has other inputs. Empty if it has the same."""
        if self.is_computed:
            return ""
        names = ", ".join(path.name for path in self.paths)
        if others := self.other_inputs(machine):
            which = "all inputs are zero, and" if not machine.inputs else f"{', '.join(others)}:"
            return f"{which} {names} was made with other numbers"
        program = machine.program
        is_unknown = any(self.own_name(tensor.name) is None for tensor in program.inputs)
        if is_unknown and not machine.inputs and not program.brings_inputs:
            return f"all inputs are zero, and the inputs that {names} was made with are not given"
        return ""

    def compare(self, machine: Machine, value: MappedTensor) -> Comparison | None:
        """Compare what a value holds now; None if the reference does not know it or it cannot be read.

        None also where the reference has another shape and its numbers differ: they may be those of another layout. And
        where it holds only NaN, or the value is its own.
        """
        expected = self.expected(value)
        if expected is None or value.view is None or value.view.size != expected.size:
            return None
        if machine.expected.get(value.name):
            return None
        actual = numbers_of(machine, value)
        if actual is None or self.tolerances.excepts(value.name):
            return None
        dtype = value.view.dtype
        tolerance = self.tolerances.of(value.name, dtype.name)
        comparison = compare(value.name, actual.reshape(expected.shape), expected, tolerance, dtype, value.scale)
        if comparison.metrics.expects_nothing:
            return None
        return None if comparison.complaints and not self.is_in_order(value.name, value.whole_shape) else comparison


def in_order_of(array: Array, shape: tuple[int, ...]) -> Array:
    """An array with its axes in the order of ``shape``; itself where they are, or where no order leads there."""
    order = transposed_from(array.shape, shape) if shape else None
    return array if order is None else array.transpose(order).reshape(shape)


def _is_comparable(source: Mapping[str, Array], name: str) -> bool:
    """Whether an array is known to hold real numbers; one that is computed when it is asked for is not asked for."""
    if isinstance(source, LargeNpz):
        return source.dtypes[name].kind in _KINDS
    return isinstance(source, dict) and source[name].dtype.kind in _KINDS


def numbers_of(machine: Machine, value: MappedTensor) -> Array | None:
    """Numbers of a value now, float32, dequantised, in the shape of its view; None if it cannot be read."""
    words = words_of(machine, value)
    return None if words is None else numbers_from(value, words)


def words_of(machine: Machine, value: MappedTensor) -> Array | None:
    """Stored words of a value now, in the shape of its view; None if it cannot be read."""
    if value.view is None:
        return None
    try:
        return machine.memory.read(value.view)
    except BadAccess:  # a dynamic subnet's tensor that the run has placed elsewhere
        return None


class Form(NamedTuple):
    """Form in which the numbers of a tensor are stored."""

    dtype: DType
    scale: float
    zero_point: int

    @classmethod
    def of(cls, value: MappedTensor) -> Form:
        """That of a value with a view."""
        assert value.view is not None
        return cls(value.view.dtype, value.scale, value.zero_point)

    def numbers(self, words: Array) -> Array:
        """Numbers that stored words stand for, float32, dequantised; of float32 the words themselves."""
        stored = self.dtype.decode(words)
        if self.dtype.is_float and self.scale == 1:
            return stored.astype(np.float32, copy=False)
        numbers: Array = stored.astype(np.float32)
        numbers -= np.float32(self.zero_point)
        numbers *= np.float32(self.scale)
        return numbers


def numbers_from(value: MappedTensor, words: Array) -> Array:
    """Numbers that stored words of a value stand for, as ``Form.numbers``."""
    return Form.of(value).numbers(words)


def stored_form(value: MappedTensor, expected: Array) -> Array | None:
    """Stored words of ``value`` that stand for the numbers ``expected``; None if they do not fit."""
    view = value.view
    if view is None or view.size != expected.size:
        return None
    numbers = expected.reshape(view.shape)
    if value.scale != 1 or value.zero_point != 0:
        numbers = numbers / np.float32(value.scale) + np.float32(value.zero_point)
    if not view.dtype.is_float:
        if not np.isfinite(numbers).all():
            return None
        numbers = np.clip(np.rint(numbers.astype(np.float64)), view.dtype.minimum, view.dtype.maximum)
    return view.dtype.encode(numbers)
