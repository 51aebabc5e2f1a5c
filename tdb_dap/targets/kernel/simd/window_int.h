/* Weighted sums of integers over windows, one channel at a time, and requantisation. Sums are held in 32 bits: the caller
 * answers for that. */

#ifndef TDB_DAP_SIMD_WINDOW_INT_H
#define TDB_DAP_SIMD_WINDOW_INT_H

#include "gemm_int.h"

#define READ(Type)                                                                                                     \
    {                                                                                                                  \
        const Type *from = (const Type *)w->image + at;                                                                \
        if (w->step == 1)                                                                                              \
            for (; i < count; i++)                                                                                     \
                sums[i] += weight * from[i];                                                                           \
        else                                                                                                           \
            for (; i < count; i++)                                                                                     \
                sums[i] += weight * from[i * w->step];                                                                 \
    }                                                                                                                  \
    break;

static void NAME(add_tap)(int32_t *sums, const WindowInt *w, int64_t at, int32_t weight, int64_t count)
{
    int64_t i = 0;
#if LANES == 8
    /* Compilers take steps of two one by one, and the last results of a row. Nothing is read beyond the last tap. */
    const __m128i even = _mm_set_epi64x(0, 0x0e0c0a0806040200);
    const uint8_t *bytes = (const uint8_t *)w->image + at;
    if ((w->format == SI8 || w->format == UI8) && (w->step == 1 || w->step == 2))
        for (; i + LANES + w->step - 1 <= count; i += LANES) {
            const __m128i *from = (const __m128i *)(bytes + i * w->step);
            const __m128i row = w->step == 1 ? _mm_loadl_epi64(from) : _mm_shuffle_epi8(_mm_loadu_si128(from), even);
            *(ints *)(sums + i) += (ints)(w->format == SI8 ? _mm256_cvtepi8_epi32(row) : _mm256_cvtepu8_epi32(row)) * weight;
        }
#endif
    switch (w->format) {
    case SI8: READ(int8_t)
    case UI8: READ(uint8_t)
    case SI16: READ(int16_t)
    case UI16: READ(uint16_t)
    }
}
#undef READ

#if LANES == 16
#define MOST_DOT4 64

/* Taps [first, first + count) that lie side by side in the image, at most four. */
typedef struct {
    int64_t offset, first;
    int count;
} Dot4;

/* All taps in fours; ``count``: 0 where bytes have no 4-way dot product. Of one plane: weights as bytes, whether these are
 * signed, what all bytes of the image are changed by so that they have signs where the weights have none, and the other
 * way round, and what sums start from because of that. */
typedef struct {
    Dot4 all[MOST_DOT4];
    int32_t weights[MOST_DOT4], begin;
    int count, is_signed, flips;
} Dot4Weights;

static void find_dot4(Dot4Weights *dot4, const WindowInt *w)
{
    dot4->count = 0;
    if ((w->format != SI8 && w->format != UI8) || w->step < 1 || w->step > 4)
        return;
    for (int64_t k = 0; k < w->taps; dot4->count++) {
        if (dot4->count == MOST_DOT4) {
            dot4->count = 0;
            return;
        }
        Dot4 *quad = &dot4->all[dot4->count];
        *quad = (Dot4){w->offsets[k], k, 1};
        while (++k < w->taps && quad->count < 4 && w->offsets[k] == quad->offset + quad->count)
            quad->count++;
    }
}

/* Weights of one plane; whether they are bytes. */
static int weigh_dot4(Dot4Weights *dot4, const WindowInt *w, int64_t plane)
{
    const int32_t *weights = w->weights + plane * w->taps;
    int32_t least = 0, most = 0;
    uint32_t sum = 0;
    for (int i = 0; i < dot4->count; i++) {
        const int32_t *own = weights + dot4->all[i].first;
        uint32_t bytes = 0;
        for (int tap = 0; tap < dot4->all[i].count; tap++) {
            least = own[tap] < least ? own[tap] : least;
            most = own[tap] > most ? own[tap] : most;
            sum += (uint32_t)own[tap];
            bytes |= ((uint32_t)own[tap] & 0xff) << 8 * tap;
        }
        dot4->weights[i] = (int32_t)bytes;
    }
    if (!dot4->count || least < -128 || most > (least < 0 ? 127 : 255))
        return 0;
    dot4->is_signed = most <= 127;
    dot4->flips = dot4->is_signed == (w->format == SI8) ? 0x80 : 0;
    /* Flipped bytes are 128 higher, or lower, than they were. */
    dot4->begin = dot4->flips ? (int32_t)(sum * (dot4->is_signed ? (uint32_t)-128 : 128u)) : 0;
    return 1;
}

/* Which of the words, and then of the bytes, that were read the results in each 128 bits, or in each 32 bits, meet. */
static const uint8_t met_in_steps[4][LANES] = {
    {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6},
    {0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9},
    {0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
};

/* Rows of ``width`` results, from ``image`` on in lines of ``line`` bytes, to ``out``, in rows of ``width`` words. Sums
 * begin with ``begin``. Bytes that no result meets are not read, words beyond the rows not written. */
ALWAYS_INLINE void sum_rows_dot4(int32_t *out, const uint8_t *image, const Dot4Weights *dot4, int64_t rows, int64_t width,
                                     int64_t line, int32_t begin, const int step, const int count, const int is_signed)
{
    const __m128i met = _mm_loadu_si128((const __m128i *)met_in_steps[step - 1]);
    const __m512i by_words = _mm512_cvtepu8_epi32(met), by_bytes = _mm512_broadcast_i32x4(met);
    const __m512i flips = _mm512_set1_epi8((char)dot4->flips), start = _mm512_set1_epi32(begin);
    for (int64_t y = 0; y < rows; y++, image += line, out += width)
        for (int64_t first = 0; first < width; first += LANES) {
            const int64_t left = width - first, between = ((left < LANES ? left : LANES) - 1) * step;
            __m512i sum = start;
            for (int i = 0; i < count; i++) {
                const __mmask64 read = ~(uint64_t)0 >> (64 - (between + dot4->all[i].count));
                __m512i bytes_read = _mm512_maskz_loadu_epi8(read, image + first * step + dot4->all[i].offset);
                bytes_read = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(by_words, bytes_read), by_bytes);
                bytes_read = _mm512_xor_si512(bytes_read, flips);
                const __m512i weights = _mm512_set1_epi32(dot4->weights[i]);
                sum = is_signed ? add_dot4(sum, bytes_read, weights) : add_dot4(sum, weights, bytes_read);
            }
            if (left >= LANES)
                _mm512_storeu_si512(out + first, sum);
            else
                _mm512_mask_storeu_epi32(out + first, USED_OF(0, left), sum);
        }
}

/* The same; windows of the usual sizes have loops of their own. */
static void sum_dot4(int32_t *out, const uint8_t *image, const Dot4Weights *dot4, int64_t rows, int64_t width, int64_t line,
                      int64_t step, int32_t begin)
{
    if (!dot4->is_signed)
        sum_rows_dot4(out, image, dot4, rows, width, line, begin, (int)step, dot4->count, 0);
    else if (dot4->count == 3 && step == 1)
        sum_rows_dot4(out, image, dot4, rows, width, line, begin, 1, 3, 1);
    else if (dot4->count == 3 && step == 2)
        sum_rows_dot4(out, image, dot4, rows, width, line, begin, 2, 3, 1);
    else
        sum_rows_dot4(out, image, dot4, rows, width, line, begin, (int)step, dot4->count, 1);
}
#endif

/* Sums of ``count`` adjacent results, from element ``at`` of the image on. */
static void NAME(sum_taps)(int32_t *sums, const WindowInt *w, int64_t plane, int64_t at, int64_t count)
{
    memset(sums, 0, (size_t)count * sizeof *sums);
    for (int64_t k = 0; k < w->taps; k++)
        NAME(add_tap)(sums, w, at + w->offsets[k], w->weights[plane * w->taps + k], count);
}

#define MOST_JOINED (2 * CHUNK_OF_ROW)

/* Rows that lie ``row_step`` put one after the other; up to LANES words after the last one are written, too. */
static void NAME(copy_rows)(int32_t *to, const int32_t *from, int64_t rows, int64_t width, int64_t row_step)
{
    for (int64_t row = 0; row < rows; row++, to += width, from += row_step)
        for (int64_t i = 0; i < width; i += LANES) {
            const ints lanes = *(const ints *)(from + i);
            *(ints *)(to + i) = lanes;
        }
}

/* Rows of results that are short are summed as one run of the image, with the numbers between them, which are dropped.
 * ``row_step``: results in a stretch from one row to the next; 0: rows are summed one by one. */
static int64_t NAME(step_of_joined_rows)(const WindowInt *w)
{
    const int64_t row_step = w->line;
    if (w->step != 1 || w->height < 2 || row_step < w->width || 2 * row_step > MOST_JOINED)
        return 0;
    const int64_t one_by_one = (w->width + LANES - 1) / LANES * w->height;
    return ((w->height - 1) * row_step + w->width + LANES - 1) / LANES < one_by_one ? row_step : 0;
}

/* Sums of rows of a plane, from element ``at`` of the image on, tap by tap. */
static void NAME(sum_rows)(int32_t *sums, const WindowInt *w, int64_t plane, int64_t at, int64_t height, int64_t width)
{
    int32_t joined[MOST_JOINED + 2 * LANES];
    const int64_t row_step = height > 1 ? NAME(step_of_joined_rows)(w) : 0, most = row_step ? MOST_JOINED / row_step : 1;
    for (int64_t y = 0; y < height; y += most) {
        const int64_t rows = height - y < most ? height - y : most;
        if (rows > 1) {
            NAME(sum_taps)(joined, w, plane, at + y * w->line, (rows - 1) * row_step + width);
            NAME(copy_rows)(sums + y * width, joined, rows, width, row_step);
        } else
            NAME(sum_taps)(sums + y * width, w, plane, at + y * w->line, width);
    }
}

static void NAME(window_int)(const WindowInt *w, const Requantisation *r, void *result)
{
    int32_t sums[CHUNK_OF_ROW + LANES];
#if LANES == 16
    Dot4Weights dot4;
    find_dot4(&dot4, w);
#endif
    const int64_t rows = w->width > CHUNK_OF_ROW ? 1 : CHUNK_OF_ROW / w->width;
    for (int64_t p = 0; p < w->planes; p++) {
        char *plane = (char *)result + (w->row_at ? w->row_at[p] : p * w->height * w->width * r->size);
        const FastRequant steps = fast_requant(r, p, w->starts[p], 1);
#if LANES == 16
        const int are_bytes = weigh_dot4(&dot4, w, p);
        if (are_bytes && is_plain(&steps) && r->size == (int)sizeof *sums) {
            const int32_t begin = (int32_t)((uint32_t)dot4.begin + (uint32_t)(uint64_t)w->starts[p]);
            sum_dot4((int32_t *)(void *)plane, (const uint8_t *)w->image + p * w->plane, &dot4, w->height, w->width, w->line,
                      w->step, begin);
            continue; /* the sums are the results */
        }
#endif
        const NAME(StartOfRow) begin = {w->starts + p, 0};
        for (int64_t y = 0; y < w->height; y += rows) {
            const int64_t height = w->height - y < rows ? w->height - y : rows;
            for (int64_t x = 0; x < w->width; x += CHUNK_OF_ROW) {
                const int64_t width = w->width - x < CHUNK_OF_ROW ? w->width - x : CHUNK_OF_ROW;
                const int64_t at = p * w->plane + y * w->line + x * w->step;
#if LANES == 16
                if (are_bytes)
                    sum_dot4(sums, (const uint8_t *)w->image + at, &dot4, height, width, w->line, w->step, dot4.begin);
                else
#endif
                    NAME(sum_rows)(sums, w, p, at, height, width);
                NAME(requantise)(r, &steps, p, sums, &begin, plane, y * w->width + x, height * width, height * width);
            }
        }
    }
}
#undef MOST_JOINED

#endif
