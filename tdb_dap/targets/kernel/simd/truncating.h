/* bfloat16 as CV18xx computes it, see arithmetic/truncating.py: sums rounded toward zero, one word for all that is not finite. */

#ifndef TDB_DAP_SIMD_TRUNCATING_H
#define TDB_DAP_SIMD_TRUNCATING_H

#include "elements.h"

#define NOT_FINITE 0x7f7f

/* A stored operand: subnormals and -0 are 0, infinities are NaN. */
static inline float NAME(truncating_operand)(int32_t stored)
{
    const uint32_t exponent = (uint32_t)stored & 0x7f80;
    return number_of(exponent == 0 ? 0 : exponent == 0x7f80 ? 0x7fc00000 : (uint32_t)stored << 16);
}

static inline float NAME(truncating_flush)(float number)
{
    return (bits_of(number) & 0x7fffffff) < 0x00800000 ? 0.0f : number;
}

/* a + b toward zero. The sign of the error of the sum (Knuth's two-sum) tells a sum that is beyond the exact one. */
static inline float NAME(truncating_sum)(float a, float b)
{
    const float total = a + b, second = total - a, error = (a - (total - second)) + (b - second);
    const int is_beyond = (total > 0 && error < 0) | (total < 0 && error > 0);
    const uint32_t bits = bits_of(total), size = bits & 0x7fffffff;
    const double exact = (double)a + (double)b, extent = exact < 0 ? -exact : exact;
    const int is_largest = (size == 0x7f800000) & (extent < 0x1p128);
    return NAME(truncating_flush)(number_of(is_largest ? bits - 1 : bits - (uint32_t)is_beyond));
}

static inline uint16_t NAME(truncating_encode)(float number, int rectifies)
{
    const uint32_t bits = bits_of(NAME(truncating_flush)(number)), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t size = rounded & 0x7fff;
    const int is_special = (size >= 0x7f80) | ((bits & 0x7fffffff) > 0x7f800000);
    const uint32_t stored = is_special ? NOT_FINITE : size < 0x80 ? 0 : rounded;
    return (uint16_t)(rectifies && (stored & 0x8000) ? 0 : stored);
}

#define EACH(Result)                                                                                                   \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        const float x = NAME(truncating_operand)(a[i]), y = NAME(truncating_operand)(b[i]);                            \
        result[first + i] = NAME(truncating_encode)(Result, rectifies);                                                \
    }                                                                                                                  \
    break;

/* a (kind) b of stored words. MULTIPLY_ADD: the third operand, whose subnormals count, is added to the product. */
static void NAME(truncating_elements)(const Grid *grid, int kind, int rectifies, uint16_t *result)
{
    int32_t a[CHUNK], b[CHUNK] = {0}, c[CHUNK];
    const float nan = number_of(0x7fc00000);
    for (int64_t first = 0, used; first < element_count(grid); first += used) {
        used = element_count(grid) - first < CHUNK ? element_count(grid) - first : CHUNK;
        NAME(load_int32)(a, grid, &grid->operands[0], first, used);
        if (kind != FIRST)
            NAME(load_int32)(b, grid, &grid->operands[1], first, used);
        switch (kind) {
        case ADD: EACH(x + y)
        case SUBTRACT: EACH(x - y)
        case MULTIPLY: EACH(x * y)
        case FIRST: EACH(y + x)
        case LARGER: EACH(x != x || y != y ? nan : x > y ? x : y)
        case SMALLER: EACH(x != x || y != y ? nan : x < y ? x : y)
        case GREATER_OR_EQUAL: EACH(x != x || y != y ? nan : (float)(x >= y))
        case MULTIPLY_ADD:
            NAME(load_int32)(c, grid, &grid->operands[2], first, used);
            EACH(NAME(truncating_sum)(NAME(truncating_flush)(x * y), number_of((uint32_t)c[i] << 16)))
        }
    }
}
#undef EACH

/* A stored number as a byte: half to even or toward zero, limited; what is not finite goes to the ends by its sign. Of chips that
 * ``drop`` them infinities and numbers from 2^64 on are 0. */
static void NAME(truncating_bytes)(const Grid *grid, int is_cut, int drops, int32_t low, int32_t high, uint8_t *result)
{
    int32_t words[CHUNK];
    for (int64_t first = 0, used; first < element_count(grid); first += used) {
        used = element_count(grid) - first < CHUNK ? element_count(grid) - first : CHUNK;
        NAME(load_int32)(words, grid, &grid->operands[0], first, used);
        for (int64_t i = 0; i < used; i++) {
            const int32_t size = words[i] & 0x7fff, is_negative = words[i] >> 15 & 1;
            const float number = number_of((uint32_t)words[i] << 16);
            /* From 2^15 on only the sign matters; adding and subtracting 1.5 * 2^23 rounds half to even. */
            const float near = size >= 0x4700 ? (is_negative ? -32768.0f : 32768.0f) : number;
            const float even = (near + 12582912.0f) - 12582912.0f;
            int32_t whole = is_cut ? (int32_t)near : (int32_t)even;
            whole = drops && size >= 0x5f80 && size <= 0x7f80 ? 0 : whole;
            whole = whole < low ? low : whole;
            result[first + i] = (uint8_t)(whole > high ? high : whole);
        }
    }
}

#endif
