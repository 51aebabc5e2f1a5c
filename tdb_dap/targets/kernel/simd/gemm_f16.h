/* Matrix products of 16-bit floats: groups of products summed exactly, groups added in float32; see ``grouped`` in
 * arithmetic/dot.py.
 *
 * TILE_ROWS rows go through a group together, twice: first for the exponent of each row's largest product, then for the sum
 * of the products in units of it. The exponent follows from logarithms of the factors, see below, or from the products:
 * forming them a second time is cheaper than keeping them. Registers hold fewer numbers than a group has, and the rows share
 * what they load of the panel. */

#ifndef TDB_DAP_SIMD_GEMM_F16_H
#define TDB_DAP_SIMD_GEMM_F16_H

#include "panels.h"

/* The exponent of the largest of some products of finite numbers, without the products: 16-bit logarithms of both factors are
 * added, of two products at a time, in half the operations that products take.
 *
 * A logarithm counts from the exponent of the largest number of its row, or of its column, and is rounded down to a multiple
 * of 2^-LOG_BITS. The logarithm of the largest product is less than two units above the largest sum: its exponent is known
 * unless the sum is one unit below the next one. Logarithms that 16 bits do not hold are too large then: sums that may be of
 * such are not known either, and neither are those of numbers with more bits than 16-bit floats have. */

#define HAS_LOGS (LANES == 8) /* vectors that look words up, but do not find the larger magnitude in one go */
#define LOW_BITS ((1 << (23 - LOG_BITS)) - 1)
#define LOG_PAIRS(count) (HAS_LOGS ? ((count) + 1) / 2 : 0)

/* The logarithms of TILE_ROWS rows, (pair, ROWS), or none, and of a panel, (pair, LANES), both from the first product of a group on.
 * ``base``: the exponent that those of the products count from; ``least``: the least sum of products that float32 holds after
 * scaling. */
typedef struct {
    const int32_t *left, *panel;
    ints base[TILE_ROWS], least[TILE_ROWS];
} NAME(TileLogs);

#if HAS_LOGS
#define LEAST_LOG INT16_MIN
#define PAIR_OF(log) ((int32_t)((uint32_t)(log) << 16 | (uint16_t)(log)))

static inline __m256i logs_of_8(const float *numbers, __m256i base)
{
    const __m256i bits = _mm256_loadu_si256((const __m256i *)numbers), least = _mm256_set1_epi32(LEAST_LOG);
    const __m256i exponent = _mm256_and_si256(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(255));
    const __m256i mantissa = _mm256_and_si256(_mm256_srli_epi32(bits, 23 - LOG_BITS), _mm256_set1_epi32((1 << LOG_BITS) - 1));
    const __m256i fraction = _mm256_i32gather_epi32(log_fractions, mantissa, sizeof *log_fractions);
    const __m256i log = _mm256_add_epi32(_mm256_slli_epi32(_mm256_sub_epi32(exponent, base), LOG_BITS), fraction);
    const __m256i is_zero = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
    return _mm256_max_epi32(_mm256_blendv_epi8(log, least, is_zero), least);
}

/* Logarithms (pair, 8) of numbers (count, 8), whose columns have these largest magnitudes. */
static void NAME(pack_logs)(int32_t *logs, const float *numbers, int64_t count, const int32_t *largest)
{
    const __m256i base = _mm256_srli_epi32(_mm256_loadu_si256((const __m256i *)largest), 23);
    for (int64_t k = 0; k < count; k += 2) {
        const __m256i low = logs_of_8(numbers + k * 8, base);
        const __m256i high = k + 1 < count ? logs_of_8(numbers + (k + 1) * 8, base) : _mm256_set1_epi32(LEAST_LOG);
        _mm256_storeu_si256((__m256i *)(logs + k / 2 * 8), _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa));
    }
}

/* The larger logarithm of ``most`` and products of right factors with a pair of left ones. */
static inline ints NAME(larger_log)(ints most, ints factor, int32_t left)
{
    return (ints)_mm256_max_epi16((__m256i)most, _mm256_adds_epi16((__m256i)factor, _mm256_set1_epi32(left)));
}

/* The exponents of the largest products, as floats have them; ``unknown`` is set where they are not known. */
static inline ints NAME(exponent_of_log)(ints pair, ints base, ints least, ints *unknown)
{
    const ints mask = (ints)_mm256_set1_epi32((1 << LOG_BITS) - 1);
    const ints log = (ints)_mm256_max_epi32(_mm256_srai_epi32((__m256i)pair, 16), _mm256_srai_epi32(_mm256_slli_epi32((__m256i)pair, 16), 16));
    *unknown |= MASK((log & mask) == mask) | MASK(log < least);
    return (base + (log >> LOG_BITS)) << 23;
}

/* Those of TILE_ROWS rows from ``row`` on, and of a panel, from product ``start`` on. */
static inline NAME(TileLogs) NAME(logs_of_tile)(const int32_t *left, const int32_t *left_largest, int64_t row, const int32_t *panel,
                                             const int32_t *largest, int64_t count, int64_t start)
{
    NAME(TileLogs) logs = {NULL};
    if (!left)
        return logs;
    logs.left = left + (row / ROWS * LOG_PAIRS(count) + start / 2) * ROWS + row % ROWS;
    logs.panel = panel + start / 2 * LANES;
    const ints own = *(const ints *)largest, exponents = own >> 23, inside = (ints)_mm256_set1_epi32(LEAST_LOG + (1 << LOG_BITS));
    for (int r = 0; r < TILE_ROWS; r++) {
        logs.base[r] = exponents + ((left_largest[row + r] >> 23) - 127);
        const ints normal = (33 - logs.base[r]) << LOG_BITS;
        const ints long_numbers = (own | left_largest[row + r]) & LOW_BITS;
        logs.least[r] = SELECT(MASK(normal > inside), normal, inside);
        logs.least[r] = SELECT(MASK(logs.base[r] > 253) | MASK(long_numbers != 0), (ints)_mm256_set1_epi32(INT32_MAX), logs.least[r]);
    }
    return logs;
}

static inline void NAME(next_logs)(NAME(TileLogs) *logs, int64_t size)
{
    logs->left = logs->left ? logs->left + size / 2 * ROWS : NULL;
    logs->panel += size / 2 * LANES;
}
#else
static inline void NAME(pack_logs)(int32_t *logs, const float *numbers, int64_t count, const int32_t *largest)
{
    (void)logs, (void)numbers, (void)count, (void)largest;
}

static inline NAME(TileLogs) NAME(logs_of_tile)(const int32_t *left, const int32_t *left_largest, int64_t row, const int32_t *panel,
                                             const int32_t *largest, int64_t count, int64_t start)
{
    (void)left, (void)left_largest, (void)row, (void)panel, (void)largest, (void)count, (void)start;
    return (NAME(TileLogs)){NULL};
}

static inline void NAME(next_logs)(NAME(TileLogs) *logs, int64_t size) { (void)logs, (void)size; }
#endif

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

#define SCALE_OF(exponent) AS_FLOATS(((254 + 24) << 23) - (exponent))

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
    return SCALE_OF(held);
}

/* ``total`` plus the sum of a group, without subnormals. */
static inline floats NAME(with_part)(floats total, floats part)
{
    const floats sum = total + part;
#if LANES == 16
    /* These processors keep the NaN of the total, and make it quiet. */
    const __mmask16 tiny = _mm512_testn_epi32_mask((__m512i)sum, _mm512_set1_epi32(0x7f800000));
    return (floats)_mm512_mask_and_epi32((__m512i)sum, tiny, (__m512i)sum, _mm512_set1_epi32(INT32_MIN));
#elif LANES == 8
    const ints is_tiny = MASK((AS_INTS(sum) & 0x7f800000) == 0);
    return AS_FLOATS(AS_INTS(sum) & ~(is_tiny & INT32_MAX));
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

/* One group of TILE_ROWS rows, whose sums are added to ``totals``; ``logs``: of these rows from this group on. */
static void NAME(add_group)(floats *totals, const float *left, const float *panel, int64_t count, const NAME(TileLogs) *logs,
                            NAME(doubts) *doubt)
{
#define STARTED(r) ints window_max##r = {0}, sum##r = {0};
    EACH_ROW(STARTED)
    int is_known = 0;
#if HAS_LOGS
    if (logs->left) {
#define LEAST(r) ints log##r = {0}; log##r += PAIR_OF(LEAST_LOG);
        EACH_ROW(LEAST)
        for (int64_t pair = 0; pair < (count + 1) / 2; pair++) {
            const ints factor = *(const ints *)(logs->panel + pair * LANES);
#define LARGEST_LOG(r) log##r = NAME(larger_log)(log##r, factor, logs->left[pair * ROWS + r]);
            EACH_ROW(LARGEST_LOG)
        }
        ints unknown = {0};
#define EXPONENT(r) window_max##r = NAME(exponent_of_log)(log##r, logs->base[r], logs->least[r], &unknown);
        EACH_ROW(EXPONENT)
        is_known = !NAME(any)(unknown);
#define FORGOTTEN(r) window_max##r ^= window_max##r;
        if (!is_known) {
            EACH_ROW(FORGOTTEN)
        }
    }
#else
    (void)logs;
#endif
    for (int64_t i = 0; i < count && !is_known; i++) {
        const floats factor = AT(panel + i * LANES);
#define LARGER(r) window_max##r = NAME(larger)(window_max##r, PRODUCT(r));
        EACH_ROW(LARGER)
    }
#define SCALED(r) const floats scale##r = is_known ? SCALE_OF(window_max##r) : NAME(scale)(window_max##r, &doubt[r]);
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
#undef LEAST
#undef LARGEST_LOG
#undef EXPONENT
#undef FORGOTTEN
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
                             int64_t size, const unsigned char *drops, NAME(TileLogs) logs, NAME(doubts) *doubt)
{
    for (int64_t start = 0; start < count; start += size, left += size * ROWS, panel += size * LANES) {
        const int64_t used = count - start < size ? count - start : size;
        const unsigned char *own = drops && memchr(drops + start, 1, (size_t)used) ? drops + start : NULL;
        if (own || rows <= FEW_ROWS)
            NAME(add_by_rows)(totals, left, panel, rows, used, own, doubt);
        else
            NAME(add_group)(totals, left, panel, used, &logs, doubt);
        NAME(next_logs)(&logs, size);
    }
}

/* The largest magnitude of each column of (count, ``columns``) numbers, as words, with the bits below those of 16-bit floats that
 * any of them has. */
static inline void NAME(find_largest)(const float *numbers, int64_t count, int columns, int32_t *largest)
{
    int32_t most[ROWS > LANES ? ROWS : LANES] = {0}, low[ROWS > LANES ? ROWS : LANES] = {0};
    for (int64_t i = 0; i < count; i++)
        for (int column = 0; column < columns; column++) {
            const int32_t magnitude = (int32_t)(bits_of(numbers[i * columns + column]) & 0x7fffffff);
            most[column] = magnitude > most[column] ? magnitude : most[column];
            low[column] |= magnitude;
        }
    for (int column = 0; column < columns; column++)
        largest[column] = most[column] | (low[column] & LOW_BITS);
}

static inline int NAME(are_finite)(const int32_t *largest, int columns)
{
    int32_t most = 0;
    for (int column = 0; column < columns; column++)
        most = largest[column] > most ? largest[column] : most;
    return most < 0x7f800000;
}

/* Left factors from row ``first`` on as sums read them: ``packed``, where rows with infinities and NaNs are zeros.
 * ``largest``: of each row the largest magnitude, as words. ``plain``: of each row whether vectors take it. ``drops``: of each
 * block of ROWS and each product, see add_groups. ``logs``: of each block, or none. */
typedef struct {
    float *packed;
    int32_t *largest, *logs;
    unsigned char *plain, *drops;
} NAME(Prepared);

/* A panel of right factors: their numbers, logarithms, and the largest magnitude of each column, as words. */
typedef struct {
    float *numbers;
    int32_t *logs, *largest;
} NAME(Panel);

static size_t NAME(panel_size)(int64_t count)
{
    return scratch_aligned(count * LANES * (int64_t)sizeof(float)) + scratch_aligned(LOG_PAIRS(count) * LANES * (int64_t)sizeof(int32_t)) +
           scratch_aligned(LANES * (int64_t)sizeof(int32_t));
}

static inline NAME(Panel) NAME(panel_at)(void *block, int64_t count)
{
    char *logs = (char *)block + scratch_aligned(count * LANES * (int64_t)sizeof(float));
    char *largest = logs + scratch_aligned(LOG_PAIRS(count) * LANES * (int64_t)sizeof(int32_t));
    return (NAME(Panel)){block, (int32_t *)(void *)logs, (int32_t *)(void *)largest};
}

/* The panel of columns [first, first + LANES), as far as there are so many. */
static void NAME(pack_panel)(const Right *right, int64_t first, void *block)
{
    const NAME(Panel) panel = NAME(panel_at)(block, right->count);
    NAME(pack)(panel.numbers, right, first, right->columns - first < LANES ? right->columns - first : LANES);
    NAME(find_largest)(panel.numbers, right->count, LANES, panel.largest);
    if (right->has_logs && NAME(are_finite)(panel.largest, LANES))
        NAME(pack_logs)(panel.logs, panel.numbers, right->count, panel.largest);
}

/* Bytes of the parts, one after the other. */
static size_t NAME(size_of_prepared)(int64_t rows, int64_t count, size_t *sizes)
{
    const int64_t blocks = (rows + ROWS - 1) / ROWS;
    sizes[0] = scratch_aligned(blocks * ROWS * count * (int64_t)sizeof(float));
    sizes[1] = scratch_aligned(blocks * ROWS * (int64_t)sizeof(int32_t));
    sizes[2] = scratch_aligned(blocks * ROWS * LOG_PAIRS(count) * (int64_t)sizeof(int32_t));
    sizes[3] = scratch_aligned(rows);
    sizes[4] = scratch_aligned(blocks * count);
    return sizes[0] + sizes[1] + sizes[2] + sizes[3] + sizes[4];
}

static void NAME(prepare_left)(NAME(Prepared) *p, const Left *left, const GemmF16 *gemm, const Right *right, char *block)
{
    const int64_t rows = left->last - left->first, count = right->count;
    const float *numbers = left->numbers + left->first * count;
    size_t sizes[5];
    NAME(size_of_prepared)(rows, count, sizes);
    p->packed = (float *)(void *)block;
    p->largest = (int32_t *)(void *)(block + sizes[0]);
    p->logs = (int32_t *)(void *)(block + sizes[0] + sizes[1]);
    p->plain = (unsigned char *)block + sizes[0] + sizes[1] + sizes[2];
    p->drops = p->plain + sizes[3];
    memset(p->drops, 0, sizes[4]);
    pack_left_f32(numbers, 0, rows, count, p->packed);
    for (int64_t top = 0; top < rows; top += ROWS)
        NAME(find_largest)(p->packed + top * count, count, ROWS, p->largest + top);
    for (int64_t row = 0; row < rows; row++) {
        /* The sum of more than 32 numbers of 25 bits does not fit into 32 bits. */
        p->plain[row] = gemm->size <= 32 && p->largest[row] < 0x7f800000;
        for (int64_t k = 0; k < count && !p->plain[row]; k++)
            p->packed[(row / ROWS * count + k) * ROWS + row % ROWS] = 0.0f;
        /* Products that lose bits are below 2^-38: both factors are subnormals of f16. */
        if (gemm->drops_bits && has_small_halves(numbers + row * count, count))
            for (int64_t k = 0; k < count; k++)
                p->drops[row / ROWS * count + k] |= (unsigned char)has_small_halves(numbers + row * count + k, 1);
    }
    if (!HAS_LOGS || !right->has_logs)
        p->logs = NULL;
    for (int64_t top = 0; top < rows && p->logs; top += ROWS)
        NAME(pack_logs)(p->logs + top * LOG_PAIRS(count), p->packed + top * count, count, p->largest + top);
}

static inline void NAME(copy_lanes)(void *to, const void *from, int64_t used)
{
    if (used == LANES)
        memcpy(to, from, LANES * sizeof(float));
    else
        memcpy(to, from, (size_t)used * sizeof(float));
}

/* Products [start, start + count) of TILE_ROWS rows from ``top`` on, added to ``used`` totals of each from ``first`` on. */
static void NAME(gemm_f16_tile)(const Left *left, const Right *right, const GemmF16 *gemm, const NAME(Prepared) *p,
                               const NAME(Panel) *panel, int is_finite, int64_t top, int64_t first, int64_t used,
                               int64_t start, int64_t count)
{
    const int64_t height = left->last - top < TILE_ROWS ? left->last - top : TILE_ROWS, size = gemm->size;
    const int64_t row = top - left->first, at = row / ROWS * right->count + start;
    const float *numbers = panel->numbers + start * LANES;
    floats sums[TILE_ROWS];
    NAME(doubts) doubt[TILE_ROWS];
    for (int64_t r = 0; r < TILE_ROWS; r++) {
        sums[r] = (floats){0};
        doubt[r] = (NAME(doubts)){0};
        if (r < height)
            NAME(copy_lanes)(&sums[r], gemm->totals + (top + r) * right->columns + first, used);
    }
    if (is_finite)
        NAME(add_groups)(sums, p->packed + at * ROWS + row % ROWS, numbers, height, count, size,
                         gemm->drops_bits ? p->drops + at : NULL,
                         NAME(logs_of_tile)(p->logs, p->largest, row, panel->logs, panel->largest, right->count, start), doubt);
    for (int64_t r = 0; r < height; r++) {
        const float *own = left->numbers + (top + r) * right->count + start;
        float *totals = gemm->totals + (top + r) * right->columns + first;
        if (is_finite && p->plain[row + r] && !NAME(any_doubt)(doubt[r])) {
            NAME(copy_lanes)(totals, &sums[r], used);
            continue;
        }
        for (int64_t begin = 0; begin < count; begin += size)
            for (int64_t lane = 0; lane < used; lane++)
                totals[lane] = add(totals[lane], gemm_f16_group_scalar(own + begin, numbers + begin * LANES + lane, LANES,
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
    size_t sizes[5];
    const size_t panel_bytes = right->panels ? 0 : NAME(panel_size)(count);
    char *block = scratch_acquire(SCRATCH_PART, panel_bytes + NAME(size_of_prepared)(left->last - left->first, count, sizes));
    if (!block)
        return -1;
    NAME(prepare_left)(&prepared, left, gemm, right, block + panel_bytes);
    for (int64_t first = right->first; first < right->last; first += LANES) {
        const int64_t used = right->last - first < LANES ? right->last - first : LANES;
        if (!right->panels)
            NAME(pack_panel)(right, first, block);
        const NAME(Panel) panel = NAME(panel_at)(right->panels ? right->panels + first / LANES * (int64_t)NAME(panel_size)(count) : block, count);
        const int is_finite = NAME(are_finite)(panel.largest, LANES);
        for (int64_t start = 0; start < count; start += depth)
            for (int64_t top = left->first; top < left->last; top += TILE_ROWS)
                NAME(gemm_f16_tile)(left, right, gemm, &prepared, &panel, is_finite, top, first, used, start,
                                   count - start < depth ? count - start : depth);
    }
    scratch_release(SCRATCH_PART, block);
    return 0;
}
#undef FEW_ROWS

#endif
