/* Right factors packed into panels, a block of columns at a time.
 *
 * The right factor of product k at output column j is image[taps[k] + places[j]]; a negative tap stands for zeros. The columns
 * of a block form runs: offsets that are 1 or 2 apart. Runs are found once per block; every product then copies whole runs. Nothing
 * outside the image is read. */

#ifndef TDB_DAP_SIMD_PANELS_H
#define TDB_DAP_SIMD_PANELS_H

#include "vectors.h"

/* Lanes [first, first + count) at place + (lane - first) * step; for AVX-512 masks ``at`` is the offset of
 * lane 0, and ``even`` has a bit for every second number of a run with step 2. */
typedef struct {
    int64_t element_address, at;
    uint64_t even;
    uint32_t mask;
    int first, count, step;
} NAME(Run);

typedef struct {
    NAME(Run) runs[2 * LANES];
    int count, used;
    const int64_t *places;
} NAME(Runs);

static void NAME(find_runs)(NAME(Runs) *runs, const int64_t *places, int used)
{
    runs->count = 0;
    runs->used = used;
    runs->places = places;
    for (int first = 0; first < used; runs->count++) {
        const int64_t apart = first + 1 < used ? places[first + 1] - places[first] : 1;
        const int step = apart == 2 ? 2 : 1;
        int count = 1;
        while (first + count < used && places[first + count] - places[first + count - 1] == step)
            count++;
        NAME(Run) *run = &runs->runs[runs->count];
        *run = (NAME(Run)){.element_address = places[first], .first = first, .count = count, .step = step};
        run->at = run->element_address - (int64_t)first * step;
        run->mask = (uint32_t)((((uint64_t)1 << count) - 1) << first);
        for (int lane = first; lane < first + count && step == 2; lane++)
            run->even |= (uint64_t)1 << 2 * lane;
        first += count;
    }
}

/* Whether all lanes are one run with step 1. */
static inline int NAME(is_stretch)(const NAME(Runs) *runs, int lanes)
{
    return runs->count == 1 && runs->used == lanes && runs->runs[0].step == 1;
}

/* Words of one product, lane by lane. Runs of two lanes do not pay for a loop. */
#define COPIED_RUNS(Word, out, from, apart)                                                                            \
    {                                                                                                                  \
        if (runs->count * 2 > runs->used)                                                                              \
            for (int lane = 0; lane < runs->used; lane++)                                                              \
                (out)[lane * (apart)] = (from)[runs->places[lane]];                                                    \
        for (int i = 0; i < runs->count && runs->count * 2 <= runs->used; i++) {                                       \
            const NAME(Run) *run = &runs->runs[i];                                                                     \
            const Word *start = (from) + run->element_address;                                                                   \
            for (int lane = 0; lane < run->count; lane++)                                                              \
                (out)[(run->first + lane) * (apart)] = start[lane * run->step];                                        \
        }                                                                                                              \
    }

#if LANES == 16
/* Address of a word that a mask may exclude: it may be outside the image. */
#define FAR(Word, from, at) ((const void *)((uintptr_t)(from) + (uintptr_t)((at) * (int64_t)sizeof(Word))))

static inline __m512 floats_of_runs(const float *from, const NAME(Runs) *runs)
{
    if (runs->count * 2 > runs->used) {
        float lanes[LANES] = {0};
        for (int lane = 0; lane < runs->used; lane++)
            lanes[lane] = from[runs->places[lane]];
        return _mm512_loadu_ps(lanes);
    }
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512 lanes_read = _mm512_setzero_ps();
    for (int i = 0; i < runs->count; i++) {
        const NAME(Run) *run = &runs->runs[i];
        if (run->step == 1) {
            lanes_read = _mm512_mask_loadu_ps(lanes_read, (__mmask16)run->mask, FAR(float, from, run->at));
            continue;
        }
        const __m512 low = _mm512_maskz_loadu_ps((__mmask16)run->even, FAR(float, from, run->at));
        const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(run->even >> 16), FAR(float, from, run->at + 16));
        lanes_read = _mm512_mask_mov_ps(lanes_read, (__mmask16)run->mask, _mm512_permutex2var_ps(low, even, high));
    }
    return lanes_read;
}

static inline __m256i bytes_of_runs(const uint8_t *from, const NAME(Runs) *runs)
{
    if (runs->count * 2 > runs->used) {
        uint8_t lanes[2 * LANES] = {0};
        for (int lane = 0; lane < runs->used; lane++)
            lanes[lane] = from[runs->places[lane]];
        return _mm256_loadu_si256((const __m256i *)lanes);
    }
    __m256i lanes_read = _mm256_setzero_si256();
    for (int i = 0; i < runs->count; i++) {
        const NAME(Run) *run = &runs->runs[i];
        if (run->step == 1) {
            lanes_read = _mm256_mask_loadu_epi8(lanes_read, run->mask, FAR(uint8_t, from, run->at));
            continue;
        }
        const __m512i both = _mm512_maskz_loadu_epi8(run->even, FAR(uint8_t, from, run->at));
        lanes_read = _mm256_mask_mov_epi8(lanes_read, run->mask, _mm512_cvtepi16_epi8(both));
    }
    return lanes_read;
}

static inline __m512i words_of_runs(const int16_t *from, const NAME(Runs) *runs)
{
    if (runs->count * 2 > runs->used) {
        int16_t lanes[2 * LANES] = {0};
        for (int lane = 0; lane < runs->used; lane++)
            lanes[lane] = from[runs->places[lane]];
        return _mm512_loadu_si512(lanes);
    }
    __m512i lanes_read = _mm512_setzero_si512();
    for (int i = 0; i < runs->count; i++) {
        const NAME(Run) *run = &runs->runs[i];
        if (run->step == 1) {
            lanes_read = _mm512_mask_loadu_epi16(lanes_read, run->mask, FAR(int16_t, from, run->at));
            continue;
        }
        const __m512i low = _mm512_maskz_loadu_epi16((__mmask32)run->even, FAR(int16_t, from, run->at));
        const __m512i high = _mm512_maskz_loadu_epi16((__mmask32)(run->even >> 32), FAR(int16_t, from, run->at + 32));
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(low)),
                                                _mm512_cvtepi32_epi16(high), 1);
        lanes_read = _mm512_mask_mov_epi16(lanes_read, run->mask, both);
    }
    return lanes_read;
}
#undef FAR
#endif

/* A panel [k][LANES] of floats. */
#define PACKED_AT_ONCE 64

/* Whether the products of each column follow each other, and columns do not. */
static int NAME(is_turned)(const Right *right, int64_t first, int64_t used)
{
    if (right->count < 2 || right->taps[0] < 0 || (used > 1 && right->places[first + 1] - right->places[first] < right->count))
        return 0;
    for (int64_t k = 1; k < right->count; k++)
        if (right->taps[k] != right->taps[k - 1] + 1)
            return 0;
    return 1;
}

/* The same of columns that are read one after the other, some products at a time. */
static void NAME(pack_turned)(float *panel, const Right *right, int64_t first, int64_t used)
{
    if (used < LANES)
        memset(panel, 0, (size_t)right->count * LANES * sizeof *panel);
    for (int64_t begin = 0; begin < right->count; begin += PACKED_AT_ONCE) {
        const int64_t end = right->count - begin < PACKED_AT_ONCE ? right->count : begin + PACKED_AT_ONCE;
        for (int64_t lane = 0; lane < used; lane++) {
            const float *column = right->image + right->places[first + lane] + right->taps[0];
            for (int64_t k = begin; k < end; k++)
                panel[k * LANES + lane] = column[k];
        }
    }
}

static void NAME(pack)(float *panel, const Right *right, int64_t first, int64_t used)
{
    if (NAME(is_turned)(right, first, used)) {
        NAME(pack_turned)(panel, right, first, used);
        return;
    }
    NAME(Runs) of_columns;
    const NAME(Runs) *runs = &of_columns;
    NAME(find_runs)(&of_columns, right->places + first, (int)used);
    const int stretch = NAME(is_stretch)(runs, LANES);
    for (int64_t k = 0; k < right->count; k++) {
        float *row = panel + k * LANES;
        const int64_t tap = right->taps[k];
        if (tap >= 0 && stretch) {
            memcpy(row, right->image + tap + runs->places[0], LANES * sizeof(float));
            continue;
        }
#if LANES == 16
        _mm512_storeu_ps(row, tap < 0 ? _mm512_setzero_ps() : floats_of_runs(right->image + tap, runs));
#else
        memset(row, 0, LANES * sizeof(float));
        if (tap >= 0)
            COPIED_RUNS(float, row, right->image + tap, 1)
#endif
    }
}

#if LANES == 16
/* A panel [pair][2 * LANES][2] of 16-bit numbers; a last product without a partner is paired with zeros. */
static void NAME(pack_pairs)(int16_t *panel, const GemmInt *w, int64_t first, int64_t used)
{
    NAME(Runs) runs;
    NAME(find_runs)(&runs, w->places + first, (int)used);
    const __m512i order = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i behind = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    for (int64_t k = 0; k < w->count; k += 2) {
        __m512i rows[2];
        for (int side = 0; side < 2; side++) {
            const int64_t tap = k + side < w->count ? w->taps[k + side] : -1;
            if (tap < 0)
                rows[side] = _mm512_setzero_si512();
            else if (w->type == SIGNED_WORDS)
                rows[side] = words_of_runs((const int16_t *)w->image + tap, &runs);
            else {
                const __m256i bytes = bytes_of_runs((const uint8_t *)w->image + tap, &runs);
                rows[side] = w->type == SIGNED_BYTES ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
            }
        }
        /* Interleave within each 128 bits, then permute into lane order. */
        const __m512i low = _mm512_unpacklo_epi16(rows[0], rows[1]), high = _mm512_unpackhi_epi16(rows[0], rows[1]);
        _mm512_storeu_si512(panel + k * 2 * LANES, _mm512_permutex2var_epi64(low, order, high));
        _mm512_storeu_si512(panel + k * 2 * LANES + 2 * LANES, _mm512_permutex2var_epi64(low, behind, high));
    }
}

/* A panel [quad][2 * LANES][4] of bytes, XORed with ``flips``; padding products have any value. */
static void pack_dot4(uint8_t *panel, const GemmInt *w, int64_t first, int64_t used, int flips)
{
    NAME(Runs) runs;
    NAME(find_runs)(&runs, w->places + first, (int)used);
    const int stretch = NAME(is_stretch)(&runs, 2 * LANES);
    const __m256i flip = _mm256_set1_epi8((char)flips);
    for (int64_t k = 0; k < w->count; k += 4) {
        __m256i rows[4];
        for (int i = 0; i < 4; i++) {
            const int64_t tap = k + i < w->count ? w->taps[k + i] : -1;
            const uint8_t *from = (const uint8_t *)w->image + (tap < 0 ? 0 : tap);
            rows[i] = tap < 0   ? _mm256_setzero_si256()
                      : stretch ? _mm256_loadu_si256((const __m256i *)(from + runs.places[0]))
                                : bytes_of_runs(from, &runs);
            rows[i] = _mm256_xor_si256(rows[i], flip);
        }
        const __m256i a = _mm256_unpacklo_epi8(rows[0], rows[1]), b = _mm256_unpackhi_epi8(rows[0], rows[1]);
        const __m256i c = _mm256_unpacklo_epi8(rows[2], rows[3]), d = _mm256_unpackhi_epi8(rows[2], rows[3]);
        /* Columns 0 to 3 and 16 to 19, 4 to 7 and 20 to 23, and so on. */
        const __m256i e = _mm256_unpacklo_epi16(a, c), f = _mm256_unpackhi_epi16(a, c);
        const __m256i g = _mm256_unpacklo_epi16(b, d), h = _mm256_unpackhi_epi16(b, d);
        __m256i *row = (__m256i *)(panel + k * 2 * LANES);
        _mm256_storeu_si256(row, _mm256_permute2x128_si256(e, f, 0x20));
        _mm256_storeu_si256(row + 1, _mm256_permute2x128_si256(g, h, 0x20));
        _mm256_storeu_si256(row + 2, _mm256_permute2x128_si256(e, f, 0x31));
        _mm256_storeu_si256(row + 3, _mm256_permute2x128_si256(g, h, 0x31));
    }
}
#else
#define PACKED(Type)                                                                                                   \
    static void NAME(pack_##Type)(int16_t *panel, const GemmInt *w, int64_t first, int64_t used)                         \
    {                                                                                                                  \
        static const Type zeros[2 * LANES] = {0};                                                                      \
        const Type *image = w->image;                                                                                  \
        NAME(Runs) of_columns;                                                                                              \
        const NAME(Runs) *runs = &of_columns;                                                                               \
        NAME(find_runs)(&of_columns, w->places + first, (int)used);                                                         \
        const int stretch = NAME(is_stretch)(runs, 2 * LANES);                                                         \
        if (!stretch)                                                                                                  \
            memset(panel, 0, (size_t)((w->count + 1) / 2 * 4 * LANES) * sizeof(int16_t));                              \
        for (int64_t k = 0; k < w->count; k += 2) {                                                                    \
            int16_t *row = panel + k * 2 * LANES;                                                                      \
            const int64_t low = w->taps[k], high = k + 1 < w->count ? w->taps[k + 1] : -1;                             \
            if (stretch) {                                                                                             \
                const Type *a = low < 0 ? zeros : image + low + runs->places[0];                                       \
                const Type *b = high < 0 ? zeros : image + high + runs->places[0];                                     \
                for (int lane = 0; lane < 2 * LANES; lane++) {                                                         \
                    row[2 * lane] = a[lane];                                                                           \
                    row[2 * lane + 1] = b[lane];                                                                       \
                }                                                                                                      \
                continue;                                                                                              \
            }                                                                                                          \
            if (low >= 0)                                                                                              \
                COPIED_RUNS(Type, row, image + low, 2)                                                                 \
            if (high >= 0)                                                                                             \
                COPIED_RUNS(Type, row + 1, image + high, 2)                                                            \
        }                                                                                                              \
    }

PACKED(int8_t)
PACKED(uint8_t)
PACKED(int16_t)
#undef PACKED

static void NAME(pack_pairs)(int16_t *panel, const GemmInt *w, int64_t first, int64_t used)
{
    if (w->type == SIGNED_BYTES)
        NAME(pack_int8_t)(panel, w, first, used);
    else if (w->type == UNSIGNED_BYTES)
        NAME(pack_uint8_t)(panel, w, first, used);
    else
        NAME(pack_int16_t)(panel, w, first, used);
}
#endif
#undef COPIED_RUNS

/* Bytes of panels that are packed before their products are computed: left factors then stay in the L1 cache, and adjacent results
 * are written one after the other. */
#define STRIP (1 << 17)
#define MOST_PANELS 32

/* Panels of ``size`` bytes that are packed at once. */
static inline int64_t NAME(panels_at_once)(int64_t size)
{
    const int64_t fitting = STRIP / (size + 1);
    return fitting < 1 ? 1 : fitting < MOST_PANELS ? fitting : MOST_PANELS;
}

#endif
