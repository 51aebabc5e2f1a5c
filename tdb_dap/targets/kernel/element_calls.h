/* What Python calls of elements.h: arguments taken apart, see kernel/elements.py. */

/* Shape, and format, address and steps of each operand. */
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
    for (int i = 0; i < operands; i++) {
        Stored *one = &grid->operands[i];
        unsigned long long data;
        PyObject *numbers; /* whose address is data: it lives as long as what was given */
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, i + 1), "iKLLLLO", &one->format, &data, &one->step[0],
                              &one->step[1], &one->step[2], &one->step[3], &numbers))
            return 0;
        one->data = (const void *)(uintptr_t)data;
    }
    return 1;
}

static PyObject *py_floats_of(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int kind, flushes, format;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiKi", &given, &kind, &flushes, &result, &format) || !parsed_grid(given, &grid, 2))
        return NULL;
    join_axes(&grid, 2, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->floats_of(&grid, kind, flushes, (void *)(uintptr_t)result, format);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_series(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long coefficients, result;
    long long terms;
    int flushes;
    (void)self;
    if (!PyArg_ParseTuple(args, "OKLiK", &given, &coefficients, &terms, &flushes, &result) ||
        !parsed_grid(given, &grid, 1))
        return NULL;
    join_axes(&grid, 1, 2); /* channels stay apart: each has coefficients of its own */
    Py_BEGIN_ALLOW_THREADS
    chosen->series(&grid, (const float *)(uintptr_t)coefficients, terms, flushes, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_reciprocal_roots(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int format, flushes, steps;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiiK", &given, &format, &flushes, &steps, &result) || !parsed_grid(given, &grid, 1))
        return NULL;
    join_axes(&grid, 1, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->reciprocal_roots(&grid, format, flushes, steps, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_divided(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int format, flushes, steps, rule;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiiiK", &given, &format, &flushes, &steps, &rule, &result) ||
        !parsed_grid(given, &grid, 2))
        return NULL;
    join_axes(&grid, 2, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->divided(&grid, format, flushes, steps, rule, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_whole_of(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int kind, each;
    long long multiplier, amount, zero, low, high;
    Requantisation r;
    (void)self;
    if (!PyArg_ParseTuple(args, "Oii(LLL)iiiLLiK", &given, &kind, &each, &multiplier, &amount, &zero, &r.mode, &r.held,
                          &r.rectified, &low, &high, &r.size, &result) ||
        !parsed_grid(given, &grid, each ? 5 : 2))
        return NULL;
    const int64_t numbers[3] = {multiplier, amount, zero};
    r.multiplier = &numbers[0];
    r.amount = &numbers[1];
    r.zero = &numbers[2];
    r.low = low;
    r.high = high;
    join_axes(&grid, each ? 5 : 2, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->whole_of(&grid, kind, each, &r, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_whole_of_floats(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int mode, size;
    double low, high;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiddiK", &given, &mode, &low, &high, &size, &result) || !parsed_grid(given, &grid, 1))
        return NULL;
    join_axes(&grid, 1, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->whole_of_floats(&grid, mode, low, high, size, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_floats_of_floats(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int flushes, format;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiK", &given, &flushes, &format, &result) || !parsed_grid(given, &grid, 1))
        return NULL;
    join_axes(&grid, 1, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->floats_of_floats(&grid, flushes, format, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_floats_of_whole(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    (void)self;
    if (!PyArg_ParseTuple(args, "OK", &given, &result) || !parsed_grid(given, &grid, 1))
        return NULL;
    join_axes(&grid, 1, 0);
    Py_BEGIN_ALLOW_THREADS
    chosen->floats_of_whole(&grid, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_rounded(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int mode, format;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiK", &given, &mode, &format, &result) || !parsed_grid(given, &grid, 1))
        return NULL;
    join_axes(&grid, 1, 0);
    Py_BEGIN_ALLOW_THREADS
    if (format == F16)
        chosen->f16_by_mode(&grid, mode, (uint16_t *)(uintptr_t)result);
    else
        chosen->integral_floats(&grid, mode, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_looked_up(PyObject *self, PyObject *args)
{
    unsigned long long rows, index, result;
    long long batches, channels, size, count;
    int index_size, size_of_word, fills;
    unsigned fill;
    (void)self;
    if (!PyArg_ParseTuple(args, "KLKiLLLiIiK", &rows, &size, &index, &index_size, &batches, &channels, &count,
                          &size_of_word, &fill, &fills, &result))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t i = 0; i < batches * channels; i++)
        looked_up((const char *)(uintptr_t)rows + i % channels * size * size_of_word, size,
                  (const char *)(uintptr_t)index + i * count * index_size, index_size, count, size_of_word, fill, fills,
                  (char *)(uintptr_t)result + i * count * size_of_word);
    Py_END_ALLOW_THREADS
    return done(0);
}
