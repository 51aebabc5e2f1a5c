/* What Python calls of elements.h: arguments taken apart, see kernel/elements.py. */

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
        is_good = array.shape[own] == grid->shape[axis] && array.strides[own] % array.itemsize == 0;
        operand->step[axis] = array.strides[own] / array.itemsize;
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

static PyObject *py_floats_of(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long result;
    int kind, flushes, format;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiO&i", &given, &kind, &flushes, address_of, &result, &format) || !parsed_grid(given, &grid, 2))
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
    if (!PyArg_ParseTuple(args, "OO&LiO&", &given, address_of, &coefficients, &terms, &flushes, address_of, &result) ||
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
    if (!PyArg_ParseTuple(args, "OiiiO&", &given, &format, &flushes, &steps, address_of, &result) || !parsed_grid(given, &grid, 1))
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
    if (!PyArg_ParseTuple(args, "OiiiiO&", &given, &format, &flushes, &steps, &rule, address_of, &result) ||
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
    if (!PyArg_ParseTuple(args, "Oii(LLL)iiiLLiO&", &given, &kind, &each, &multiplier, &amount, &zero, &r.mode,
                          &r.held, &r.rectified, &low, &high, &r.size, address_of, &result) ||
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

/* One operand in another format, or rounded. ``form``: bytes of whole numbers, or the format of floats. */
static PyObject *py_converted(PyObject *self, PyObject *args)
{
    PyObject *given;
    Grid grid;
    unsigned long long address;
    int how, mode, form;
    double low, high;
    (void)self;
    if (!PyArg_ParseTuple(args, "OiiddiO&", &given, &how, &mode, &low, &high, &form, address_of, &address) ||
        !parsed_grid(given, &grid, 1))
        return NULL;
    void *result = (void *)(uintptr_t)address;
    join_axes(&grid, 1, 0);
    Py_BEGIN_ALLOW_THREADS
    switch (how) {
    case FLOATS_TO_WHOLE: chosen->whole_of_floats(&grid, mode, low, high, form, result); break;
    case FLOATS_TO_FLOATS: chosen->floats_of_floats(&grid, mode, form, result); break;
    case WHOLE_TO_FLOATS: chosen->floats_of_whole(&grid, result); break;
    case TO_INTEGRAL: chosen->integral_floats(&grid, mode, result); break;
    case TO_F16_BY_MODE: chosen->f16_by_mode(&grid, mode, result); break;
    }
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
    if (!PyArg_ParseTuple(args, "O&LO&iLLLiIiO&", address_of, &rows, &size, address_of, &index, &index_size, &batches,
                          &channels, &count, &size_of_word, &fill, &fills, address_of, &result))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t i = 0; i < batches * channels; i++)
        looked_up((const char *)(uintptr_t)rows + i % channels * size * size_of_word, size,
                  (const char *)(uintptr_t)index + i * count * index_size, index_size, count, size_of_word, fill, fills,
                  (char *)(uintptr_t)result + i * count * size_of_word);
    Py_END_ALLOW_THREADS
    return done(0);
}
