/* Words selected by a comparison; see ``conditions`` in semantics/arithmetic.py. Words looked up by halves of bytes. */

#ifndef TDB_DAP_SIMD_SELECT_H
#define TDB_DAP_SIMD_SELECT_H

#include "elements.h"

/* All bits set where numbers are greater, equal or less; of floats those are equal whose bits are. */
static void NAME(compare_floats)(const Grid *grid, int kind, int32_t *chosen, int64_t first, int64_t used)
{
    float a[CHUNK], b[CHUNK];
    int32_t equal[CHUNK];
    NAME(load_floats)(a, grid, &grid->operands[0], first, used);
    NAME(load_floats)(b, grid, &grid->operands[1], first, used);
    for (int64_t i = 0; i < used; i++)
        equal[i] = -(int32_t)(bits_of(a[i]) == bits_of(b[i]));
    NAME(flushed)(a, grid->operands[0].format, used);
    NAME(flushed)(b, grid->operands[1].format, used);
    if (kind == IS_EQUAL)
        memcpy(chosen, equal, (size_t)used * sizeof *chosen);
    else if (kind == IS_GREATER)
        for (int64_t i = 0; i < used; i++)
            chosen[i] = -(int32_t)(a[i] > b[i]) & ~equal[i];
    else
        for (int64_t i = 0; i < used; i++)
            chosen[i] = ~-(int32_t)(a[i] >= b[i]) & ~equal[i];
}

static void NAME(compare_ints)(const Grid *grid, int kind, int32_t *chosen, int64_t first, int64_t used)
{
    int64_t a[CHUNK], b[CHUNK];
    NAME(load_ints)(a, grid, &grid->operands[0], first, used);
    NAME(load_ints)(b, grid, &grid->operands[1], first, used);
    if (kind == IS_EQUAL)
        for (int64_t i = 0; i < used; i++)
            chosen[i] = -(int32_t)(a[i] == b[i]);
    else if (kind == IS_GREATER)
        for (int64_t i = 0; i < used; i++)
            chosen[i] = -(int32_t)(a[i] > b[i]);
    else
        for (int64_t i = 0; i < used; i++)
            chosen[i] = -(int32_t)(a[i] < b[i]);
}

/* Words of the third operand where the condition holds, else of the fourth; of ``size`` bytes. */
static void NAME(selected)(const Grid *grid, int kind, int size, void *result)
{
    int32_t chosen[CHUNK], yes[CHUNK], no[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        if (grid->operands[0].format <= BF16)
            NAME(compare_floats)(grid, kind, chosen, first, used);
        else
            NAME(compare_ints)(grid, kind, chosen, first, used);
        NAME(load_int32)(yes, grid, &grid->operands[2], first, used);
        NAME(load_int32)(no, grid, &grid->operands[3], first, used);
        for (int64_t i = 0; i < used; i++)
            yes[i] = (yes[i] & chosen[i]) | (no[i] & ~chosen[i]);
        if (size == 1)
            for (int64_t i = 0; i < used; i++)
                ((uint8_t *)result)[first + i] = (uint8_t)(uint32_t)yes[i];
        else if (size == 2)
            for (int64_t i = 0; i < used; i++)
                ((uint16_t *)result)[first + i] = (uint16_t)(uint32_t)yes[i];
        else
            memcpy((int32_t *)result + first, yes, (size_t)used * sizeof *yes);
    }
}

/* to[2 i] = table[low half of from[i]], to[2 i + 1] = table[high half]. */
static void NAME(unpack_halves)(const uint8_t *from, int64_t count, const uint16_t *table, uint16_t *to)
{
    int64_t i = 0;
#if LANES >= 8
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
