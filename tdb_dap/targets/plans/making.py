"""Making plans: the calls of a semantic function for tensors of known layout and unknown contents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.elements import Elements, moved
from tdb_dap.targets.arithmetic.stored import AXES, Place, Stored, Unplanned, Value
from tdb_dap.targets.arithmetic.sums import Sums
from tdb_dap.targets.declaration.rows import number as row_number
from tdb_dap.targets.kernel.constants import Function
from tdb_dap.targets.kernel.records import ElementsRecord
from tdb_dap.targets.plans.forms import Form
from tdb_dap.targets.plans.products import product_of
from tdb_dap.targets.plans.tensors import Index, Tensor, in_shape
from tdb_dap.targets.plans.windows import convolution_of, windows_of
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.semantics.execute import constant_bits, function_of
from tdb_dap.targets.semantics.registry import (
    MOVES,
    PRODUCTS,
    UNPACKS,
    Convolved,
    Described,
    MatrixProduct,
    Operation,
    Semantic,
    is_move,
)

_WITH_TABLE = frozenset({Function.SERIES, Function.LOOKED_UP, Function.SCATTERED})
"""Functions whose table is read for every element."""


class Unpacks(NamedTuple):
    """Numbers in a row that a plan reads, and the command has compressed."""

    role: str
    amount: int
    size: int
    """Bytes of a number."""
    most: int
    """Bytes of the compressed data, at most."""


class Made(Struct, frozen=True):
    """The part of a plan that the kernel carries out, see ``plans.plan``."""

    calls: object
    slots: tuple[tuple[int, int, int], ...]
    """For each tensor the number of its slot, and the bytes from its address that it is in."""
    sub: tuple[str, int]
    """Family and operation, by which the function is registered."""
    function: Semantic
    block: bytes
    """The records of ``calls``."""
    unpacks: Unpacks | None = None
    """The only operand is not in the memory; see ``plans.unpacking``."""


def make(name: str, form: Form, rules: Rules) -> Made:
    """The plan of a form; Unplanned where its function looks at anything that differs between its commands.

    ``name``: the command in the errors of what is not simulated.
    """
    function = function_of(name, form.bound, rules)
    results = {role: Tensor.of(view) for role, view in form.bound.results.items() if isinstance(view, View)}
    (role, result), *others = results.items()
    packed = _packed(function, form)
    operands = form.bound.operands if packed is None else {packed.role: _in_a_row(result.view)}
    tensors = {name: Tensor.of(view) for name, view in operands.items() if isinstance(view, View)}
    if not all(each.has_apart() for each in results.values()):
        raise Unplanned("elements of the result that overlap")
    calls: list[ElementsRecord] = []
    product: kernel.Product | None = None
    with np.errstate(all="ignore"):
        if others:
            return _made_of_several(function, form, tensors, results, rules)
        if function in PRODUCTS:
            sums = _sums(PRODUCTS[function], form, tensors, (role, result), rules)
            product = sums.record()
        elif packed is not None:
            calls = _moved(lambda x: x[packed.role].bits, form, tensors, (role, result), rules)
        elif _is_move(function, form) and len(form.bound.operands) == len(tensors) == 1:
            calls = _moved(function, form, tensors, (role, result), rules)
        else:
            calls = _computed(function, form, tensors, (role, result), rules)
    every, numbers = [*tensors.values(), result], [form.numbers[each] for each in (*tensors, role)]
    # What is not written stays as it is: the old words have to be where the result is.
    is_partial = any(call.function == Function.SCATTERED for call in calls)
    if is_partial and not _is_over("old", form, tensors, (role, result)):
        raise Unplanned("a result that is not written over what was there")
    # Where both are the same places, an element may be written as soon as it is read; but not if others need it, too.
    alone = {
        source
        for call in calls
        if call.function in _WITH_TABLE
        for source in (call.table.source, *([call.operand[0].source] if call.function == Function.SCATTERED else []))
    }
    if not MOVES.get(function, True):
        alone.update(range(len(tensors)))
    orders = [0 if number in alone else _order(each, result, function) for number, each in enumerate(every)]
    extents = tuple(
        [
            (each.origin, each.low, each.high, each.inner, order, slot)
            for each, order, slot in zip(every, orders, numbers, strict=True)
        ]
    )
    block = kernel.block(form.bound.fields.geometry.lane_bytes, extents, calls, product)
    slots = tuple([(number, each.low, each.high) for number, each in zip(numbers, every, strict=True)])
    sub = form.bound.family.name, form.bound.fields.sub
    return Made(kernel.plan(block), slots, sub, function, block, packed)


def _packed(function: Semantic, form: Form) -> Unpacks | None:
    """The numbers that a function unpacks its only operand to, if it does."""
    if function not in UNPACKS:
        return None
    ((role, operand), *_), (result, *_) = form.bound.operands.items(), form.bound.results.values()
    if not isinstance(operand, View) or operand.layout is not Layout.STREAM:
        return None
    if not isinstance(result, View) or len(form.bound.operands) > 1 or not _is_move(function, form):
        raise Unplanned("compressed data that are not just moved")
    return Unpacks(role, result.size, result.dtype.itemsize, operand.size)


def _in_a_row(result: View) -> View:
    """Numbers of the same shape one after the other."""
    steps = tuple([math.prod(result.shape[axis + 1 :]) for axis in range(len(result.shape))])
    return replace(result, space=Space.GLOBAL, address=0, layout=Layout.DMA_STRIDE, strides=steps, width=0)


def _made_of_several(
    function: Semantic, form: Form, tensors: dict[str, Tensor], results: dict[str, Tensor], rules: Rules
) -> Made:
    """The plan of a form with several results of one layout, at one address but for bytes in between."""
    (_, first), *_ = results.items()
    rows = dict(form.bound.family.results)
    bytes_before = [row_number(form.bound.fields, rows[role].first) for role in results]
    behind = [each - bytes_before[0] for each in bytes_before]
    calls: list[ElementsRecord] = []
    for number, ((role, result), bytes_) in enumerate(zip(results.items(), behind, strict=True)):
        own = _computed(function, form, tensors, (role, result), rules, number)
        for call in own:  # as if it were an element of the first one, that far behind its address
            call.to.data += first.origin - result.origin + bytes_
        calls = own + calls  # the first one last: it may be written over what the others are computed from
    if any(call.function in _WITH_TABLE for call in calls):
        raise Unplanned("a table of several results")
    numbers = [form.numbers[each] for each in (*tensors, *list(results)[:1])]
    low = min(each.low + bytes_ for each, bytes_ in zip(results.values(), behind, strict=True))
    high = max(each.high + bytes_ for each, bytes_ in zip(results.values(), behind, strict=True))
    inner = [each.inner and each.inner + bytes_ for each, bytes_ in zip(results.values(), behind, strict=True)]
    extents = [
        (each.origin, each.low, each.high, each.inner, int(_may_be_first(each, first, behind[1:])), slot)
        for each, slot in zip(tensors.values(), numbers, strict=False)
    ]
    extents.append((first.origin, low, high, max(inner) if all(inner) else 0, 0, numbers[-1]))
    block = kernel.block(form.bound.fields.geometry.lane_bytes, tuple(extents), calls, None)
    slots = [(slot, each.low, each.high) for each, slot in zip(tensors.values(), numbers, strict=False)]
    sub = form.bound.family.name, form.bound.fields.sub
    return Made(kernel.plan(block), (*slots, (numbers[-1], low, high)), sub, function, block)


def _may_be_first(tensor: Tensor, result: Tensor, behind: Sequence[int]) -> bool:
    """Whether an operand may be where the first result is: no other one reaches it."""
    return tensor.is_laid_out_as(result) and bool(tensor.inner) and all(bytes_ >= tensor.inner for bytes_ in behind)


def _is_move(function: Semantic, form: Form) -> bool:
    """Whether a command moves words as they are."""
    return function in MOVES and is_move(function, form.bound.fields)


def _is_over(old: str, form: Form, tensors: dict[str, Tensor], result: tuple[str, Tensor]) -> bool:
    """Whether an operand is where the result is, in every command of the form."""
    role, to = result
    return old in tensors and form.numbers[old] == form.numbers[role] and tensors[old].is_laid_out_as(to)


def _order(tensor: Tensor, result: Tensor, function: Semantic) -> int:
    """Whether the result may be written while the tensor is read, if both have one address.

    0: no; 1: they are alike, or words are written where they are; 2: elements are read before they are written over, if
    they are taken in order.
    """
    is_kept = MOVES.get(function, False) and tensor.is_part_of(result)
    return 1 if is_kept or tensor.is_laid_out_as(result) else 2 * tensor.is_read_before(result)


def _call(elements: Elements, to: Array) -> ElementsRecord:
    """One call as the kernel takes it."""
    if to.ndim > AXES:
        raise Unplanned("more than four axes")
    return elements.planned(to)


def _operation(form: Form, values: dict[str, Value], result: str, shape: tuple[int, ...], rules: Rules) -> Operation:
    dtypes = {role: view.dtype for role, view in form.bound.results.items()}
    return Operation(values, dtypes, {result: shape}, form.bound.fields, rules)


def _values(form: Form, locations: dict[str, Array]) -> dict[str, Value]:
    """The operands of a form: its constants, and tensors that are at these locations, in their order."""
    numbers = {role: number for number, role in enumerate(locations)}
    return {
        role: Place(locations[role], operand.dtype, numbers[role])
        if isinstance(operand, View)
        else Value(constant_bits(operand.bits, operand.dtype.itemsize), operand.dtype, True)
        for role, operand in form.bound.operands.items()
    }


def _sums(
    describe: Callable[[Operation], Described],
    form: Form,
    tensors: dict[str, Tensor],
    result: tuple[str, Tensor],
    rules: Rules,
) -> Sums:
    """The sums of a function that sums up products."""
    role, to = result
    nothing = {
        each: np.broadcast_to(np.zeros(1, tensor.view.dtype.bits_dtype), tensor.view.shape)
        for each, tensor in tensors.items()
    }
    values = _values(form, nothing)
    described = describe(_operation(form, values, role, to.view.shape, rules))
    if isinstance(described, MatrixProduct):
        sums = product_of(described, tensors, to)
    elif isinstance(described, Convolved):
        sums = convolution_of(described, tensors, to, form.bound.fields)
    else:
        sums = windows_of(described, tensors, to, form.bound.fields)
    return sums.with_flushed_halves() if rules.flushes_halves else sums


def _computed(
    function: Semantic,
    form: Form,
    tensors: dict[str, Tensor],
    result: tuple[str, Tensor],
    rules: Rules,
    number: int | None = None,
) -> list[ElementsRecord]:
    """The calls of a function of elements, one for each part that is in equal steps in all tensors.

    ``number``: of the result, of several.
    """
    role, to = result
    calls: list[ElementsRecord] = []
    first: list[Array] = []
    starts: list[int] = []
    for place, index in enumerate(_parts([*tensors.values(), to])):
        target = _part(to, place, index, to.view.shape)
        parts = {each: _part(tensor, place, index, to.view.shape) for each, tensor in tensors.items()}
        arrays = [*parts.values(), target]
        if calls and _are_alike(first, arrays):
            starts = starts or _starts(first)
            steps = [now - before for before, now in zip(starts, _starts(arrays), strict=True)]
            calls.append(_moved_on(calls[0], steps))
            continue
        values = _values(form, parts)
        words = function(_operation(form, values, role, target.shape, rules))
        words = words if number is None or not isinstance(words, tuple) else words[number]
        calls.append(_call(_described(words, target), target))
        first = first or arrays
    return calls


def _are_alike(arrays: Sequence[Array], others: Sequence[Array]) -> bool:
    """Whether the parts of all tensors differ from other parts in nothing but where they begin."""
    return all(a.shape == b.shape and a.strides == b.strides for a, b in zip(arrays, others, strict=True))


def _starts(arrays: Sequence[Array]) -> list[int]:
    """Addresses at which parts of tensors begin."""
    return [array.__array_interface__["data"][0] for array in arrays]


def _moved_on(call: ElementsRecord, steps: Sequence[int]) -> ElementsRecord:
    """The call for parts that are like those of another one, and begin some bytes after them; the result is last."""
    moved_on = ElementsRecord.from_buffer_copy(call)
    for stored in (*moved_on.operand[: moved_on.operands], moved_on.table):
        if stored.source >= 0 and stored.data:
            stored.data += steps[stored.source]
    moved_on.to.data += steps[-1]
    return moved_on


def _described(words: Any, target: Array) -> Elements:
    """The description that a function gave, or one of the only word that it gave."""
    if isinstance(words, Elements):
        if words.shape != target.shape or words.dtype.itemsize != target.itemsize:
            raise Unplanned(f"a result of the shape {words.shape}")
        return words
    if not isinstance(words, np.ndarray) or words.size != 1 or words.dtype.itemsize != target.itemsize:
        raise Unplanned("numbers that are computed in NumPy")
    word = Stored(words.reshape(1, 1, 1, 1), F32)
    return replace(moved(word), shape=target.shape, dtype=target.dtype)


def _parts(tensors: Sequence[Tensor]) -> list[Index]:
    """The parts into which some of the tensors are cut by their layouts."""
    shape = tensors[-1].view.shape
    cuts = [
        [index if each.view.shape == shape else _cut(index, each.view.shape, shape) for index, _ in each.pieces]
        for each in tensors
        if each.array is None
    ]
    if not cuts:
        return [tuple(slice(0, extent) for extent in shape)]
    if any(cut != cuts[0] for cut in cuts):
        raise Unplanned("tensors that are cut in different ways")
    return cuts[0]


def _cut(index: Index, shape: tuple[int, ...], result: tuple[int, ...]) -> Index:
    """The part of a result that a piece of a tensor of this shape belongs to: where it is not cut, all of an axis."""
    if len(shape) != len(result):
        raise Unplanned("operands of other axes than the result")
    return tuple(
        slice(0, extent) if (part.start, part.stop) == (0, own) else part
        for part, own, extent in zip(index, shape, result, strict=True)
    )


def _part(tensor: Tensor, place: int, index: Index, result: tuple[int, ...]) -> Array:
    """The part of a tensor that belongs to one of a result of this shape. ``place``: of the part, in their order."""
    shape = tensor.view.shape
    if tensor.array is None:
        own, piece = tensor.pieces[place]  # all tensors that are cut are cut alike
        if piece.shape != tuple(part.stop - part.start for part in own):
            raise Unplanned("a layout of more axes")
        return piece
    if len(shape) == 1 and tensor.view.space is Space.L2:
        return tensor.array  # a table: whole for each part
    if len(shape) != len(index):
        raise Unplanned("operands of other axes than the result")
    chosen = [slice(None)] * len(shape)
    for axis, (extent, part) in enumerate(zip(shape, index, strict=True)):
        if (part.start, part.stop) == (0, result[axis]):
            continue  # not cut: the function knows how its operands fit together
        if extent == result[axis]:
            chosen[axis] = part
        elif part.start % extent:  # rows that are repeated from lane to lane begin with the first one
            raise Unplanned("an operand of other elements than the result")
    return tensor.array[tuple(chosen)]


def _moved(
    function: Semantic, form: Form, tensors: dict[str, Tensor], result: tuple[str, Tensor], rules: Rules
) -> list[ElementsRecord]:
    """The calls of a function that moves the words of its tensor."""
    role, to = result
    ((name, source),) = tensors.items()
    if source.view.dtype.itemsize != to.view.dtype.itemsize:
        raise Unplanned("words of another size")
    shape = to.view.shape
    pairs: list[tuple[Array, Array]]
    if source.array is not None:
        words = source.array.view()
        words.flags.writeable = False
        moved = function(_operation(form, {name: Value(words, source.view.dtype)}, role, shape, rules))
        if not isinstance(moved, np.ndarray) or not _is_part(moved, source.array):
            raise Unplanned("words that are moved in more than one step")
        spread = np.broadcast_to(moved, shape)
        pairs = [(in_shape(spread[index], piece.shape), piece) for index, piece in to.pieces]
    elif not MOVES[function] or math.prod(source.view.shape) != math.prod(shape):
        raise Unplanned("words of a tensor that is cut are moved in another order")
    elif to.array is not None:
        target = in_shape(to.array, source.view.shape)
        pairs = [(piece, in_shape(target[index], piece.shape)) for index, piece in source.pieces]
    elif source.view.shape == shape and [index for index, _ in source.pieces] == [index for index, _ in to.pieces]:
        pairs = [(a, in_shape(b, a.shape)) for (_, a), (_, b) in zip(source.pieces, to.pieces, strict=True)]
    else:
        raise Unplanned("tensors that are cut in different ways")
    return [_move(*_squeezed(a, b)) for a, b in pairs]


def _move(source: Array, to: Array) -> ElementsRecord:
    words = Stored(source, F32, 0)
    return _call(replace(moved(words), shape=to.shape, dtype=to.dtype), to)


def _is_part(part: Array, array: Array) -> bool:
    """Whether an array has its numbers where another one has."""
    while part.base is not None and isinstance(part.base, np.ndarray):
        part = part.base
    while array.base is not None and isinstance(array.base, np.ndarray):
        array = array.base
    return part is array


def _squeezed(source: Array, to: Array) -> tuple[Array, Array]:
    """Both without axes of one element, if they have too many."""
    if to.ndim <= AXES:
        return source, to
    axes = tuple(axis for axis, extent in enumerate(to.shape) if extent == 1)
    return source.squeeze(axes), to.squeeze(axes)
