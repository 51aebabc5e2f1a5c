/* Numbers put together from where they are stored, for the products of plans. */

#define TO_WHOLE(Type, Number)                                                                                         \
    for (int64_t i = 0; i < count; i++)                                                                                \
        ((Number *)to)[i * to_step] = (Number)((const Type *)from)[i * step];                                          \
    break;

static void gather_wide(int64_t *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format)
{
    switch (format) {
    case SI8: TO_WHOLE(int8_t, int64_t)
    case UI8: TO_WHOLE(uint8_t, int64_t)
    case SI16: TO_WHOLE(int16_t, int64_t)
    case UI16: TO_WHOLE(uint16_t, int64_t)
    case SI32: TO_WHOLE(int32_t, int64_t)
    case UI32: TO_WHOLE(uint32_t, int64_t)
    }
}

static void gather_integers(int32_t *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format)
{
    switch (format) {
    case SI8: TO_WHOLE(int8_t, int32_t)
    case UI8: TO_WHOLE(uint8_t, int32_t)
    case SI32: TO_WHOLE(int32_t, int32_t)
    }
}

static void gather_words(int16_t *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format)
{
    switch (format) {
    case SI8: TO_WHOLE(int8_t, int16_t)
    case UI8: TO_WHOLE(uint8_t, int16_t)
    case SI16: TO_WHOLE(int16_t, int16_t)
    }
}
#undef TO_WHOLE

/* As arithmetic takes them: subnormals are zeros, but those of f16. ``range``, if any: see widen_range. */
static void gather_floats(float *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format,
                          uint32_t *range)
{
    float part[256];
    if (to_step == 1) {
        chosen->read_normal(to, from, format, step, count, range);
        return;
    }
    for (int64_t first = 0; first < count; first += 256) {
        const int64_t used = count - first < 256 ? count - first : 256;
        chosen->read_normal(part, (const char *)from + first * step * size_of_word[format], format, step, used, range);
        for (int64_t i = 0; i < used; i++)
            to[(first + i) * to_step] = part[i];
    }
}

/* What numbers are put together as. */
enum { AS_FLOATS, AS_WORDS, AS_BYTES, AS_INTEGERS, AS_WIDE };

static const int size_as[] = {sizeof(float), sizeof(int16_t), 1, sizeof(int32_t), sizeof(int64_t)};

/* All numbers of one part; ``range``: see gather_floats. */
static void gather(const Gathered *g, const void *data, char *to, int as, uint32_t *range)
{
    const Stored *from = &g->from;
    const int word = size_of_word[from->format], size = size_as[as];
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

/* Floats rounded to a format, where they belong; both in the steps of a shape. */
static void round_words(const int64_t *shape, int format, const Stored *from, const Stored *to)
{
    uint16_t words[512];
    float numbers[512];
    for (int64_t n = 0; n < shape[0]; n++)
        for (int64_t c = 0; c < shape[1]; c++)
            for (int64_t h = 0; h < shape[2]; h++)
                for (int64_t first = 0; first < shape[3]; first += 512) {
                    const int64_t used = shape[3] - first < 512 ? shape[3] - first : 512;
                    const float *own = (const float *)from->data + n * from->step[0] + c * from->step[1] + h * from->step[2] +
                                       first * from->step[3];
                    uint16_t *out = (uint16_t *)(uintptr_t)to->data + n * to->step[0] + c * to->step[1] + h * to->step[2] +
                                    first * to->step[3];
                    for (int64_t i = 0; from->step[3] != 1 && i < used; i++)
                        numbers[i] = own[i * from->step[3]];
                    chosen->round_floats(from->step[3] == 1 ? own : numbers, to->step[3] == 1 ? out : words, format, used);
                    for (int64_t i = 0; to->step[3] != 1 && i < used; i++)
                        out[i * to->step[3]] = words[i];
                }
}
