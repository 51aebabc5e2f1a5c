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
    if (format == F16)
        for (int64_t i = 0; i < count; i++) {
            const uint16_t half = NAME(to_f16)(numbers[i]);
            numbers[i] = NAME(from_f16)(flushes && !(half & 0x7c00) ? half & 0x8000 : half);
        }
    else if (format == BF16)
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
    const int own = grid->operands[0].format, compares = kind == LARGER || kind == SMALLER;
    const int64_t count = size_of(grid);
    const int64_t a_step = grid->operands[0].step[3], b_step = grid->operands[1].step[3];
    if (own == F32 && grid->operands[1].format == F32 && format == F32 && !compares && grid->shape[3] >= LONG_ROW &&
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

/* a (kind) b, then the steps of ``r``: its own numbers for all elements, or, where ``each``, three more operands. */
static void NAME(whole_of)(const Grid *grid, int kind, int each, const Requantisation *r, void *result)
{
    int64_t numbers[CHUNK], multiplier[CHUNK], amount[CHUNK], zero[CHUNK], out[CHUNK];
    const Stored *steps = grid->operands + 2;
    const int64_t row = grid->shape[3];
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

static inline double NAME(rounded_by)(double number, int mode)
{
    switch (mode) {
    case 0: return __builtin_rint(number);
    case 1: return __builtin_copysign(__builtin_floor(__builtin_fabs(number) + 0.5), number);
    case 2: return __builtin_trunc(number);
    case 3: return __builtin_floor(number);
    case 4: return __builtin_ceil(number);
    default: return __builtin_floor(number + 0.5);
    }
}

/* The same of float32 without a wider format: what is left of a number, less than 1, is exact where it matters. */
static inline float NAME(rounded_float)(float number, int mode)
{
    const float size = __builtin_fabsf(number), low = __builtin_floorf(number), whole = __builtin_floorf(size);
    switch (mode) {
    case 0: return __builtin_rintf(number);
    case 1: return __builtin_copysignf(whole + (size - whole >= 0.5f ? 1.0f : 0.0f), number);
    case 2: return __builtin_truncf(number);
    case 3: return low;
    case 4: return __builtin_ceilf(number);
    default: return low + (number - low >= 0.5f ? 1.0f : 0.0f);
    }
}

/* Floats as whole numbers: rounded by mode, limited, NaN gives 0. */
static void NAME(whole_of_floats)(const Grid *grid, int mode, double low, double high, int size, void *result)
{
    float numbers[CHUNK];
    int64_t out[CHUNK];
    const Requantisation r = {.size = size};
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        double v = NAME(rounded_by)(numbers[i], mode_);                                                                \
        v = v < low ? low : v;                                                                                         \
        v = v > high ? high : v;                                                                                       \
        out[i] = numbers[i] == numbers[i] ? (int64_t)v : 0;                                                            \
    }                                                                                                                  \
    break;
        switch (mode) {
        case 0: EACH(0)
        case 1: EACH(1)
        case 2: EACH(2)
        case 3: EACH(3)
        case 4: EACH(4)
        default: EACH(5)
        }
#undef EACH
        NAME(cut)(&r, out, result, first, used);
    }
}

/* Between formats of floats, half to even; float32 is flushed first where ``flushes``. A NaN has all bits set. */
static void NAME(floats_of_floats)(const Grid *grid, int flushes, int format, void *result)
{
    float numbers[CHUNK];
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        if (flushes)
            NAME(flushed)(numbers, F32, 0, used);
        if (format == F32)
            for (int64_t i = 0; i < used; i++)
                numbers[i] = number_of(bits_of(numbers[i]) | (numbers[i] != numbers[i] ? 0x7fffffff : 0));
        NAME(write_floats)(numbers, result, format, 0, first, used);
    }
}

/* float32 rounded to whole numbers by mode; a zero keeps the sign, what is not finite stays. */
static void NAME(integral_floats)(const Grid *grid, int mode, float *result)
{
    float numbers[CHUNK];
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        float *out = result + first;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
#define EACH(mode_)                                                                                                    \
    for (int64_t i = 0; i < used; i++) {                                                                               \
        const float whole = NAME(rounded_float)(numbers[i], mode_);                                                \
        const uint32_t sign = bits_of(numbers[i]) & 0x80000000;                                                        \
        const uint32_t bits = whole == 0 ? sign : bits_of(whole);                                                      \
        out[i] = number_of((bits_of(numbers[i]) & 0x7fffffff) < 0x7f800000 ? bits : bits_of(numbers[i]));              \
    }                                                                                                                  \
    break;
        switch (mode) {
        case 0: EACH(0)
        case 1: EACH(1)
        case 2: EACH(2)
        case 3: EACH(3)
        case 4: EACH(4)
        default: EACH(5)
        }
#undef EACH
    }
}

/* float32 as f16 by a mode other than half to even; subnormals are flushed, magnitudes from 65536 on are infinite. */
static void NAME(f16_by_mode)(const Grid *grid, int mode, uint16_t *result)
{
    float numbers[CHUNK];
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        NAME(flushed)(numbers, F32, 0, used);
        for (int64_t i = 0; i < used; i++) {
            const float number = numbers[i];
            const uint32_t size = bits_of(number) & 0x7fffffff, sign = bits_of(number) & 0x80000000;
            const uint32_t exponent = size < (113u << 23) ? 113u << 23 : size & 0x7f800000; /* at least 2^-14 */
            const double unit = number_of(exponent - (10u << 23)), steps = (double)number / unit;
            const double rounded = NAME(rounded_by)(steps, mode);
            const float found = (float)((rounded < 0 ? -rounded : rounded) * unit);
            const int outward = mode == 1 || mode == 5 || (mode == 3 && sign) || (mode == 4 && !sign);
            const uint32_t limited = found > 65504.0f ? (outward ? 0x7f800000 : 0x477fe000) : bits_of(found);
            const uint32_t bits = size >= 0x47800000 ? (size > 0x7f800000 ? size : 0x7f800000) : limited;
            result[first + i] = NAME(to_f16)(number_of(bits | sign));
        }
    }
}

/* Whole numbers as floats of a format, half to even. */
static void NAME(floats_of_whole)(const Grid *grid, int format, void *result)
{
    int64_t numbers[CHUNK];
    float floats[CHUNK];
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_whole)(numbers, grid, &grid->operands[0], first, used);
        for (int64_t i = 0; i < used; i++)
            floats[i] = (float)numbers[i];
        NAME(write_floats)(floats, result, format, 0, first, used);
    }
}

/* Halves rounded to whole numbers by mode; a zero keeps the sign, what is not finite stays. */
static void NAME(integral_halves)(const Grid *grid, int mode, uint16_t *result)
{
    float numbers[CHUNK];
    int32_t words[CHUNK];
    const Stored *operand = &grid->operands[0];
    const int64_t count = size_of(grid);
    Stored stored = *operand;
    stored.format = UI16;
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, operand, first, used);
        NAME(load_narrow)(words, grid, &stored, first, used);
        for (int64_t i = 0; i < used; i++) {
            const uint32_t size = bits_of(numbers[i]) & 0x7fffffff, sign = bits_of(numbers[i]) & 0x80000000;
            const float whole = NAME(rounded_float)(numbers[i], mode);
            numbers[i] = number_of((bits_of(whole) & 0x7fffffff) | sign);
            words[i] = size < 0x7f800000 ? -1 : words[i];
        }
        for (int64_t i = 0; i < used; i++) {
            const uint16_t half = operand->format == F16 ? NAME(to_f16)(numbers[i]) : NAME(to_bf16)(numbers[i]);
            result[first + i] = words[i] == -1 ? half : (uint16_t)words[i];
        }
    }
}

/* Magnitudes of float32, as they are stored. */
static void NAME(magnitudes)(const Grid *grid, uint32_t *result)
{
    float numbers[CHUNK];
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        for (int64_t i = 0; i < used; i++)
            result[first + i] = bits_of(numbers[i]) & 0x7fffffff;
    }
}

#undef CHUNK
#undef FOR_ROWS
