/* Halves of bytes looked up in a table of 16 words of 16 bits. */

#ifndef TDB_DAP_SIMD_UNPACK_H
#define TDB_DAP_SIMD_UNPACK_H

#include "simd.h"

#if IS_X86 && LANES >= 8
#include <immintrin.h>
#endif

/* to[2 i] = table[low half of from[i]], to[2 i + 1] = table[high half]. */
static void NAME(unpack_halves)(const uint8_t *from, int64_t count, const uint16_t *table, uint16_t *to)
{
    int64_t i = 0;
#if IS_X86 && LANES >= 8
    uint8_t bytes[2][16];
    for (int word = 0; word < 16; word++) {
        bytes[0][word] = (uint8_t)table[word];
        bytes[1][word] = (uint8_t)(table[word] >> 8);
    }
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)bytes[0]);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)bytes[1]), half = _mm_set1_epi8(15);
    for (; i + 16 <= count; i += 16) {
        const __m128i packed = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        const __m128i even = _mm_and_si128(packed, half), odd = _mm_and_si128(_mm_srli_epi16(packed, 4), half);
        const __m128i halves[2] = {_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)};
        for (int part = 0; part < 2; part++) {
            const __m128i lows = _mm_shuffle_epi8(low, halves[part]), highs = _mm_shuffle_epi8(high, halves[part]);
            _mm_storeu_si128((__m128i *)(void *)(to + 2 * i + 16 * part), _mm_unpacklo_epi8(lows, highs));
            _mm_storeu_si128((__m128i *)(void *)(to + 2 * i + 16 * part + 8), _mm_unpackhi_epi8(lows, highs));
        }
    }
#endif
    for (; i < count; i++) {
        to[2 * i] = table[from[i] & 15];
        to[2 * i + 1] = table[from[i] >> 4];
    }
}

#endif
