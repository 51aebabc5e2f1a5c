/* Weighted sums of whole numbers over windows, one channel at a time, and the steps after them. Included once per vector
 * width. Sums of products are held in 32 bits: the caller answers for that. */

#define READ(Type)                                                                                                     \
    {                                                                                                                  \
        const Type *from = (const Type *)w->image + at;                                                                \
        if (w->step == 1)                                                                                              \
            for (int64_t i = 0; i < count; i++)                                                                        \
                sums[i] += weight * from[i];                                                                           \
        else                                                                                                           \
            for (int64_t i = 0; i < count; i++)                                                                        \
                sums[i] += weight * from[i * w->step];                                                                 \
    }                                                                                                                  \
    break;

static void NAME(add_tap)(int32_t *sums, const WholeWindows *w, int64_t at, int32_t weight, int64_t count)
{
    switch (w->format) {
    case SI8: READ(int8_t)
    case UI8: READ(uint8_t)
    case SI16: READ(int16_t)
    case UI16: READ(uint16_t)
    }
}
#undef READ

static void NAME(whole_windows)(const WholeWindows *w, const Requantisation *r, void *result)
{
    int32_t sums[PIECE];
    int64_t numbers[PIECE], out[PIECE];
    for (int64_t p = 0; p < w->planes; p++)
        for (int64_t y = 0; y < w->height; y++)
            for (int64_t x = 0; x < w->width; x += PIECE) {
                const int64_t count = w->width - x < PIECE ? w->width - x : PIECE;
                memset(sums, 0, (size_t)count * sizeof *sums);
                for (int64_t k = 0; k < w->taps; k++)
                    NAME(add_tap)(sums, w, p * w->plane + w->offsets[k] + y * w->line + x * w->step,
                                  w->weights[p * w->taps + k], count);
                for (int64_t i = 0; i < count; i++)
                    numbers[i] = sums[i] + w->starts[p];
                NAME(requantised_piece)(r, p, numbers, out, count);
                NAME(cut)(r, out, result, (p * w->height + y) * w->width + x, count);
            }
}
