/* Products of matrices in plans: both factors, and what sums start from, are put together from where they are stored, and
 * the results are put where they belong. plans/products.py makes the arguments. */

enum { LEFT_FACTORS, RIGHT_FACTORS, FIRST_START, SECOND_START };

/* A part of one operand in equal steps, and its place among factors or starts: numbers from ``first`` on. */
typedef struct {
    int source, which;
    Stored from;
    uint64_t constant;
    int64_t shape[4], first, step[4];
} Gathered;

/* A part of the result, and where its words are among the sums. */
typedef struct {
    Stored to;
    int64_t shape[4], first, step[4];
} Scattered;

/* Left factors are (rows, count), right ones (count, columns), starts (rows or 1, columns or 1). */
typedef struct {
    int is_float, starts, swapped, gathered, scattered;
    float zero;
    int64_t rows, count, columns, start_rows[2], start_columns[2], numbers[3];
    Requantisation r;
    Gathered *from;
    Scattered *to;
} Product;

#define GATHERED(Type, Number)                                                                                         \
    for (int64_t i = 0; i < count; i++)                                                                                \
        ((Number *)to)[i * to_step] = (Number)((const Type *)from)[i * step];                                          \
    break;

#define GATHERED_WHOLE(Number)                                                                                         \
    switch (format) {                                                                                                  \
    case SI8: GATHERED(int8_t, Number)                                                                                 \
    case UI8: GATHERED(uint8_t, Number)                                                                                \
    case SI16: GATHERED(int16_t, Number)                                                                               \
    case UI16: GATHERED(uint16_t, Number)                                                                              \
    case SI32: GATHERED(int32_t, Number)                                                                               \
    case UI32: GATHERED(uint32_t, Number)                                                                              \
    }

static void gather_row(void *to, int64_t to_step, const void *from, int64_t step, int64_t count, int format, int wide)
{
    if (format == F32)
        for (int64_t i = 0; i < count; i++)
            ((float *)to)[i * to_step] = flush(((const float *)from)[i * step]);
    else if (wide)
        GATHERED_WHOLE(int64_t)
    else
        GATHERED_WHOLE(int16_t)
}
#undef GATHERED
#undef GATHERED_WHOLE

/* All numbers of one part, each of ``size`` bytes in ``to``. */
static void gather(const Gathered *g, const void *data, char *to, int size, int wide)
{
    const Stored *from = &g->from;
    const int word = size_of_word[from->format];
    for (int64_t a = 0; a < g->shape[0]; a++)
        for (int64_t b = 0; b < g->shape[1]; b++)
            for (int64_t c = 0; c < g->shape[2]; c++)
                gather_row(to + (g->first + a * g->step[0] + b * g->step[1] + c * g->step[2]) * size, g->step[3],
                           (const char *)data + (a * from->step[0] + b * from->step[1] + c * from->step[2]) * word,
                           from->step[3], g->shape[3], from->format, wide);
}

/* The exponent of the smallest number but zero less the least one; large where there is none. See float32.py. */
static int64_t least_exponent(const float *numbers, int64_t count)
{
    uint32_t found[2];
    chosen->exponents(numbers, count, found);
    return found[1] ? (int64_t)((found[0] + 1) >> 23) - 127 : 1 << 20;
}

static int multiply_floats(const Product *p, float *left, float *right, float *starts[2], const int64_t *taps,
                           const int64_t *places, float *result)
{
    const int64_t rows = p->rows, count = p->count, columns = p->columns;
    float *packed = malloc((size_t)((rows + ROWS - 1) / ROWS * ROWS * count + 1) * sizeof(float));
    if (!packed)
        return -1;
    packed_floats(left, rows, count, packed);
    Chains chains = {.result = result, .position = p->starts, .swapped = p->swapped};
    chains.normal = least_exponent(left, rows * count) + least_exponent(right, count * columns) - 23 >= -126;
    for (int i = 0; i < 2; i++) {
        chains.starts[i].numbers = starts[i];
        if (i < p->starts) {
            chains.starts[i].row = p->start_rows[i] > 1 ? p->start_columns[i] : 0;
            chains.starts[i].column = p->start_columns[i] > 1;
            chains.normal &= least_exponent(starts[i], p->start_rows[i] * p->start_columns[i]) - 23 >= -126;
        }
    }
    const Left of_left = {left, packed, rows, 0, rows};
    const Right of_right = {right, taps, places, count, columns, 0, columns};
    const int status = chosen->interleaved(&of_left, &of_right, &chains);
    free(packed);
    return status;
}

static int multiply_whole(const Product *p, const int16_t *left, const int16_t *right, int64_t *starts[2],
                          const int64_t *taps, const int64_t *places, int64_t *spare, void *result)
{
    const int64_t rows = p->rows, count = p->count;
    int16_t *packed = malloc((size_t)((rows + ROWS - 1) / ROWS * ROWS * (count + 1) + 1) * sizeof(int16_t));
    if (!packed)
        return -1;
    packed_pairs(left, rows, count, packed);
    for (int64_t row = 0; row < rows; row++)
        for (int i = 0; i < 3; i++)
            spare[i * rows + row] = p->numbers[i];
    Requantisation r = p->r;
    r.multiplier = spare;
    r.amount = spare + rows;
    r.zero = spare + 2 * rows;
    const Whole w = {.left = packed, .image = right, .taps = taps, .places = places, .rows = rows, .count = count,
                     .columns = p->columns, .last = p->columns, .last_row = rows, .type = SIGNED_WORDS,
                     .start = p->starts ? starts[0] : NULL,
                     .start_row = p->start_rows[0] > 1 ? p->start_columns[0] : 0,
                     .start_column = p->start_columns[0] > 1};
    const int status = chosen->whole(&w, &r, result);
    free(packed);
    return status;
}

/* The whole product; -1: there is no memory for it, and nothing has been written. */
static int carry_out_product(const Product *p, const int64_t *pointers, int result)
{
    const int size = p->is_float ? sizeof(float) : sizeof(int16_t), wide = p->is_float ? sizeof(float) : sizeof(int64_t);
    const int64_t left = p->rows * p->count, right = p->count * p->columns, sums = p->rows * p->columns;
    int64_t first = 0, starts[2];
    for (int i = 0; i < 2; i++) {
        starts[i] = first;
        first += i < p->starts ? p->start_rows[i] * p->start_columns[i] : 1;
    }
    /* One block of memory, its parts from the widest words to the narrowest. */
    const int64_t words = first + p->count + p->columns + 3 * p->rows + sums;
    char *block = malloc((size_t)(words * 8 + (left + right) * size + 64));
    if (!block)
        return -1;
    char *at_start = block;
    int64_t *taps = (int64_t *)block + first, *places = taps + p->count, *spare = places + p->columns;
    void *found = spare + 3 * p->rows;
    char *factors[2] = {block + words * 8, block + words * 8 + left * size};
    for (int64_t k = 0; k < p->count; k++)
        taps[k] = k * p->columns;
    for (int64_t j = 0; j < p->columns; j++)
        places[j] = j;
    for (int i = p->starts; i < 2 && p->is_float; i++)
        memcpy(at_start + starts[i] * wide, &p->zero, sizeof p->zero);
    for (int i = 0; i < p->gathered; i++) {
        const Gathered *g = &p->from[i];
        const void *data = g->source < 0 ? &g->constant : moved_by(g->from.data, pointers[g->source]);
        const int is_factor = g->which < FIRST_START;
        char *to = is_factor ? factors[g->which] : at_start + starts[g->which - FIRST_START] * wide;
        gather(g, data, to, is_factor ? size : wide, !is_factor);
    }
    int status;
    if (p->is_float) {
        float *begins[2] = {(float *)at_start + starts[0], (float *)at_start + starts[1]};
        status = multiply_floats(p, (float *)factors[0], (float *)factors[1], begins, taps, places, found);
    } else {
        int64_t *begins[2] = {(int64_t *)block + starts[0], (int64_t *)block + starts[1]};
        status = multiply_whole(p, (const int16_t *)factors[0], (const int16_t *)factors[1], begins, taps, places, spare, found);
    }
    for (int i = 0; i < p->scattered && !status; i++) {
        const Scattered *s = &p->to[i];
        const int word = size_of_word[s->to.format];
        Stored from = {(char *)found + s->first * word, s->to.format, {s->step[0], s->step[1], s->step[2], s->step[3]}};
        Stored to = s->to;
        to.data = moved_by(to.data, pointers[result]);
        move_words(s->shape, &from, &to);
    }
    free(block);
    return status;
}

static int product_lies_well(const Product *p, const int64_t *pointers, int result)
{
    uintptr_t odd = 0;
    for (int i = 0; i < p->gathered; i++)
        if (p->from[i].source >= 0)
            odd |= (uintptr_t)moved_by(p->from[i].from.data, pointers[p->from[i].source]) %
                   (uintptr_t)size_of_word[p->from[i].from.format];
    for (int i = 0; i < p->scattered; i++)
        odd |= (uintptr_t)moved_by(p->to[i].to.data, pointers[result]) % (uintptr_t)size_of_word[p->to[i].to.format];
    return !odd;
}

/* An array with its steps, and where its elements are among others: (format, array), shape, first, steps. */
static int parsed_part(PyObject *given, Stored *stored, int64_t *shape, int64_t *first, int64_t *step)
{
    PyObject *operand;
    Grid grid;
    int64_t *n = grid.shape;
    if (!PyArg_ParseTuple(given, "O(LLLL)L(LLLL)", &operand, &n[0], &n[1], &n[2], &n[3], first, &step[0], &step[1],
                          &step[2], &step[3]))
        return 0;
    memcpy(shape, n, sizeof grid.shape);
    return parsed_operand(operand, &grid, stored);
}

static int parsed_gathered(PyObject *given, const int64_t *origins, int tensors, Gathered *g)
{
    PyObject *part;
    if (!PyArg_ParseTuple(given, "iiO", &g->source, &g->which, &part) || !parsed_part(part, &g->from, g->shape, &g->first, g->step))
        return 0;
    if (g->source < tensors - 1 && g->which >= LEFT_FACTORS && g->which <= SECOND_START) {
        if (g->source >= 0)
            g->from.data = moved_by(g->from.data, -origins[g->source]);
        else
            memcpy(&g->constant, g->from.data, (size_t)size_of_word[g->from.format]);
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "an operand of no tensor");
    return 0;
}

static void forget_product(Product *p)
{
    if (p) {
        free(p->from);
        free(p->to);
    }
    free(p);
}

static Product *parsed_product(PyObject *given, const int64_t *origins, int tensors)
{
    PyObject *gathered, *scattered;
    long long low, high;
    Product *p = calloc(1, sizeof *p);
    if (!p) {
        PyErr_NoMemory();
        return NULL;
    }
    int is_good = PyArg_ParseTuple(given, "ipf(LLL)((LL)(LL))i(LLLiiiLLi)O!O!", &p->is_float, &p->swapped, &p->zero,
                                   &p->rows, &p->count, &p->columns, &p->start_rows[0], &p->start_columns[0],
                                   &p->start_rows[1], &p->start_columns[1], &p->starts, &p->numbers[0], &p->numbers[1],
                                   &p->numbers[2], &p->r.mode, &p->r.held, &p->r.rectified, &low, &high, &p->r.size,
                                   &PyTuple_Type, &gathered, &PyTuple_Type, &scattered);
    if (is_good) {
        p->r.low = low;
        p->r.high = high;
        p->gathered = (int)PyTuple_Size(gathered);
        p->scattered = (int)PyTuple_Size(scattered);
        p->from = calloc((size_t)p->gathered + 1, sizeof *p->from);
        p->to = calloc((size_t)p->scattered + 1, sizeof *p->to);
        if (!p->from || !p->to) {
            PyErr_NoMemory();
            is_good = 0;
        }
    }
    for (int i = 0; is_good && i < p->gathered; i++)
        is_good = parsed_gathered(PyTuple_GetItem(gathered, i), origins, tensors, &p->from[i]);
    for (int i = 0; is_good && i < p->scattered; i++) {
        Scattered *s = &p->to[i];
        is_good = parsed_part(PyTuple_GetItem(scattered, i), &s->to, s->shape, &s->first, s->step);
        if (is_good)
            s->to.data = moved_by(s->to.data, -origins[tensors - 1]);
    }
    if (!is_good) {
        forget_product(p);
        return NULL;
    }
    return p;
}
