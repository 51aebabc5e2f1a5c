/* Sums of products as the chip forms them; what they are is documented in dot.py, which also computes them in NumPy.
 *
 * Functions take addresses of contiguous arrays as integers: the buffer protocol is not part of the limited API of
 * Python 3.10. kernel/__init__.py is their only caller and answers for types and sizes. The GIL is released.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__) || defined(_MSC_VER)
#pragma STDC FP_CONTRACT OFF
#endif

#define LARGEST_GROUP 64

/* Left factors, (rows, count) without gaps. */
typedef struct {
    const float *numbers;
    int64_t rows;
} Left;

/* Right factors: product k at column j is image[taps[k] + places[j]]; columns [first, last) are computed. */
typedef struct {
    const float *image;
    const int64_t *taps, *places;
    int64_t count, columns, first, last;
} Right;

/* Where the two chains start, (rows, columns) each; sums[0] receives the result. ``position``: index of the first
 * product in the sequence; ``normal``: no sum can be subnormal; ``swapped``: the right factor is the first operand. */
typedef struct {
    float *sums[2];
    int position, normal, swapped;
} Chains;

/* ``totals``: (rows, columns), added to. ``size``: products per group; ``narrow``: every product of two finite
 * factors is zero or lies between 2^-90 and 2^90. */
typedef struct {
    float *totals;
    int64_t size;
    int narrow, nan_wins;
} Groups;

#include "scalar.h"

#include "windows.h"

#include "integers.h"

#if defined(__GNUC__)
#define LANES 4
#define NAME(x) x##_4
#include "sums.h"
#undef LANES
#undef NAME
#else
#define LANES 1
#define NAME(x) x##_1
#include "sums.h"
#undef LANES
#undef NAME
#endif

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define WIDE
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define LANES 8
#define NAME(x) x##_8
#include "sums.h"
#undef LANES
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
#endif
#define LANES 16
#define NAME(x) x##_16
#include "sums.h"
#undef LANES
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

typedef struct {
    int lanes;
    int (*interleaved)(const Left *, const Right *, const Chains *);
    int (*grouped)(const Left *, const Right *, const Groups *);
    void (*elementwise)(int, const float *, const float *, float *, int64_t);
    int (*subnormal)(const float *, int64_t);
} Width;

static const Width WIDTHS[] = {
#if defined(__GNUC__)
    {4, interleaved_4, grouped_4, elementwise_4, subnormal_4},
#else
    {1, interleaved_1, grouped_1, elementwise_1, subnormal_1},
#endif
#ifdef WIDE
    {8, interleaved_8, grouped_8, elementwise_8, subnormal_8},
    {16, interleaved_16, grouped_16, elementwise_16, subnormal_16},
#endif
};

/* How many entries of WIDTHS this processor can run. */
static int usable(void)
{
    int found = 1;
#ifdef WIDE
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        found = 2;
    if (found == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found = 3;
#endif
    return found;
}

static const Width *chosen;

static PyObject *done(int status)
{
    if (status)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *py_interleaved(PyObject *self, PyObject *args)
{
    unsigned long long numbers, image, taps, places, even, odd;
    long long rows, count, columns, first, last;
    Chains chains;
    (void)self;
    if (!PyArg_ParseTuple(args, "KLKKKLLLLKKiii", &numbers, &rows, &image, &taps, &places, &count, &columns, &first,
                          &last, &even, &odd, &chains.position, &chains.normal, &chains.swapped))
        return NULL;
    const Left left = {(const float *)(uintptr_t)numbers, rows};
    const Right right = {(const float *)(uintptr_t)image, (const int64_t *)(uintptr_t)taps,
                         (const int64_t *)(uintptr_t)places, count, columns, first, last};
    chains.sums[0] = (float *)(uintptr_t)even;
    chains.sums[1] = (float *)(uintptr_t)odd;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = chosen->interleaved(&left, &right, &chains);
    Py_END_ALLOW_THREADS
    return done(status);
}

static PyObject *py_grouped(PyObject *self, PyObject *args)
{
    unsigned long long numbers, image, taps, places, totals;
    long long rows, count, columns, first, last, size;
    Groups groups;
    (void)self;
    if (!PyArg_ParseTuple(args, "KLKKKLLLLKLii", &numbers, &rows, &image, &taps, &places, &count, &columns, &first,
                          &last, &totals, &size, &groups.narrow, &groups.nan_wins))
        return NULL;
    if (size < 1 || size > LARGEST_GROUP)
        return PyErr_Format(PyExc_ValueError, "groups of %lld products", size);
    const Left left = {(const float *)(uintptr_t)numbers, rows};
    const Right right = {(const float *)(uintptr_t)image, (const int64_t *)(uintptr_t)taps,
                         (const int64_t *)(uintptr_t)places, count, columns, first, last};
    groups.totals = (float *)(uintptr_t)totals;
    groups.size = size;
    /* The sum of more than 32 numbers of 25 bits does not fit into 32 bits. */
    groups.narrow = groups.narrow && size <= 32;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = chosen->grouped(&left, &right, &groups);
    Py_END_ALLOW_THREADS
    return done(status);
}

static PyObject *py_elementwise(PyObject *self, PyObject *args)
{
    unsigned long long a, b, result;
    long long count;
    int kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "iKKKL", &kind, &a, &b, &result, &count))
        return NULL;
    chosen->elementwise(kind, (const float *)(uintptr_t)a, (const float *)(uintptr_t)b, (float *)(uintptr_t)result,
                        count);
    return done(0);
}

static PyObject *py_subnormal(PyObject *self, PyObject *args)
{
    unsigned long long numbers;
    long long count;
    (void)self;
    if (!PyArg_ParseTuple(args, "KL", &numbers, &count))
        return NULL;
    return PyBool_FromLong(chosen->subnormal((const float *)(uintptr_t)numbers, count));
}

static PyObject *py_weighted(PyObject *self, PyObject *args)
{
    unsigned long long image, weights, starts, taps, places, result;
    long long planes, plane, count, columns;
    Windows windows;
    (void)self;
    if (!PyArg_ParseTuple(args, "KKKKKLLLLiK", &image, &weights, &starts, &taps, &places, &planes, &plane, &count,
                          &columns, &windows.format, &result))
        return NULL;
    windows.image = (const float *)(uintptr_t)image;
    windows.weights = (const float *)(uintptr_t)weights;
    windows.starts = (const float *)(uintptr_t)starts;
    windows.taps = (const int64_t *)(uintptr_t)taps;
    windows.places = (const int64_t *)(uintptr_t)places;
    windows.planes = planes;
    windows.plane = plane;
    windows.count = count;
    windows.columns = columns;
    Py_BEGIN_ALLOW_THREADS
    weighted(&windows, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_requantised(PyObject *self, PyObject *args)
{
    unsigned long long numbers, multiplier, amount, zero, result;
    long long rows, inner, low, high;
    Requantisation r;
    (void)self;
    if (!PyArg_ParseTuple(args, "KLLKKKiiiLLiK", &numbers, &rows, &inner, &multiplier, &amount, &zero, &r.mode, &r.held,
                          &r.rectified, &low, &high, &r.size, &result))
        return NULL;
    r.numbers = (const int64_t *)(uintptr_t)numbers;
    r.multiplier = (const int64_t *)(uintptr_t)multiplier;
    r.amount = (const int64_t *)(uintptr_t)amount;
    r.zero = (const int64_t *)(uintptr_t)zero;
    r.rows = rows;
    r.inner = inner;
    r.low = low;
    r.high = high;
    Py_BEGIN_ALLOW_THREADS
    requantised(&r, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_widths(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    PyObject *found = PyList_New(0);
    for (int i = 0; found && i < usable(); i++) {
        PyObject *lanes = PyLong_FromLong(WIDTHS[i].lanes);
        if (!lanes || PyList_Append(found, lanes))
            Py_CLEAR(found);
        Py_XDECREF(lanes);
    }
    return found;
}

static PyObject *py_choose(PyObject *self, PyObject *args)
{
    int lanes;
    (void)self;
    if (!PyArg_ParseTuple(args, "i", &lanes))
        return NULL;
    for (int i = 0; i < usable(); i++)
        if (WIDTHS[i].lanes == lanes) {
            chosen = &WIDTHS[i];
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "this processor has no vectors of %d numbers", lanes);
}

static PyMethodDef methods[] = {
    {"interleaved", py_interleaved, METH_VARARGS, "Two interleaved chains of float32 additions per output."},
    {"grouped", py_grouped, METH_VARARGS, "Groups of products summed exactly, groups added in float32."},
    {"elementwise", py_elementwise, METH_VARARGS, "One float32 operation per element."},
    {"subnormal", py_subnormal, METH_VARARGS, "Whether any number is subnormal."},
    {"weighted", py_weighted, METH_VARARGS, "Weighted sums over windows, rounded at every step."},
    {"requantised", py_requantised, METH_VARARGS, "Integer sums multiplied, shifted, limited and cut."},
    {"widths", py_widths, METH_NOARGS, "Outputs computed at once, by what this processor can do."},
    {"choose", py_choose, METH_VARARGS, "Use vectors of this many numbers from now on."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "Sums of products as the chip forms them.",
                                        -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void)
{
    chosen = &WIDTHS[usable() - 1];
    return PyModule_Create(&definition);
}
