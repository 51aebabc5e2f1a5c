"""Arguments of the kernel as C structs; ``scripts/generate_kernel_constants.py`` writes plan/records.h from these.

The records of a plan are one block, which a file can keep: a ``PlanRecord``, and whatever it and the product have by
its offset, in bytes from the start of the block. A plan says how many bytes each record has, and the kernel refuses
other sizes and offsets beyond the block.
"""

from __future__ import annotations

from ctypes import Structure, c_double, c_float, c_int32, c_int64, c_uint32, c_uint64

from tdb_dap.targets.kernel.constants import MOST_OPERANDS


class StoredRecord(Structure):
    """Words of ``format`` at data + sum over axes of index * step, steps in elements.

    ``source``: the tensor, from whose address ``data`` counts in bytes; -1: ``data`` is the word itself.
    """

    _fields_ = (("data", c_uint64), ("step", c_int64 * 4), ("format", c_int32), ("source", c_int32))


class TensorRecord(Structure):
    """The bytes that the elements of a tensor are in from its address on; see ``Extent``."""

    _fields_ = (
        ("low", c_int64),
        ("high", c_int64),
        ("inner", c_int64),
        ("order", c_int32),
        ("address", c_int32),
    )


class ElementsRecord(Structure):
    """A function over elements; parameters that it does not have are 0. ``least``, ``most``: limits of integers.

    ``variant``, where it is 1: a series is multiplied by its argument in the end; a NaN that becomes an integer gives a
    limit, by its sign; what becomes a float of 16 bits is finite; the operands of a quotient or magnitude of float32
    are flushed; of three float operands the product of the first two is added to the third one, where it is 2 the
    third one to that; of ``MULTIPLY_ADD`` it is the left shift of the number that is added. ``is_high``: products are
    divided by 2^31, half away from zero, before they are shifted; ``plane``: the byte of a result that is stored;
    ``keeps_sign``: bit 63 stays when the others are shifted to the left.
    """

    _fields_ = (
        ("function", c_int32),
        ("operands", c_int32),
        ("operator", c_int32),
        ("format", c_int32),
        ("newton_steps", c_int32),
        ("reciprocal", c_int32),
        ("has_own_steps", c_int32),
        ("conversion", c_int32),
        ("rounding", c_int32),
        ("held", c_int32),
        ("rectified", c_int32),
        ("size", c_int32),
        ("fills", c_int32),
        ("fill", c_uint32),
        ("variant", c_int32),
        ("is_high", c_int32),
        ("plane", c_int32),
        ("keeps_sign", c_int32),
        ("unused", c_int32),
        ("low", c_double),
        ("high", c_double),
        ("least", c_int64),
        ("most", c_int64),
        ("multiplier", c_int64),
        ("amount", c_int64),
        ("zero", c_int64),
        ("rows", c_int64),
        ("terms", c_int64),
        ("shape", c_int64 * 4),
        ("operand", StoredRecord * MOST_OPERANDS),
        ("table", StoredRecord),
        ("to", StoredRecord),
    )


class StepRecord(Structure):
    """Part of an operand, or of the result, and its place in matrices: numbers from ``first`` on, ``step`` apart."""

    _fields_ = (
        ("stored", StoredRecord),
        ("part", c_int32),
        ("unused", c_int32),
        ("first", c_int64),
        ("shape", c_int64 * 4),
        ("step", c_int64 * 4),
    )


class ProductRecord(Structure):
    """A product of matrices, or of windows over an image.

    Left factors are (rows, count), starts (rows or 1, columns or 1). The right factor of product k at column j is
    number taps[k] + places[j] of an image of ``image`` numbers, which hold ``fill`` where none is put; a negative tap
    stands for zeros. Of windows rows are channels of all batches, taps are in a plane, and ``window`` has rows and
    columns of results, and numbers of the image between both. ``result``: format of float results; ``rounding``: of
    products and sums of float windows; ``keeps_nan``: any NaN may come out. Of float32 sums: ``adds_last``: the starts
    are added to the sum, one after the other; ``halves``: the second half of the products is summed up apart, or of
    windows of floats, searched apart: its number counts if it is larger. ``is_high``, ``keeps_sign``: as of elements;
    ``shifts_right``: the shift of each row is to the right, by 31 bits at most; ``is_scaled``: multipliers are words of
    float32, by which sums are multiplied as float32, and rounded by ``mode``; ``truncates``: float32 sums are rounded
    toward zero, and refused where one is beyond the range.
    """

    _fields_ = (
        ("how", c_int32),
        ("swapped", c_int32),
        ("starts", c_int32),
        ("type", c_int32),
        ("left_type", c_int32),
        ("is_filled", c_int32),
        ("result", c_int32),
        ("rounding", c_int32),
        ("nan_wins", c_int32),
        ("drops_bits", c_int32),
        ("is_last", c_int32),
        ("is_zero_positive", c_int32),
        ("keeps_nan", c_int32),
        ("mode", c_int32),
        ("held", c_int32),
        ("rectified", c_int32),
        ("size", c_int32),
        ("pack_steps", c_int32),
        ("store_steps", c_int32),
        ("adds_last", c_int32),
        ("halves", c_int32),
        ("is_high", c_int32),
        ("shifts_right", c_int32),
        ("is_scaled", c_int32),
        ("truncates", c_int32),
        ("keeps_sign", c_int32),
        ("zero", c_float),
        ("fill", c_float),
        ("rows", c_int64),
        ("count", c_int64),
        ("columns", c_int64),
        ("image", c_int64),
        ("group", c_int64),
        ("window", c_int64 * 4),
        ("start_rows", c_int64 * 2),
        ("start_columns", c_int64 * 2),
        ("numbers", c_int64 * 3),
        ("low", c_int64),
        ("high", c_int64),
        ("taps", c_uint64),
        ("places", c_uint64),
        ("pack", c_uint64),
        ("store", c_uint64),
    )


class PlanRecord(Structure):
    """Functions over elements, or a product; ``sizes``: bytes of each other record, in the order of this module."""

    _fields_ = (
        ("sizes", c_int64 * 5),
        ("lane_bytes", c_int64),
        ("tensors", c_int64),
        ("elements", c_int64),
        ("tensor", c_uint64),
        ("element", c_uint64),
        ("product", c_uint64),
    )
