/* Matrix products of 16-bit floats: groups of products summed exactly, groups added in float32; see ``grouped`` in
 * arithmetic/dot.py.
 *
 * TILE_ROWS rows go through a group together, twice: first for the largest magnitude of each row's products, then for the sum
 * of the products in units of it. Forming products a second time is cheaper than keeping them: registers hold fewer numbers
 * than a group has, and the rows share what they load of the panel. */

#ifndef TDB_DAP_SIMD_GEMM_F16_H
#define TDB_DAP_SIMD_GEMM_F16_H

#include "panels.h"

/* As ``kept_part``, of products of which some may lose bits. */
static inline floats NAME(kept)(floats products)
{
    const ints all = AS_INTS(products), size = all & 0x7fffffff;
    /* From 2^-41 to 2^-38; the others are zeros here. */
    const ints affected = MASK(size >= (127 - 41) << 23) & MASK(size < (127 - 38) << 23);
    const floats held = AS_FLOATS(size & affected), rest = held - TO_FLOATS(TO_INTS(held * 0x1p41f)) * 0x1p-41f;
    const floats half = (floats){0} + 0x1p-42f;
    const ints is_small = MASK(rest > 0) & MASK(rest < half);
    const ints kept = AS_INTS(rest + AS_FLOATS(is_small & AS_INTS(half))) | (all & INT32_MIN);
    return AS_FLOATS(SELECT(affected, kept, all));
}

#if LANES == 16
typedef __mmask16 doubts_16;

static inline int any_doubt_16(doubts_16 doubt) { return doubt != 0; }
#else
typedef ints NAME(doubts);

static inline int NAME(any_doubt)(ints doubt) { return NAME(any)(doubt); }
#endif

/* What products are multiplied by so that the largest one has 25 bits before the point. ``doubt`` is set where float32
 * does not hold the products: where the largest one overflows, or is so small that others underflow. */
static inline floats NAME(scale)(ints window_max, NAME(doubts) *doubt)
{
    const ints exponent = window_max & 0x7f800000;
#if LANES == 16
    const __m512i least = _mm512_set1_epi32(32 << 23), above = _mm512_sub_epi32((__m512i)exponent, least);
    const __mmask16 not_zero = _mm512_test_epi32_mask((__m512i)exponent, (__m512i)exponent);
    *doubt |= _mm512_mask_cmpge_epu32_mask(not_zero, above, _mm512_set1_epi32((255 - 32) << 23));
    const ints held = (ints)_mm512_max_epi32((__m512i)exponent, least);
#else
    *doubt |= MASK(exponent > 0) & MASK(exponent < (32 << 23));
    *doubt |= MASK(exponent == 0x7f800000);
    const ints held = SELECT(MASK(exponent > (32 << 23)), exponent, (exponent ^ exponent) + (32 << 23));
#endif
    /* Where all products are zero, or count as zero, any scale will do. */
    return AS_FLOATS(((254 + 24) << 23) - held);
}

/* ``total`` plus the sum of a group, without subnormals. */
static inline floats NAME(with_part)(floats total, floats part)
{
    const floats sum = total + part;
#if LANES == 16
    /* These processors keep the NaN of the total, and make it quiet. */
    const __mmask16 tiny = _mm512_testn_epi32_mask((__m512i)sum, _mm512_set1_epi32(0x7f800000));
    return (floats)_mm512_mask_and_epi32((__m512i)sum, tiny, (__m512i)sum, _mm512_set1_epi32(INT32_MIN));
#else
    const ints after = AS_INTS(sum), tiny = MASK((after & 0x7f800000) == 0);
    const ints flushed = SELECT(tiny, after & INT32_MIN, after);
    /* The group's sum is finite: a NaN can only have been there before. */
    return AS_FLOATS(SELECT(MASK(total != total), AS_INTS(total) | 0x00400000, flushed));
#endif
}

/* Rows have variables of their own, not an array: compilers then keep them in registers between the loops as well. */
#if LANES >= 16
#define EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#else
#define EACH_ROW(F) F(0) F(1) F(2) F(3)
#endif
#define PRODUCT(r) (factor * left[i * ROWS + r])

/* One group of TILE_ROWS rows, whose sums are added to ``totals``. */
static void NAME(add_group)(floats *totals, const float *left, const float *panel, int64_t count, NAME(doubts) *doubt)
{
#define STARTED(r) ints window_max##r = {0}, sum##r = {0};
    EACH_ROW(STARTED)
    for (int64_t i = 0; i < count; i++) {
        const floats factor = AT(panel + i * LANES);
#define LARGER(r) window_max##r = NAME(larger)(window_max##r, PRODUCT(r));
        EACH_ROW(LARGER)
    }
#define SCALED(r) const floats scale##r = NAME(scale)(window_max##r, &doubt[r]);
    EACH_ROW(SCALED)
    for (int64_t i = 0; i < count; i++) {
        const floats factor = AT(panel + i * LANES);
#define ADDED(r) sum##r += TO_INTS(PRODUCT(r) * scale##r);
        EACH_ROW(ADDED)
    }
#define ENDED(r)                                                                                                       \
    totals[r] = NAME(with_part)(totals[r], TO_FLOATS(sum##r) * AS_FLOATS((254 << 23) - AS_INTS(scale##r)));
    EACH_ROW(ENDED)
#undef STARTED
#undef LARGER
#undef SCALED
#undef ADDED
#undef ENDED
}
#undef PRODUCT
#undef EACH_ROW

#define FEW_ROWS (TILE_ROWS / 4) /* for which the others would be computed in vain */

/* The same row by row, where there are few, or where products may lose bits: ``drops``, if any, says which of them. */
static void NAME(add_by_rows)(floats *totals, const float *left, const float *panel, int64_t rows, int64_t count,
                              const unsigned char *drops, NAME(doubts) *doubt)
{
    for (int64_t r = 0; r < rows; r++) {
        floats products[LARGEST_GROUP];
        ints window_max = {0}, sum = {0};
        for (int64_t i = 0; i < count; i++) {
            const floats product = AT(panel + i * LANES) * left[i * ROWS + r];
            products[i] = drops && drops[i] ? NAME(kept)(product) : product;
            window_max = NAME(larger)(window_max, products[i]);
        }
        const floats scale = NAME(scale)(window_max, &doubt[r]);
        for (int64_t i = 0; i < count; i++)
            sum += TO_INTS(products[i] * scale);
        totals[r] = NAME(with_part)(totals[r], TO_FLOATS(sum) * AS_FLOATS((254 << 23) - AS_INTS(scale)));
    }
}

/* ``totals`` of ``rows``, at most TILE_ROWS, plus groups, one by one; all factors are finite. A group's sum is the exact
 * one of truncated products, rounded. ``left``: (count, ROWS). ``drops``: as above, or none. */
static void NAME(add_groups)(floats *totals, const float *left, const float *panel, int64_t rows, int64_t count,
                             int64_t size, const unsigned char *drops, NAME(doubts) *doubt)
{
    for (int64_t start = 0; start < count; start += size, left += size * ROWS, panel += size * LANES) {
        const int64_t used = count - start < size ? count - start : size;
        const unsigned char *own = drops && memchr(drops + start, 1, (size_t)used) ? drops + start : NULL;
        if (own || rows <= FEW_ROWS)
            NAME(add_by_rows)(totals, left, panel, rows, used, own, doubt);
        else
            NAME(add_group)(totals, left, panel, used, doubt);
    }
}

static int NAME(finite)(const float *numbers, int64_t count)
{
    uint32_t window_max = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t magnitude = bits_of(numbers[i]) & 0x7fffffff;
        window_max = magnitude > window_max ? magnitude : window_max;
    }
    return window_max < 0x7f800000;
}

/* Left factors from row ``first`` on as sums read them: ``packed``, where rows with infinities and NaNs are zeros.
 * ``plain``: of each row whether vectors take it. ``drops``: of each block of ROWS and each product, see add_groups. */
typedef struct {
    float *packed;
    unsigned char *plain, *drops;
} NAME(Prepared);

/* Bytes of the parts, one after the other. */
static size_t NAME(size_of_prepared)(int64_t rows, int64_t count, size_t *sizes)
{
    const int64_t blocks = (rows + ROWS - 1) / ROWS;
    sizes[0] = scratch_aligned(blocks * ROWS * count * (int64_t)sizeof(float));
    sizes[1] = scratch_aligned(rows);
    sizes[2] = scratch_aligned(blocks * count);
    return sizes[0] + sizes[1] + sizes[2];
}

static void NAME(prepare_left)(NAME(Prepared) *p, const Left *left, const GemmF16 *gemm, int64_t count, char *block)
{
    const int64_t rows = left->last - left->first;
    const float *numbers = left->numbers + left->first * count;
    size_t sizes[3];
    NAME(size_of_prepared)(rows, count, sizes);
    p->packed = (float *)(void *)block;
    p->plain = (unsigned char *)block + sizes[0];
    p->drops = p->plain + sizes[1];
    memset(p->drops, 0, sizes[2]);
    pack_left_f32(numbers, 0, rows, count, p->packed);
    for (int64_t row = 0; row < rows; row++) {
        /* The sum of more than 32 numbers of 25 bits does not fit into 32 bits. */
        p->plain[row] = gemm->size <= 32 && NAME(finite)(numbers + row * count, count);
        for (int64_t k = 0; k < count && !p->plain[row]; k++)
            p->packed[(row / ROWS * count + k) * ROWS + row % ROWS] = 0.0f;
        /* Products that lose bits are below 2^-38: both factors are subnormals of f16. */
        if (gemm->drops_bits && has_small_halves(numbers + row * count, count))
            for (int64_t k = 0; k < count; k++)
                p->drops[row / ROWS * count + k] |= (unsigned char)has_small_halves(numbers + row * count + k, 1);
    }
}

static inline void NAME(copy_lanes)(void *to, const void *from, int64_t used)
{
    if (used == LANES)
        memcpy(to, from, LANES * sizeof(float));
    else
        memcpy(to, from, (size_t)used * sizeof(float));
}

/* Products [start, start + count) of TILE_ROWS rows from ``top`` on, added to ``used`` totals of each from ``first`` on.
 * ``panel``: from the first one of these products on; whether it ``is_finite``. */
static void NAME(gemm_f16_tile)(const Left *left, const Right *right, const GemmF16 *gemm, const NAME(Prepared) *p,
                               const float *panel, int is_finite, int64_t top, int64_t first, int64_t used,
                               int64_t start, int64_t count)
{
    const int64_t height = left->last - top < TILE_ROWS ? left->last - top : TILE_ROWS, size = gemm->size;
    const int64_t row = top - left->first, at = row / ROWS * right->count + start;
    floats sums[TILE_ROWS];
    NAME(doubts) doubt[TILE_ROWS];
    memset(sums, 0, sizeof sums);
    memset(doubt, 0, sizeof doubt);
    for (int64_t r = 0; r < height; r++)
        NAME(copy_lanes)(&sums[r], gemm->totals + (top + r) * right->columns + first, used);
    if (is_finite)
        NAME(add_groups)(sums, p->packed + at * ROWS + row % ROWS, panel, height, count, size,
                         gemm->drops_bits ? p->drops + at : NULL, doubt);
    for (int64_t r = 0; r < height; r++) {
        const float *own = left->numbers + (top + r) * right->count + start;
        float *totals = gemm->totals + (top + r) * right->columns + first;
        if (is_finite && p->plain[row + r] && !NAME(any_doubt)(doubt[r])) {
            NAME(copy_lanes)(totals, &sums[r], used);
            continue;
        }
        for (int64_t begin = 0; begin < count; begin += size)
            for (int64_t lane = 0; lane < used; lane++)
                totals[lane] = add(totals[lane], gemm_f16_group_scalar(own + begin, panel + begin * LANES + lane, LANES,
                                                               count - begin < size ? count - begin : size,
                                                               gemm->nan_wins, gemm->drops_bits));
    }
}

/* Products of a row that are added before the next rows: their factors stay in the nearest cache. */
#define DEPTH 256

/* Groups of products summed exactly, groups added in float32; see ``gemm_f16`` in dot.py. */
static int NAME(gemm_f16)(const Left *left, const Right *right, const GemmF16 *gemm)
{
    const int64_t count = right->count, depth = DEPTH / gemm->size * gemm->size;
    NAME(Prepared) prepared;
    size_t sizes[3];
    const size_t panel_bytes = scratch_aligned(count * LANES * (int64_t)sizeof(float));
    float *panel = scratch_acquire(SCRATCH_PART, panel_bytes + NAME(size_of_prepared)(left->last - left->first, count, sizes));
    if (!panel)
        return -1;
    NAME(prepare_left)(&prepared, left, gemm, count, (char *)panel + panel_bytes);
    for (int64_t first = right->first; first < right->last; first += LANES) {
        const int64_t used = right->last - first < LANES ? right->last - first : LANES;
        NAME(pack)(panel, right, first, used);
        const int is_finite = NAME(finite)(panel, count * LANES);
        for (int64_t start = 0; start < count; start += depth)
            for (int64_t top = left->first; top < left->last; top += TILE_ROWS)
                NAME(gemm_f16_tile)(left, right, gemm, &prepared, panel + start * LANES, is_finite, top, first, used,
                                   start, count - start < depth ? count - start : depth);
    }
    scratch_release(SCRATCH_PART, panel);
    return 0;
}
#undef FEW_ROWS

#endif
