/* Conversions between formats, element by element; arithmetic/elements.py says what each one is. */

#ifndef TDB_DAP_SIMD_CONVERSIONS_H
#define TDB_DAP_SIMD_CONVERSIONS_H

#include "elements_int.h"

/* As ``rounded_by`` of float32 without a wider format: what is left of a number, less than 1, is exact where it matters. */
static inline float NAME(rounded_float)(float number, int mode)
{
    const float size = __builtin_fabsf(number), low = __builtin_floorf(number), whole = __builtin_floorf(size);
    switch (mode) {
    case HALF_EVEN: return __builtin_rintf(number);
    case HALF_AWAY: return __builtin_copysignf(whole + (size - whole >= 0.5f ? 1.0f : 0.0f), number);
    case TOWARD_ZERO: return __builtin_truncf(number);
    case DOWN: return low;
    case UP: return __builtin_ceilf(number);
    default: return low + (number - low >= 0.5f ? 1.0f : 0.0f);
    }
}

/* The same for results of at most 16 bits: float32 holds their limits. */
static void NAME(int16_of_floats)(const Grid *grid, int mode, float low, float high, int size, void *result)
{
    float numbers[CHUNK];
    int32_t out[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        float v = NAME(rounded_float)(numbers[i], mode_);                                                              \
        v = v < low ? low : v;                                                                                         \
        v = v > high ? high : v;                                                                                       \
        v = numbers[i] == numbers[i] ? v : 0.0f;                                                                       \
        out[i] = (int32_t)v;                                                                                           \
    }                                                                                                                  \
    break;
        BY_MODE(EACH)
#undef EACH
        if (size == 1)
            for (int64_t i = 0; i < used; i++)
                ((uint8_t *)result)[first + i] = (uint8_t)(uint32_t)out[i];
        else
            for (int64_t i = 0; i < used; i++)
                ((uint16_t *)result)[first + i] = (uint16_t)(uint32_t)out[i];
    }
}

/* Floats to integers: rounded by mode, limited; NaN gives 0, or, where ``limits_nan``, a limit by its sign. */
static void NAME(ints_of_floats)(const Grid *grid, int mode, double low, double high, int size, int limits_nan, void *result)
{
    float numbers[CHUNK];
    int64_t out[CHUNK];
    const Requantisation r = {.size = size};
    const int64_t count = element_count(grid);
    if (size <= 2 && low >= -32768 && high <= 65535 && !limits_nan) {
        NAME(int16_of_floats)(grid, mode, (float)low, (float)high, size, result);
        return;
    }
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++)                                                                                 \
        out[i] = NAME(rounded_within)(numbers[i], mode_, low, high);                                                   \
    break;
        BY_MODE(EACH)
#undef EACH
        for (int64_t i = 0; limits_nan && i < used; i++)
            if (numbers[i] != numbers[i])
                out[i] = (int64_t)(bits_of(numbers[i]) >> 31 ? low : high);
        NAME(store_low_bytes)(&r, out, result, first, used);
    }
}

/* The largest number of 16 bits in place of larger ones, and its negative one; NaNs stay, or are 0 as the limit says. */
static inline void NAME(limit)(float *numbers, int format, int limit, int64_t count)
{
    const float largest = number_of(format == F16 ? 0x477fe000 : 0x7f7f0000);
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = numbers[i] > largest ? largest : numbers[i];
        numbers[i] = numbers[i] < -largest ? -largest : numbers[i];
        numbers[i] = limit == KEEPS_NONE && numbers[i] != numbers[i] ? 0.0f : numbers[i];
    }
}

/* Between formats of floats, half to even; float32 is flushed first where ``flushes``. A NaN has all bits set. */
static void NAME(floats_of_floats)(const Grid *grid, int flushes, int format, int limit, void *result)
{
    float numbers[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        if (flushes)
            NAME(flushed)(numbers, F32, used);
        if (format == F32)
            for (int64_t i = 0; i < used; i++)
                numbers[i] = number_of(bits_of(numbers[i]) | (numbers[i] != numbers[i] ? 0x7fffffff : 0));
        if (limit)
            NAME(limit)(numbers, format, limit, used);
        NAME(write_floats)(numbers, result, format, first, used);
    }
}

/* float32 rounded to integral numbers by mode; a zero keeps the sign, what is not finite stays. */
static void NAME(integral_floats)(const Grid *grid, int mode, float *result)
{
    float numbers[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        float *out = result + first;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        const float whole = NAME(rounded_float)(numbers[i], mode_);                                                \
        const uint32_t sign = bits_of(numbers[i]) & 0x80000000;                                                        \
        const uint32_t bits = whole == 0 ? sign : bits_of(whole);                                                      \
        out[i] = number_of((bits_of(numbers[i]) & 0x7fffffff) < 0x7f800000 ? bits : bits_of(numbers[i]));              \
    }                                                                                                                  \
    break;
        BY_MODE(EACH)
#undef EACH
    }
}

/* float32 rounded to f16 by a mode other than half to even; magnitudes from 65536 on are infinite. */
static void NAME(round_to_f16)(float *numbers, int mode, int64_t used)
{
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        const float number = numbers[i];                                                                               \
        const uint32_t size = bits_of(number) & 0x7fffffff, sign = bits_of(number) & 0x80000000;                       \
        const uint32_t exponent = size < (113u << 23) ? 113u << 23 : size & 0x7f800000; /* at least 2^-14 */           \
        const uint32_t unit = exponent - (10u << 23);                                                                  \
        const float steps = NAME(rounded_float)(number * number_of((254u << 23) - unit), mode_);                       \
        const float value = number_of(bits_of(steps) & 0x7fffffff) * number_of(unit);                                  \
        const int outward = mode_ == HALF_AWAY || mode_ == HALF_UP || (mode_ == DOWN && sign) || (mode_ == UP && !sign);                 \
        const uint32_t limited = value > 65504.0f ? (outward ? 0x7f800000 : 0x477fe000) : bits_of(value);              \
        const uint32_t bits = size >= 0x47800000 ? (size > 0x7f800000 ? size : 0x7f800000) : limited;                  \
        numbers[i] = number_of(bits | sign);                                                                           \
    }                                                                                                                  \
    break;
    BY_MODE(EACH)
#undef EACH
}

/* float32 rounded to bf16, its upper half: an addition, which carries into the exponent and from the largest number to infinity. */
static void NAME(round_to_bf16)(float *numbers, int mode, int64_t used)
{
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        const uint32_t word = bits_of(numbers[i]), size = word & 0x7fffffff, is_negative = word >> 31;                 \
        const uint32_t up = mode_ == UP ? 0xffff : mode_ == DOWN || mode_ == TOWARD_ZERO ? 0 : 0x8000;                 \
        const uint32_t down = mode_ == DOWN ? 0xffff : mode_ == HALF_UP ? 0x7fff : mode_ == HALF_AWAY ? 0x8000 : 0;    \
        const uint32_t rounded = (word + (is_negative ? down : up)) & 0xffff0000;                                      \
        numbers[i] = number_of(size < 0x7f800000 ? rounded : word);                                                    \
    }                                                                                                                  \
    break;
    BY_MODE(EACH)
#undef EACH
}

/* float32 as 16-bit floats by a mode other than half to even; subnormals are flushed. */
static void NAME(halves_by_mode)(const Grid *grid, int mode, int format, int limit, uint16_t *result)
{
    float numbers[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        NAME(flushed)(numbers, F32, used);
        if (format == F16)
            NAME(round_to_f16)(numbers, mode, used);
        else
            NAME(round_to_bf16)(numbers, mode, used);
        if (limit)
            NAME(limit)(numbers, format, limit, used);
        NAME(write_floats)(numbers, result, format, first, used);
    }
}

/* Whole numbers as floats of a format, half to even. */
static void NAME(floats_of_ints)(const Grid *grid, int format, void *result)
{
    int64_t numbers[CHUNK];
    float floats[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_ints)(numbers, grid, &grid->operands[0], first, used);
        for (int64_t i = 0; i < used; i++)
            floats[i] = (float)numbers[i];
        NAME(write_floats)(floats, result, format, first, used);
    }
}

/* Halves rounded to integral numbers by mode; a zero keeps the sign, what is not finite stays. */
static void NAME(integral_halves)(const Grid *grid, int mode, uint16_t *result)
{
    float numbers[CHUNK];
    int32_t words[CHUNK];
    const Stored *operand = &grid->operands[0];
    const int64_t count = element_count(grid);
    Stored stored = *operand;
    stored.format = UI16;
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, operand, first, used);
        NAME(load_int32)(words, grid, &stored, first, used);
        for (int64_t i = 0; i < used; i++) {
            const uint32_t size = bits_of(numbers[i]) & 0x7fffffff, sign = bits_of(numbers[i]) & 0x80000000;
            const float whole = NAME(rounded_float)(numbers[i], mode);
            numbers[i] = number_of((bits_of(whole) & 0x7fffffff) | sign);
            words[i] = size < 0x7f800000 ? -1 : words[i];
        }
        for (int64_t i = 0; i < used; i++) {
            const uint16_t half = operand->format == F16 ? NAME(to_f16)(numbers[i]) : NAME(to_bf16)(numbers[i]);
            result[first + i] = words[i] == -1 ? half : (uint16_t)words[i];
        }
    }
}

/* Magnitudes of float32, as they are stored, or with zeros in place of subnormals. */
static void NAME(magnitudes)(const Grid *grid, int is_flushed, uint32_t *result)
{
    float numbers[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        if (is_flushed)
            NAME(flushed)(numbers, F32, used);
        for (int64_t i = 0; i < used; i++)
            result[first + i] = bits_of(numbers[i]) & 0x7fffffff;
    }
}

#undef BY_MODE

/* bfloat16 as CV18xx computes it, see arithmetic/truncating.py: sums rounded toward zero, one word for all that is not finite. */

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
