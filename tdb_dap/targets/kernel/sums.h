/* Sums of products, LANES outputs at a time. Included once per vector width: see module.c.
 *
 * Expects LANES and NAME(x), and, where LANES > 1, a compiler with vector extensions. Every output has a chain of
 * additions of its own, in the order of the chip; lanes never meet. The results therefore do not depend on LANES, on
 * how outputs are split among threads, or on the machine.
 *
 * All functions read the right factor of product k at output column j as image[taps[k] + places[j]]; a negative tap
 * stands for zeros. A column block is first packed into a panel [k][LANES].
 */

#if LANES > 1
typedef float NAME(floats) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define TO_FLOATS(x) __builtin_convertvector(x, floats)
#define TO_INTS(x) __builtin_convertvector(x, ints)
#define AS_INTS(x) ((ints)(x))
#define AS_FLOATS(x) ((floats)(x))
#define MASK(x) (x)
#else
typedef float NAME(floats);
typedef int32_t NAME(ints);
#define TO_FLOATS(x) ((float)(x))
#define TO_INTS(x) ((int32_t)(x))
#define AS_INTS(x) ((ints)bits_of(x))
#define AS_FLOATS(x) number_of((uint32_t)(x))
#define MASK(x) (-(int32_t)(x))
#endif
#define floats NAME(floats)
#define ints NAME(ints)
#define SELECT(mask, yes, no) (((mask) & (yes)) | (~(mask) & (no)))
#define AT(pointer) (*(floats *)(pointer))

#if LANES >= 16
#define AT_ONCE ROWS
#else
#define AT_ONCE (ROWS / 2)
#endif

/* Whether any lane of a mask is set. */
static inline int NAME(any)(ints mask)
{
#if LANES == 16
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif LANES == 8
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#elif LANES == 1
    return mask != 0;
#else
    int32_t lanes[LANES], found = 0;
    memcpy(lanes, &mask, sizeof lanes);
    for (int lane = 0; lane < LANES; lane++)
        found |= lanes[lane];
    return found != 0;
#endif
}

/* The larger one of ``largest`` and the magnitude of finite numbers, as words. */
static inline ints NAME(larger)(ints largest, floats numbers)
{
#if LANES == 16
    return (ints)_mm512_range_ps((__m512)largest, (__m512)numbers, 0xb); /* the larger magnitude, without its sign */
#else
    const ints magnitude = AS_INTS(numbers) & 0x7fffffff;
    return SELECT(MASK(magnitude > largest), magnitude, largest);
#endif
}

#include "panels.h"

/* Bytes of panels that are packed before their products are formed: left factors that were read stay in the nearest
 * cache for all of them, and neighbours in the result are written one after the other. */
#define STRIP (1 << 17)
#define MOST_PANELS 32

/* Panels of ``size`` bytes that are packed at once. */
static inline int64_t NAME(panels_at_once)(int64_t size)
{
    const int64_t fitting = STRIP / (size + 1);
    return fitting < 1 ? 1 : fitting < MOST_PANELS ? fitting : MOST_PANELS;
}

#define PART 256

/* One operation per element; where a result is a NaN or at the lower end of the range, the careful way decides. */
static void NAME(elementwise)(int kind, const float *a, const float *b, float *result, int64_t count)
{
    for (int64_t first = 0; first < count; first += PART) {
        const int64_t stop = count - first < PART ? count : first + PART;
        uint32_t doubtful = 0;
        if (kind == ADD)
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] + b[i];
        else if (kind == SUBTRACT)
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] - b[i];
        else
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] * b[i];
        for (int64_t i = first; i < stop; i++) {
            const uint32_t size = bits_of(result[i]) & 0x7fffffff;
            doubtful |= (uint32_t)(size - 1 < 0x00800000) | (uint32_t)(size > 0x7f800000);
        }
        if (doubtful)
            for (int64_t i = first; i < stop; i++)
                result[i] = operation(kind, a[i], b[i]);
    }
}

/* Whether any number is subnormal. */
static int NAME(subnormal)(const float *numbers, int64_t count)
{
    uint32_t found = 0;
    for (int64_t i = 0; i < count; i++)
        found |= (uint32_t)((bits_of(numbers[i]) & 0x7fffffff) - 1 < 0x007fffff);
    return found != 0;
}

/* Magnitudes as words: the smallest but zero, and the largest finite one; all bits, and 0, where there is none. */
static void NAME(exponents)(const float *numbers, int64_t count, uint32_t *found)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (int64_t i = 0; i < count; i++) {
        /* Less one, zeros are the largest words. */
        const uint32_t size = bits_of(numbers[i]) & 0x7fffffff, before = size - 1, finite = size < 0x7f800000 ? size : 0;
        least = before < least ? before : least;
        most = finite > most ? finite : most;
    }
    found[0] = least;
    found[1] = most;
}

/* Both chains of AT_ONCE x LANES outputs: sums[side][row] += left[k][row] * panel[k], every second k to each side.
 * The first product goes to side 0. */
static void NAME(chains)(floats *even, floats *odd, const float *left, const float *panel, int64_t count)
{
    floats sums[2][AT_ONCE];
    for (int r = 0; r < AT_ONCE; r++) {
        sums[0][r] = even[r];
        sums[1][r] = odd[r];
    }
    int64_t k = 0;
    for (; k + 1 < count; k += 2) {
        const floats first = AT(panel + k * LANES), second = AT(panel + (k + 1) * LANES);
        const float *own = left + k * ROWS;
        for (int r = 0; r < AT_ONCE; r++)
            sums[0][r] = sums[0][r] + first * own[r];
        for (int r = 0; r < AT_ONCE; r++)
            sums[1][r] = sums[1][r] + second * own[ROWS + r];
    }
    if (k < count)
        for (int r = 0; r < AT_ONCE; r++)
            sums[0][r] = sums[0][r] + AT(panel + k * LANES) * left[k * ROWS + r];
    for (int r = 0; r < AT_ONCE; r++) {
        even[r] = sums[0][r];
        odd[r] = sums[1][r];
    }
}

/* LANES numbers that a chain of one row starts from. */
static inline floats NAME(started)(const Start *start, int64_t row, int64_t column, int64_t used)
{
    const float *own = start->numbers + row * start->row + column * start->column;
    if (start->column == 0)
        return *own - (floats){0}; /* -0 stays as it is */
    if (start->column == 1 && used == LANES)
        return AT(own);
    float numbers[LANES] = {0};
    for (int64_t lane = 0; lane < used; lane++)
        numbers[lane] = own[lane * start->column];
    return AT(numbers);
}

/* AT_ONCE rows from ``top`` on and ``used`` columns from ``first`` on, whose factors are in a panel. */
static void NAME(interleaved_tile)(const Left *left, const Right *right, const Chains *chains, const float *panel,
                                   int64_t top, int64_t first, int64_t used)
{
    const int64_t count = right->count, height = left->last - top < AT_ONCE ? left->last - top : AT_ONCE;
    floats sums[2][AT_ONCE];
    for (int side = 0; side < 2; side++)
        for (int64_t r = 0; r < AT_ONCE; r++)
            sums[side][r] = NAME(started)(&chains->starts[side], r < height ? top + r : top, first, used);
    if (chains->normal) {
        const float *own = left->packed + top / ROWS * ROWS * count + top % ROWS;
        const int side = chains->position & 1;
        NAME(chains)(sums[side], sums[side ^ 1], own, panel, count);
    }
    for (int64_t r = 0; r < height; r++) {
        float numbers[LANES];
        float *result = chains->row_at ? (float *)(void *)((char *)chains->result + chains->row_at[top + r]) + first
                                       : chains->result + (top + r) * right->columns + first;
        const floats total = sums[0][r] + sums[1][r];
        const int is_done = chains->normal && !NAME(any)(MASK(total != total));
        if (is_done && used == LANES) {
            AT(result) = total;
            continue;
        }
        memcpy(numbers, &total, sizeof numbers);
        if (is_done) {
            memcpy(result, numbers, (size_t)used * sizeof(float));
            continue;
        }
        for (int64_t lane = 0; lane < used; lane++)
            result[lane] = chains->normal && numbers[lane] == numbers[lane]
                               ? numbers[lane]
                               : careful_chains(left->numbers + (top + r) * count, panel + lane, LANES, count,
                                                start_of(chains, 0, top + r, first + lane),
                                                start_of(chains, 1, top + r, first + lane), chains);
    }
}

/* Two interleaved chains per output; see the function of that name in dot.py. */
static int NAME(interleaved)(const Left *left, const Right *right, const Chains *chains)
{
    const int64_t size = right->count * LANES, panels = NAME(panels_at_once)(size * (int64_t)sizeof(float));
    float *packed = taken_scratch(FOR_PART, in_lines(panels * size * (int64_t)sizeof(float)));
    if (!packed)
        return -1;
    for (int64_t start = right->first; start < right->last; start += panels * LANES) {
        const int64_t left_over = right->last - start;
        const int64_t columns = left_over < panels * LANES ? left_over : panels * LANES;
        for (int64_t i = 0; i < columns; i += LANES)
            NAME(pack)(packed + i / LANES * size, right, start + i, columns - i < LANES ? columns - i : LANES);
        for (int64_t top = left->first, begun = top; top < left->last; top += AT_ONCE) {
            for (int64_t i = 0; i < columns; i += LANES)
                NAME(interleaved_tile)(left, right, chains, packed + i / LANES * size, top, start + i,
                                       columns - i < LANES ? columns - i : LANES);
            const int is_last = left->last - top <= AT_ONCE;
            go_on(chains->after, &begun, is_last ? left->last : top + AT_ONCE, is_last, start, start + columns);
        }
    }
    give_back_scratch(FOR_PART, packed);
    return 0;
}

#include "groups.h"

#include "whole.h"

#include "formats.h"

#include "whole_windows.h"

#include "elements.h"

#include "conversions.h"

#include "selection.h"

#include "float_windows.h"

#include "largest.h"

#include "newton.h"

#undef floats
#undef ints
#undef TO_FLOATS
#undef TO_INTS
#undef AS_INTS
#undef AS_FLOATS
#undef MASK
#undef SELECT
#undef AT
#undef AT_ONCE
#undef STRETCH
#undef STRIP
#undef MOST_PANELS
#undef PART
