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

/* Where GCC knows which registers a function of this file leaves alone, it does not clear the upper halves of vectors before
 * it is called; then the first instruction of its that knows no such halves costs hundreds of cycles on some processors. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-ipa-ra")
#endif

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#include <immintrin.h>
#endif

#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline)) /* where arguments are constants of the caller */
#else
#define ALWAYS_INLINE static inline
#endif

#define LARGEST_GROUP 64

#define ROWS 8 /* rows of left factors that lie together when they are packed */

/* Left factors, (rows, count) without gaps; rows [first, last) are computed. ``packed``: as (block, count, ROWS). */
typedef struct {
    const float *numbers, *packed;
    int64_t rows, first, last;
} Left;

/* Right factors: product k at column j is image[taps[k] + places[j]]; columns [first, last) are computed. */
typedef struct {
    const float *image;
    const int64_t *taps, *places;
    int64_t count, columns, first, last;
} Right;

/* What chains start from: numbers[row * row step + column * column step]. */
typedef struct {
    const float *numbers;
    int64_t row, column;
} Start;

/* What is done with a block of results as soon as it is written: rows [range[0], range[1]), columns [range[2], range[3]). */
typedef struct {
    void (*compute)(const void *of, const int64_t *range);
    const void *of;
} After;

/* Results of a block, at least, where there are as many. */
#define LEAST_OF_BLOCK ((int64_t)1 << 13)

/* Rows [*begun, row) of some columns are written; ``is_last``: there are no more of these columns. */
static inline void go_on(const After *after, int64_t *begun, int64_t row, int is_last, int64_t first, int64_t last)
{
    const int64_t range[4] = {*begun, row, first, last};
    if (!after || (!is_last && (row - *begun) * (last - first) < LEAST_OF_BLOCK))
        return;
    after->compute(after->of, range);
    *begun = row;
}

/* ``result``: (rows, columns); ``row_at``: bytes from there to each row, or none where rows follow each other. ``position``:
 * index of the first product in the sequence; ``normal``: no sum can be subnormal; ``swapped``: the right factor is the first
 * operand; ``after``: or none. */
typedef struct {
    Start starts[2];
    float *result;
    const int64_t *row_at;
    int position, normal, swapped;
    const After *after;
} Chains;

/* ``totals``: (rows, columns), added to. ``size``: products per group. */
typedef struct {
    float *totals;
    int64_t size;
    int nan_wins, drops_bits;
} Groups;

#include "scalar.h"

#include "grid.h"

#include "wrapping.h"

enum { SIGNED_BYTES, UNSIGNED_BYTES, SIGNED_WORDS, FLOATS_OF_IMAGE };

/* Whole numbers: left factors as (block, pair, ROWS, 2) of 16 bits; right ones as in Right, of a ``type``. Sums
 * start from start[row * row step + column * column step], or from zeros. Instead of ``left``, where both factors are
 * bytes and ``multiplies_bytes``: ``quads`` of ``left_type``, as packed_quads writes them. ``row_at``: as in Chains. */
typedef struct {
    const int16_t *left;
    const void *image;
    const int64_t *taps, *places, *start;
    int64_t rows, count, columns, first, last, first_row, last_row, start_row, start_column;
    int type;
    const uint8_t *quads;
    int left_type;
    const int64_t *row_at;
    const Shortened *steps; /* of each row, or none */
    const After *after;
} Whole;

/* Where the steps of a row do not depend on the column they are brought into their short form once. */
static inline Shortened shortened_row(const Whole *w, const Requantisation *r, int64_t row)
{
    const int is_known = !w->start || w->start_column == 0;
    return shortened(r, row, w->start && is_known ? w->start[row * w->start_row] : 0, is_known);
}

#include "moves.h"

#include "atomics.h"

#include "scratch.h"

#include "windows.h"

#define CHOSEN(Word, Index)                                                                                            \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const int64_t at = ((const Index *)index)[i];                                                                  \
        ((Word *)result)[i] = at < size ? ((const Word *)row)[at] : fills ? (Word)fill : ((const Word *)row)[size - 1]; \
    }

#define CHOSEN_BY(Index)                                                                                               \
    if (word == 1)                                                                                                     \
        CHOSEN(uint8_t, Index)                                                                                         \
    else if (word == 2)                                                                                                \
        CHOSEN(uint16_t, Index)                                                                                        \
    else                                                                                                               \
        CHOSEN(uint32_t, Index)

/* result[i] = row[index[i]]; beyond its ``size`` words ``fill`` if it ``fills``, else the last one. */
static void looked_up(const void *row, int64_t size, const void *index, int index_size, int64_t count, int word,
                      uint32_t fill, int fills, void *result)
{
    if (index_size == 1)
        CHOSEN_BY(uint8_t)
    else if (index_size == 2)
        CHOSEN_BY(uint16_t)
    else
        CHOSEN_BY(uint32_t)
}

/* The lanes of a vector of 16 that begins with element ``i`` of so many. */
#define USED_OF(i, count) ((count) - (i) < 16 ? (__mmask16)((1u << ((count) - (i))) - 1) : (__mmask16)0xffff)

#include "packing.h"

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
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni")
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
    int (*whole)(const Whole *, const Requantisation *, void *);
    void (*whole_windows)(const WholeWindows *, const Requantisation *, void *);
    void (*weighted)(const Windows *, float *);
    void (*largest)(const Largest *, void *);
    void (*elementwise)(int, const float *, const float *, float *, int64_t);
    int (*subnormal)(const float *, int64_t);
    void (*exponents)(const float *, int64_t, uint32_t *);
    void (*floats_of)(const Grid *, int, int, void *, int);
    void (*reciprocal_roots)(const Grid *, int, int, int, float *);
    void (*divided)(const Grid *, int, int, int, int, float *);
    void (*series)(const Grid *, const Stored *, int64_t, int64_t, int64_t, int, void *);
    int (*whole_rows)(const Grid *, int, int, const Requantisation *, const Stored *); /* or none */
    void (*whole_of)(const Grid *, int, int, const Requantisation *, void *);
    void (*whole_of_floats)(const Grid *, int, double, double, int, void *);
    void (*floats_of_floats)(const Grid *, int, int, void *);
    void (*floats_of_whole)(const Grid *, int, void *);
    void (*widen_range)(const float *, int64_t, uint32_t *);
    void (*read_normal)(float *, const void *, int, int64_t, int64_t, uint32_t *);
    void (*round_floats)(const float *, void *, int, int64_t);
    void (*integral_floats)(const Grid *, int, float *);
    void (*integral_halves)(const Grid *, int, uint16_t *);
    void (*magnitudes)(const Grid *, uint32_t *);
    void (*selected)(const Grid *, int, int, void *);
    void (*f16_by_mode)(const Grid *, int, uint16_t *);
} Width;

#define WHOLE_ROWS_1 NULL
#define WHOLE_ROWS_4 NULL
#define WHOLE_ROWS_8 NULL
#define WHOLE_ROWS_16 whole_rows

#define WIDTH(lanes)                                                                                                   \
    {lanes, interleaved_##lanes, grouped_##lanes, whole_##lanes, whole_windows_##lanes, weighted_##lanes,              \
     largest_##lanes, elementwise_##lanes, subnormal_##lanes, exponents_##lanes, floats_of_##lanes, reciprocal_roots_##lanes,           \
     divided_##lanes, series_##lanes, WHOLE_ROWS_##lanes, whole_of_##lanes, whole_of_floats_##lanes, floats_of_floats_##lanes,             \
     floats_of_whole_##lanes, widen_range_##lanes, read_normal_##lanes, round_floats_##lanes, integral_floats_##lanes, integral_halves_##lanes,        \
     magnitudes_##lanes, selected_##lanes, f16_by_mode_##lanes}

static const Width WIDTHS[] = {
#if defined(__GNUC__)
    WIDTH(4),
#else
    WIDTH(1),
#endif
#ifdef WIDE
    WIDTH(8),
    WIDTH(16),
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
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512vnni"))
        found = 3;
#endif
    return found;
}

static const Width *chosen;

/* Whether ``whole`` takes quads of bytes. */
static int multiplies_bytes(void) { return chosen->lanes == 16; }

#include "arrays.h"

#include "team.h"

static PyObject *done(int status)
{
    if (status)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

#include "product_calls.h"

static PyObject *py_elementwise(PyObject *self, PyObject *args)
{
    unsigned long long a, b, result;
    long long count;
    int kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "iO&O&O&L", &kind, address_of, &a, address_of, &b, address_of, &result, &count))
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
    if (!PyArg_ParseTuple(args, "O&L", address_of, &numbers, &count))
        return NULL;
    return PyBool_FromLong(chosen->subnormal((const float *)(uintptr_t)numbers, count));
}

static PyObject *py_exponents(PyObject *self, PyObject *args)
{
    unsigned long long numbers;
    long long count;
    uint32_t found[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "O&L", address_of, &numbers, &count))
        return NULL;
    chosen->exponents((const float *)(uintptr_t)numbers, count, found);
    return Py_BuildValue("II", (unsigned)found[0], (unsigned)found[1]);
}

static PyObject *py_weighted(PyObject *self, PyObject *args)
{
    unsigned long long image, weights, starts, offsets, result;
    Windows w;
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
    chosen->weighted(&w, (float *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}

#include "element_calls.h"

#include "plans.h"

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

static PyObject *py_multiplies_bytes(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return PyBool_FromLong(multiplies_bytes());
}

static PyMethodDef methods[] = {
    {"packed", py_packed, METH_VARARGS, "Left factors as products read them."},
    {"multiplies_bytes", py_multiplies_bytes, METH_NOARGS, "Whether products of bytes need no wider factors."},
    {"whole", py_whole, METH_VARARGS, "Exact sums of products of whole numbers, multiplied, shifted, limited and cut."},
    {"whole_windows", py_whole_windows, METH_VARARGS, "Weighted sums of whole numbers over windows, and their steps."},
    {"exponents", py_exponents, METH_VARARGS, "Magnitudes: the smallest but zero, and the largest finite one, as words."},
    {"floats_of", py_floats_of, METH_VARARGS, "One operation on stored floats, from operands to words of the result."},
    {"reciprocal_roots", py_reciprocal_roots, METH_VARARGS, "1 / sqrt(x) by Newton steps."},
    {"divided", py_divided, METH_VARARGS, "a / b by Newton steps."},
    {"series", py_series, METH_VARARGS, "A polynomial of stored floats, rounded after each operation."},
    {"whole_of", py_whole_of, METH_VARARGS, "One operation on stored whole numbers, shifted, limited and cut."},
    {"selected", py_selected, METH_VARARGS, "Words chosen by a comparison."},
    {"converted", py_converted, METH_VARARGS, "Stored numbers in another format, or rounded by mode."},
    {"plan", py_plan, METH_VARARGS, "A function over elements, prepared for any addresses."},
    {"carry_out", py_carry_out, METH_VARARGS, "A plan, with these addresses."},
    {"carry_out_some", py_carry_out_some, METH_VARARGS, "Commands one after the other, by the plans of their forms."},
    {"share", py_share, METH_VARARGS, "How many threads share the work, and what is worth a part of it."},
    {"forget_threads", py_forget_threads, METH_NOARGS, "A copy of a process has none of its threads."},
    {"parts", py_parts, METH_VARARGS, "Parts into which the sums of a plan can be cut."},
    {"begin", py_begin, METH_VARARGS, "The operands of a product, read."},
    {"sum_up", py_sum_up, METH_VARARGS, "A part of the sums of a product that was begun."},
    {"finish", py_finish, METH_O, "The results of a product, put where they belong."},
    {"looked_up", py_looked_up, METH_VARARGS, "Words chosen by an index, channel by channel."},
    {"interleaved", py_interleaved, METH_VARARGS, "Two interleaved chains of float32 additions per output."},
    {"grouped", py_grouped, METH_VARARGS, "Groups of products summed exactly, groups added in float32."},
    {"elementwise", py_elementwise, METH_VARARGS, "One float32 operation per element."},
    {"subnormal", py_subnormal, METH_VARARGS, "Whether any number is subnormal."},
    {"weighted", py_weighted, METH_VARARGS, "Weighted sums over windows, rounded at every step."},
    {"widths", py_widths, METH_NOARGS, "Outputs computed at once, by what this processor can do."},
    {"choose", py_choose, METH_VARARGS, "Use vectors of this many numbers from now on."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "Sums of products as the chip forms them.",
                                        -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void)
{
    chosen = &WIDTHS[usable() - 1];
    PyObject *module = PyModule_Create(&definition);
    PyObject *sources = module ? PyLong_FromUnsignedLong(SOURCES) : NULL;
    if (!sources || PyModule_AddObject(module, "SOURCES", sources) < 0) {
        Py_XDECREF(sources);
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
