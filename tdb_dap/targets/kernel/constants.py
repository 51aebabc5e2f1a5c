"""Numbers that C and Python share: ``scripts/generate_kernel_constants.py`` writes the kernel's header from these."""

from __future__ import annotations

from enum import IntEnum


class Format(IntEnum):
    """Formats of stored numbers; ``PACKED_SI32``: at any byte, steps count bytes, for the numbers of rows.

    ``FLUSHED_F16``: f16 whose subnormals are zeros, as operands and as results of every step.
    """

    F32 = 0
    F16 = 1
    FLUSHED_F16 = 2
    BF16 = 3
    SI8 = 4
    UI8 = 5
    SI16 = 6
    UI16 = 7
    SI32 = 8
    UI32 = 9
    SI64 = 10
    PACKED_SI32 = 11


class Rounding(IntEnum):
    """Ways to round, as the chips number them; ``HALF_DOWN`` is none of theirs."""

    HALF_EVEN = 0
    HALF_AWAY = 1
    TOWARD_ZERO = 2
    DOWN = 3
    UP = 4
    HALF_UP = 5
    HALF_DOWN = 6


class Operator(IntEnum):
    """Operations on two numbers; of integers only: ``FIRST``, the first one as it is, and those behind it.

    ``MULTIPLY_ADD``: the product and a third number, in two operands, its low and its high byte.
    """

    ADD = 0
    SUBTRACT = 1
    MULTIPLY = 2
    LARGER = 3
    SMALLER = 4
    FIRST = 5
    AND = 6
    OR = 7
    EXCLUSIVE_OR = 8
    GREATER_OR_EQUAL = 9
    MULTIPLY_ADD = 10


class Conversion(IntEnum):
    """Conversions of one operand."""

    FLOATS_TO_INTS = 0
    FLOATS_TO_FLOATS = 1
    INTS_TO_FLOATS = 2
    TO_INTEGRAL = 3
    TO_HALVES_BY_MODE = 4
    HALVES_TO_INTEGRAL = 5
    MAGNITUDES = 6


class Limit(IntEnum):
    """16-bit floats that are not finite: kept; the largest number, but NaN stays; the largest number, and 0 for NaN."""

    KEEPS_ALL = 0
    KEEPS_NAN = 1
    KEEPS_NONE = 2


class Condition(IntEnum):
    """Conditions of a selection."""

    IS_GREATER = 0
    IS_EQUAL = 1
    IS_LESS = 2


class Reciprocal(IntEnum):
    """Results of 1/sqrt and division for special numbers.

    BY_FORMULA: the Newton formula runs on their bits; TRUE_ZEROS: true zeros, infinities and NaNs are treated;
    TRUE_SUBNORMALS: as TRUE_ZEROS, with float32 and bf16 subnormals as zeros.
    """

    BY_FORMULA = 0
    TRUE_ZEROS = 1
    TRUE_SUBNORMALS = 2


class Function(IntEnum):
    """Functions over elements."""

    FLOAT_ELEMENTS = 0
    SERIES = 1
    RECIPROCAL_ROOTS = 2
    DIVIDED = 3
    INT_ELEMENTS = 4
    CONVERTED = 5
    MOVED = 6
    SELECTED = 7
    LOOKED_UP = 8
    SCATTERED = 9
    TRUNCATING_ELEMENTS = 10
    TRUNCATING_BYTES = 11


class Factor(IntEnum):
    """Types of factors of a product."""

    SIGNED_BYTES = 0
    UNSIGNED_BYTES = 1
    SIGNED_WORDS = 2
    FLOATS_OF_IMAGE = 3
    UNSIGNED_WORDS = 4


class Part(IntEnum):
    """Operands of a product that a packing step fills; ``ALIKE``: none, but the words of all its rows must be alike."""

    LEFT_FACTORS = 0
    RIGHT_FACTORS = 1
    FIRST_START = 2
    SECOND_START = 3
    MULTIPLIER = 4
    AMOUNT = 5
    ZERO_POINT = 6
    ALIKE = 7


class Accumulation(IntEnum):
    """Ways to add products: of matrices, or windows of one channel each."""

    GEMM_F32 = 0
    GEMM_F16 = 1
    GEMM_INT = 2
    WINDOW_F32 = 3
    WINDOW_INT = 4
    WINDOW_MAX = 5


MOST_OPERANDS = 5
"""Operands of a function over elements, at most: two numbers, and multiplier, amount and zero point after them."""

MOST_TERMS = 256
"""Coefficients of a series, at most."""

LARGEST_SHIFT = 62
"""Bits that an integer is shifted by, at most."""

LARGEST_STORED_SHIFT = 31
"""The same to the left, by numbers that a command reads."""

LARGEST_GROUP = 64
"""Products of 16-bit floats that are summed exactly, at most."""

MOST_ADDRESSES = 8
"""Addresses that a command of a batch names, at most."""

NO_DATA = -2
"""Form number of a command that moves no data."""
