/* Vectors of LANES numbers. A unit defines LANES and NAME(x), which gives a function its width's suffix, before it includes
 * micro-kernels; without them this is the width of baseline.c.
 *
 * Lanes never meet: results do not depend on LANES, on how outputs are split among threads, or on the machine. */

#ifndef TDB_DAP_SIMD_VECTORS_H
#define TDB_DAP_SIMD_VECTORS_H

#include "simd.h"
#include "../parallel/scratch.h"

#ifndef LANES
#define LANES 4
#define NAME(x) x##_4
#endif

/* The lanes of a vector of 16 that begins with element ``i`` of ``count``. */
#define USED_OF(i, count) ((count) - (i) < 16 ? (__mmask16)((1u << ((count) - (i))) - 1) : (__mmask16)0xffff)

typedef float NAME(floats) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define TO_FLOATS(x) __builtin_convertvector(x, floats)
#define TO_INTS(x) __builtin_convertvector(x, ints)
#define AS_INTS(x) ((ints)(x))
#define AS_FLOATS(x) ((floats)(x))
#define MASK(x) (x)
#define floats NAME(floats)
#define ints NAME(ints)
#define SELECT(mask, yes, no) (((mask) & (yes)) | (~(mask) & (no)))
#define AT(pointer) (*(floats *)(pointer))

#if LANES >= 16
#define TILE_ROWS ROWS
#else
#define TILE_ROWS (ROWS / 2)
#endif

/* Whether any lane of a mask is set. */
static inline int NAME(any)(ints mask)
{
#if LANES == 16
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif LANES == 8
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    int32_t lanes[LANES], any_set = 0;
    memcpy(lanes, &mask, sizeof lanes);
    for (int lane = 0; lane < LANES; lane++)
        any_set |= lanes[lane];
    return any_set != 0;
#endif
}

/* The larger one of ``window_max`` and the magnitude of finite numbers, as words. */
static inline ints NAME(larger)(ints window_max, floats numbers)
{
#if LANES == 16
    return (ints)_mm512_range_ps((__m512)window_max, (__m512)numbers, 0xb); /* the larger magnitude, without its sign */
#else
    const ints magnitude = AS_INTS(numbers) & 0x7fffffff;
#if LANES == 8
    /* Compilers make a comparison and a blend of the other form. */
    return (ints)_mm256_max_epi32((__m256i)magnitude, (__m256i)window_max);
#endif
    return SELECT(MASK(magnitude > window_max), magnitude, window_max);
#endif
}

#endif
