/* Integers element by element: one operation and requantisation. */

#ifndef TDB_DAP_SIMD_ELEMENTS_INT_H
#define TDB_DAP_SIMD_ELEMENTS_INT_H

#include "elements.h"
#include "requantise.h"
#include "elements_int_avx512.h"

/* numbers = a (kind) b in 64 bits, elements [first, first + used). MULTIPLY_ADD: the third and fourth operand are the low and the high
 * bytes of the number that is added, shifted left by ``left``. */
static void NAME(load_int_operation)(int64_t *numbers, const Grid *grid, int kind, int left, int64_t first, int64_t used)
{
    int64_t b[CHUNK], low[CHUNK], high[CHUNK];
    NAME(load_ints)(numbers, grid, &grid->operands[0], first, used);
    if (kind == FIRST)
        return;
    NAME(load_ints)(b, grid, &grid->operands[1], first, used);
    switch (kind) {
    case ADD:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = plus(numbers[i], b[i]);
        break;
    case SUBTRACT:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = minus(numbers[i], b[i]);
        break;
    case MULTIPLY:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = times(numbers[i], b[i]);
        break;
    case LARGER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] > b[i] ? numbers[i] : b[i];
        break;
    case SMALLER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] < b[i] ? numbers[i] : b[i];
        break;
    case AND:
        for (int64_t i = 0; i < used; i++)
            numbers[i] &= b[i];
        break;
    case OR:
        for (int64_t i = 0; i < used; i++)
            numbers[i] |= b[i];
        break;
    case EXCLUSIVE_OR:
        for (int64_t i = 0; i < used; i++)
            numbers[i] ^= b[i];
        break;
    case GREATER_OR_EQUAL:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] >= b[i];
        break;
    case MULTIPLY_ADD:
        NAME(load_ints)(low, grid, &grid->operands[2], first, used);
        NAME(load_ints)(high, grid, &grid->operands[3], first, used);
        for (int64_t i = 0; i < used; i++)
            numbers[i] = plus(times(numbers[i], b[i]), (int64_t)((uint64_t)plus(low[i], times(high[i], 256)) << left));
        break;
    }
}

/* The same where 32 bits hold all results. */
static void NAME(load_int32_operation)(int32_t *numbers, const Grid *grid, int kind, int64_t first, int64_t used)
{
    int32_t b[CHUNK];
    NAME(load_int32)(numbers, grid, &grid->operands[0], first, used);
    if (kind == FIRST)
        return;
    NAME(load_int32)(b, grid, &grid->operands[1], first, used);
    switch (kind) {
    case ADD:
        for (int64_t i = 0; i < used; i++)
            numbers[i] += b[i];
        break;
    case SUBTRACT:
        for (int64_t i = 0; i < used; i++)
            numbers[i] -= b[i];
        break;
    case MULTIPLY:
        for (int64_t i = 0; i < used; i++)
            numbers[i] *= b[i];
        break;
    case LARGER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] > b[i] ? numbers[i] : b[i];
        break;
    case SMALLER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] < b[i] ? numbers[i] : b[i];
        break;
    }
}

/* a (kind) b, then the steps of ``r``: its own numbers for all elements, or, where ``each``, three more operands. */
static void NAME(int_elements)(const Grid *grid, int kind, int each, int left_shift, const Requantisation *r, void *result)
{
    int64_t numbers[CHUNK], multiplier[CHUNK], amount[CHUNK], zero[CHUNK], out[CHUNK];
    const Stored *steps = grid->operands + 2;
    const int64_t row = grid->shape[3];
#if LANES == 16
    const Stored words = {result, r->size == 1 ? UI8 : r->size == 2 ? UI16 : UI32,
                          {row * grid->shape[2] * grid->shape[1], row * grid->shape[2], row, 1}};
    if (int_rows(grid, kind, each, r, &words))
        return;
#endif
    const int by_row = each && row >= LONG_ROW && !steps[0].step[3] && !steps[1].step[3] && !steps[2].step[3];
    const int narrow = fits_32_bits(grid, kind) && (!each || by_row) && r->size <= 4 && !r->plane;
    Requantisation own = *r;
    for (int64_t first = 0, used; first < element_count(grid); first += used) {
        const int64_t left = (by_row ? row - first % row : element_count(grid) - first);
        used = left < CHUNK ? left : CHUNK;
        if (!narrow)
            NAME(load_int_operation)(numbers, grid, kind, left_shift, first, used);
        if (each) {
            const int64_t count = by_row ? 1 : used;
            NAME(load_ints)(multiplier, grid, &steps[0], first, count);
            NAME(load_ints)(amount, grid, &steps[1], first, count);
            NAME(load_ints)(zero, grid, &steps[2], first, count);
            own.multiplier = multiplier;
            own.amount = amount;
            own.zero = zero;
        }
        if (narrow) {
            int32_t words[CHUNK];
            const FastRequant fast = fast_requant(&own, 0, 0, 1);
            const NAME(StartOfRow) begin = {NULL, 0};
            NAME(load_int32_operation)(words, grid, kind, first, used);
            if (used == CHUNK)
                NAME(requantise)(&own, &fast, 0, words, &begin, result, first, CHUNK, CHUNK);
            else
                NAME(requantise)(&own, &fast, 0, words, &begin, result, first, used, used);
            continue;
        }
        if (each && !by_row)
            NAME(requantise_each)(r, numbers, multiplier, amount, zero, out, used);
        else
            NAME(requantise_row)(&own, 0, numbers, out, used);
        NAME(store_low_bytes)(r, out, result, first, used);
    }
}

#endif
