/* Floats element by element, from where they are stored to words of the result, a chunk at a time; arithmetic/elements.py has
 * each function in NumPy. */

#ifndef TDB_DAP_SIMD_ELEMENTS_H
#define TDB_DAP_SIMD_ELEMENTS_H

#include "load_store.h"

#define CHUNK 512

/* From a row of as many elements on, what holds for a row is taken together. */
#define LONG_ROW 32

/* Calls READ(out, address, step, count) for the elements [first, first + count) of each row. */
#define FOR_ROWS(grid, operand, first, count, READ)                                                                    \
    for (int64_t done_ = 0; done_ < (count);) {                                                                        \
        const int64_t at_ = (first) + done_, column_ = at_ % (grid)->shape[3];                                         \
        const int64_t row_ = at_ / (grid)->shape[3], left_ = (grid)->shape[3] - column_;                               \
        const int64_t used_ = left_ < (count) - done_ ? left_ : (count) - done_;                                       \
        READ(done_, element_address(grid, operand, row_, column_), (operand)->step[3], used_);                                   \
        done_ += used_;                                                                                                \
    }

static void NAME(load_floats)(float *out, const Grid *grid, const Stored *operand, int64_t first, int64_t count)
{
#define ONE(done, address, step, used) NAME(read_floats)(out + done, address, operand->format, step, used)
    FOR_ROWS(grid, operand, first, count, ONE)
#undef ONE
}

static void NAME(load_ints)(int64_t *out, const Grid *grid, const Stored *operand, int64_t first, int64_t count)
{
#define ONE(done, address, step, used) NAME(read_ints)(out + done, address, operand->format, step, used)
    FOR_ROWS(grid, operand, first, count, ONE)
#undef ONE
}

static void NAME(load_int32)(int32_t *out, const Grid *grid, const Stored *operand, int64_t first, int64_t count)
{
#define ONE(done, address, step, used) NAME(read_int32)(out + done, address, operand->format, step, used)
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

/* At most a chunk of numbers as a format holds them. */
static void NAME(rounded_to)(float *numbers, int format, int64_t count)
{
    uint16_t words[CHUNK];
    if (format == F32)
        return;
    NAME(write_floats)(numbers, words, format, 0, count);
    NAME(read_floats)(numbers, words, format, 1, count);
}

#define EACH(Result)                                                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const float x = flush(a[i * (a_step)]), y = flush(b[i * (b_step)]);                                            \
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
static void NAME(f32_elements)(const Grid *grid, int kind, float *result)
{
    float out[CHUNK], a[CHUNK], b[CHUNK];
    const Stored *left = &grid->operands[0], *right = &grid->operands[1];
    const int64_t row = grid->shape[3], rows = element_count(grid) / (row ? row : 1);
    for (int64_t line = 0; line < rows; line++)
        for (int64_t first = 0; first < row; first += CHUNK) {
            const int64_t used = row - first < CHUNK ? row - first : CHUNK;
            const float *x = element_address(grid, left, line, first), *y = element_address(grid, right, line, first);
            if (NAME(operate_on_row)(kind, x, left->step[3], y, right->step[3], out, used)) {
                NAME(read_floats)(a, x, F32, left->step[3], used);
                NAME(read_floats)(b, y, F32, right->step[3], used);
                NAME(flushed)(a, F32, used);
                NAME(flushed)(b, F32, used);
                NAME(operate)(kind, F32, a, b, out, used);
            }
            memcpy(result + line * row + first, out, (size_t)used * sizeof *out);
        }
}

/* a * b of float32 added to the third operand, or, where ``is_first`` is 0, that to the product. */
static void NAME(add_products)(const Grid *grid, int is_first, float *result)
{
    float a[CHUNK], b[CHUNK], c[CHUNK], products[CHUNK];
    const int64_t count = element_count(grid);
    float *const numbers[] = {a, b, c};
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        for (int i = 0; i < 3; i++) {
            NAME(load_floats)(numbers[i], grid, &grid->operands[i], first, used);
            NAME(flushed)(numbers[i], F32, used);
        }
        NAME(operate)(MULTIPLY, F32, a, b, products, used);
        NAME(operate)(ADD, F32, is_first ? c : products, is_first ? products : c, result + first, used);
    }
}

static void NAME(float_elements)(const Grid *grid, int kind, void *result, int format, int added)
{
    float a[CHUNK], b[CHUNK], out[CHUNK];
    if (added) {
        NAME(add_products)(grid, added == 1, result);
        return;
    }
    const int stored = grid->operands[0].format, own = stored <= BF16 ? stored : F32, compares = kind == LARGER || kind == SMALLER;
    const int64_t count = element_count(grid);
    const int64_t a_step = grid->operands[0].step[3], b_step = grid->operands[1].step[3];
    if (stored == F32 && grid->operands[1].format == F32 && format == F32 && !compares && grid->shape[3] >= LONG_ROW &&
        (a_step == 0 || a_step == 1) && (b_step == 0 || b_step == 1)) {
        NAME(f32_elements)(grid, kind, result);
        return;
    }
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(a, grid, &grid->operands[0], first, used);
        NAME(load_floats)(b, grid, &grid->operands[1], first, used);
        NAME(flushed)(a, own, used);
        NAME(flushed)(b, own, used);
        NAME(operate)(kind, own, a, b, out, used);
        if (kind == MULTIPLY && format != own)
            NAME(rounded_to)(out, own, used);
        NAME(write_floats)(out, result, format, first, used);
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
 * Channel i uses row (channel + i) mod ``rows`` of the table. ``multiplies``: the last step is y = y * x, of float32. */
static void NAME(series)(const Grid *grid, const Stored *table, int64_t rows, int64_t terms, int64_t channel,
                         int multiplies, void *result)
{
    float x[CHUNK], y[CHUNK], products[CHUNK], added[CHUNK], c[MOST_TERMS];
    const int format = grid->operands[0].format;
    const int64_t plane = grid->shape[2] * grid->shape[3], planes = grid->shape[0] * grid->shape[1];
    const Grid row = {.shape = {1, rows, 1, terms}};
    for (int64_t number = 0; number < planes; number++) {
        const int64_t own = (channel + number % grid->shape[1]) % rows;
        NAME(read_floats)(c, element_address(&row, table, own, 0), format, table->step[3], terms);
        NAME(flushed)(c, format, terms);
        for (int64_t first = 0; first < plane; first += CHUNK) {
            const int64_t used = plane - first < CHUNK ? plane - first : CHUNK, start = number * plane + first;
            NAME(load_floats)(x, grid, &grid->operands[0], start, used);
            NAME(flushed)(x, format, used);
            for (int64_t i = 0; i < used; i++)
                y[i] = c[terms - 1];
            for (int64_t k = terms - 2; k >= 0; k--) {
                if (format == F32) {
                    NAME(next_term)(y, x, c[k], products, used);
                    memcpy(y, products, (size_t)used * sizeof *y);
                    continue;
                }
                NAME(operate)(MULTIPLY, format, y, x, products, used);
                NAME(rounded_to)(products, format, used);
                for (int64_t i = 0; i < used; i++)
                    added[i] = c[k];
                NAME(operate)(ADD, format, products, added, y, used);
                NAME(rounded_to)(y, format, used);
                NAME(flushed)(y, format, used);
            }
            if (multiplies) {
                NAME(operate)(MULTIPLY, F32, y, x, products, used);
                memcpy(y, products, (size_t)used * sizeof *y);
            }
            NAME(write_floats)(y, result, format, start, used);
        }
    }
}

#define PART 256

/* One operation per element; where a result is a NaN or at the lower end of the range, the careful way decides. */
static void NAME(elementwise)(int kind, const float *a, const float *b, float *result, int64_t count)
{
    for (int64_t first = 0; first < count; first += PART) {
        const int64_t stop = count - first < PART ? count : first + PART;
        uint32_t doubtful = 0;
        if (kind == ADD)
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] + b[i];
        else if (kind == SUBTRACT)
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] - b[i];
        else
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] * b[i];
        for (int64_t i = first; i < stop; i++) {
            const uint32_t size = bits_of(result[i]) & 0x7fffffff;
            doubtful |= (uint32_t)(size - 1 < 0x00800000) | (uint32_t)(size > 0x7f800000);
        }
        if (doubtful)
            for (int64_t i = first; i < stop; i++)
                result[i] = operation(kind, a[i], b[i]);
    }
}

/* Reciprocals, of roots too, by Newton steps from a guess on the bits; arithmetic/float32.py has them in NumPy. */

static void NAME(product_in)(const float *a, const float *b, float *result, int format, int64_t count)
{
    NAME(operate)(MULTIPLY, format, a, b, result, count);
    NAME(rounded_to)(result, format, count);
}

static void NAME(first_guess)(float *result, const float *numbers, int format, int64_t count)
{
    if (format == F32)
        for (int64_t i = 0; i < count; i++)
            result[i] = number_of(0x5f3759df - (uint32_t)((int32_t)bits_of(numbers[i]) >> 1));
    else if (format == BF16)
        for (int64_t i = 0; i < count; i++)
            result[i] = number_of((uint32_t)(uint16_t)(0x5f37 - (NAME(to_bf16)(numbers[i]) >> 1)) << 16);
    else
        for (int64_t i = 0; i < count; i++)
            result[i] = NAME(from_f16)((uint16_t)(0x59ba - (NAME(to_f16)(numbers[i]) >> 1)));
}

/* result = 1 / sqrt(numbers), at most a chunk of them. */
static void NAME(roots)(float *result, const float *numbers, int format, int steps, int64_t count)
{
    float x[CHUNK], half[CHUNK], products[CHUNK], rest[CHUNK], constants[CHUNK];
    NAME(first_guess)(result, numbers, format, count);
    memcpy(x, numbers, (size_t)count * sizeof *x);
    NAME(flushed)(x, format, count);
    for (int64_t i = 0; i < count; i++)
        constants[i] = 0.5f;
    NAME(product_in)(x, constants, half, format, count);
    for (int64_t i = 0; i < count; i++)
        constants[i] = 1.5f;
    for (int step = 0; step < steps; step++) {
        NAME(flushed)(result, format, count);
        NAME(product_in)(half, result, products, format, count);
        NAME(product_in)(products, result, x, format, count);
        NAME(operate)(SUBTRACT, format, constants, x, rest, count);
        NAME(rounded_to)(rest, format, count);
        NAME(product_in)(result, rest, products, format, count);
        memcpy(result, products, (size_t)count * sizeof *result);
    }
}

static void NAME(reciprocal_roots)(const Grid *grid, int format, int steps, float *result)
{
    float numbers[CHUNK];
    const int64_t count = element_count(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        NAME(roots)(result + first, numbers, format, steps, used);
    }
}

/* result = a / b = a * copysign(r * r, b), r = 1 / sqrt(|b|), every product rounded to the format; in words as those of a.
 * ``is_flushed``: a subnormal b of float32 is a zero. */
static void NAME(divided)(const Grid *grid, int format, int steps, int rule, int is_flushed, void *result)
{
    float a[CHUNK], b[CHUNK], size[CHUNK], root[CHUNK], inverse[CHUNK], out[CHUNK];
    uint32_t kept[CHUNK];
    const int64_t count = element_count(grid);
    const uint32_t least = rule != TRUE_SUBNORMALS || format == F16 ? 1 : format == FLUSHED_F16 ? 0x38800000 : 0x00800000;
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(a, grid, &grid->operands[0], first, used);
        NAME(load_floats)(b, grid, &grid->operands[1], first, used);
        if (is_flushed)
            NAME(flushed)(b, F32, used);
        for (int64_t i = 0; i < used; i++)
            size[i] = number_of(bits_of(b[i]) & 0x7fffffff);
        NAME(roots)(root, size, format, steps, used);
        if (rule != BY_FORMULA)
            for (int64_t i = 0; i < used; i++) {
                const uint32_t bits = bits_of(size[i]);
                const uint32_t large = bits > 0x7f800000 ? 0x7fc00000 : bits == 0x7f800000 ? 0 : bits_of(root[i]);
                root[i] = number_of(bits < least ? 0x7f800000 : large);
            }
        NAME(product_in)(root, root, inverse, format, used);
        for (int64_t i = 0; i < used; i++)
            inverse[i] = number_of((bits_of(inverse[i]) & 0x7fffffff) | (bits_of(b[i]) & 0x80000000));
        memcpy(kept, a, (size_t)used * sizeof *a);
        NAME(flushed)(a, format, used);
        NAME(product_in)(a, inverse, out, format, used);
        if (rule == TRUE_ZEROS) /* a subnormal, before it is flushed, by a zero */
            for (int64_t i = 0; i < used; i++) {
                const uint32_t sign = (kept[i] ^ bits_of(b[i])) & 0x80000000;
                const int is_tiny = (kept[i] & 0x7fffffff) - 1 < 0x007fffff;
                out[i] = number_of(is_tiny && b[i] == 0 ? 0x7f800000 | sign : bits_of(out[i]));
            }
        NAME(write_floats)(out, result, grid->operands[0].format, first, used);
    }
}

#endif
