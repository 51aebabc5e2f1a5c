/* Numbers gathered from where they are stored, for the operands of a product. */

#include "plan.h"

#define COPY_CONVERTED(Type, Number)                                                                                         \
    for (int64_t i = 0; i < count; i++)                                                                                \
        ((Number *)to)[i * to_step] = (Number)((const Type *)from)[i * step];                                          \
    break;

static void gather_wide(int64_t *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format)
{
    switch (format) {
    case SI8: COPY_CONVERTED(int8_t, int64_t)
    case UI8: COPY_CONVERTED(uint8_t, int64_t)
    case SI16: COPY_CONVERTED(int16_t, int64_t)
    case UI16: COPY_CONVERTED(uint16_t, int64_t)
    case SI32: COPY_CONVERTED(int32_t, int64_t)
    case UI32: COPY_CONVERTED(uint32_t, int64_t)
    case SI64: COPY_CONVERTED(int64_t, int64_t)
    }
}

static void gather_integers(int32_t *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format)
{
    switch (format) {
    case SI8: COPY_CONVERTED(int8_t, int32_t)
    case UI8: COPY_CONVERTED(uint8_t, int32_t)
    case SI32: COPY_CONVERTED(int32_t, int32_t)
    }
}

static void gather_words(int16_t *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format)
{
    switch (format) {
    case SI8: COPY_CONVERTED(int8_t, int16_t)
    case UI8: COPY_CONVERTED(uint8_t, int16_t)
    case SI16: COPY_CONVERTED(int16_t, int16_t)
    case UI16: COPY_CONVERTED(uint16_t, int16_t)
    }
}
#undef COPY_CONVERTED

/* As arithmetic takes them: subnormals are zeros, but those of f16. ``range``, if any: see widen_range. */
static void gather_floats(float *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format,
                          uint32_t *range)
{
    float part[256];
    if (to_step == 1) {
        simd->read_normal(to, from, format, step, count, range);
        return;
    }
    for (int64_t first = 0; first < count; first += 256) {
        const int64_t used = count - first < 256 ? count - first : 256;
        simd->read_normal(part, (const char *)from + first * step * format_size[format], format, step, used, range);
        for (int64_t i = 0; i < used; i++)
            to[(first + i) * to_step] = part[i];
    }
}

/* All numbers of one part; ``range``: see gather_floats. */
void gather(const PackStep *g, const void *data, char *to, int as, uint32_t *range)
{
    const Stored *from = &g->from;
    const int word = format_size[from->format], size = (int64_t)packed_size[as];
    for (int64_t a = 0; a < g->shape[0]; a++)
        for (int64_t b = 0; b < g->shape[1]; b++)
            for (int64_t c = 0; c < g->shape[2]; c++) {
                char *row = to + (g->first + a * g->step[0] + b * g->step[1] + c * g->step[2]) * size;
                const char *own = (const char *)data + (a * from->step[0] + b * from->step[1] + c * from->step[2]) * word;
                if (as == AS_FLOATS)
                    gather_floats((float *)row, g->step[3], own, from->step[3], g->shape[3], from->format, range);
                else if (as == AS_BYTES)
                    move_row(row, g->step[3], own, from->step[3], g->shape[3], 1);
                else if (as == AS_WORDS)
                    gather_words((int16_t *)row, g->step[3], own, from->step[3], g->shape[3], from->format);
                else if (as == AS_INTEGERS)
                    gather_integers((int32_t *)row, g->step[3], own, from->step[3], g->shape[3], from->format);
                else
                    gather_wide((int64_t *)row, g->step[3], own, from->step[3], g->shape[3], from->format);
            }
}
