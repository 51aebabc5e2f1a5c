/* The extension module _kernel: what Python calls. Functions take addresses of contiguous arrays as integers: the buffer protocol
 * is not part of the limited API of Python 3.10. The GIL is released while they compute. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "../plan/plan.h"
#include "../scalar/compressed.h"

/* NumPy's own description of an array, __array_struct__: it is as old as NumPy, and no interface of Python's has to be
 * newer than what the limited API has. https://numpy.org/doc/stable/reference/arrays.interface.html */
typedef struct {
    int two, axes;
    char kind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *description;
} ArrayInterface;

enum { C_CONTIGUOUS = 0x1, ALIGNED = 0x100 };

/* Copies the description of an array, which lives as long as it; the axes are in ``capsule``, to be given back. */
static int described(PyObject *array, ArrayInterface *description, PyObject **capsule)
{
    *capsule = PyObject_GetAttrString(array, "__array_struct__");
    const ArrayInterface *own = *capsule ? PyCapsule_GetPointer(*capsule, NULL) : NULL;
    if (!own) {
        Py_CLEAR(*capsule);
        return 0;
    }
    *description = *own;
    return 1;
}

/* The address of an array without gaps; a number is an address by itself. */
static int address_of(PyObject *given, void *address)
{
    unsigned long long *out = address;
    if (PyLong_Check(given)) {
        *out = PyLong_AsUnsignedLongLong(given);
        return !PyErr_Occurred();
    }
    ArrayInterface array;
    PyObject *capsule;
    if (!described(given, &array, &capsule))
        return 0;
    Py_DECREF(capsule);
    if (!(array.flags & C_CONTIGUOUS)) {
        PyErr_SetString(PyExc_TypeError, "an array with gaps");
        return 0;
    }
    *out = (unsigned long long)(uintptr_t)array.data;
    return 1;
}

/* Arguments: address of a StoredRecord; an array that broadcasts to a shape; its format, its tensor, -1 for one word; the shape.
 * BufferError if its words are not where such words can be read. */
static PyObject *py_fill(PyObject *self, PyObject *args)
{
    unsigned long long address;
    PyObject *given, *capsule;
    ArrayInterface array;
    int format, source;
    long long shape[4];
    (void)self;
    if (!PyArg_ParseTuple(args, "KOiiLLLL", &address, &given, &format, &source, &shape[0], &shape[1], &shape[2], &shape[3]) ||
        !described(given, &array, &capsule))
        return NULL;
    StoredRecord *record = (StoredRecord *)(uintptr_t)address;
    *record = (StoredRecord){.data = (uintptr_t)array.data, .format = format, .source = source};
    int is_good = array.flags & ALIGNED && array.axes <= 4 && format >= F32 && format <= PACKED_SI32 &&
                  array.itemsize == format_size[format];
    for (int axis = 4 - array.axes; is_good && axis < 4; axis++) {
        const int own = axis - (4 - array.axes);
        if (array.shape[own] == 1)
            continue;
        is_good = array.shape[own] == shape[axis] && array.strides[own] % array.itemsize == 0;
        record->step[axis] = array.strides[own] / array.itemsize;
    }
    Py_DECREF(capsule);
    if (!is_good)
        return PyErr_Format(PyExc_BufferError, "words that do not lie in equal steps");
    if (source < 0) {
        record->data = 0;
        memcpy(&record->data, array.data, (size_t)array.itemsize);
    }
    Py_RETURN_NONE;
}

static const Plan *plan_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, "plan"); }

static void free_capsule(PyObject *capsule) { plan_free(PyCapsule_GetPointer(capsule, "plan")); }

/* Argument: the records of a plan, bytes. */
static PyObject *py_plan(PyObject *self, PyObject *given)
{
    char *records;
    Py_ssize_t size;
    (void)self;
    if (PyBytes_AsStringAndSize(given, &records, &size))
        return NULL;
    const char *problem = "records at an odd address";
    Plan *plan = (uintptr_t)records % sizeof(int64_t) ? NULL : plan_make(records, (size_t)size, &problem);
    if (!plan)
        return problem ? PyErr_Format(PyExc_ValueError, "a plan with %s", problem) : PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(plan, "plan", free_capsule);
    if (!capsule)
        plan_free(plan);
    return capsule;
}

/* The sums of a product, part after part; ``between`` is called before each. 1: done; 0: it cannot be, and nothing is; -1: an
 * error is set. */
static int run_long(const Plan *plan, const int64_t *pointers, PyObject *between)
{
    const Product *p = plan->product;
    const int64_t all[4] = {0, p->form.rows, 0, p->form.columns};
    const int64_t wanted = (plan->amount + product_long - 1) / product_long, most = product_most_parts(p, all);
    const int64_t parts = wanted < most ? wanted : most;
    ProductRun w;
    int done;
    int has_pool = pool_acquire();
    Py_BEGIN_ALLOW_THREADS
    done = product_begin(&w, plan, pointers, has_pool, 0);
    Py_END_ALLOW_THREADS
    pool_release(has_pool);
    for (int64_t part = 0; done > 0 && part < parts; part++) {
        PyObject *answer = PyObject_CallNoArgs(between);
        if (!answer) {
            done = -1;
            break;
        }
        Py_DECREF(answer);
        int64_t range[4];
        product_take_range(p, all, part, parts, range);
        w.has_pool = has_pool = pool_acquire();
        Py_BEGIN_ALLOW_THREADS
        product_sum_parts(&w, range, NULL);
        Py_END_ALLOW_THREADS
        pool_release(has_pool);
        if (w.lacks_memory) {
            PyErr_NoMemory();
            done = -1;
        }
    }
    if (done > 0 && w.has_nan)
        done = 0;
    if (done > 0) {
        w.has_pool = has_pool = pool_acquire();
        Py_BEGIN_ALLOW_THREADS
        product_store(&w);
        Py_END_ALLOW_THREADS
        pool_release(has_pool);
    }
    scratch_release(SCRATCH_PRODUCT, w.block);
    return done;
}

/* Arguments: the plan; a function that is called now and then where it takes long; and for each tensor its address in this
 * process, and its offset in memory. False, and nothing is done, where operands lie in the way of the result, or are such that
 * the functions do not take. */
static PyObject *py_run(PyObject *self, PyObject *args)
{
    int64_t pointers[MOST_TENSORS], offsets[MOST_TENSORS];
    (void)self;
    const Plan *plan = PyTuple_Size(args) > 1 ? plan_of(PyTuple_GetItem(args, 0)) : NULL;
    if (!plan)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no plan");
    if (PyTuple_Size(args) != 2 + 2 * plan->tensors)
        return PyErr_Format(PyExc_TypeError, "%zd arguments for a plan of %d tensors", PyTuple_Size(args), plan->tensors);
    for (int i = 0; i < plan->tensors; i++) {
        pointers[i] = PyLong_AsLongLong(PyTuple_GetItem(args, 2 + 2 * i));
        offsets[i] = PyLong_AsLongLong(PyTuple_GetItem(args, 3 + 2 * i));
    }
    if (PyErr_Occurred())
        return NULL;
    int done;
    if (!stays_in_lanes(plan, offsets))
        done = 0;
    else if (product_is_long(plan))
        done = run_long(plan, pointers, PyTuple_GetItem(args, 1));
    else {
        const int has_pool = pool_acquire_for(plan->amount);
        const BoundPlan bound = {plan, pointers, offsets};
        Py_BEGIN_ALLOW_THREADS
        done = plan_run(&bound, 1, has_pool, NULL);
        Py_END_ALLOW_THREADS
        pool_release(has_pool);
        if (done < 0)
            PyErr_NoMemory();
    }
    return done < 0 ? NULL : PyBool_FromLong(done);
}

/* Arguments: plans by the numbers of forms, each a plan or None; numbers, spaces, offsets and cores of commands, and which
 * are watched; regions of memory and how many; the first command, and the one after the last. The first command that is not
 * done, and whether the one before it was watched and may hold a NaN. */
static PyObject *py_run_batch(PyObject *self, PyObject *args)
{
    unsigned long long numbers, spaces, offsets, cores, watched, regions;
    long long count, first, stop;
    PyObject *table;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!(O&O&O&O&O&)O&LLL", &PyList_Type, &table, address_of, &numbers, address_of, &spaces,
                          address_of, &offsets, address_of, &cores, address_of, &watched, address_of, &regions, &count, &first, &stop))
        return NULL;
    const Commands c = {(const int8_t *)(uintptr_t)watched, (const int32_t *)(uintptr_t)numbers, (const int8_t *)(uintptr_t)spaces,
                        (const int64_t *)(uintptr_t)offsets, (const int16_t *)(uintptr_t)cores,
                        (const MemoryRegion *)(uintptr_t)regions, count};
    const Plan **plans = calloc((size_t)(stop > first ? stop - first : 0) + 1, sizeof *plans);
    if (!plans)
        return PyErr_NoMemory();
    for (int64_t i = first; i < stop; i++) {
        PyObject *plan = c.numbers[i] >= 0 ? PyList_GetItem(table, c.numbers[i]) : NULL;
        plans[i - first] = plan && plan != Py_None ? plan_of(plan) : NULL;
        if (!plans[i - first] && c.numbers[i] != NO_DATA) {
            stop = PyErr_Occurred() ? first : i; /* no further than that */
            break;
        }
    }
    int64_t done = first;
    int has_failed = 0, may_be_nan = 0;
    if (!PyErr_Occurred()) {
        const int has_pool = pool_acquire();
        Py_BEGIN_ALLOW_THREADS
        done = batch_run(&c, plans, first, stop, has_pool, &has_failed, &may_be_nan);
        Py_END_ALLOW_THREADS
        pool_release(has_pool);
        if (has_failed)
            PyErr_NoMemory();
    }
    free(plans);
    PyObject *next = PyErr_Occurred() ? NULL : PyLong_FromLongLong(done), *seen = next ? PyBool_FromLong(may_be_nan) : NULL;
    PyObject *both = seen ? PyTuple_Pack(2, next, seen) : NULL;
    Py_XDECREF(next);
    Py_XDECREF(seen);
    return both;
}

/* Arguments: an operator; two arrays of float32 without gaps, and that of the results; how many. */
static PyObject *py_elementwise(PyObject *self, PyObject *args)
{
    unsigned long long a, b, result;
    long long count;
    int kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "iO&O&O&L", &kind, address_of, &a, address_of, &b, address_of, &result, &count))
        return NULL;
    simd->elementwise(kind, (const float *)(uintptr_t)a, (const float *)(uintptr_t)b, (float *)(uintptr_t)result, count);
    Py_RETURN_NONE;
}

/* Arguments: threads; the multiplications, or what takes as long, that are worth a part of some work; and those between two
 * moments at which a product can be interrupted. */
static PyObject *py_configure(PyObject *self, PyObject *args)
{
    int workers;
    long long worth, part;
    (void)self;
    if (!PyArg_ParseTuple(args, "iLL", &workers, &worth, &part))
        return NULL;
    if (workers < 1 || worth < 1 || part < 1)
        return PyErr_Format(PyExc_ValueError, "%d threads, %lld and %lld products", workers, worth, part);
    pool_configure(workers, worth);
    product_long = part;
    Py_RETURN_NONE;
}

/* Arguments: the codes of blocks and the stream, bytes; the result; how many numbers; whether they are signed, and floats; two
 * biases; whether zeros have no fraction. PADDING zeros follow the stream. False where the stream ends before, or there are too few codes. */
static PyObject *py_unpack(PyObject *self, PyObject *args)
{
    Compressed c = {0};
    Py_ssize_t codes, stream;
    unsigned long long out;
    long long count;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#y#O&Liiiii", &c.codes, &codes, &c.stream, &stream, address_of, &out, &count, &c.is_signed, &c.is_float,
                          &c.first_bias, &c.second_bias, &c.has_zeros_apart))
        return NULL;
    c.bits = 8 * ((int64_t)stream - PADDING);
    return PyBool_FromLong(c.bits >= 0 && count <= SYMBOLS * (int64_t)codes && unpack_numbers(&c, count, (void *)(uintptr_t)out));
}

static PyObject *py_forget_pool(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    pool_forget();
    Py_RETURN_NONE;
}

static PyObject *py_widths(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    PyObject *widths = PyList_New(0);
    for (int i = 0; widths && i < simd_count(); i++) {
        PyObject *lanes = PyLong_FromLong(simd_widths[i]->lanes);
        if (!lanes || PyList_Append(widths, lanes))
            Py_CLEAR(widths);
        Py_XDECREF(lanes);
    }
    return widths;
}

static PyObject *py_choose(PyObject *self, PyObject *args)
{
    int lanes;
    (void)self;
    if (!PyArg_ParseTuple(args, "i", &lanes))
        return NULL;
    if (simd_choose(lanes))
        Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "this processor has no vectors of %d numbers", lanes);
}

static PyMethodDef methods[] = {
    {"plan", py_plan, METH_O, "Prepare functions over elements, or a product, for tensors at any addresses."},
    {"fill", py_fill, METH_VARARGS, "Describe the words of an array in a record."},
    {"run", py_run, METH_VARARGS, "Run a plan with its tensors at these addresses."},
    {"run_batch", py_run_batch, METH_VARARGS, "Run commands one after the other, by the plans of their forms."},
    {"elementwise", py_elementwise, METH_VARARGS, "Compute one float32 operation per element."},
    {"unpack", py_unpack, METH_VARARGS, "Unpack compressed weights."},
    {"configure", py_configure, METH_VARARGS, "Set how many threads share work, and how long its parts are."},
    {"forget_pool", py_forget_pool, METH_NOARGS, "Forget the workers, which a child does not have after fork."},
    {"widths", py_widths, METH_NOARGS, "List the vector widths that this processor can run."},
    {"choose", py_choose, METH_VARARGS, "Use vectors of this many numbers from now on."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "Arithmetic of the chips in C.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void)
{
    simd = simd_widths[simd_count() - 1];
    simd_fill_tables();
    PyObject *module = PyModule_Create(&definition);
    PyObject *sources = module ? PyLong_FromUnsignedLong(SOURCES) : NULL;
    if (!sources || PyModule_AddObject(module, "SOURCES", sources) < 0) {
        Py_XDECREF(sources);
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
