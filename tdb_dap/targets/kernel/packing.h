/* Left factors in the order in which sums read them: rows [first, last), which begin and end with blocks of ROWS, or with
 * the matrix. */

/* Left factors (rows, count) as (block, count, ROWS); rows that are not there are zeros. */
static void packed_floats(const float *numbers, int64_t first, int64_t last, int64_t count, float *packed)
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

/* As (block, pair, ROWS, 2); a last product without a partner has a zero beside it. */
static void packed_pairs(const int16_t *numbers, int64_t first, int64_t last, int64_t count, int16_t *packed)
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

/* Left factors of bytes as (block, quad, ROWS, 4); products that are not there have zeros. After all blocks the sum of
 * the factors of each row follows, int32 (block, ROWS): together blocks * ROWS * (4 * quads + 4) bytes. ``is_signed``:
 * whether the bytes have signs. */
static void packed_quads(const uint8_t *numbers, int is_signed, int64_t rows, int64_t first, int64_t last, int64_t count,
                         uint8_t *packed)
{
    const int64_t quads = (count + 3) / 4, blocks = (rows + ROWS - 1) / ROWS;
    uint8_t *sums = packed + blocks * ROWS * quads * 4;
    packed += first * quads * 4;
    for (int64_t top = first; top < last; top += ROWS, packed += quads * ROWS * 4) {
        const int64_t height = last - top < ROWS ? last - top : ROWS;
        const uint8_t *block = numbers + top * count;
        int32_t totals[ROWS] = {0};
        if (height < ROWS || count % 4)
            memset(packed, 0, (size_t)(quads * ROWS * 4));
        for (int64_t quad = 0; quad < count / 4; quad++)
            for (int64_t row = 0; row < height; row++)
                memcpy(packed + (quad * ROWS + row) * 4, block + row * count + quad * 4, 4);
        for (int64_t k = count / 4 * 4; k < count; k++)
            for (int64_t row = 0; row < height; row++)
                packed[((quads - 1) * ROWS + row) * 4 + k % 4] = block[row * count + k];
        for (int64_t row = 0; row < height; row++) {
            uint32_t total = 0;
            for (int64_t k = 0; k < count; k++)
                total += is_signed ? (uint32_t)(int32_t)(int8_t)block[row * count + k] : block[row * count + k];
            totals[row] = (int32_t)total;
        }
        memcpy(sums + top * (int64_t)sizeof(int32_t), totals, sizeof totals);
    }
}
