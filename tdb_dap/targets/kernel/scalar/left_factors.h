/* Left factors packed in the order in which micro-kernels read them: rows [first, last), which begin and end with blocks of
 * ROWS, or with the matrix. */

#ifndef TDB_DAP_SCALAR_LEFT_FACTORS_H
#define TDB_DAP_SCALAR_LEFT_FACTORS_H

#include "compiler.h"
#include "constants.h"

#define ROWS 8 /* rows of left factors that are packed together */
/* Left factors (rows, count) as (block, count, ROWS); rows that are not there are zeros. */
static inline void pack_left_f32(const float *numbers, int64_t first, int64_t last, int64_t count, float *packed)
{
    packed += first * count;
    for (int64_t top = first; top < last; top += ROWS, packed += count * ROWS) {
        const int64_t height = last - top < ROWS ? last - top : ROWS;
        const float *block = numbers + top * count;
        if (height < ROWS)
            memset(packed, 0, (size_t)(count * ROWS) * sizeof *packed);
        for (int64_t k = 0; k < count; k++)
            for (int64_t row = 0; row < height; row++)
                packed[k * ROWS + row] = block[row * count + k];
    }
}

/* As (block, pair, ROWS, 2); a last product without a partner is paired with a zero. */
static inline void pack_left_pairs(const int16_t *numbers, int64_t first, int64_t last, int64_t count, int16_t *packed)
{
    const int64_t pairs = (count + 1) / 2;
    packed += first * pairs * 2;
    for (int64_t top = first; top < last; top += ROWS, packed += pairs * ROWS * 2) {
        const int64_t height = last - top < ROWS ? last - top : ROWS;
        const int16_t *block = numbers + top * count;
        if (height < ROWS || count % 2)
            memset(packed, 0, (size_t)(pairs * ROWS * 2) * sizeof *packed);
        for (int64_t pair = 0; pair < count / 2; pair++)
            for (int64_t row = 0; row < height; row++)
                memcpy(packed + (pair * ROWS + row) * 2, block + row * count + pair * 2, 2 * sizeof *packed);
        for (int64_t row = 0; count % 2 && row < height; row++)
            packed[((pairs - 1) * ROWS + row) * 2] = block[row * count + count - 1];
    }
}

/* Left factors of bytes: ``count`` in each row, which begin at ``at``, or follow each other without it. */
typedef struct {
    const void *numbers;
    const int64_t *at;
    int64_t rows, count;
} RowsOfBytes;

/* The sum of some bytes, as ``type`` has them. */
static inline uint32_t sum_of_bytes(const uint8_t *numbers, int type, int64_t count)
{
    uint32_t total = 0;
    if (type == SIGNED_BYTES)
        for (int64_t k = 0; k < count; k++)
            total += (uint32_t)(int32_t)(int8_t)numbers[k];
    else
        for (int64_t k = 0; k < count; k++)
            total += numbers[k];
    return total;
}

/* Bytes as (block, quad, ROWS, 4); products that are not there have zeros. After all blocks the sum of the factors of each
 * row follows, int32 (block, ROWS), where ``type``, that of the right factors, is the same: together
 * blocks * ROWS * (4 * fours + 4) bytes. */
static inline void pack_left_dot4(const RowsOfBytes *all, int left_type, int type, int64_t first, int64_t last, uint8_t *packed)
{
    const int64_t count = all->count, fours = (count + 3) / 4, blocks = (all->rows + ROWS - 1) / ROWS;
    uint8_t *sums = packed + blocks * ROWS * fours * 4;
    packed += first * fours * 4;
    for (int64_t top = first; top < last; top += ROWS, packed += fours * ROWS * 4) {
        const int64_t height = last - top < ROWS ? last - top : ROWS;
        const uint8_t *row_of[ROWS];
        int32_t totals[ROWS] = {0};
        for (int64_t row = 0; row < height; row++)
            row_of[row] = (const uint8_t *)all->numbers + (all->at ? all->at[top + row] : (top + row) * count);
        if (height < ROWS || count % 4)
            memset(packed, 0, (size_t)(fours * ROWS * 4));
        for (int64_t quad = 0; quad < count / 4; quad++)
            for (int64_t row = 0; row < height; row++)
                memcpy(packed + (quad * ROWS + row) * 4, row_of[row] + quad * 4, 4);
        for (int64_t k = count / 4 * 4; k < count; k++)
            for (int64_t row = 0; row < height; row++)
                packed[((fours - 1) * ROWS + row) * 4 + k % 4] = row_of[row][k];
        for (int64_t row = 0; left_type == type && row < height; row++)
            totals[row] = (int32_t)sum_of_bytes(row_of[row], type, count);
        memcpy(sums + top * (int64_t)sizeof(int32_t), totals, sizeof totals);
    }
}

#endif
