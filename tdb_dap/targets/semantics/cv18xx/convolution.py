"""Convolution of CV18xx."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import truncating
from tdb_dap.targets.arithmetic.dot import truncated
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.families.cv18xx.rows import is_float
from tdb_dap.targets.semantics.convolution import by_groups, integer_products
from tdb_dap.targets.semantics.cv18xx import common
from tdb_dap.targets.semantics.cv18xx.common import refuse, tiu
from tdb_dap.targets.semantics.cv18xx.windows import fill_word, image_of, refuse_filled_floats, require_plain_integers
from tdb_dap.targets.semantics.registry import Convolved, Operation, multiplies


def _convolved(x: Operation) -> Convolved:
    """The products of ``convolve``."""
    f = x.fields
    common.refuse_unused(x, "cvi.conv")
    require_plain_integers(x)
    if f.ps32_md:
        raise Unplanned("sums of several commands")
    refuse(not f.chl_quan and f.tsk_opd_num == 3, "a bias of integers that are not multiplied per channel")
    steps = common.multiplying(f) if f.chl_quan else common.shifting(f)
    table = "requantisation" if f.chl_quan else None
    return Convolved("input", "weight", False, fill_word(x), (), 0.0, False, steps, None, table=table)


@multiplies(_convolved)
@tiu("cvi.conv", 0)
def convolve(x: Operation) -> Array | tuple[Array, ...]:
    """Sums of input * weight: of integers exact in 32 bits; of bfloat16 in the order ky, kx, channel, the bias last."""
    f = x.fields
    refuse_filled_floats(x)
    image, weight = image_of(x), x["weight"]
    n, oc, height, width = x.shape
    bits = np.broadcast_to(weight.bits, (oc, f.opd0_c, f.opd1_h, f.opd1_w))
    before = common.earlier_sums(x)
    if is_float(f):
        return _floats(x, image, truncating.operand(bits), before)
    sums = integer_products(weight.dtype.decode(np.ascontiguousarray(bits)), image, f)
    total = sums.reshape(oc, n, height, width).transpose(1, 0, 2, 3)
    total = total if before is None else total + before
    planes = common.later_sums(x, total)
    if planes is not None:
        return planes
    if f.chl_quan:
        return common.requantised_by_channel(x, total)
    refuse(f.tsk_opd_num == 3, "a bias of integers that are not multiplied per channel")
    return common.finished(x, total)


def _floats(x: Operation, image: Array, weight: Array, before: Array | None) -> Array | tuple[Array, ...]:
    n, oc, height, width = x.shape
    start = np.zeros((1, 1), np.float32)
    if before is not None:
        start = truncating.flush(before).transpose(1, 0, 2, 3).reshape(oc, -1)
    products, _ = by_groups(weight, image, x.fields, weight.shape[1])
    total = truncated(products, start).reshape(oc, n, height, width).transpose(1, 0, 2, 3)
    planes = common.later_sums(x, total)
    if planes is not None:
        return planes
    addend = common.bias(x)
    return common.encoded(x, total if addend is None else truncating.add(total, addend))
