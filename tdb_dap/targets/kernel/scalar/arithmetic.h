/* Arithmetic of one number at a time, with every rule of the chip written out: see arithmetic/float32.py and dot.py.
 *
 * The processor's flush modes are never touched, so this runs the same on every machine. */

#ifndef TDB_DAP_SCALAR_ARITHMETIC_H
#define TDB_DAP_SCALAR_ARITHMETIC_H

#include "grid.h"

static inline uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static inline float number_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Subnormals become zero of their sign. */
static inline float flush(float number)
{
    const uint32_t bits = bits_of(number);
    return bits & 0x7f800000 ? number : number_of(bits & 0x80000000);
}

/* The NaN of an operation on a and b: the first operand's made quiet, else the second's, else that of an invalid one. */
static inline float nan_of(float a, float b)
{
    return number_of(a != a ? bits_of(a) | 0x00400000 : b != b ? bits_of(b) | 0x00400000 : 0xffc00000);
}

static inline float add(float a, float b)
{
    const float sum = a + b;
    return sum != sum ? nan_of(a, b) : flush(sum);
}

/* float64 holds a product of two float32 exactly: what is tiny is decided on it. */
static inline float multiply(float a, float b)
{
    const double exact = (double)a * b, size = exact < 0 ? -exact : exact;
    if (exact != exact)
        return nan_of(a, b);
    if (size < (1 - 0x1p-25) * 0x1p-126)
        return number_of((bits_of(a) ^ bits_of(b)) & 0x80000000);
    return (float)exact;
}

static inline float subtract(float a, float b)
{
    const float difference = a - b;
    return difference != difference ? nan_of(a, b) : flush(difference);
}

static inline float operation(int kind, float a, float b)
{
    return kind == ADD ? add(a, b) : kind == SUBTRACT ? subtract(a, b) : multiply(a, b);
}

/* Whether any number is below the normal ones of f16, and not zero. */
static inline int has_small_halves(const float *numbers, int64_t count)
{
    int any_small = 0;
    for (int64_t i = 0; i < count; i++)
        any_small |= (bits_of(numbers[i]) & 0x7fffffff) - 1 < 0x387fffff;
    return any_small;
}

/* 2^exponent for exponents of normal numbers. */
static inline double power(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* See ``without_dropped`` in dot.py. */
static inline float kept_part(float product, int drops_bits)
{
    const float size = product < 0 ? -product : product;
    if (!drops_bits || !(size >= 0x1p-41f && size < 0x1p-38f))
        return product;
    const float rest = size - (float)(int)(size * 0x1p41f) * 0x1p-41f;
    const float kept = rest > 0 && rest < 0x1p-42f ? rest + 0x1p-42f : rest;
    return product < 0 ? -kept : kept;
}

/* The sum of one group, whatever its products are. */
static inline float gemm_f16_group_scalar(const float *left, const float *right, int64_t step, int64_t size, int nan_wins,
                           int drops_bits)
{
    int up = 0, down = 0, undefined = 0;
    uint32_t window_max = 0;
    for (int64_t i = 0; i < size; i++) {
        const float product = kept_part(left[i] * right[i * step], drops_bits);
        const uint32_t magnitude = bits_of(product) & 0x7fffffff;
        undefined |= magnitude > 0x7f800000;
        up |= bits_of(product) == 0x7f800000;
        down |= bits_of(product) == 0xff800000;
        window_max = magnitude > window_max ? magnitude : window_max;
    }
    if ((up && down) || (undefined && (nan_wins || !(up || down))))
        return number_of(nan_wins ? 0x7fc00000 : 0xffc00000);
    if (up || down)
        return number_of(up ? 0x7f800000 : 0xff800000);
    const int exponent = (int)(window_max >> 23) - 127;
    if (exponent < -126)
        return 0.0f;
    const double scale = power(24 - exponent);
    int64_t sum = 0;
    for (int64_t i = 0; i < size; i++) {
        const float product = kept_part(left[i] * right[i * step], drops_bits);
        if (bits_of(product) & 0x7f800000)
            sum += (int64_t)(product * scale);
    }
    return flush((float)((double)sum * power(exponent - 24)));
}

/* Half to even on 11 bits, with the subnormals of f16; a NaN keeps its sign and has all other bits set. */
static inline float rounded_f16(float number)
{
    uint32_t bits = bits_of(number);
    const uint32_t sign = bits & 0x80000000;
    bits ^= sign;
    if (bits > 0x7f800000)
        return number_of(sign | 0x7fffe000);
    if (bits >= 0x477ff000)
        return number_of(sign | 0x7f800000);
    if (bits < 0x38800000) /* below 2^-14 all f16 are multiples of 2^-24, the unit of 0.5 in float32 */
        return number_of(sign | bits_of((number_of(bits) + 0.5f) - 0.5f));
    return number_of(sign | ((bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff));
}

/* Half to even on 8 bits; a NaN keeps its sign and has all other bits set. */
static inline float rounded_bf16(float number)
{
    const uint32_t bits = bits_of(number);
    if (number != number)
        return number_of((bits & 0x80000000) | 0x7fff0000);
    return number_of((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

static inline float rounded(float number, int format)
{
    return format == F32 ? number : format == BF16 ? rounded_bf16(number) : rounded_f16(number);
}

static inline float product(float a, float b, int format)
{
    if (format == F32)
        return multiply(a, b);
    const double exact = (double)a * b, size = exact < 0 ? -exact : exact;
    if (exact != exact)
        return rounded(nan_of(a, b), format);
    if (format == BF16 && size < 0x1p-126) /* tiny is judged after rounding to 8 bits */
        return number_of(((bits_of(a) ^ bits_of(b)) & 0x80000000) | (size < (1 - 0x1p-9) * 0x1p-126 ? 0 : 0x00800000));
    return rounded((float)exact, format);
}

#endif
