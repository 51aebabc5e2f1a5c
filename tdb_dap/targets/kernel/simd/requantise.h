/* Requantisation of sums: ReLU, multiplier, rounding shift, zero point, clamp, truncation;
 * see arithmetic/requantisation.py. Sums and products wrap as in NumPy. */

#ifndef TDB_DAP_SIMD_REQUANTISE_H
#define TDB_DAP_SIMD_REQUANTISE_H

#include "vectors.h"

/* Before a loop of few steps: compilers vectorise it, instead of writing out the steps one by one. */
#define AS_A_LOOP _Pragma("GCC unroll 1")

#define CHUNK_OF_ROW 512 /* numbers at a time, those of CHUNK in elements.h */

/* A loop for each way to round: what does not change inside is known to the compiler. */
#define BY_MODE(Each)                                                                                                  \
    switch (mode) {                                                                                                    \
    case HALF_EVEN: Each(HALF_EVEN)                                                                                    \
    case HALF_AWAY: Each(HALF_AWAY)                                                                                    \
    case TOWARD_ZERO: Each(TOWARD_ZERO)                                                                                \
    case DOWN: Each(DOWN)                                                                                              \
    case UP: Each(UP)                                                                                                  \
    default: Each(HALF_UP)                                                                                             \
    }

static inline double NAME(rounded_by)(double number, int mode)
{
    switch (mode) {
    case HALF_EVEN: return __builtin_rint(number);
    case HALF_AWAY: return __builtin_copysign(__builtin_floor(__builtin_fabs(number) + 0.5), number);
    case TOWARD_ZERO: return __builtin_trunc(number);
    case DOWN: return __builtin_floor(number);
    case UP: return __builtin_ceil(number);
    default: return __builtin_floor(number + 0.5);
    }
}

/* A float rounded by mode and limited; a NaN gives 0. */
static inline int64_t NAME(rounded_within)(float number, int mode, double low, double high)
{
    double v = NAME(rounded_by)(number, mode);
    v = v < low ? low : v;
    v = v > high ? high : v;
    return number == number ? (int64_t)v : 0;
}

/* As integers, sums of one row times a float32. */
static inline void NAME(scale_row)(const Requantisation *r, float scale, const int64_t *numbers, int64_t *out, int64_t count)
{
    const double low = (double)r->low, high = (double)r->high;
    const int64_t least = r->rectified ? 0 : INT64_MIN;
    const int mode = r->mode;
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < count; i++)                                                                                \
        out[i] = NAME(rounded_within)((float)(numbers[i] < least ? least : numbers[i]) * scale, mode_, low, high);     \
    break;
    BY_MODE(EACH)
#undef EACH
}

/* Requantise numbers of one row: a loop per step, so that compilers vectorise each. */
static inline void NAME(requantise_row)(const Requantisation *r, int64_t row, const int64_t *numbers, int64_t *out,
                                           int64_t count)
{
    const int64_t multiplier = r->multiplier[row], zero = r->zero[row], low = r->low, high = r->high;
    const int amount = (int)r->amount[row];
    if (r->is_scaled) {
        NAME(scale_row)(r, number_of((uint32_t)(uint64_t)multiplier), numbers, out, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t v = r->held ? (int64_t)(int32_t)(uint32_t)(uint64_t)numbers[i] : numbers[i];
        v = r->rectified && v < 0 ? 0 : v;
        out[i] = times(v, multiplier);
    }
    if (r->is_high)
        for (int64_t i = 0; i < count; i++)
            out[i] = rounded_shift(out[i], HIGH_BITS, rounding_of(HALF_AWAY, HIGH_BITS));
    if (amount >= 0) {
        const uint64_t kept = bits_kept(r);
        for (int64_t i = 0; i < count; i++)
            out[i] = shifted_left(out[i], amount, kept);
    } else {
        const ShiftRounding rounding = rounding_of(r->mode, -amount);
        for (int64_t i = 0; i < count; i++)
            out[i] = rounded_shift(out[i], -amount, rounding);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t v = plus_saturated(out[i], zero);
        v = v < low ? low : v;
        out[i] = v > high ? high : v;
    }
}

/* The same with a multiplier, shift and zero point per number. */
static void NAME(requantise_each)(const Requantisation *r, const int64_t *numbers, const int64_t *multiplier,
                                   const int64_t *amount, const int64_t *zero, int64_t *out, int64_t count)
{
    int64_t products[CHUNK_OF_ROW];
    const uint64_t kept = bits_kept(r);
    for (int64_t i = 0; i < count; i++) {
        int64_t v = r->held ? (int64_t)(int32_t)(uint32_t)(uint64_t)numbers[i] : numbers[i];
        v = r->rectified && v < 0 ? 0 : v;
        products[i] = times(v, multiplier[i]);
    }
    if (r->is_high)
        for (int64_t i = 0; i < count; i++)
            products[i] = rounded_shift(products[i], HIGH_BITS, rounding_of(HALF_AWAY, HIGH_BITS));
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const int right = amount[i] < 0 ? (int)-amount[i] : 0;                                                         \
        const int64_t rounded = rounded_shift(products[i], right, rounding_of(mode_, right));                          \
        const int64_t shifted = shifted_left(products[i], amount[i] < 0 ? 0 : (int)amount[i], kept);                   \
        int64_t moved = plus_saturated(amount[i] < 0 ? rounded : shifted, zero[i]);                                    \
        moved = moved < r->low ? r->low : moved;                                                                       \
        out[i] = moved > r->high ? r->high : moved;                                                                    \
    }                                                                                                                  \
    break;
    switch (r->mode) {
    case HALF_EVEN: EACH(HALF_EVEN)
    case HALF_AWAY: EACH(HALF_AWAY)
    case TOWARD_ZERO: EACH(TOWARD_ZERO)
    case UP: EACH(UP)
    case HALF_UP: EACH(HALF_UP)
    case HALF_DOWN: EACH(HALF_DOWN)
    default: EACH(DOWN)
    }
#undef EACH
}

/* The low bytes of numbers, stored from element ``start`` of a result on. */
ALWAYS_INLINE void NAME(store_low_bytes)(const Requantisation *r, const int64_t *out, void *result, int64_t start, int64_t count)
{
    if (r->plane)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)result)[start + i] = (uint8_t)((uint64_t)out[i] >> 8 * r->plane);
    else if (r->size == 1)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)result)[start + i] = (uint8_t)(uint64_t)out[i];
    else if (r->size == 2)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)result)[start + i] = (uint16_t)(uint64_t)out[i];
    else if (r->size == 4)
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)result)[start + i] = (uint32_t)(uint64_t)out[i];
    else
        memcpy((int64_t *)result + start, out, (size_t)count * sizeof *out);
}

/* Initial values of sums: numbers ``step`` apart, or one for all. */
typedef struct {
    const int64_t *numbers;
    int64_t step;
} NAME(StartOfRow);

/* Requantise ``count`` sums of a row and store the first ``used`` from element ``to`` of a result on; ``sums`` are overwritten. Where
 * ``count`` is a constant of the caller, loops have no remainder. */
ALWAYS_INLINE void NAME(requantise)(const Requantisation *r, const FastRequant *s, int64_t row, int32_t *sums,
                                const NAME(StartOfRow) *begin, void *result, int64_t to, int64_t used, const int64_t count)
{
    int64_t out[CHUNK_OF_ROW];
    const int64_t one = begin->numbers && !begin->step ? *begin->numbers : 0;
    if (s->wraps && begin->numbers && begin->step)
        for (int64_t i = 0; i < used; i++)
            sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(uint64_t)begin->numbers[i * begin->step]);
    else if (s->wraps && one)
        for (int64_t i = 0; i < count; i++)
            sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(uint64_t)one);
    if (s->form == SHIFTED_TWICE) {
        /* Without their signs, which half away from zero keeps: the high half of a product fits into 32 bits. */
        const int32_t multiplier = (int32_t)r->multiplier[row];
        const uint32_t factor = multiplier < 0 ? 0u - (uint32_t)multiplier : (uint32_t)multiplier;
        const uint32_t half = s->right ? (uint32_t)1 << (s->right - 1) : 0;
        const int right = s->right;
        AS_A_LOOP
        for (int64_t i = 0; i < count; i++) {
            const uint32_t size = sums[i] < 0 ? 0u - (uint32_t)sums[i] : (uint32_t)sums[i];
            const uint64_t product = (uint64_t)size * factor + ((uint64_t)1 << (HIGH_BITS - 1));
            const uint32_t rounded = ((uint32_t)(product >> HIGH_BITS) + half) >> right;
            sums[i] = (int32_t)((sums[i] ^ multiplier) < 0 ? 0u - rounded : rounded);
        }
    }
    if (s->form == IN_32_BITS || s->form == SHIFTED_TWICE) {
        const int32_t low = s->low, high = s->high;
        if (low != INT32_MIN || high != INT32_MAX)
            AS_A_LOOP
            for (int64_t i = 0; i < count; i++) {
                const int32_t v = sums[i] < low ? low : sums[i];
                sums[i] = v > high ? high : v;
            }
        if (used < count) {
            for (int64_t i = 0; i < used; i++)
                out[i] = sums[i];
            NAME(store_low_bytes)(r, out, result, to, used);
        } else if (r->size == 1)
            AS_A_LOOP
            for (int64_t i = 0; i < count; i++)
                ((uint8_t *)result)[to + i] = (uint8_t)(uint32_t)sums[i];
        else if (r->size == 2)
            for (int64_t i = 0; i < count; i++)
                ((uint16_t *)result)[to + i] = (uint16_t)(uint32_t)sums[i];
        else
            memcpy((int32_t *)result + to, sums, (size_t)count * sizeof *sums);
        return;
    }
    if (s->form == SHIFTED_ONCE) {
        const int64_t multiplier = r->multiplier[row], zero = r->zero[row], low = r->low, high = r->high;
        const int64_t start = s->wraps ? 0 : one, least = r->rectified ? 0 : INT64_MIN;
        const int64_t added = s->rounding.added, mask = s->rounding.mask;
        const int from = s->rounding.from, right = s->right;
        for (int64_t i = 0; i < count; i++) {
            int64_t v = sums[i] + start;
            v = (v < least ? least : v) * multiplier;
            v = plus((v + added + ((v >> from) & mask)) >> right, zero);
            v = v < low ? low : v;
            out[i] = v > high ? high : v;
        }
    } else {
        int64_t numbers[CHUNK_OF_ROW];
        for (int64_t i = 0; i < count; i++)
            numbers[i] = s->wraps ? sums[i] : plus(sums[i], one);
        if (!s->wraps && begin->numbers && begin->step)
            for (int64_t i = 0; i < used; i++)
                numbers[i] = plus(numbers[i], begin->numbers[i * begin->step]);
        NAME(requantise_row)(r, row, numbers, out, count);
    }
    if (used < count)
        NAME(store_low_bytes)(r, out, result, to, used);
    else
        NAME(store_low_bytes)(r, out, result, to, count);
}

#endif
