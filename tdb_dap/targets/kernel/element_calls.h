/* What Python calls of elements.h: arguments taken apart, see kernel/elements.py. */

/* A function over elements with its parameters, operands in a grid, and where the words of the result go. */
typedef struct {
    int function, operands, first; /* first: the first axis that may be joined with others */
    int kind, flushes, format, steps, rule, each, how, mode;
    double low, high;
    Stored table; /* of a series or of look-ups: a row of terms for each of so many channels, and again from the first */
    uint32_t fill; /* beyond the words of a row, where ``fills``, else the last of them */
    int fills;
    int64_t terms, rows, channel, numbers[3]; /* channel: of the first element */
    Requantisation r;
    void *result;
    Grid grid;
} Elements;

enum { FLOATS_OF, SERIES, RECIPROCAL_ROOTS, DIVIDED, WHOLE_OF, CONVERTED, MOVED, SELECTED, LOOKED_UP, SCATTERED };

/* Whether a function has a table beside its operands. */
static int has_table(int function) { return function == SERIES || function == LOOKED_UP || function == SCATTERED; }

/* Axes along which a function may be cut; where an index says which words of a row are written, rows stay whole. */
static int axes_to_cut(int function) { return function == SCATTERED ? 2 : 4; }

/* An operand that broadcasts to the shape of ``grid``. BufferError if its words are not where such words can be read. */
static int parsed_operand(PyObject *given, const Grid *grid, Stored *operand)
{
    PyObject *numbers, *capsule;
    ArrayInterface array;
    if (!PyArg_ParseTuple(given, "iO", &operand->format, &numbers) || !described(numbers, &array, &capsule))
        return 0;
    int is_good = array.flags & ALIGNED && array.axes <= 4;
    operand->data = array.data;
    for (int axis = 0; axis < 4; axis++) {
        const int own = axis - (4 - array.axes);
        operand->step[axis] = 0;
        if (!is_good || own < 0 || array.shape[own] == 1)
            continue;
        is_good = array.shape[own] == grid->shape[axis] && array.strides[own] % size_of_word[operand->format] == 0;
        operand->step[axis] = array.strides[own] / size_of_word[operand->format];
    }
    Py_DECREF(capsule);
    if (!is_good)
        PyErr_SetString(PyExc_BufferError, "an operand that does not lie as it must");
    return is_good;
}

/* Shape, and format and array of each operand. */
static int parsed_grid(PyObject *given, Grid *grid, int operands)
{
    int64_t *n = grid->shape;
    PyObject *shape = PyTuple_Check(given) && PyTuple_Size(given) == operands + 1 ? PyTuple_GetItem(given, 0) : NULL;
    if (!shape) {
        PyErr_Format(PyExc_TypeError, "a shape and %d operands", operands);
        return 0;
    }
    if (!PyArg_ParseTuple(shape, "LLLL", &n[0], &n[1], &n[2], &n[3]))
        return 0;
    for (int i = 0; i < operands; i++)
        if (!parsed_operand(PyTuple_GetItem(given, i + 1), grid, &grid->operands[i]))
            return 0;
    return 1;
}

/* The arguments of a function: its grid, its parameters, and last the result without gaps. */
static int parsed_elements(int function, PyObject *args, Elements *e)
{
    PyObject *given = NULL;
    PyObject *table = NULL;
    unsigned long long result = 0;
    long long multiplier = 1, amount = 0, zero = 0, low = 0, high = 0, rows = 0, terms = 0;
    int is_good = 0;
    memset(e, 0, sizeof *e);
    e->function = function;
    e->operands = 1;
    switch (function) {
    case FLOATS_OF:
        e->operands = 2;
        is_good = PyArg_ParseTuple(args, "OiiiO&", &given, &e->kind, &e->flushes, &e->format, address_of, &result);
        break;
    case SERIES: /* channels stay apart: each has coefficients of its own */
        e->first = 2;
        is_good = PyArg_ParseTuple(args, "OOLLiO&", &given, &table, &rows, &terms, &e->flushes, address_of, &result);
        break;
    case LOOKED_UP:
        e->first = 2;
        is_good = PyArg_ParseTuple(args, "OOLLIpO&", &given, &table, &rows, &terms, &e->fill, &e->fills, address_of, &result);
        break;
    case SCATTERED:
        e->first = 2;
        is_good = PyArg_ParseTuple(args, "OOLLO&", &given, &table, &rows, &terms, address_of, &result);
        break;
    case RECIPROCAL_ROOTS:
        is_good = PyArg_ParseTuple(args, "OiiiO&", &given, &e->format, &e->flushes, &e->steps, address_of, &result);
        break;
    case DIVIDED:
        e->operands = 2;
        is_good = PyArg_ParseTuple(args, "OiiiiO&", &given, &e->format, &e->flushes, &e->steps, &e->rule, address_of, &result);
        break;
    case WHOLE_OF:
        is_good = PyArg_ParseTuple(args, "Oii(LLL)iiiLLiO&", &given, &e->kind, &e->each, &multiplier, &amount, &zero,
                                   &e->r.mode, &e->r.held, &e->r.rectified, &low, &high, &e->r.size, address_of, &result);
        e->operands = e->each ? 5 : 2;
        break;
    case CONVERTED:
        is_good = PyArg_ParseTuple(args, "OiiddiO&", &given, &e->how, &e->mode, &e->low, &e->high, &e->format, address_of,
                                   &result);
        break;
    case SELECTED:
        e->operands = 4;
        is_good = PyArg_ParseTuple(args, "OiiO&", &given, &e->kind, &e->format, address_of, &result);
        break;
    case MOVED:
        is_good = PyArg_ParseTuple(args, "OO&", &given, address_of, &result);
        break;
    }
    if (!is_good || !parsed_grid(given, &e->grid, e->operands))
        return 0;
    e->numbers[0] = multiplier;
    e->numbers[1] = amount;
    e->numbers[2] = zero;
    e->r.low = low;
    e->r.high = high;
    e->terms = terms;
    e->rows = rows;
    if (table) {
        const Grid rows_of = {.shape = {1, rows, 1, terms}};
        if (terms < 1 || (function == SERIES && terms > MOST_TERMS) || rows < 1) {
            PyErr_Format(PyExc_ValueError, "%lld rows of %lld terms", rows, terms);
            return 0;
        }
        if (!parsed_operand(table, &rows_of, &e->table))
            return 0;
        if (function != SERIES && terms > 1 && e->table.step[3] != 1) {
            PyErr_SetString(PyExc_ValueError, "a row with gaps");
            return 0;
        }
    }
    e->result = (void *)(uintptr_t)result;
    return 1;
}

/* Words of the table, by the unsigned words of the only operand; one after another from the start of the result on. */
static void look_up(const Elements *e)
{
    const Grid *grid = &e->grid, row = {.shape = {1, e->rows, 1, e->terms}};
    const Stored *index = &grid->operands[0];
    const int word = size_of_word[e->table.format], size = size_of_word[index->format];
    const int64_t width = grid->shape[3], lines = grid->shape[0] * grid->shape[1] * grid->shape[2];
    uint64_t chosen_words[512];
    char *to = e->result;
    for (int64_t line = 0; line < lines; line++) {
        const int64_t own = (e->channel + line / grid->shape[2] % grid->shape[1]) % e->rows;
        const char *words = place(&row, &e->table, own, 0);
        for (int64_t first = 0; first < width; first += 512) {
            const int64_t used = width - first < 512 ? width - first : 512;
            const char *at = place(grid, index, line, first);
            if (index->step[3] != 1) {
                move_row(chosen_words, 1, at, index->step[3], used, size);
                at = (const char *)chosen_words;
            }
            looked_up(words, e->terms, at, size, used, word, e->fill, e->fills, to + (line * width + first) * word);
        }
    }
}

/* Words of the table put into each row of the result, which else stays as it is, where the words of the only operand say,
 * one for each of the ``terms`` and the first of them given: a later one wins, one beyond the row is left out. */
static void scatter(const Elements *e, const Stored *to)
{
    const Grid *grid = &e->grid, row = {.shape = {1, e->rows, 1, e->terms}};
    const Stored *index = &grid->operands[0];
    const int word = size_of_word[to->format], size = size_of_word[index->format];
    const uint64_t width = (uint64_t)grid->shape[3], places = (uint64_t)grid->shape[2] * width;
    for (int64_t n = 0; n < grid->shape[0]; n++)
        for (int64_t c = 0; c < grid->shape[1]; c++) {
            const char *words = place(&row, &e->table, (e->channel + c) % e->rows, 0);
            const char *chosen_words = (const char *)index->data + (n * index->step[0] + c * index->step[1]) * size;
            char *out = (char *)(uintptr_t)to->data + (n * to->step[0] + c * to->step[1]) * word;
            for (int64_t j = 0; j < e->terms; j++) {
                const uint64_t at = (uint64_t)whole_at(chosen_words + j * size, index->format); /* words without signs */
                if (at >= places)
                    continue;
                const int64_t moved = (int64_t)(at / width) * to->step[2] + (int64_t)(at % width) * to->step[3];
                memcpy(out + moved * word, words + j * word, (size_t)word);
            }
        }
}

/* Steps with the numbers that all elements share. */
static Requantisation shared_steps(const Elements *e)
{
    Requantisation r = e->r;
    r.multiplier = &e->numbers[0];
    r.amount = &e->numbers[1];
    r.zero = &e->numbers[2];
    return r;
}

/* All elements of the grid, one after another from the start of the result on. */
static void compute(const Elements *e)
{
    const Requantisation r = shared_steps(e);
    const Grid *grid = &e->grid;
    switch (e->function) {
    case FLOATS_OF: chosen->floats_of(grid, e->kind, e->flushes, e->result, e->format); break;
    case SERIES: chosen->series(grid, &e->table, e->rows, e->terms, e->channel, e->flushes, e->result); break;
    case RECIPROCAL_ROOTS: chosen->reciprocal_roots(grid, e->format, e->flushes, e->steps, e->result); break;
    case DIVIDED: chosen->divided(grid, e->format, e->flushes, e->steps, e->rule, e->result); break;
    case WHOLE_OF: chosen->whole_of(grid, e->kind, e->each, &r, e->result); break;
    case CONVERTED:
        switch (e->how) {
        case FLOATS_TO_WHOLE: chosen->whole_of_floats(grid, e->mode, e->low, e->high, e->format, e->result); break;
        case FLOATS_TO_FLOATS: chosen->floats_of_floats(grid, e->mode, e->format, e->result); break;
        case WHOLE_TO_FLOATS: chosen->floats_of_whole(grid, e->format, e->result); break;
        case TO_INTEGRAL: chosen->integral_floats(grid, e->mode, e->result); break;
        case HALVES_TO_INTEGRAL: chosen->integral_halves(grid, e->mode, e->result); break;
        case MAGNITUDES: chosen->magnitudes(grid, e->result); break;
        case TO_F16_BY_MODE: chosen->f16_by_mode(grid, e->mode, e->result); break;
        }
        break;
    case SELECTED: chosen->selected(grid, e->kind, e->format, e->result); break;
    case LOOKED_UP: look_up(e); break;
    case MOVED: {
        Stored to = {e->result, grid->operands[0].format, {0, 0, 0, 1}};
        for (int axis = 2; axis >= 0; axis--)
            to.step[axis] = to.step[axis + 1] * grid->shape[axis + 1];
        move_words(grid->shape, &grid->operands[0], &to);
        break;
    }
    }
}

/* Whether no element is shifted by more than a word of 64 bits has; only where every element has steps of its own. */
static int shifts_fit(const Elements *e)
{
    if (e->function != WHOLE_OF || !e->each)
        return 1;
    Grid amounts = e->grid;
    for (int axis = 0; axis < 4; axis++)
        if (!amounts.operands[3].step[axis])
            amounts.shape[axis] = 1;
    const Stored *stored = &amounts.operands[3];
    const int64_t *n = amounts.shape, *step = stored->step;
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++)
                for (int64_t d = 0; d < n[3]; d++) {
                    const int64_t at = a * step[0] + b * step[1] + c * step[2] + d * step[3];
                    const int64_t amount = whole_at((const char *)stored->data + at * size_of_word[stored->format], stored->format);
                    if (amount > LARGEST_SHIFT || amount < -LARGEST_SHIFT)
                        return 0;
                }
    return 1;
}

/* Whether it was computed: not where an element is shifted too far. */
static PyObject *over_elements(int function, PyObject *args)
{
    Elements e;
    if (!parsed_elements(function, args, &e))
        return NULL;
    if (!shifts_fit(&e))
        Py_RETURN_FALSE;
    join_axes(&e.grid, e.operands, e.first);
    Py_BEGIN_ALLOW_THREADS
    compute(&e);
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}

#define CALL(name, function)                                                                                           \
    static PyObject *py_##name(PyObject *self, PyObject *args)                                                         \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return over_elements(function, args);                                                                          \
    }

CALL(floats_of, FLOATS_OF)
CALL(series, SERIES)
CALL(reciprocal_roots, RECIPROCAL_ROOTS)
CALL(divided, DIVIDED)
CALL(whole_of, WHOLE_OF)
CALL(converted, CONVERTED)
CALL(selected, SELECTED)
#undef CALL

static PyObject *py_looked_up(PyObject *self, PyObject *args)
{
    unsigned long long rows, index, result;
    long long batches, channels, size, count;
    int index_size, size_of_word_, fills;
    unsigned fill;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&LO&iLLLiIiO&", address_of, &rows, &size, address_of, &index, &index_size, &batches,
                          &channels, &count, &size_of_word_, &fill, &fills, address_of, &result))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t i = 0; i < batches * channels; i++)
        looked_up((const char *)(uintptr_t)rows + i % channels * size * size_of_word_, size,
                  (const char *)(uintptr_t)index + i * count * index_size, index_size, count, size_of_word_, fill, fills,
                  (char *)(uintptr_t)result + i * count * size_of_word_);
    Py_END_ALLOW_THREADS
    return done(0);
}
