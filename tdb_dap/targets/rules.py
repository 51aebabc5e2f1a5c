"""The arithmetic in which chips differ, as data."""

from __future__ import annotations

from enum import Enum

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.declaration.fields import Conventions
from tdb_dap.targets.kernel.constants import Reciprocal


class Extremum(Enum):
    """Choice between two floats by a maximum or minimum over a window, t being kept so far and y the next tap.

    REPLACES_NAN: max t > y ? t : y with t = lowest first: a NaN in y is taken, one in t is replaced.
    IGNORES_NAN: max y > t ? y : t, min float32 y < t ? y : t, 16 bit t <= y ? t : y; starts at the lowest (highest).
    FIRST_TAP: max y > t ? y : t, min t <= y ? t : y; starts at the first tap.
    TWO_CHAINS: max y > t ? y : t, min y >= t ? t : y; one chain of the even taps, one of the odd ones, each from its
    first tap on; at last the chain of the last tap is y and the other one t, but of two taps the first is y.
    All pairs of zeros, subnormals, ones, infinities and NaNs were tried on the vendor's simulator.
    """

    REPLACES_NAN = "replaces NaN"
    IGNORES_NAN = "ignores NaN"
    FIRST_TAP = "first tap"
    TWO_CHAINS = "two chains"


class Rules(Conventions, frozen=True, eq=False):
    """``channel_group``: channels whose 16-bit products the cube adds exactly before it rounds.

    ``nan_wins``: in such a sum a NaN beats an infinity; ``flushes_bf16_extremum``: results of maximum and minimum over
    a window are flushed for bf16, too; ``negative_zero_start``: a depthwise sum without bias starts at -0, and so do
    sums of float32;
    ``absent_bias``: families in which sums of float32 leave out a bias that is the constant 0;
    ``overflow_to_infinity``: integers beyond the range of f16 become infinite in every round mode;
    ``normalize_zero``: the exponent of float32 and bf16 subnormals is 0; ``flushes_absolute``: absolute values of
    float32 and bf16 are flushed; ``casts_halves``: bf16 becomes f16 and back, through float32;
    ``counts_numbers``: a float32 is zero as a number, -0 and flushed subnormals included, not by its bits;
    ``skips_negative_zero``: a float of any format is zero as a number, its subnormals are not;
    ``keeps_nan``: a NaN is not rectified to zero; ``rectifies_nan``: but in convolutions of float32 it is, by its sign;
    ``image_nan_first``: of two NaNs that a convolution of float32 multiplies that of the image counts;
    ``symmetric_floats``: ``sym_range`` makes infinities finite.

    ``unsigned_words``: integers of 32 bits are unsigned where the command says so: as input of rq1, and as a result of
    sums of products, which then ends at zero; ``keeps_least_word``: ``sym_range`` leaves results of 32 bits alone;
    ``symmetric_casts``: ``sym_range`` counts for casts, too; ``symmetric_halves``: formats in which it makes infinities
    finite and NaNs zero in arithmetic of elements and sums over windows, and NaNs zero in maximum and minimum over a
    window; ``symmetric_sums``: the same for 16-bit floats in convolutions and matrix products, but NaNs stay in the
    families ``keeps_sum_nan``; ``symmetric_products``: results of matrix products for which it does;
    ``finite_casts``: the same for casts from float32 and integers, by the formats of results;
    ``limits_window_sums``: ``sym_range`` counts for integer sums over windows and in convolutions;
    ``rotates``: ``kernel_rotate`` has an effect;
    ``signs_distance``: a distance of zero keeps the sign of right - left;
    ``drops_bits``: sums of products of f16 lose bits of tiny products, see ``dot.without_dropped``;
    ``lacks``: families, or forms of them (family@operation), of which it is not known what the chip computes;
    ``compares_bf16``: of floats only bf16 has maximum, minimum, absolute value, distance and comparison;
    ``flushes_halves``: subnormals of f16 are zeros, as operands and as results of every step;
    ``fills_beyond``: a gather takes the constant for an index out of range, whether it is announced or not;
    ``rotation_period``: of the amount of a rotation the remainder by that counts, with its sign; 0: by the width;
    ``loses_shifted``: a shift to the left by 32 or more leaves nothing, else the amount counts modulo 32.

    ``drops_large_casts``: bfloat16 from 2^64 on, infinity included, becomes the integer 0.

    ``fast`` is no chip's: sums of products of floats are left to BLAS, which adds in its own order. Not exact.
    """

    channel_group: int
    extremum: Extremum = Extremum.REPLACES_NAN
    reciprocal: Reciprocal = Reciprocal.BY_FORMULA
    nan_wins: bool = False
    flushes_bf16_extremum: bool = False
    negative_zero_start: bool = False
    absent_bias: tuple[str, ...] = ()
    overflow_to_infinity: bool = False
    normalize_zero: bool = False
    flushes_absolute: bool = False
    casts_halves: bool = False
    keeps_nan: bool = False
    rectifies_nan: bool = False
    image_nan_first: bool = False
    symmetric_floats: bool = False
    counts_numbers: bool = False
    skips_negative_zero: bool = False
    fast: bool = False
    unsigned_words: bool = False
    keeps_least_word: bool = False
    compares_bf16: bool = False
    flushes_halves: bool = False
    symmetric_casts: bool = True
    symmetric_halves: tuple[str, ...] = ()
    symmetric_sums: bool = False
    keeps_sum_nan: tuple[str, ...] = ()
    symmetric_products: tuple[str, ...] = ("f16", "bf16")
    finite_casts: tuple[str, ...] = ()
    signs_distance: bool = False
    drops_bits: bool = False
    limits_window_sums: bool = True
    rotates: bool = True
    fills_beyond: bool = False
    rotation_period: int = 64
    loses_shifted: bool = False
    drops_large_casts: bool = False
    lacks: tuple[str, ...] = ()

    @property
    def first_zero(self) -> float:
        """The zero that a sum of float32 begins with."""
        return -0.0 if self.negative_zero_start else 0.0

    def first_bias(self, family: str, bias: Array, is_constant: bool) -> Array:
        """The bias of a sum of float32, or -0, which adds nothing."""
        return np.full_like(bias, -0.0) if family in self.absent_bias and is_constant and not bias.any() else bias

    def does_lack(self, family: str, operation: int) -> bool:
        """Whether it is not known what the chip computes for an operation of a family."""
        return family in self.lacks or f"{family}@{operation}" in self.lacks
