/* Left factors in the order in which sums read them. */

/* Left factors (rows, count) as (block, count, ROWS); rows that are not there are zeros. */
static void packed_floats(const float *numbers, int64_t rows, int64_t count, float *packed)
{
    for (int64_t top = 0; top < rows; top += ROWS, packed += count * ROWS) {
        const int64_t height = rows - top < ROWS ? rows - top : ROWS;
        const float *block = numbers + top * count;
        if (height < ROWS)
            memset(packed, 0, (size_t)(count * ROWS) * sizeof *packed);
        for (int64_t k = 0; k < count; k++)
            for (int64_t row = 0; row < height; row++)
                packed[k * ROWS + row] = block[row * count + k];
    }
}

/* As (block, pair, ROWS, 2); a last product without a partner has a zero beside it. */
static void packed_pairs(const int16_t *numbers, int64_t rows, int64_t count, int16_t *packed)
{
    const int64_t pairs = (count + 1) / 2;
    for (int64_t top = 0; top < rows; top += ROWS, packed += pairs * ROWS * 2) {
        const int64_t height = rows - top < ROWS ? rows - top : ROWS;
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
