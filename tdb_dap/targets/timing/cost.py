"""The cost of one command: cycles, bytes and operations, from its views.

The TIU works on ``lanes`` channels at a time, in each lane on as many elements as fit into its execution units:

    elementwise = n * ceil(c / lanes) * ceil(h * w / (eu_bytes / itemsize)) * tensors read (at least one)
    window      = n * ceil(c / lanes) * ceil(oh * ow / (eu_bytes / itemsize)) * kh * kw
    convolution = n * ceil(oc / lanes) * ceil(oh * ow / places) * kh * kw * ceil(ic / cube) * cube / products

with ``itemsize`` of the widest tensor and ``cube`` the input channels that the weights are stored in groups of. The DMA
takes a start-up time and, for each contiguous piece of local memory, a time that grows with its length (``Transfer``).
These are the forms that the cycle counts have which the compiler leaves in its models; ``tdb-dap profile --compare``
shows how near they come.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.target import Cost
from tdb_dap.engine.hardware.views import Layout, Operand, View

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.target import Description
    from tdb_dap.targets.timing.numbers import Timing, Transfer


Formula = Callable[["Description", "Timing"], Cost]
_FORMULAS: dict[str, Formula] = {}


def formula(*families: str) -> Callable[[Formula], Formula]:
    """Decorator: how the cost of commands of these families is computed."""

    def declare(function: Formula) -> Formula:
        _FORMULAS.update(dict.fromkeys(families, function))
        return function

    return declare


def cost_of(description: Description, timing: Timing) -> Cost:
    """Cost of one command; commands that synchronise cost nothing by themselves."""
    known = _FORMULAS.get(description.family)
    if known is None:
        is_move = description.family.startswith(("dma", "bm1684.dma", "cdma", "cvi.dma"))
        known = _transfer if is_move else _elementwise
    return known(description, timing)


def _ceil(a: float, b: float) -> int:
    return math.ceil(a / b)


def _views(operands: tuple[Operand, ...]) -> list[View]:
    return [view for view in operands if isinstance(view, View)]


def _four(view: View) -> tuple[int, int, int, int]:
    n, c, h, w = ((1,) * 4 + view.shape)[-4:] if len(view.shape) != 2 else (1, view.shape[0], 1, view.shape[1])
    return n, c, h, w


def _passes(view: View, itemsize: float) -> int:
    """Steps of a tensor through the lanes: ``n * ceil(c / lanes) * ceil(h * w / elements of a lane)``."""
    n, c, h, w = _four(view)
    return n * _ceil(c, view.geometry.lanes) * _ceil(h * w, view.geometry.eu_bytes / itemsize)


def _width(*groups: tuple[Operand, ...]) -> float:
    return max((view.dtype.itemsize / view.dtype.per_byte for group in groups for view in _views(group)), default=1)


@formula("system", "registers", "cdma.system")
def _nothing(description: Description, timing: Timing) -> Cost:
    return Cost(0)


def _hindrance(description: Description) -> int:
    """Factor by which interfering reads and writes prolong it.

    Twice for a result that overwrites an operand, twice for tensors whose rows have gaps or two operands with strides
    of their own.
    """
    operands, results = _views(description.operands), _views(description.results)
    written = {(view.space, view.address) for view in results}
    in_place = any((view.space, view.address) in written for view in operands)
    strided = [view.layout is Layout.STRIDE for view in operands].count(True) > 1
    gaps = any(_has_gaps(view) for view in (*operands, *results))
    return (2 if in_place else 1) * (2 if strided or gaps else 1)


def _is_scattered(view: View) -> bool:
    """Whether the elements of a row are not side by side: then they are written one by one."""
    return len(view.shape) == 4 and view.shape[3] > 1 and view.strides is not None and view.strides[-1] > 1


def _has_gaps(view: View) -> bool:
    if view.layout is not Layout.STRIDE or view.strides is None or len(view.shape) != 4:
        return False
    _, _, h, w = view.shape
    return (w > 1 and view.strides[3] > 1) or (h > 1 and w > 1 and view.strides[2] > w)


def _elementwise(description: Description, timing: Timing) -> Cost:
    results = _views(description.results)
    views = [*results, *_views(description.operands)]
    if not views:
        return Cost(1)
    passes = max(_passes(view, _width((view,))) for view in views)
    if any(_is_scattered(view) for view in results):
        n, c, h, w = _four(results[0])
        return Cost(n * _ceil(c, results[0].geometry.lanes) * h * w, results[0].size)
    return Cost(passes * _hindrance(description), sum(view.size for view in results))


@formula("arith", "bm1684.arith")
def _arithmetic(description: Description, timing: Timing) -> Cost:
    """Division is an iteration: ``7 + 8 * iterations`` passes."""
    once = _elementwise(description, timing)
    steps = 7 + 8 * int(description.attributes["iter"]) if description.name == "arith.div" else 1
    if steps > 1:
        return Cost(steps * once.cycles / _hindrance(description), once.operations)
    return once


@formula("cmp", "bm1684.cmp")
def _two_passes(description: Description, timing: Timing) -> Cost:
    once = _elementwise(description, timing)
    return Cost(2 * once.cycles / _hindrance(description), once.operations)


@formula("sfu", "bm1684.sfu")
def _series(description: Description, timing: Timing) -> Cost:
    """As many passes as the series has coefficients; roots and their like take 30, taking a number apart one."""
    views = _views(description.operands)
    terms = views[1].shape[-1] if len(views) > 1 else 1 if description.name == "sfu.normalize" else 30
    result = _views(description.results)[0]
    return Cost(terms * _passes(result, _width((result,))), terms * result.size)


@formula("sg", "sgl", "bm1684.lut", "cvi.lut")
def _one_by_one(description: Description, timing: Timing) -> Cost:
    """Gathering takes a cycle per element of a lane."""
    view = _views(description.results)[0]
    if "scatter" in description.name:
        return Cost(_passes(view, _width((view,))))
    n, c, h, w = _four(view)
    return Cost(n * _ceil(c, view.geometry.lanes) * h * w)


@formula("tsbc")
def _between_lanes(description: Description, timing: Timing) -> Cost:
    """Copies go from lane to lane one after another; the others are one pass."""
    view = _views(description.results)[0]
    lanes = min(_four(view)[1], view.geometry.lanes) if description.name.endswith("l_copy") else 1
    return Cost(_passes(view, _width((view,))) * lanes)


@formula("pord", "bm1684.pord", "cvi.pool", "cvi.depthwise")
def _window(description: Description, timing: Timing) -> Cost:
    """Steps along a row make the lanes read more than they use."""
    result = _views(description.results)[0]
    kernel, stride = description.attributes.get("kernel", (1, 1)), description.attributes.get("stride", (1, 1))
    taps = math.prod(kernel)
    passes = timing.skipping if stride[-1] > 1 else 1
    itemsize = _width(description.operands[:1])
    return Cost(_passes(result, itemsize) * taps * passes, 2 * result.size * taps)


@formula("conv", "bm1684.conv", "conv.backward", "cvi.conv")
def _convolution(description: Description, timing: Timing) -> Cost:
    source, result = _views(description.operands)[0], _views(description.results)[0]
    kernel = description.attributes.get("kernel", (1, 1))
    channels = _four(source)[1]
    n, oc, h, w = _four(result)
    places = timing.places or result.geometry.eu_bytes / source.dtype.itemsize
    steps = n * _ceil(oc, result.geometry.lanes) * _ceil(h * w, places) * math.prod(kernel)
    return Cost(
        steps * _products(channels, source, timing),
        2 * result.size * channels * math.prod(kernel),
    )


def _products(channels: int, source: View, timing: Timing) -> float:
    """Cycles to sum over channels: the weights hold whole groups of them."""
    itemsize = source.dtype.itemsize / source.dtype.per_byte
    cube = max(1, source.geometry.cube(source.dtype.itemsize))
    return _ceil(channels, cube) * cube / timing.products.get(itemsize, 1)


@formula("mm2", "bm1684.mm2")
def _matrix(description: Description, timing: Timing) -> Cost:
    """A convolution with one tap: rows of the result in the lanes, columns at a time, the inner extent as channels."""
    left, result = _views(description.operands)[0], _views(description.results)[0]
    rows, columns = result.shape[-2:]
    inner = left.size // rows
    steps = _ceil(rows, result.geometry.lanes) * _ceil(columns, timing.places) * timing.matrix_steps
    return Cost(steps * _products(inner, left, timing), 2 * result.size * inner)


@formula("mm", "bm1684.mm", "cvi.matrix")
def _rows(description: Description, timing: Timing) -> Cost:
    """Columns of the result in the lanes, ``width`` in each; row after row. Partial sums are stored in planes."""
    views, result = _views(description.operands), _views(description.results)[0]
    left, has_planes = views[0], len(description.results) > 1
    like = views[1] if has_planes else result
    rows, columns = left.shape[0] if has_planes else result.shape[-2], like.shape[-1]
    inner = left.size // rows
    width = like.width or columns
    elements = result.geometry.eu_bytes / (left.dtype.itemsize / left.dtype.per_byte)
    steps = rows * _ceil(_ceil(columns, width), result.geometry.lanes) * _ceil(width, elements)
    bias = len(views) > 2
    return Cost(steps * (inner + bias), 2 * rows * columns * inner)


_OUTSIDE = (Space.GLOBAL, Space.L2, Space.UNKNOWN)


def _transfer(description: Description, timing: Timing) -> Cost:
    """By DMA: the pieces of local memory decide, where it takes part.

    How long compressed data are, only they tell: they count as long as what they are unpacked to.
    """
    sources, results = _views(description.operands), _views(description.results)
    is_packed = any(view.layout is Layout.STREAM for view in sources)
    sources = results if is_packed else sources
    read = sum(view.nbytes for view in sources if is_packed or view.space in _OUTSIDE)
    written = sum(view.nbytes for view in results if view.space in _OUTSIDE)
    direction = _direction(sources, results, timing)
    moved = max([*sources, *results], key=lambda view: view.nbytes, default=None)
    if moved is None:
        return Cost(direction.start)
    if "broadcast" in description.name:
        moved = sources[0]
    if description.family in ("dma.gather", "dma.scatter"):
        moved = results[0] if description.family == "dma.gather" else sources[0]
        return Cost(timing.copy.start + moved.nbytes / (timing.copy.rate * timing.copy.streams), 0, read, written)
    views = [view for view in (*results, *sources) if view.size <= moved.size]
    pieces = max(_pieces(view) for view in views or [moved])
    is_short = not sources or any(view.layout is Layout.DMA_MATRIX for view in views)
    return Cost(direction.cycles(pieces, moved.nbytes, is_short), 0, read, written)


def _direction(sources: list[View], results: list[View], timing: Timing) -> Transfer:
    if any(view.space is Space.LOCAL for view in results):
        return timing.load
    return timing.store if any(view.space is Space.LOCAL for view in sources) else timing.copy


def _pieces(view: View) -> int:
    """Contiguous pieces of a view: those of a lane for each of its channels, whole rows where rows have gaps."""
    if view.layout is Layout.DMA_MATRIX:
        return view.shape[0] * _ceil(view.shape[1], view.width or view.shape[1])
    if len(view.shape) != 4:
        return 1
    n, c, h, w = view.shape
    strides = view.strides
    if strides is None or len(strides) != 4:
        return n * c if view.space is Space.LOCAL else 1
    if w > 1 and strides[3] != 1:
        return n * c * h * w
    if h > 1 and strides[2] != w:
        return n * c * h
    if view.space is Space.LOCAL or (c > 1 and strides[1] != h * w):
        return n * c
    return n if n > 1 and strides[0] != c * h * w else 1
