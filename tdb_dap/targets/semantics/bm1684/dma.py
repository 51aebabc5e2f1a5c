"""Moves of BM1684's DMA: words, never numbers. Source: lockstep with the vendor's simulator."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.families.bm1684 import dma as op
from tdb_dap.targets.families.dma.tensors import lane_mask
from tdb_dap.targets.semantics import dma
from tdb_dap.targets.semantics.bm1684.common import refuse
from tdb_dap.targets.semantics.registry import Operation, moves, semantics


@moves(in_order=True)
@semantics("bm1684.dma", op.COPY, op.CONSTANT)
def copy(x: Operation) -> Array:
    """A tensor or matrix copied, or filled with a constant."""
    return _moved(x)


@moves(in_order=False)
@semantics("bm1684.dma", op.TRANSPOSE, op.SWAP)
def transpose(x: Operation) -> Array:
    """A tensor or matrix with channels and columns, or rows and columns, swapped."""
    return _moved(x)


@semantics("bm1684.dma", op.SHIFT)
def shift(x: Operation) -> Array:
    """A tensor added to what is there, subnormals flushed; its addresses shift the channels."""
    f = x.fields
    refuse(op.is_linear(f) or op.is_matrix(f), "a shift of channels of no tensor")
    refuse(f.src_data_format or f.dst_data_format, "a shift of channels of other numbers than float32")
    refuse(lane_mask(f) is not None, "a move that leaves out lanes")
    refuse(not f.acc_write_enable, "a shift of channels that adds to nothing")  # it clears channels next to them
    return x.dtype.encode(float32.add(float32.flush(x["old"].numbers), float32.flush(x["source"].numbers)))


def _moved(x: Operation) -> Array:
    f = x.fields
    if op.is_linear(f):
        outside = not op.is_within_local(f) and not op.is_between_memories(f)
        refuse(not outside or f.sub != op.COPY or f.acc_write_enable, "this linear move")
        return dma.copy(x)
    refuse(f.src_data_format != f.dst_data_format, "a move between two formats")
    refuse(lane_mask(f) is not None, "a move that leaves out lanes")
    refuse(f.acc_write_enable, "an adding move")
    if op.is_matrix(f):
        refuse(f.sub not in (op.COPY, op.TRANSPOSE) or not op.is_between_memories(f), "this move of a matrix")
        return dma.matrix_transpose(x) if f.sub == op.TRANSPOSE else dma.matrix(x)
    if f.sub == op.SWAP:
        refuse(not op.is_within_local(f), "a swap of channels and columns but in local memory")
    return {op.COPY: dma.copy, op.TRANSPOSE: dma.transpose, op.CONSTANT: dma.copy, op.SWAP: dma.swap}[f.sub](x)
