/* Direct calls of single functions. */

#include "arguments.h"
#include "direct.h"

static PyObject *done(int status)
{
    if (status)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyObject *py_packed(PyObject *self, PyObject *args)
{
    unsigned long long numbers, packed;
    long long rows, count, size;
    int is_signed;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&LLLpO&", address_of, &numbers, &rows, &count, &size, &is_signed, address_of,
                          &packed))
        return NULL;
    const RowsOfBytes all = {(const void *)(uintptr_t)numbers, NULL, rows, count};
    const int type = is_signed ? SIGNED_BYTES : UNSIGNED_BYTES; /* sums of rows are always wanted */
    Py_BEGIN_ALLOW_THREADS
    if (size == sizeof(float))
        pack_left_f32((const float *)(uintptr_t)numbers, 0, rows, count, (float *)(uintptr_t)packed);
    else if (size == 1)
        pack_left_dot4(&all, type, type, 0, rows, (uint8_t *)(uintptr_t)packed);
    else
        pack_left_pairs((const int16_t *)(uintptr_t)numbers, 0, rows, count, (int16_t *)(uintptr_t)packed);
    Py_END_ALLOW_THREADS
    return done(0);
}

PyObject *py_interleaved(PyObject *self, PyObject *args)
{
    unsigned long long numbers, packed, image, taps, places, starts[2], result;
    long long rows, count, columns, range[4];
    GemmF32 gemm = {.row_at = NULL};
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LO&O&O&LL(LLLL)(O&LL)(O&LL)O&iii", address_of, &numbers, address_of, &packed,
                          &rows, address_of, &image, address_of, &taps, address_of, &places, &count, &columns,
                          &range[0], &range[1], &range[2], &range[3], address_of, &starts[0], &gemm.starts[0].row,
                          &gemm.starts[0].column, address_of, &starts[1], &gemm.starts[1].row,
                          &gemm.starts[1].column, address_of, &result, &gemm.position, &gemm.normal,
                          &gemm.swapped))
        return NULL;
    const Left left = {(const float *)(uintptr_t)numbers, (const float *)(uintptr_t)packed, rows, range[0], range[1]};
    const Right right = {(const float *)(uintptr_t)image, (const int64_t *)(uintptr_t)taps,
                         (const int64_t *)(uintptr_t)places, count, columns, range[2], range[3]};
    for (int side = 0; side < 2; side++)
        gemm.starts[side].numbers = (const float *)(uintptr_t)starts[side];
    gemm.result = (float *)(uintptr_t)result;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = simd->gemm_f32(&left, &right, &gemm);
    Py_END_ALLOW_THREADS
    return done(status);
}

PyObject *py_grouped(PyObject *self, PyObject *args)
{
    unsigned long long numbers, image, taps, places, totals;
    long long rows, count, columns, range[4], size;
    GemmF16 gemm;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&LO&O&O&LL(LLLL)O&Lii", address_of, &numbers, &rows, address_of, &image, address_of,
                          &taps, address_of, &places, &count, &columns, &range[0], &range[1], &range[2], &range[3],
                          address_of, &totals, &size, &gemm.nan_wins, &gemm.drops_bits))
        return NULL;
    if (size < 1 || size > LARGEST_GROUP)
        return PyErr_Format(PyExc_ValueError, "groups of %lld products", size);
    const Left left = {(const float *)(uintptr_t)numbers, NULL, rows, range[0], range[1]};
    const Right right = {(const float *)(uintptr_t)image, (const int64_t *)(uintptr_t)taps,
                         (const int64_t *)(uintptr_t)places, count, columns, range[2], range[3]};
    gemm.totals = (float *)(uintptr_t)totals;
    gemm.size = size;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = simd->gemm_f16(&left, &right, &gemm);
    Py_END_ALLOW_THREADS
    return done(status);
}

PyObject *py_whole(PyObject *self, PyObject *args)
{
    unsigned long long left, image, taps, places, start, multiplier, amount, zero, result;
    long long low, high;
    GemmInt w = {.row_at = NULL};
    Requantisation r;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&iLO&iO&O&LL(LLLL)(O&LL)(O&O&O&iiiLL)iO&", address_of, &left, &w.left_type, &w.rows,
                          address_of, &image, &w.type, address_of, &taps, address_of, &places, &w.count, &w.columns,
                          &w.first_row, &w.last_row, &w.first, &w.last, address_of, &start, &w.start_row, &w.start_column,
                          address_of, &multiplier, address_of, &amount, address_of, &zero, &r.mode, &r.held,
                          &r.rectified, &low, &high, &r.size, address_of, &result))
        return NULL;
    w.left = (const int16_t *)(uintptr_t)left;
    w.left_dot4 = w.left_type == SIGNED_WORDS ? NULL : (const uint8_t *)(uintptr_t)left;
    w.image = (const void *)(uintptr_t)image;
    w.taps = (const int64_t *)(uintptr_t)taps;
    w.places = (const int64_t *)(uintptr_t)places;
    w.start = (const int64_t *)(uintptr_t)start;
    r.multiplier = (const int64_t *)(uintptr_t)multiplier;
    r.amount = (const int64_t *)(uintptr_t)amount;
    r.zero = (const int64_t *)(uintptr_t)zero;
    r.low = low;
    r.high = high;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = simd->gemm_int(&w, &r, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    if (status == -2)
        return PyErr_Format(PyExc_ValueError, "vectors of %d numbers do not multiply bytes", simd->lanes);
    return done(status);
}

PyObject *py_whole_windows(PyObject *self, PyObject *args)
{
    unsigned long long image, weights, starts, offsets, multiplier, amount, zero, result;
    long long low, high;
    WindowInt w = {.row_at = NULL};
    Requantisation r;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&iO&O&O&(LLLLLLL)(O&O&O&iiiLL)iO&", address_of, &image, &w.format, address_of,
                          &weights, address_of, &starts, address_of, &offsets, &w.planes, &w.plane, &w.taps,
                          &w.height, &w.width, &w.line, &w.step, address_of, &multiplier, address_of, &amount,
                          address_of, &zero, &r.mode, &r.held, &r.rectified, &low, &high, &r.size, address_of, &result))
        return NULL;
    w.image = (const void *)(uintptr_t)image;
    w.weights = (const int32_t *)(uintptr_t)weights;
    w.starts = (const int64_t *)(uintptr_t)starts;
    w.offsets = (const int64_t *)(uintptr_t)offsets;
    r.multiplier = (const int64_t *)(uintptr_t)multiplier;
    r.amount = (const int64_t *)(uintptr_t)amount;
    r.zero = (const int64_t *)(uintptr_t)zero;
    r.low = low;
    r.high = high;
    Py_BEGIN_ALLOW_THREADS
    simd->window_int(&w, &r, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}
PyObject *py_elementwise(PyObject *self, PyObject *args)
{
    unsigned long long a, b, result;
    long long count;
    int kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "iO&O&O&L", &kind, address_of, &a, address_of, &b, address_of, &result, &count))
        return NULL;
    simd->elementwise(kind, (const float *)(uintptr_t)a, (const float *)(uintptr_t)b, (float *)(uintptr_t)result,
                        count);
    return done(0);
}

PyObject *py_subnormal(PyObject *self, PyObject *args)
{
    unsigned long long numbers;
    long long count;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&L", address_of, &numbers, &count))
        return NULL;
    return PyBool_FromLong(simd->subnormal((const float *)(uintptr_t)numbers, count));
}

PyObject *py_exponents(PyObject *self, PyObject *args)
{
    unsigned long long numbers;
    long long count;
    uint32_t found[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "O&L", address_of, &numbers, &count))
        return NULL;
    simd->exponents((const float *)(uintptr_t)numbers, count, found);
    return Py_BuildValue("II", (unsigned)found[0], (unsigned)found[1]);
}

PyObject *py_weighted(PyObject *self, PyObject *args)
{
    unsigned long long image, weights, starts, offsets, result;
    WindowF32 w;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&O&O&(LLLLLLL)iiO&", address_of, &image, address_of, &weights, address_of,
                          &starts, address_of, &offsets, &w.planes, &w.plane, &w.taps, &w.height, &w.width, &w.line,
                          &w.step, &w.format, &w.negative, address_of, &result))
        return NULL;
    w.image = (const float *)(uintptr_t)image;
    w.weights = (const float *)(uintptr_t)weights;
    w.starts = (const float *)(uintptr_t)starts;
    w.offsets = (const int64_t *)(uintptr_t)offsets;
    Py_BEGIN_ALLOW_THREADS
    simd->window_f32(&w, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

/* Whether it was computed: not where an element is shifted too far. */
static PyObject *over_elements(int function, PyObject *args)
{
    Elements e;
    if (!parsed_elements(function, args, &e))
        return NULL;
    if (!elements_shifts_fit(&e))
        Py_RETURN_FALSE;
    join_axes(&e.grid, e.operands, e.first);
    Py_BEGIN_ALLOW_THREADS
    elements_compute(&e);
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}

#define CALL(name, function)                                                                                           \
    PyObject *py_##name(PyObject *self, PyObject *args)                                                         \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return over_elements(function, args);                                                                          \
    }

CALL(floats_of, FLOAT_ELEMENTS)
CALL(series, SERIES)
CALL(reciprocal_roots, RECIPROCAL_ROOTS)
CALL(divided, DIVIDED)
CALL(whole_of, INT_ELEMENTS)
CALL(converted, CONVERTED)
CALL(selected, SELECTED)
#undef CALL

PyObject *py_looked_up(PyObject *self, PyObject *args)
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
        look_up_words((const char *)(uintptr_t)rows + i % channels * size * size_of_word_, size,
                  (const char *)(uintptr_t)index + i * count * index_size, index_size, count, size_of_word_, fill, fills,
                  (char *)(uintptr_t)result + i * count * size_of_word_);
    Py_END_ALLOW_THREADS
    return done(0);
}
