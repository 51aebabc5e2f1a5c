/* Windows over one channel at a time: sums of float products, each product and each addition rounded to the format of the data
 * (``weighted`` in semantics/pooling.py), and the largest number, where ``is_last`` of equal numbers, or of a NaN and another
 * one, the later one stays. */

#ifndef TDB_DAP_SIMD_WINDOW_F32_H
#define TDB_DAP_SIMD_WINDOW_F32_H

#include "elements.h"

#define CHUNK 512

/* What one tap meets: results [first, first + count) of a plane. */
static void NAME(load_tap)(float *out, const WindowF32 *w, const float *image, int64_t first, int64_t count)
{
    for (int64_t done = 0; done < count;) {
        const int64_t row = (first + done) / w->width, column = (first + done) % w->width;
        const int64_t left = w->width - column, used = left < count - done ? left : count - done;
        NAME(read_floats)(out + done, image + row * w->line + column * w->step, F32, w->step, used);
        done += used;
    }
}

/* Results [start, end) of a plane, with all that NaNs and the lower end of the range ask for. */
static void NAME(window_f32_scalar)(const WindowF32 *w, int64_t p, int64_t start, int64_t end, float *result)
{
    float values[CHUNK], weight[CHUNK], products[CHUNK], buffers[3][CHUNK];
    const float zero = w->negative ? -0.0f : 0.0f, begin = w->starts ? w->starts[p] : zero;
    for (int64_t first = start; first < end; first += CHUNK) {
        const int64_t used = end - first < CHUNK ? end - first : CHUNK;
        float *sums[2] = {buffers[0], buffers[1]}, *spare = buffers[2];
        for (int64_t i = 0; i < used; i++) {
            buffers[0][i] = begin;
            buffers[1][i] = zero;
        }
        int64_t position = w->starts != NULL;
        for (int64_t k = 0; k < w->taps; k++, position++) {
            NAME(load_tap)(values, w, w->image + p * w->plane + w->offsets[k], first, used);
            const float tap = w->weights[p * w->taps + k];
            for (int64_t i = 0; i < used; i++)
                weight[i] = tap;
            NAME(operate)(MULTIPLY, w->format, values, weight, products, used);
            NAME(rounded_to)(products, w->format, used);
            NAME(operate)(ADD, w->format, sums[position & 1], products, spare, used);
            NAME(rounded_to)(spare, w->format, used);
            float *old = sums[position & 1];
            sums[position & 1] = spare;
            spare = old;
        }
        float *out = result + p * w->height * w->width + first;
        if (position > 1)
            NAME(operate)(ADD, w->format, sums[0], sums[1], out, used);
        else
            memcpy(out, sums[0], (size_t)used * sizeof *out);
    }
}

#if LANES == 16
#define VECTORS 4 /* that are summed up side by side: one addition waits for the one before */
#define BLOCK_OF_LANES (16 * VECTORS)

/* Rounded to a format; a NaN stays one, but for bf16, where any word may come out. */
ALWAYS_INLINE __m512 rounded_lanes(__m512 numbers, const int format)
{
    if (format == F16 || format == FLUSHED_F16) {
        const __m512i bits = (__m512i)_mm512_cvtph_ps(_mm512_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        const __m512i size = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
        const __mmask16 tiny = format == F16 ? 0 : _mm512_cmplt_epu32_mask(size, _mm512_set1_epi32(0x38800000));
        return (__m512)_mm512_mask_and_epi32(bits, tiny, bits, _mm512_set1_epi32(INT32_MIN));
    }
    if (format == F32)
        return numbers;
    const __m512i bits = (__m512i)numbers, odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    return (__m512)_mm512_and_si512(sum, _mm512_set1_epi32((int32_t)0xffff0000));
}

/* Sums of some lanes under way. ``next``: those that the next product is added to; ``least``: magnitudes but zero, less
 * one, of all that was computed; ``nan``: whether one was among them, where rounding would lose it. */
typedef struct {
    __m512 next[VECTORS], other[VECTORS];
    __m512i least;
    __mmask16 nan;
} LaneSums;

ALWAYS_INLINE void start_lanes(LaneSums *s, int v, __m512 start, __m512 zero, int is_started)
{
    s->next[v] = is_started ? zero : start;
    s->other[v] = is_started ? start : zero;
}

ALWAYS_INLINE void add_lanes(LaneSums *s, int v, __m512 values, __m512 weight, const int format)
{
    const __m512 product = values * weight, sum = s->next[v] + rounded_lanes(product, format);
    s->least = _mm512_min_epu32(s->least, _mm512_min_epu32(sizes_less_one((__m512i)product), sizes_less_one((__m512i)sum)));
    if (format == BF16)
        s->nan |= _mm512_cmp_ps_mask(sum, product, _CMP_UNORD_Q);
    s->next[v] = s->other[v];
    s->other[v] = rounded_lanes(sum, format);
}

/* The results of lanes from their sums, ``position`` products and starts after the first; whether they are right. */
ALWAYS_INLINE int end_lanes(LaneSums *s, int64_t lanes, int64_t position, float *out)
{
    for (int v = 0; v < VECTORS && v * 16 < lanes; v++) {
        const __m512 even = position & 1 ? s->other[v] : s->next[v], odd = position & 1 ? s->next[v] : s->other[v];
        __m512 total = even;
        if (position > 1)
            total = even + odd;
        const __mmask16 used = USED_OF(v * 16, lanes);
        s->nan |= _mm512_mask_cmp_ps_mask(used, total, total, _CMP_UNORD_Q);
        if (position > 1)
            s->least = _mm512_min_epu32(s->least, _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), used, sizes_less_one((__m512i)total)));
        _mm512_mask_storeu_ps(out + v * 16, used, total);
    }
    return !s->nan && !_mm512_cmplt_epu32_mask(s->least, _mm512_set1_epi32(0x00800000));
}

/* ``used`` numbers of the image, ``step`` apart: 1 or 2. Others are zeros. */
ALWAYS_INLINE __m512 lanes_at(const float *from, const int64_t step, int64_t used)
{
    if (step == 1)
        return used >= 16 ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps((__mmask16)((1u << used) - 1), from);
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const uint32_t met = used >= 16 ? 0x7fffffff : (1u << (2 * used - 1)) - 1;
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)met, from), high = _mm512_maskz_loadu_ps((__mmask16)(met >> 16), from + 16);
    return _mm512_permutex2var_ps(low, even, high);
}

/* At most a block of neighbours in one row of results, or in rows that are taken as one. */
ALWAYS_INLINE int weigh_row(const WindowF32 *w, const float *image, int64_t p, const int64_t step, int64_t lanes, const int format,
                            float *out)
{
    const __m512 zero = _mm512_set1_ps(w->negative ? -0.0f : 0.0f), start = w->starts ? _mm512_set1_ps(w->starts[p]) : zero;
    const float *weights = w->weights + p * w->taps;
    LaneSums s = {.least = _mm512_set1_epi32(-1)};
    for (int v = 0; v < VECTORS; v++)
        start_lanes(&s, v, start, zero, w->starts != NULL);
    if (lanes == BLOCK_OF_LANES)
        for (int64_t k = 0; k < w->taps; k++)
            for (int v = 0; v < VECTORS; v++)
                add_lanes(&s, v, lanes_at(image + w->offsets[k] + v * 16 * step, step, 16), _mm512_set1_ps(weights[k]), format);
    else
        for (int64_t k = 0; k < w->taps; k++)
            for (int v = 0; v < VECTORS; v++)
                if (v * 16 < lanes) /* else zeros are added to unused lanes */
                    add_lanes(&s, v, lanes_at(image + w->offsets[k] + v * 16 * step, step, lanes - v * 16), _mm512_set1_ps(weights[k]),
                              format);
    return end_lanes(&s, lanes, w->taps + (w->starts != NULL), out);
}

/* A call for each format: what does not change in its loops is known to the compiler. */
#define BY_FORMAT(format, Call)                                                                                        \
    ((format) == F32 ? Call(F32) : (format) == F16 ? Call(F16) : (format) == BF16 ? Call(BF16) : Call(FLUSHED_F16))

static int weigh_any_row(const WindowF32 *w, const float *image, int64_t p, int64_t lanes, float *out)
{
#define IN_STEPS_OF_1(format) weigh_row(w, image, p, 1, lanes, format, out)
#define IN_STEPS_OF_2(format) weigh_row(w, image, p, 2, lanes, format, out)
    return w->step == 1 ? BY_FORMAT(w->format, IN_STEPS_OF_1) : BY_FORMAT(w->format, IN_STEPS_OF_2);
#undef IN_STEPS_OF_1
#undef IN_STEPS_OF_2
}

/* A plane of results: row by row, or, where rows are short and computed with the numbers between them, ``apart``
 * results from one to the next, block by block of that stretch. */
static void weigh_plane(const WindowF32 *w, int64_t p, int64_t apart, float *result)
{
    const float *image = w->image + p * w->plane;
    float *out = result + p * w->height * w->width, stretch[BLOCK_OF_LANES];
    const int64_t size = apart ? (w->height - 1) * apart + w->width : w->width;
    for (int64_t y = 0; y < (apart ? 1 : w->height); y++)
        for (int64_t first = 0; first < size; first += BLOCK_OF_LANES) {
            const int64_t lanes = size - first < BLOCK_OF_LANES ? size - first : BLOCK_OF_LANES;
            float *to = apart ? stretch : out + y * w->width + first;
            const int is_right = weigh_any_row(w, image + y * w->line + first * w->step, p, lanes, to);
            if (!apart && !is_right)
                NAME(window_f32_scalar)(w, p, y * w->width + first, y * w->width + first + lanes, result);
            for (int64_t lane = 0; apart && lane < lanes;) {
                const int64_t row = (first + lane) / apart, column = (first + lane) % apart, rest = w->width - column;
                const int64_t used = rest < lanes - lane ? rest : lanes - lane;
                if (rest > 0 && is_right)
                    memcpy(out + row * w->width + column, stretch + lane, (size_t)used * sizeof *out);
                else if (rest > 0)
                    NAME(window_f32_scalar)(w, p, row * w->width + column, row * w->width + column + used, result);
                lane += rest > 0 ? used : apart - column;
            }
        }
}

/* rows[i][j] and rows[j][i] change places. */
ALWAYS_INLINE void transposed(__m512 *rows)
{
    __m512 a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        b[i] = (__m512)_mm512_unpacklo_pd((__m512d)a[i], (__m512d)a[i + 2]);
        b[i + 1] = (__m512)_mm512_unpackhi_pd((__m512d)a[i], (__m512d)a[i + 2]);
        b[i + 2] = (__m512)_mm512_unpacklo_pd((__m512d)a[i + 1], (__m512d)a[i + 3]);
        b[i + 3] = (__m512)_mm512_unpackhi_pd((__m512d)a[i + 1], (__m512d)a[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 4], 0x88);
        a[i + 4] = _mm512_shuffle_f32x4(b[i], b[i + 4], 0xdd);
        a[i + 8] = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(b[i + 8], b[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        rows[i] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0x88);
        rows[i + 8] = _mm512_shuffle_f32x4(a[i], a[i + 8], 0xdd);
        rows[i + 4] = _mm512_shuffle_f32x4(a[i + 4], a[i + 12], 0x88);
        rows[i + 12] = _mm512_shuffle_f32x4(a[i + 4], a[i + 12], 0xdd);
    }
}

#define TAPS_AT_ONCE 16

/* to[k][lane] = numbers[starts[lane] + offsets[k]], or [starts[lane] + k] without offsets, of a few taps. */
static void turn_lanes(const float *numbers, const int64_t *starts, const int64_t *offsets, int64_t first, int64_t taps,
                       int64_t lanes, float (*to)[BLOCK_OF_LANES])
{
    int is_run = taps == TAPS_AT_ONCE;
    for (int64_t k = 1; is_run && offsets && k < taps; k++)
        is_run = offsets[first + k] == offsets[first] + k;
    for (int64_t lane = 0; lane < lanes; lane += 16) {
        const int64_t used = lanes - lane < 16 ? lanes - lane : 16;
        if (is_run) {
            __m512 rows[16];
            for (int i = 0; i < 16; i++)
                rows[i] = _mm512_loadu_ps(numbers + starts[lane + (i < used ? i : 0)] + (offsets ? offsets[first] : first));
            transposed(rows);
            for (int i = 0; i < 16; i++)
                _mm512_storeu_ps(to[i] + lane, rows[i]);
            continue;
        }
        for (int64_t k = 0; k < taps; k++)
            for (int64_t i = 0; i < 16; i++)
                to[k][lane + i] = numbers[starts[lane + (i < used ? i : 0)] + (offsets ? offsets[first + k] : first + k)];
    }
}

/* Results [first, first + lanes) of all planes, whose windows begin at ``places`` of the image. */
ALWAYS_INLINE int weigh_places(const WindowF32 *w, const int64_t *planes, const int64_t *places, int64_t lanes, const int format,
                               float *out)
{
    const __m512 zero = _mm512_set1_ps(w->negative ? -0.0f : 0.0f);
    float values[TAPS_AT_ONCE][BLOCK_OF_LANES], weights[TAPS_AT_ONCE][BLOCK_OF_LANES], starts[BLOCK_OF_LANES] = {0};
    int64_t rows[BLOCK_OF_LANES];
    const int is_one = planes[0] == planes[lanes - 1];
    LaneSums s = {.least = _mm512_set1_epi32(-1)};
    for (int64_t lane = 0; lane < lanes; lane++) {
        rows[lane] = planes[lane] * w->taps;
        starts[lane] = w->starts ? w->starts[planes[lane]] : 0.0f;
    }
    for (int v = 0; v < VECTORS; v++)
        start_lanes(&s, v, w->starts ? _mm512_loadu_ps(starts + v * 16) : zero, zero, w->starts != NULL);
    for (int64_t first = 0; first < w->taps; first += TAPS_AT_ONCE) {
        const int64_t taps = w->taps - first < TAPS_AT_ONCE ? w->taps - first : TAPS_AT_ONCE;
        turn_lanes(w->image, places, w->offsets, first, taps, lanes, values);
        if (!is_one)
            turn_lanes(w->weights, rows, NULL, first, taps, lanes, weights);
        for (int64_t k = 0; k < taps; k++)
            for (int v = 0; v < VECTORS; v++)
                if (v * 16 < lanes)
                    add_lanes(&s, v, _mm512_loadu_ps(values[k] + v * 16),
                              is_one ? _mm512_set1_ps(w->weights[rows[0] + first + k]) : _mm512_loadu_ps(weights[k] + v * 16), format);
    }
    return end_lanes(&s, lanes, w->taps + (w->starts != NULL), out);
}

/* All results, a block at a time, wherever they lie: planes with few of them. */
static void weigh_by_places(const WindowF32 *w, float *result)
{
    const int64_t size = w->height * w->width, all = w->planes * size;
    int64_t planes[BLOCK_OF_LANES], places[BLOCK_OF_LANES];
    for (int64_t first = 0; first < all; first += BLOCK_OF_LANES) {
        const int64_t lanes = all - first < BLOCK_OF_LANES ? all - first : BLOCK_OF_LANES;
        for (int64_t lane = 0; lane < lanes; lane++) {
            const int64_t at = (first + lane) % size;
            planes[lane] = (first + lane) / size;
            places[lane] = planes[lane] * w->plane + at / w->width * w->line + at % w->width * w->step;
        }
#define AT_PLACES(format) weigh_places(w, planes, places, lanes, format, result + first)
        const int is_right = BY_FORMAT(w->format, AT_PLACES);
#undef AT_PLACES
        for (int64_t lane = 0; !is_right && lane < lanes; lane++)
            NAME(window_f32_scalar)(w, planes[lane], (first + lane) % size, (first + lane) % size + 1, result);
    }
}
#endif

static void NAME(window_f32)(const WindowF32 *w, float *result)
{
#if LANES == 16
    const int64_t stretch = ((w->height - 1) * w->line + w->width + 15) / 16, rows = (w->width + 15) / 16 * w->height;
    const int64_t apart = w->step == 1 && w->height > 1 && w->line >= w->width && stretch < rows ? w->line : 0;
    if (w->step > 2 || w->step < 1 || (!apart && w->width < 8)) {
        weigh_by_places(w, result);
        return;
    }
    for (int64_t p = 0; p < w->planes; p++)
        weigh_plane(w, p, apart, result);
#else
    for (int64_t p = 0; p < w->planes; p++)
        NAME(window_f32_scalar)(w, p, 0, w->height * w->width, result);
#endif
}

#undef CHUNK

#define LARGER_OF(a, b) ((a) > (b) ? (a) : (b))
#define KEPT(Type, Start)                                                                                              \
    for (int64_t y = 0; y < w->height; y++) {                                                                          \
        Type *out = (Type *)result + (p * w->height + y) * width;                                                      \
        const Type *row = (const Type *)w->image + p * w->plane + y * w->line;                                         \
        for (int64_t x = 0; x < width; x++)                                                                            \
            out[x] = Start;                                                                                            \
        for (int64_t k = 0; k < w->taps; k++) {                                                                        \
            const Type *from = row + w->offsets[k];                                                                    \
            if (step == 1)                                                                                             \
                for (int64_t x = 0; x < width; x++)                                                                    \
                    out[x] = is_last ? LARGER_OF(out[x], from[x]) : LARGER_OF(from[x], out[x]);                        \
            else                                                                                                       \
                for (int64_t x = 0; x < width; x++)                                                                    \
                    out[x] = is_last ? LARGER_OF(out[x], from[x * step]) : LARGER_OF(from[x * step], out[x]);          \
        }                                                                                                              \
    }                                                                                                                  \
    break;

static void NAME(window_max)(const WindowMax *w, void *result)
{
    const int64_t width = w->width, step = w->step;
    const int is_last = w->is_last;
    for (int64_t p = w->first; p < w->last; p++)
        switch (w->format) {
        case SI8: KEPT(int8_t, row[w->offsets[0] + x * step])
        case UI8: KEPT(uint8_t, row[w->offsets[0] + x * step])
        default: KEPT(float, w->start ? *w->start : row[w->offsets[0] + x * step])
        }
}
#undef KEPT
#undef LARGER_OF

#endif
