/* Element by element, from where the numbers are stored to words of the result, a chunk at a time. elements.py says what
 * each function is in NumPy. Included once per vector width. */

#define CHUNK 512

/* From a row of as many elements on, what holds for a row is taken together. */
#define LONG_ROW 32

/* Calls READ(out, address, step, count) for each stretch of elements [first, first + count) that lies in one row. */
#define FOR_ROWS(grid, operand, first, count, READ)                                                                    \
    for (int64_t done_ = 0; done_ < (count);) {                                                                        \
        const int64_t at_ = (first) + done_, column_ = at_ % (grid)->shape[3];                                         \
        const int64_t row_ = at_ / (grid)->shape[3], left_ = (grid)->shape[3] - column_;                               \
        const int64_t used_ = left_ < (count) - done_ ? left_ : (count) - done_;                                       \
        READ(done_, place(grid, operand, row_, column_), (operand)->step[3], used_);                                   \
        done_ += used_;                                                                                                \
    }

static void NAME(load_floats)(float *out, const Grid *grid, const Stored *operand, int64_t first, int64_t count)
{
#define ONE(done, address, step, used) NAME(read_floats)(out + done, address, operand->format, step, used)
    FOR_ROWS(grid, operand, first, count, ONE)
#undef ONE
}

static void NAME(load_whole)(int64_t *out, const Grid *grid, const Stored *operand, int64_t first, int64_t count)
{
#define ONE(done, address, step, used) NAME(read_whole)(out + done, address, operand->format, step, used)
    FOR_ROWS(grid, operand, first, count, ONE)
#undef ONE
}

static inline uint32_t NAME(doubtful)(float result)
{
    const uint32_t size = bits_of(result) & 0x7fffffff;
    return (uint32_t)(size - 1 < 0x00800000) | (uint32_t)(size > 0x7f800000);
}

/* result = a (kind) b; where a NaN or the lower end of the range is met, the careful way decides. ``result`` is neither. */
static void NAME(operate)(int kind, int format, const float *a, const float *b, float *result, int64_t count)
{
    uint32_t doubt = 0;
    switch (kind) {
    case ADD:
        for (int64_t i = 0; i < count; i++)
            result[i] = a[i] + b[i];
        break;
    case SUBTRACT:
        for (int64_t i = 0; i < count; i++)
            result[i] = a[i] - b[i];
        break;
    case MULTIPLY:
        for (int64_t i = 0; i < count; i++)
            result[i] = a[i] * b[i];
        break;
    case LARGER: /* the words: a NaN is chosen as it is */
        for (int64_t i = 0; i < count; i++)
            result[i] = number_of(a[i] > b[i] ? bits_of(a[i]) : bits_of(b[i]));
        return;
    case SMALLER:
        for (int64_t i = 0; i < count; i++)
            result[i] = number_of(a[i] >= b[i] ? bits_of(b[i]) : bits_of(a[i]));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        doubt |= NAME(doubtful)(result[i]);
    if (!doubt)
        return;
    for (int64_t i = 0; i < count; i++)
        result[i] = kind == MULTIPLY ? product(a[i], b[i], format) : operation(kind, a[i], b[i]);
}

static void NAME(rounded_to)(float *numbers, int format, int flushes, int64_t count)
{
#if LANES == 16
    if (format == F16) {
        for (int64_t i = 0; i < count; i += 16) {
            const __mmask16 used = USED_OF(i, count);
            const __m256i half = rounded_halves(_mm512_maskz_loadu_ps(used, numbers + i), flushes);
            _mm512_mask_storeu_ps(numbers + i, used, floats_of_halves(half));
        }
        return;
    }
#else
    if (format == F16)
        for (int64_t i = 0; i < count; i++) {
            const uint16_t half = NAME(to_f16)(numbers[i]);
            numbers[i] = NAME(from_f16)(flushes && !(half & 0x7c00) ? half & 0x8000 : half);
        }
#endif
    if (format == BF16)
        for (int64_t i = 0; i < count; i++)
            numbers[i] = number_of((uint32_t)NAME(to_bf16)(numbers[i]) << 16);
}

/* As arithmetic takes it. */
static inline float NAME(normal)(float number)
{
    const uint32_t bits = bits_of(number);
    return number_of((bits & 0x7f800000) ? bits : bits & 0x80000000);
}

#define EACH(Result)                                                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const float x = NAME(normal)(a[i * (a_step)]), y = NAME(normal)(b[i * (b_step)]);                                  \
        out[i] = Result;                                                                                               \
        doubt |= NAME(doubtful)(out[i]);                                                                               \
    }                                                                                                                  \
    break;

/* Sum, difference or product of float32 in one pass; whether the careful way has to decide. */
ALWAYS_INLINE uint32_t NAME(operate_at_once)(int kind, const float *a, const int64_t a_step, const float *b,
                                             const int64_t b_step, float *out, int64_t count)
{
    uint32_t doubt = 0;
    switch (kind) {
    case ADD: EACH(x + y)
    case SUBTRACT: EACH(x - y)
    default: EACH(x * y)
    }
    return doubt;
}
#undef EACH

/* The same from where operands lie: one row of a chunk, steps 0 or 1. */
static uint32_t NAME(operate_on_row)(int kind, const float *a, int64_t a_step, const float *b, int64_t b_step, float *out,
                                     int64_t count)
{
    if (a_step && b_step)
        return NAME(operate_at_once)(kind, a, 1, b, 1, out, count);
    if (a_step)
        return NAME(operate_at_once)(kind, a, 1, b, 0, out, count);
    if (b_step)
        return NAME(operate_at_once)(kind, a, 0, b, 1, out, count);
    return NAME(operate_at_once)(kind, a, 0, b, 0, out, count);
}

/* Sums, differences and products of float32 that lie in rows. */
static void NAME(float32_of)(const Grid *grid, int kind, float *result)
{
    float out[CHUNK], a[CHUNK], b[CHUNK];
    const Stored *left = &grid->operands[0], *right = &grid->operands[1];
    const int64_t row = grid->shape[3], rows = size_of(grid) / (row ? row : 1);
    for (int64_t line = 0; line < rows; line++)
        for (int64_t first = 0; first < row; first += CHUNK) {
            const int64_t used = row - first < CHUNK ? row - first : CHUNK;
            const float *x = place(grid, left, line, first), *y = place(grid, right, line, first);
            if (NAME(operate_on_row)(kind, x, left->step[3], y, right->step[3], out, used)) {
                NAME(read_floats)(a, x, F32, left->step[3], used);
                NAME(read_floats)(b, y, F32, right->step[3], used);
                NAME(flushed)(a, F32, 0, used);
                NAME(flushed)(b, F32, 0, used);
                NAME(operate)(kind, F32, a, b, out, used);
            }
            memcpy(result + line * row + first, out, (size_t)used * sizeof *out);
        }
}

static void NAME(floats_of)(const Grid *grid, int kind, int flushes, void *result, int format)
{
    float a[CHUNK], b[CHUNK], out[CHUNK];
    const int stored = grid->operands[0].format, own = stored <= BF16 ? stored : F32, compares = kind == LARGER || kind == SMALLER;
    const int64_t count = size_of(grid);
    const int64_t a_step = grid->operands[0].step[3], b_step = grid->operands[1].step[3];
    if (stored == F32 && grid->operands[1].format == F32 && format == F32 && !compares && grid->shape[3] >= LONG_ROW &&
        (a_step == 0 || a_step == 1) && (b_step == 0 || b_step == 1)) {
        NAME(float32_of)(grid, kind, result);
        return;
    }
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(a, grid, &grid->operands[0], first, used);
        NAME(load_floats)(b, grid, &grid->operands[1], first, used);
        NAME(flushed)(a, own, flushes && !compares, used);
        NAME(flushed)(b, own, flushes && !compares, used);
        NAME(operate)(kind, own, a, b, out, used);
        if (kind == MULTIPLY && format != own)
            NAME(rounded_to)(out, own, flushes, used);
        NAME(write_floats)(out, result, format, flushes && !compares, first, used);
    }
}

/* out = y * x + c of float32, rounded twice; where a NaN or the lower end of the range is met, the careful way decides. */
static void NAME(next_term)(const float *y, const float *x, float c, float *out, int64_t count)
{
    uint32_t doubt = 0;
    for (int64_t i = 0; i < count; i++) {
        const float product = y[i] * x[i];
        out[i] = product + c;
        doubt |= NAME(doubtful)(product) | NAME(doubtful)(out[i]);
    }
    if (doubt)
        for (int64_t i = 0; i < count; i++)
            out[i] = flush(operation(ADD, operation(MULTIPLY, y[i], x[i]), c));
}

/* y = c[n - 1], then y = y * x + c[k] for k = n - 2 .. 0, rounded after each operation; see ``series`` in special.py.
 * Channel i uses row (channel + i) mod ``rows`` of the table. */
static void NAME(series)(const Grid *grid, const Stored *table, int64_t rows, int64_t terms, int64_t channel, int flushes,
                         void *result)
{
    float x[CHUNK], y[CHUNK], products[CHUNK], added[CHUNK], c[MOST_TERMS];
    const int format = grid->operands[0].format;
    const int64_t plane = grid->shape[2] * grid->shape[3], planes = grid->shape[0] * grid->shape[1];
    const Grid row = {.shape = {1, rows, 1, terms}};
    for (int64_t number = 0; number < planes; number++) {
        const int64_t own = (channel + number % grid->shape[1]) % rows;
        NAME(read_floats)(c, place(&row, table, own, 0), format, table->step[3], terms);
        NAME(flushed)(c, format, flushes, terms);
        for (int64_t first = 0; first < plane; first += CHUNK) {
            const int64_t used = plane - first < CHUNK ? plane - first : CHUNK, start = number * plane + first;
            NAME(load_floats)(x, grid, &grid->operands[0], start, used);
            NAME(flushed)(x, format, flushes, used);
            for (int64_t i = 0; i < used; i++)
                y[i] = c[terms - 1];
            for (int64_t k = terms - 2; k >= 0; k--) {
                if (format == F32) {
                    NAME(next_term)(y, x, c[k], products, used);
                    memcpy(y, products, (size_t)used * sizeof *y);
                    continue;
                }
                NAME(operate)(MULTIPLY, format, y, x, products, used);
                NAME(rounded_to)(products, format, flushes, used);
                for (int64_t i = 0; i < used; i++)
                    added[i] = c[k];
                NAME(operate)(ADD, format, products, added, y, used);
                NAME(rounded_to)(y, format, flushes, used);
                NAME(flushed)(y, format, flushes, used);
            }
            NAME(write_floats)(y, result, format, 0, start, used);
        }
    }
}

/* numbers = a (kind) b in 64 bits, elements [first, first + used). */
static void NAME(load_operation)(int64_t *numbers, const Grid *grid, int kind, int64_t first, int64_t used)
{
    int64_t b[CHUNK];
    NAME(load_whole)(numbers, grid, &grid->operands[0], first, used);
    if (kind == FIRST)
        return;
    NAME(load_whole)(b, grid, &grid->operands[1], first, used);
    switch (kind) {
    case ADD:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = plus(numbers[i], b[i]);
        break;
    case SUBTRACT:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = minus(numbers[i], b[i]);
        break;
    case MULTIPLY:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = times(numbers[i], b[i]);
        break;
    case LARGER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] > b[i] ? numbers[i] : b[i];
        break;
    case SMALLER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] < b[i] ? numbers[i] : b[i];
        break;
    }
}

static void NAME(load_narrow)(int32_t *out, const Grid *grid, const Stored *operand, int64_t first, int64_t count)
{
#define ONE(done, address, step, used) NAME(read_narrow)(out + done, address, operand->format, step, used)
    FOR_ROWS(grid, operand, first, count, ONE)
#undef ONE
}

/* The same where 32 bits hold all results. */
static void NAME(load_narrow_operation)(int32_t *numbers, const Grid *grid, int kind, int64_t first, int64_t used)
{
    int32_t b[CHUNK];
    NAME(load_narrow)(numbers, grid, &grid->operands[0], first, used);
    if (kind == FIRST)
        return;
    NAME(load_narrow)(b, grid, &grid->operands[1], first, used);
    switch (kind) {
    case ADD:
        for (int64_t i = 0; i < used; i++)
            numbers[i] += b[i];
        break;
    case SUBTRACT:
        for (int64_t i = 0; i < used; i++)
            numbers[i] -= b[i];
        break;
    case MULTIPLY:
        for (int64_t i = 0; i < used; i++)
            numbers[i] *= b[i];
        break;
    case LARGER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] > b[i] ? numbers[i] : b[i];
        break;
    case SMALLER:
        for (int64_t i = 0; i < used; i++)
            numbers[i] = numbers[i] < b[i] ? numbers[i] : b[i];
        break;
    }
}

#if LANES == 16
#include "whole_rows.h"
#endif

/* a (kind) b, then the steps of ``r``: its own numbers for all elements, or, where ``each``, three more operands. */
static void NAME(whole_of)(const Grid *grid, int kind, int each, const Requantisation *r, void *result)
{
    int64_t numbers[CHUNK], multiplier[CHUNK], amount[CHUNK], zero[CHUNK], out[CHUNK];
    const Stored *steps = grid->operands + 2;
    const int64_t row = grid->shape[3];
#if LANES == 16
    const Stored words = {result, r->size == 1 ? UI8 : r->size == 2 ? UI16 : UI32,
                          {row * grid->shape[2] * grid->shape[1], row * grid->shape[2], row, 1}};
    if (whole_rows(grid, kind, each, r, &words))
        return;
#endif
    const int by_row = each && row >= LONG_ROW && !steps[0].step[3] && !steps[1].step[3] && !steps[2].step[3];
    const int narrow = is_narrow(grid, kind) && (!each || by_row) && r->size <= 4;
    Requantisation own = *r;
    for (int64_t first = 0, used; first < size_of(grid); first += used) {
        const int64_t left = (by_row ? row - first % row : size_of(grid) - first);
        used = left < CHUNK ? left : CHUNK;
        if (!narrow)
            NAME(load_operation)(numbers, grid, kind, first, used);
        if (each) {
            const int64_t count = by_row ? 1 : used;
            NAME(load_whole)(multiplier, grid, &steps[0], first, count);
            NAME(load_whole)(amount, grid, &steps[1], first, count);
            NAME(load_whole)(zero, grid, &steps[2], first, count);
            own.multiplier = multiplier;
            own.amount = amount;
            own.zero = zero;
        }
        if (narrow) {
            int32_t words[CHUNK];
            const Shortened short_form = shortened(&own, 0, 0, 1);
            const NAME(Begin) begin = {NULL, 0};
            NAME(load_narrow_operation)(words, grid, kind, first, used);
            if (used == CHUNK)
                NAME(finish)(&own, &short_form, 0, words, &begin, result, first, CHUNK, CHUNK);
            else
                NAME(finish)(&own, &short_form, 0, words, &begin, result, first, used, used);
            continue;
        }
        if (each && !by_row)
            NAME(requantised_each)(r, numbers, multiplier, amount, zero, out, used);
        else
            NAME(requantised_piece)(&own, 0, numbers, out, used);
        NAME(cut)(r, out, result, first, used);
    }
}

#undef CHUNK
#undef FOR_ROWS
