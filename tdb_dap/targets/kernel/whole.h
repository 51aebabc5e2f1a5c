/* Exact sums of products of whole numbers, and what follows them: (sum + bias) multiplied, shifted, limited and cut.
 * Included once per vector width by sums.h, whose names it uses. Sums are held in 32 bits: the caller answers for that.
 *
 * Factors are 16 bits wide and lie in pairs: one instruction of the processor multiplies two pairs and adds them. */

#define COLUMNS (2 * LANES)

/* A lane's sum of two products: left pairs times right pairs, added to ``sum``. */
static inline ints NAME(add_pairs)(ints sum, ints left, ints right)
{
#if LANES == 16
    return (ints)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)left, (__m512i)right);
#elif LANES == 8
    return (ints)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)left, (__m256i)right));
#elif defined(__SSE2__)
    return (ints)_mm_add_epi32((__m128i)sum, _mm_madd_epi16((__m128i)left, (__m128i)right));
#else
    /* The lower halves are shifted up and down again for their signs. */
    const ints low = (left << 16 >> 16) * (right << 16 >> 16), high = (left >> 16) * (right >> 16);
    return sum + low + high;
#endif
}

#define PACKED(Type)                                                                                                   \
    static void NAME(pack_##Type)(int16_t *panel, const Whole *w, int64_t first, int64_t used)                         \
    {                                                                                                                  \
        static const Type zeros[COLUMNS] = {0};                                                                        \
        const int64_t *places = w->places + first;                                                                     \
        const Type *image = w->image;                                                                                  \
        int adjacent = used == COLUMNS;                                                                                \
        for (int64_t lane = 1; lane < used; lane++)                                                                    \
            adjacent &= places[lane] - places[lane - 1] == 1;                                                          \
        if (!adjacent)                                                                                                 \
            memset(panel, 0, (size_t)((w->count + 1) / 2 * 2 * COLUMNS) * sizeof(int16_t));                            \
        for (int64_t k = 0; k < w->count; k += 2) {                                                                    \
            int16_t *row = panel + k * COLUMNS;                                                                        \
            const int64_t low = w->taps[k], high = k + 1 < w->count ? w->taps[k + 1] : -1;                             \
            if (adjacent) {                                                                                            \
                const Type *a = low < 0 ? zeros : image + low + places[0];                                             \
                const Type *b = high < 0 ? zeros : image + high + places[0];                                           \
                for (int lane = 0; lane < COLUMNS; lane++) {                                                           \
                    row[2 * lane] = a[lane];                                                                           \
                    row[2 * lane + 1] = b[lane];                                                                       \
                }                                                                                                      \
                continue;                                                                                              \
            }                                                                                                          \
            if (low >= 0)                                                                                              \
                for (int64_t lane = 0; lane < used; lane++)                                                            \
                    row[2 * lane] = image[low + places[lane]];                                                         \
            if (high >= 0)                                                                                             \
                for (int64_t lane = 0; lane < used; lane++)                                                            \
                    row[2 * lane + 1] = image[high + places[lane]];                                                    \
        }                                                                                                              \
    }

PACKED(int8_t)
PACKED(uint8_t)
PACKED(int16_t)
#undef PACKED

/* sums[row][half] = sum over pairs of left[pair][row] * panel[pair][half] */
static void NAME(tile)(int32_t *sums, const int16_t *left, const int16_t *panel, int64_t pairs)
{
    ints low[AT_ONCE], high[AT_ONCE];
    for (int r = 0; r < AT_ONCE; r++)
        low[r] = high[r] = (ints){0};
    for (int64_t pair = 0; pair < pairs; pair++) {
        const ints a = *(const ints *)(panel + pair * 2 * COLUMNS), b = *(const ints *)(panel + (pair * 2 + 1) * COLUMNS);
        for (int r = 0; r < AT_ONCE; r++) {
            int32_t both;
            memcpy(&both, left + (pair * ROWS + r) * 2, sizeof both);
            const ints factor = (ints){0} + both;
            low[r] = NAME(add_pairs)(low[r], factor, a);
            high[r] = NAME(add_pairs)(high[r], factor, b);
        }
    }
    for (int r = 0; r < AT_ONCE; r++) {
        memcpy(sums + r * COLUMNS, &low[r], sizeof low[r]);
        memcpy(sums + r * COLUMNS + LANES, &high[r], sizeof high[r]);
    }
}

#include "integers.h"

/* Adds what sums of one row start from. */
static inline void NAME(start_sums)(const Whole *w, int64_t *numbers, int64_t row, int64_t column, int64_t used)
{
    if (!w->start)
        return;
    const int64_t *own = w->start + row * w->start_row + column * w->start_column;
    if (w->start_column == 0)
        for (int lane = 0; lane < COLUMNS; lane++)
            numbers[lane] = plus(numbers[lane], *own);
    else
        for (int64_t lane = 0; lane < used; lane++)
            numbers[lane] = plus(numbers[lane], own[lane * w->start_column]);
}

static int NAME(whole)(const Whole *w, const Requantisation *r, void *result)
{
    const int64_t pairs = (w->count + 1) / 2;
    int16_t *panel = malloc((size_t)(pairs * 2 * COLUMNS + 1) * sizeof(int16_t));
    if (!panel)
        return -1;
    for (int64_t first = w->first; first < w->last; first += COLUMNS) {
        const int64_t used = w->last - first < COLUMNS ? w->last - first : COLUMNS;
        if (w->type == SIGNED_BYTES)
            NAME(pack_int8_t)(panel, w, first, used);
        else if (w->type == UNSIGNED_BYTES)
            NAME(pack_uint8_t)(panel, w, first, used);
        else
            NAME(pack_int16_t)(panel, w, first, used);
        for (int64_t top = w->first_row; top < w->last_row; top += AT_ONCE) {
            const int64_t height = w->last_row - top < AT_ONCE ? w->last_row - top : AT_ONCE;
            int32_t sums[AT_ONCE * COLUMNS];
            NAME(tile)(sums, w->left + (top / ROWS * ROWS * pairs + top % ROWS) * 2, panel, pairs);
            for (int64_t row = 0; row < height; row++) {
                int64_t numbers[COLUMNS], out[COLUMNS];
                for (int lane = 0; lane < COLUMNS; lane++)
                    numbers[lane] = sums[row * COLUMNS + lane];
                NAME(start_sums)(w, numbers, top + row, first, used);
                NAME(requantised_piece)(r, top + row, numbers, out, COLUMNS);
                NAME(cut)(r, out, result, (top + row) * w->columns + first, used);
            }
        }
    }
    free(panel);
    return 0;
}

#undef COLUMNS
