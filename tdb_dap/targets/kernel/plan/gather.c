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
    case PACKED_SI32:
        for (int64_t i = 0; i < count; i++) {
            int32_t word;
            memcpy(&word, (const char *)from + i * step, sizeof word);
            to[i * to_step] = word;
        }
        break;
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

#define TURNED_ROWS 16
#define TURNED_COUNT 256

/* The same for rows, at most TURNED_ROWS, of which each puts its numbers next to those of the one before: what is written is
 * written in pieces, not number by number far apart. ``row``: bytes from one to the next. */
static void gather_turned(float *to, int64_t to_step, const char *from, int64_t row, int64_t rows, int64_t step, int64_t count, int format,
                          uint32_t *range)
{
    float part[TURNED_ROWS][TURNED_COUNT];
    for (int64_t first = 0; first < count; first += TURNED_COUNT) {
        const int64_t used = count - first < TURNED_COUNT ? count - first : TURNED_COUNT;
        for (int64_t r = 0; r < rows; r++)
            simd->read_normal(part[r], from + r * row + first * step * format_size[format], format, step, used, range);
        for (int64_t i = 0; i < used; i++)
            for (int64_t r = 0; r < rows; r++)
                to[(first + i) * to_step + r] = part[r][i];
    }
}

/* The axis whose numbers are put next to each other, where those of the last axis are put far apart; else -1. */
static int turned_axis(const PackStep *g)
{
    for (int axis = 2; axis >= 0 && g->step[3] >= TURNED_ROWS; axis--)
        if (g->step[axis] == 1 && g->shape[axis] > 1)
            return axis;
    return -1;
}

/* All numbers of one part, turned: see ``turned_axis``. */
static void gather_all_turned(const PackStep *g, int turned, const char *data, float *to, uint32_t *range)
{
    const Stored *from = &g->from;
    const int word = format_size[from->format], one = turned == 0, other = turned == 2 ? 1 : 2;
    for (int64_t a = 0; a < g->shape[one]; a++)
        for (int64_t b = 0; b < g->shape[other]; b++)
            for (int64_t r = 0; r < g->shape[turned]; r += TURNED_ROWS) {
                const int64_t rows = g->shape[turned] - r < TURNED_ROWS ? g->shape[turned] - r : TURNED_ROWS;
                const char *own = data + (a * from->step[one] + b * from->step[other] + r * from->step[turned]) * word;
                gather_turned(to + g->first + a * g->step[one] + b * g->step[other] + r, g->step[3], own, from->step[turned] * word, rows,
                              from->step[3], g->shape[3], from->format, range);
            }
}

/* All numbers of one part; ``range``: see gather_floats. */
void gather(const PackStep *g, const void *data, char *to, int as, uint32_t *range)
{
    const Stored *from = &g->from;
    const int word = format_size[from->format], size = (int64_t)packed_size[as];
    const int turned = as == AS_FLOATS ? turned_axis(g) : -1;
    if (turned >= 0) {
        gather_all_turned(g, turned, data, (float *)to, range);
        return;
    }
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
