/* Weighted sums of whole numbers over windows, one channel at a time, and the steps after them. Included once per
 * vector width. Sums of products are held in 32 bits: the caller answers for that. */

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

#define MOST_QUADS 64

/* Taps [first, first + count) that lie side by side in the image, at most four. */
typedef struct {
    int64_t offset, first;
    int count;
} NAME(Quad);

/* All taps as quads; ``count``: 0 where bytes are not multiplied so. Of one plane: weights as bytes, whether these are
 * signed, what all bytes of the image are changed by so that they have signs where the weights have none, and the other
 * way round, and what sums start from because of that. */
typedef struct {
    NAME(Quad) all[MOST_QUADS];
    int32_t weights[MOST_QUADS], begin;
    int count, is_signed, flips;
} NAME(Quads);

static void NAME(find_quads)(NAME(Quads) *quads, const WholeWindows *w)
{
    quads->count = 0;
    if (LANES != 16 || (w->format != SI8 && w->format != UI8) || w->step < 1 || w->step > 4)
        return;
    for (int64_t k = 0; k < w->taps; quads->count++) {
        if (quads->count == MOST_QUADS) {
            quads->count = 0;
            return;
        }
        NAME(Quad) *quad = &quads->all[quads->count];
        *quad = (NAME(Quad)){w->offsets[k], k, 1};
        while (++k < w->taps && quad->count < 4 && w->offsets[k] == quad->offset + quad->count)
            quad->count++;
    }
}

/* Weights of one plane; whether they are bytes. */
static int NAME(weigh_quads)(NAME(Quads) *quads, const WholeWindows *w, int64_t plane)
{
    const int32_t *weights = w->weights + plane * w->taps;
    int32_t least = 0, most = 0;
    uint32_t sum = 0;
    for (int64_t k = 0; k < w->taps; k++) {
        least = weights[k] < least ? weights[k] : least;
        most = weights[k] > most ? weights[k] : most;
        sum += (uint32_t)weights[k];
    }
    if (!quads->count || least < -128 || most > (least < 0 ? 127 : 255))
        return 0;
    quads->is_signed = most <= 127;
    quads->flips = quads->is_signed == (w->format == SI8) ? 0x80 : 0;
    /* Flipped bytes are 128 higher, or lower, than they were. */
    quads->begin = quads->flips ? (int32_t)(sum * (quads->is_signed ? (uint32_t)-128 : 128u)) : 0;
    for (int i = 0; i < quads->count; i++) {
        uint8_t bytes[4] = {0};
        for (int tap = 0; tap < quads->all[i].count; tap++)
            bytes[tap] = (uint8_t)(uint32_t)weights[quads->all[i].first + tap];
        memcpy(&quads->weights[i], bytes, sizeof bytes);
    }
    return 1;
}

#if LANES == 16
/* Bytes that the taps of results do not meet are not read; their weights are zeros. */
static void sum_quads(int32_t *sums, const uint8_t *image, const NAME(Quads) *quads, int64_t step, int64_t count)
{
    /* Four results in each 128 bits: first the words that they meet, then the four bytes of each result. */
    int32_t words[LANES];
    uint8_t bytes[4 * LANES];
    for (int i = 0; i < LANES; i++)
        words[i] = i / 4 * (int)step + i % 4;
    for (int i = 0; i < 4 * LANES; i++)
        bytes[i] = (uint8_t)(i % 16 / 4 * step + i % 4);
    const __m512i by_words = _mm512_loadu_si512(words), by_bytes = _mm512_loadu_si512(bytes);
    const __m512i flips = _mm512_set1_epi8((char)quads->flips);
    for (int64_t first = 0; first < count; first += LANES) {
        const int64_t used = count - first < LANES ? count - first : LANES, between = (used - 1) * step;
        __m512i sum = _mm512_set1_epi32(quads->begin);
        for (int i = 0; i < quads->count; i++) {
            const __mmask64 met = ~(uint64_t)0 >> (64 - (between + quads->all[i].count));
            __m512i found = _mm512_maskz_loadu_epi8(met, image + first * step + quads->all[i].offset);
            found = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(by_words, found), by_bytes);
            found = _mm512_xor_si512(found, flips);
            const __m512i weights = _mm512_set1_epi32(quads->weights[i]);
            sum = quads->is_signed ? with_quad(sum, found, weights) : with_quad(sum, weights, found);
        }
        _mm512_storeu_si512(sums + first, sum);
    }
}
#endif

/* Sums of ``count`` results in steps from element ``at`` of the image on; up to LANES more of them are written. */
static void NAME(sum_taps)(int32_t *sums, const WholeWindows *w, const NAME(Quads) *quads, int64_t plane, int64_t at,
                           int64_t count)
{
#if LANES == 16
    if (quads) {
        sum_quads(sums, (const uint8_t *)w->image + at, quads, w->step, count);
        return;
    }
#endif
    (void)quads;
    memset(sums, 0, (size_t)count * sizeof *sums);
    for (int64_t k = 0; k < w->taps; k++)
        NAME(add_tap)(sums, w, at + w->offsets[k], w->weights[plane * w->taps + k], count);
}

#define STRETCHED (2 * PIECE)

/* Rows that lie ``apart`` put one after the other; up to LANES words after the last one are written, too. */
static void NAME(copy_rows)(int32_t *to, const int32_t *from, int64_t rows, int64_t width, int64_t apart)
{
    for (int64_t row = 0; row < rows; row++, to += width, from += apart)
        for (int64_t i = 0; i < width; i += LANES) {
            const ints lanes = *(const ints *)(from + i);
            *(ints *)(to + i) = lanes;
        }
}

/* Rows of results that are short are summed as one stretch of the image, with what lies between them, which is dropped.
 * ``apart``: results in a stretch from one row to the next; 0: rows are summed one by one. */
static int64_t NAME(stretch_of_rows)(const WholeWindows *w, const NAME(Quads) *quads)
{
    const int64_t apart = w->step > 0 && w->line % w->step == 0 ? w->line / w->step : 0;
    if ((w->step != 1 && !quads->count) || w->height < 2 || apart < w->width || 2 * apart > STRETCHED)
        return 0;
    const int64_t one_by_one = (w->width + LANES - 1) / LANES * w->height;
    return ((w->height - 1) * apart + w->width + LANES - 1) / LANES < one_by_one ? apart : 0;
}

static void NAME(whole_windows)(const WholeWindows *w, const Requantisation *r, void *result)
{
    NAME(Quads) quads;
    int32_t sums[PIECE + LANES], stretch[STRETCHED + 2 * LANES];
    NAME(find_quads)(&quads, w);
    const int64_t apart = NAME(stretch_of_rows)(w, &quads);
    const int64_t rows = w->width > PIECE ? 1 : apart && STRETCHED / apart < PIECE / w->width ? STRETCHED / apart
                                                                                              : PIECE / w->width;
    for (int64_t p = 0; p < w->planes; p++) {
        const NAME(Quads) *own = NAME(weigh_quads)(&quads, w, p) ? &quads : NULL;
        char *plane = (char *)result + (w->row_at ? w->row_at[p] : p * w->height * w->width * r->size);
        const Shortened steps = shortened(r, p, w->starts[p], 1);
        const NAME(Begin) begin = {w->starts + p, 0};
        for (int64_t y = 0; y < w->height; y += rows) {
            const int64_t height = w->height - y < rows ? w->height - y : rows;
            for (int64_t x = 0; x < w->width; x += PIECE) {
                const int64_t width = w->width - x < PIECE ? w->width - x : PIECE;
                const int64_t at = p * w->plane + y * w->line + x * w->step;
                if (apart && height > 1) {
                    NAME(sum_taps)(stretch, w, own, p, at, (height - 1) * apart + width);
                    NAME(copy_rows)(sums, stretch, height, width, apart);
                } else
                    for (int64_t row = 0; row < height; row++)
                        NAME(sum_taps)(sums + row * width, w, own, p, at + row * w->line, width);
                NAME(finish)(r, &steps, p, sums, &begin, plane, y * w->width + x, height * width, height * width);
            }
        }
    }
}
#undef STRETCHED
#undef MOST_QUADS
