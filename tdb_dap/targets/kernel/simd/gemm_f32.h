/* Matrix products of float32 in two interleaved accumulators per output, LANES outputs at a time; see ``interleaved`` in
 * arithmetic/dot.py. */

#ifndef TDB_DAP_SIMD_GEMM_F32_H
#define TDB_DAP_SIMD_GEMM_F32_H

#include "panels.h"

/* Both accumulators of one output, flushing at every step. ``even`` and ``odd``: their initial values. */
static inline float gemm_f32_scalar(const float *left, const float *right, int64_t step, int64_t count, float even, float odd,
                            const GemmF32 *gemm)
{
    float sums[2] = {even, odd};
    for (int64_t k = 0; k < count; k++) {
        const float a = left[k], b = right[k * step];
        float *sum = &sums[(gemm->position + k) & 1];
        *sum = add(*sum, gemm->swapped ? multiply(b, a) : multiply(a, b));
    }
    return add(sums[0], sums[1]);
}

/* What a chain of one output starts from. */
static inline float start_of(const GemmF32 *gemm, int side, int64_t row, int64_t column)
{
    const Start *start = &gemm->starts[side];
    return start->numbers[row * start->row + column * start->column];
}

/* Both accumulators of TILE_ROWS x LANES outputs: sums[side][row] += left[k][row] * panel[k], every second k to each side.
 * The first product goes to side 0. */
static void NAME(accumulate)(floats *even, floats *odd, const float *left, const float *panel, int64_t count)
{
    floats sums[2][TILE_ROWS];
    for (int r = 0; r < TILE_ROWS; r++) {
        sums[0][r] = even[r];
        sums[1][r] = odd[r];
    }
    int64_t k = 0;
    for (; k + 1 < count; k += 2) {
        const floats first = AT(panel + k * LANES), second = AT(panel + (k + 1) * LANES);
        const float *own = left + k * ROWS;
        for (int r = 0; r < TILE_ROWS; r++)
            sums[0][r] = sums[0][r] + first * own[r];
        for (int r = 0; r < TILE_ROWS; r++)
            sums[1][r] = sums[1][r] + second * own[ROWS + r];
    }
    if (k < count)
        for (int r = 0; r < TILE_ROWS; r++)
            sums[0][r] = sums[0][r] + AT(panel + k * LANES) * left[k * ROWS + r];
    for (int r = 0; r < TILE_ROWS; r++) {
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

/* TILE_ROWS rows from ``top`` on and ``used`` columns from ``first`` on, whose factors are in a panel. */
static void NAME(gemm_f32_tile)(const Left *left, const Right *right, const GemmF32 *gemm, const float *panel,
                                   int64_t top, int64_t first, int64_t used)
{
    const int64_t count = right->count, height = left->last - top < TILE_ROWS ? left->last - top : TILE_ROWS;
    floats sums[2][TILE_ROWS];
    for (int side = 0; side < 2; side++)
        for (int64_t r = 0; r < TILE_ROWS; r++)
            sums[side][r] = NAME(started)(&gemm->starts[side], r < height ? top + r : top, first, used);
    if (gemm->normal) {
        const float *own = left->packed + top / ROWS * ROWS * left->count + top % ROWS;
        const int side = gemm->position & 1;
        NAME(accumulate)(sums[side], sums[side ^ 1], own, panel, count);
    }
    for (int64_t r = 0; r < height; r++) {
        float numbers[LANES];
        float *result = gemm->row_at ? (float *)(void *)((char *)gemm->result + gemm->row_at[top + r]) + first
                                       : gemm->result + (top + r) * right->columns + first;
        const floats total = sums[0][r] + sums[1][r];
        const int is_done = gemm->normal && !NAME(any)(MASK(total != total));
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
            result[lane] = gemm->normal && numbers[lane] == numbers[lane]
                               ? numbers[lane]
                               : gemm_f32_scalar(left->numbers + (top + r) * left->count, panel + lane, LANES, count,
                                                start_of(gemm, 0, top + r, first + lane),
                                                start_of(gemm, 1, top + r, first + lane), gemm);
    }
}

/* Two interleaved accumulators per output; see ``interleaved`` in arithmetic/dot.py. */
static int NAME(gemm_f32)(const Left *left, const Right *right, const GemmF32 *gemm)
{
    const int64_t size = right->count * LANES, panels = NAME(panels_at_once)(size * (int64_t)sizeof(float));
    float *packed = scratch_acquire(SCRATCH_PART, scratch_aligned(panels * size * (int64_t)sizeof(float)));
    if (!packed)
        return -1;
    for (int64_t start = right->first; start < right->last; start += panels * LANES) {
        const int64_t left_over = right->last - start;
        const int64_t columns = left_over < panels * LANES ? left_over : panels * LANES;
        for (int64_t i = 0; i < columns; i += LANES)
            NAME(pack)(packed + i / LANES * size, right, start + i, columns - i < LANES ? columns - i : LANES);
        for (int64_t top = left->first, pending = top; top < left->last; top += TILE_ROWS) {
            for (int64_t i = 0; i < columns; i += LANES)
                NAME(gemm_f32_tile)(left, right, gemm, packed + i / LANES * size, top, start + i,
                                       columns - i < LANES ? columns - i : LANES);
            const int is_last = left->last - top <= TILE_ROWS;
            run_epilogue(gemm->epilogue, &pending, is_last ? left->last : top + TILE_ROWS, is_last, start, start + columns);
        }
    }
    scratch_release(SCRATCH_PART, packed);
    return 0;
}

#endif
