/* Generated from targets/kernel/records.py by scripts/generate_kernel_constants.py: do not edit. */

#ifndef TDB_DAP_PLAN_RECORDS_H
#define TDB_DAP_PLAN_RECORDS_H

#include <stdint.h>

#include "../scalar/constants.h"

/* Words of ``format`` at data + sum over axes of index * step, steps in elements. ``source``: the tensor, from whose
 * address ``data`` counts in bytes; -1: ``data`` is the word itself. */
typedef struct {
    uint64_t data;
    int64_t step[4];
    int32_t format;
    int32_t source;
} StoredRecord;

/* The bytes that the elements of a tensor are in from its address on; see ``Extent``. */
typedef struct {
    int64_t low;
    int64_t high;
    int64_t inner;
    int32_t order;
    int32_t address;
} TensorRecord;

/* A function over elements; parameters that it does not have are 0. ``least``, ``most``: limits of integers.
 * ``variant``, where it is 1: a series is multiplied by its argument in the end; a NaN that becomes an integer gives a
 * limit, by its sign; what becomes a float of 16 bits is finite; the operands of a quotient or magnitude of float32 are
 * flushed; of three float operands the product of the first two is added to the third one, where it is 2 the third one
 * to that; of ``MULTIPLY_ADD`` it is the left shift of the number that is added. ``is_high``: products are divided by
 * 2^31, half away from zero, before they are shifted; ``plane``: the byte of a result that is stored; ``keeps_sign``:
 * bit 63 stays when the others are shifted to the left. */
typedef struct {
    int32_t function;
    int32_t operands;
    int32_t operator;
    int32_t format;
    int32_t newton_steps;
    int32_t reciprocal;
    int32_t has_own_steps;
    int32_t conversion;
    int32_t rounding;
    int32_t held;
    int32_t rectified;
    int32_t size;
    int32_t fills;
    uint32_t fill;
    int32_t variant;
    int32_t is_high;
    int32_t plane;
    int32_t keeps_sign;
    int32_t unused;
    double low;
    double high;
    int64_t least;
    int64_t most;
    int64_t multiplier;
    int64_t amount;
    int64_t zero;
    int64_t rows;
    int64_t terms;
    int64_t shape[4];
    StoredRecord operand[5];
    StoredRecord table;
    StoredRecord to;
} ElementsRecord;

/* Part of an operand, or of the result, and its place in matrices: numbers from ``first`` on, ``step`` apart. */
typedef struct {
    StoredRecord stored;
    int32_t part;
    int32_t unused;
    int64_t first;
    int64_t shape[4];
    int64_t step[4];
} StepRecord;

/* A product of matrices, or of windows over an image. Left factors are (rows, count), starts (rows or 1, columns or 1).
 * The right factor of product k at column j is number taps[k] + places[j] of an image of ``image`` numbers, which hold
 * ``fill`` where none is put; a negative tap stands for zeros. Of windows rows are channels of all batches, taps are in
 * a plane, and ``window`` has rows and columns of results, and numbers of the image between both. ``result``: format of
 * float results; ``rounding``: of products and sums of float windows; ``keeps_nan``: any NaN may come out. Of float32
 * sums: ``adds_last``: the starts are added to the sum, one after the other; ``halves``: the second half of the products
 * is summed up apart, or of windows of floats, searched apart: its number counts if it is larger. ``is_high``,
 * ``keeps_sign``: as of elements; ``shifts_right``: the shift of each row is to the right, by 31 bits at most;
 * ``is_scaled``: multipliers are words of float32, by which sums are multiplied as float32, and rounded by ``mode``;
 * ``truncates``: float32 sums are rounded toward zero, and refused where one is beyond the range. */
typedef struct {
    int32_t how;
    int32_t swapped;
    int32_t starts;
    int32_t type;
    int32_t left_type;
    int32_t is_filled;
    int32_t result;
    int32_t rounding;
    int32_t nan_wins;
    int32_t drops_bits;
    int32_t is_last;
    int32_t is_zero_positive;
    int32_t keeps_nan;
    int32_t mode;
    int32_t held;
    int32_t rectified;
    int32_t size;
    int32_t pack_steps;
    int32_t store_steps;
    int32_t adds_last;
    int32_t halves;
    int32_t is_high;
    int32_t shifts_right;
    int32_t is_scaled;
    int32_t truncates;
    int32_t keeps_sign;
    float zero;
    float fill;
    int64_t rows;
    int64_t count;
    int64_t columns;
    int64_t image;
    int64_t group;
    int64_t window[4];
    int64_t start_rows[2];
    int64_t start_columns[2];
    int64_t numbers[3];
    int64_t low;
    int64_t high;
    uint64_t taps;
    uint64_t places;
    uint64_t pack;
    uint64_t store;
} ProductRecord;

/* Functions over elements, or a product; ``sizes``: bytes of each other record, in the order of this module. */
typedef struct {
    int64_t sizes[5];
    int64_t lane_bytes;
    int64_t tensors;
    int64_t elements;
    uint64_t tensor;
    uint64_t element;
    uint64_t product;
} PlanRecord;

#endif
