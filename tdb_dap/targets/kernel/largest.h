/* The largest number of each window, one channel at a time. Included once per vector width.
 *
 * ``is_last``: of numbers that are equal, or one of which is a NaN, the later one stays. */

#define KEPT(Type, Start)                                                                                              \
    for (int64_t y = 0; y < w->height; y++) {                                                                          \
        Type *out = (Type *)result + (p * w->height + y) * w->width;                                                   \
        const Type *row = (const Type *)w->image + p * w->plane + y * w->line;                                         \
        for (int64_t x = 0; x < w->width; x++)                                                                         \
            out[x] = Start;                                                                                            \
        for (int64_t k = 0; k < w->taps; k++) {                                                                        \
            const Type *from = row + w->offsets[k];                                                                    \
            if (w->is_last && w->step == 1)                                                                            \
                for (int64_t x = 0; x < w->width; x++)                                                                 \
                    out[x] = out[x] > from[x] ? out[x] : from[x];                                                      \
            else if (w->is_last)                                                                                       \
                for (int64_t x = 0; x < w->width; x++)                                                                 \
                    out[x] = out[x] > from[x * w->step] ? out[x] : from[x * w->step];                                  \
            else if (w->step == 1)                                                                                     \
                for (int64_t x = 0; x < w->width; x++)                                                                 \
                    out[x] = from[x] > out[x] ? from[x] : out[x];                                                      \
            else                                                                                                       \
                for (int64_t x = 0; x < w->width; x++)                                                                 \
                    out[x] = from[x * w->step] > out[x] ? from[x * w->step] : out[x];                                  \
        }                                                                                                              \
    }                                                                                                                  \
    break;

static void NAME(largest)(const Largest *w, void *result)
{
    for (int64_t p = w->first; p < w->last; p++)
        switch (w->format) {
        case SI8: KEPT(int8_t, row[w->offsets[0] + x * w->step])
        case UI8: KEPT(uint8_t, row[w->offsets[0] + x * w->step])
        default: KEPT(float, w->start ? *w->start : row[w->offsets[0] + x * w->step])
        }
}
#undef KEPT
