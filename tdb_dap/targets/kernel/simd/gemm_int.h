/* Matrix products of integers, exact in 32 bits, and requantisation: (sum + bias) multiplied, shifted, clamped, truncated. The
 * caller makes sure that 32 bits hold the sums.
 *
 * Factors are 16 bits wide and packed in pairs: one instruction multiplies two pairs and adds them. Vectors of 16 lanes take
 * bytes in fours as well (4-way dot product, VNNI): one instruction multiplies four signed bytes with four unsigned ones, and
 * adds them without saturation. */

#ifndef TDB_DAP_SIMD_GEMM_INT_H
#define TDB_DAP_SIMD_GEMM_INT_H

#include "panels.h"
#include "requantise.h"

#define COLUMNS (2 * LANES)

/* A lane's sum of two products: left pairs times right pairs, added to ``sum``. */
static inline ints NAME(add_pairs)(ints sum, ints left, ints right)
{
#if LANES == 16
    /* With the intrinsic, compilers copy every sum in every iteration. */
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
    return sum;
#elif LANES == 8
    return (ints)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)left, (__m256i)right));
#elif defined(__SSE2__)
    return (ints)_mm_add_epi32((__m128i)sum, _mm_madd_epi16((__m128i)left, (__m128i)right));
#else
    /* Shifting left and right again sign-extends the lower halves. */
    const ints low = (left << 16 >> 16) * (right << 16 >> 16), high = (left >> 16) * (right >> 16);
    return sum + low + high;
#endif
}

/* sums[row][half] = sum over pairs of left[pair][row] * panel[pair][half] */
static void NAME(gemm_int_tile_pairs)(int32_t *sums, const int16_t *left, const int16_t *panel, int64_t pairs)
{
    ints low[TILE_ROWS], high[TILE_ROWS];
    for (int r = 0; r < TILE_ROWS; r++)
        low[r] = high[r] = (ints){0};
    for (int64_t pair = 0; pair < pairs; pair++) {
        const ints a = *(const ints *)(panel + pair * 2 * COLUMNS), b = *(const ints *)(panel + (pair * 2 + 1) * COLUMNS);
        for (int r = 0; r < TILE_ROWS; r++) {
            int32_t both;
            memcpy(&both, left + (pair * ROWS + r) * 2, sizeof both);
            const ints factor = (ints){0} + both;
            low[r] = NAME(add_pairs)(low[r], factor, a);
            high[r] = NAME(add_pairs)(high[r], factor, b);
        }
    }
    for (int r = 0; r < TILE_ROWS; r++) {
        memcpy(sums + r * COLUMNS, &low[r], sizeof low[r]);
        memcpy(sums + r * COLUMNS + LANES, &high[r], sizeof high[r]);
    }
}

#if LANES == 16
/* Four products of unsigned bytes and signed ones, added to each lane. */
static inline __m512i add_dot4(__m512i sum, __m512i unsigned_bytes, __m512i signed_bytes)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_bytes), "v"(signed_bytes));
    return sum;
}

/* Destination of each row of a tile: ``used`` sums from column ``first`` on, with initial values ``begin``. */
typedef struct {
    int32_t *rows[ROWS], begin[ROWS];
    int64_t first, used;
} TileSums;

/* The same with 4-way dot products of bytes: left ones signed and right ones unsigned, or the reverse. ``begin``: initial value
 * of each row. */
ALWAYS_INLINE void tile_dot4(const TileSums *to, const uint8_t *left, const uint8_t *panel, int64_t count, const int32_t *begin,
                         const int left_signed)
{
    /* Separate variables: compilers would spill an array to memory. */
#define EACH_ROW(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)
#define BEGUN(r) __m512i low##r = _mm512_set1_epi32(begin[r]), high##r = low##r;
#define WITH_PRODUCTS(r)                                                                                               \
    {                                                                                                                  \
        int32_t four;                                                                                                  \
        memcpy(&four, left + (quad * ROWS + r) * 4, sizeof four);                                                      \
        const __m512i factor = _mm512_set1_epi32(four);                                                                \
        low##r = left_signed ? add_dot4(low##r, a, factor) : add_dot4(low##r, factor, a);                            \
        high##r = left_signed ? add_dot4(high##r, b, factor) : add_dot4(high##r, factor, b);                         \
    }
#define PUT(r)                                                                                                         \
    _mm512_storeu_si512(to->rows[r] + to->first, low##r);                                                              \
    _mm512_storeu_si512(to->rows[r] + to->first + LANES, high##r);
#define PUT_SOME(r)                                                                                                    \
    _mm512_mask_storeu_epi32(to->rows[r] + to->first, first, low##r);                                                  \
    _mm512_mask_storeu_epi32(to->rows[r] + to->first + LANES, second, high##r);
    EACH_ROW(BEGUN)
    for (int64_t quad = 0; quad < count; quad++) {
        const __m512i a = _mm512_loadu_si512(panel + quad * 4 * COLUMNS);
        const __m512i b = _mm512_loadu_si512(panel + quad * 4 * COLUMNS + 4 * LANES);
        EACH_ROW(WITH_PRODUCTS)
    }
    if (to->used == COLUMNS) {
        EACH_ROW(PUT)
        return;
    }
    const __mmask16 first = USED_OF(0, to->used), second = to->used > LANES ? USED_OF(LANES, to->used) : 0;
    EACH_ROW(PUT_SOME)
#undef EACH_ROW
#undef BEGUN
#undef WITH_PRODUCTS
#undef PUT
#undef PUT_SOME
}

/* Sums of one block of rows. If both factors are signed, or both unsigned, the right ones are offset by 128, and 128 times the sum
 * of the left ones is subtracted. */
static void gemm_int_tile_dot4(const TileSums *to, const GemmInt *w, int64_t top, const uint8_t *panel)
{
    const int64_t count = (w->count + 3) / 4, blocks = (w->rows + ROWS - 1) / ROWS, block = top / ROWS;
    int32_t begin[ROWS] = {0};
    if (w->left_type == w->type)
        memcpy(begin, w->left_dot4 + (blocks * count * 4 + block * (int64_t)sizeof(int32_t)) * ROWS, sizeof begin);
    for (int r = 0; r < ROWS; r++)
        begin[r] = (int32_t)((uint32_t)begin[r] * (w->type == SIGNED_BYTES ? (uint32_t)-128 : 128u) + (uint32_t)to->begin[r]);
    if (w->left_type == SIGNED_BYTES)
        tile_dot4(to, w->left_dot4 + block * count * ROWS * 4, panel, count, begin, 1);
    else
        tile_dot4(to, w->left_dot4 + block * count * ROWS * 4, panel, count, begin, 0);
}
#endif

static inline char *NAME(row_of_result)(const GemmInt *w, const Requantisation *r, void *result, int64_t row)
{
    return (char *)result + (w->row_at ? w->row_at[row] : row * w->columns * r->size);
}

#if LANES == 16
/* Destinations and initial values of TILE_ROWS rows from ``top`` on; 0 if sums need requantisation, or there are fewer rows. */
static int find_plain_rows(const GemmInt *w, const Requantisation *r, const FastRequant *steps, int64_t top, void *result, TileSums *to)
{
    if (!w->left_dot4 || r->size != (int)sizeof **to->rows || top + ROWS > w->last_row || (w->start && w->start_column))
        return 0;
    for (int64_t row = 0; row < ROWS; row++) {
        if (!is_plain(&steps[top + row - w->first_row]))
            return 0;
        to->rows[row] = (int32_t *)(void *)NAME(row_of_result)(w, r, result, top + row);
        to->begin[row] = w->start ? (int32_t)(uint32_t)(uint64_t)w->start[(top + row) * w->start_row] : 0;
    }
    return 1;
}
#endif

/* TILE_ROWS rows from ``top`` on and ``used`` columns from ``first`` on, whose factors are in a panel. */
static void NAME(gemm_int_tile)(const GemmInt *w, const Requantisation *r, const FastRequant *steps, const void *panel,
                             int64_t top, int64_t first, int64_t used, void *result)
{
    const int64_t pairs = (w->count + 1) / 2, height = w->last_row - top < TILE_ROWS ? w->last_row - top : TILE_ROWS;
    int32_t sums[TILE_ROWS * COLUMNS];
#if LANES == 16
    if (w->left_dot4) {
        TileSums to = {.used = COLUMNS};
        for (int64_t row = 0; row < TILE_ROWS; row++)
            to.rows[row] = sums + row * COLUMNS;
        gemm_int_tile_dot4(&to, w, top, panel);
    } else
#endif
        NAME(gemm_int_tile_pairs)(sums, w->left + (top / ROWS * ROWS * pairs + top % ROWS) * 2, panel, pairs);
    for (int64_t row = 0; row < height; row++) {
        NAME(StartOfRow) begin = {w->start, w->start_column};
        if (w->start)
            begin.numbers += (top + row) * w->start_row + first * w->start_column;
        NAME(requantise)(r, &steps[top + row - w->first_row], top + row, sums + row * COLUMNS, &begin,
                     NAME(row_of_result)(w, r, result, top + row), first, used, COLUMNS);
    }
}

/* The same for all columns [start, start + columns), whose panels of ``size`` bytes follow each other. */
static void NAME(gemm_int_block)(const GemmInt *w, const Requantisation *r, const FastRequant *steps, const char *panels, int64_t size,
                              int64_t top, int64_t start, int64_t columns, void *result)
{
#if LANES == 16
    TileSums to;
    if (find_plain_rows(w, r, steps, top, result, &to)) {
        for (int64_t i = 0; i < columns; i += COLUMNS) {
            to.first = start + i;
            to.used = columns - i < COLUMNS ? columns - i : COLUMNS;
            gemm_int_tile_dot4(&to, w, top, (const uint8_t *)panels + i / COLUMNS * size);
        }
        return;
    }
#endif
    for (int64_t i = 0; i < columns; i += COLUMNS)
        NAME(gemm_int_tile)(w, r, steps, panels + i / COLUMNS * size, top, start + i, columns - i < COLUMNS ? columns - i : COLUMNS,
                         result);
}

static void NAME(pack_int)(void *panel, const GemmInt *w, int64_t first, int64_t used)
{
#if LANES == 16
    if (w->left_dot4) {
        pack_dot4(panel, w, first, used, w->left_type == w->type ? 0x80 : 0);
        return;
    }
#endif
    NAME(pack_pairs)(panel, w, first, used);
}

/* -1: out of memory. */
static int NAME(gemm_int)(const GemmInt *w, const Requantisation *r, void *result)
{
    const int64_t size = w->left_dot4 ? (w->count + 3) / 4 * 4 * COLUMNS : (w->count + 1) / 2 * 4 * COLUMNS;
    const int64_t panels = NAME(panels_at_once)(size);
    char *packed = scratch_acquire(SCRATCH_PART, scratch_aligned(panels * size));
    if (!packed)
        return -1;
    const FastRequant *steps = w->steps + w->first_row;
    for (int64_t start = w->first; start < w->last; start += panels * COLUMNS) {
        const int64_t left_over = w->last - start;
        const int64_t columns = left_over < panels * COLUMNS ? left_over : panels * COLUMNS;
        for (int64_t i = 0; i < columns; i += COLUMNS)
            NAME(pack_int)(packed + i / COLUMNS * size, w, start + i, columns - i < COLUMNS ? columns - i : COLUMNS);
        for (int64_t top = w->first_row, pending = top; top < w->last_row; top += TILE_ROWS) {
            NAME(gemm_int_block)(w, r, steps, packed, size, top, start, columns, result);
            const int is_last = w->last_row - top <= TILE_ROWS;
            run_epilogue(w->epilogue, &pending, is_last ? w->last_row : top + TILE_ROWS, is_last, start, start + columns);
        }
    }
    scratch_release(SCRATCH_PART, packed);
    return 0;
}

#undef COLUMNS

#endif
