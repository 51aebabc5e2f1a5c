/* The extension module _kernel: what Python calls. Functions take addresses of contiguous arrays as integers: the buffer protocol
 * is not part of the limited API of Python 3.10. The GIL is released while they compute. */

#include "arguments.h"
#include "direct.h"

/* Arguments: the plan, and for each tensor where its address is, and the address. False, and nothing is done, where the
 * operands lie in the way of the result, or are what the functions do not take. */
static PyObject *py_carry_out(PyObject *self, PyObject *args)
{
    int64_t pointers[MOST_OPERANDS + 2], offsets[MOST_OPERANDS + 2];
    (void)self;
    const Plan *plan = PyTuple_Size(args) > 0 ? PyCapsule_GetPointer(PyTuple_GetItem(args, 0), "plan") : NULL;
    if (!plan)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no plan");
    if (!parsed_addresses(plan, args, 1, pointers, offsets))
        return NULL;
    const int has_pool = pool_acquire_for(plan->amount);
    const BoundPlan bound = {plan, pointers, offsets};
    int is_done;
    Py_BEGIN_ALLOW_THREADS
    is_done = plan_run(&bound, 1, has_pool, NULL);
    Py_END_ALLOW_THREADS
    pool_release(has_pool);
    return is_done < 0 ? PyErr_NoMemory() : PyBool_FromLong(is_done);
}

/* Arguments: plans by the numbers of forms, each a plan or None; numbers, spaces, offsets and cores of commands; regions of
 * memory and how many; the first command, and the one after the last. */
static PyObject *py_carry_out_some(PyObject *self, PyObject *args)
{
    unsigned long long numbers, spaces, offsets, cores, regions;
    long long count, first, stop;
    PyObject *table;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!(O&O&O&O&)O&LLL", &PyList_Type, &table, address_of, &numbers, address_of, &spaces,
                          address_of, &offsets, address_of, &cores, address_of, &regions, &count, &first, &stop))
        return NULL;
    const Commands c = {(const int32_t *)(uintptr_t)numbers, (const int8_t *)(uintptr_t)spaces,
                        (const int64_t *)(uintptr_t)offsets, (const int16_t *)(uintptr_t)cores,
                        (const MemoryRegion *)(uintptr_t)regions, count};
    const Plan **plans = calloc((size_t)(stop > first ? stop - first : 0) + 1, sizeof *plans);
    if (!plans)
        return PyErr_NoMemory();
    for (int64_t i = first; i < stop; i++) {
        PyObject *plan = c.numbers[i] >= 0 ? PyList_GetItem(table, c.numbers[i]) : NULL;
        plans[i - first] = plan && plan != Py_None ? PyCapsule_GetPointer(plan, "plan") : NULL;
        if (!plans[i - first] && c.numbers[i] != NO_DATA) {
            stop = PyErr_Occurred() ? first : i; /* no further than that */
            break;
        }
    }
    int64_t done = first;
    if (!PyErr_Occurred()) {
        const int has_pool = pool_acquire();
        int has_failed = 0;
        Py_BEGIN_ALLOW_THREADS
        done = batch_run(&c, plans, first, stop, has_pool, &has_failed);
        Py_END_ALLOW_THREADS
        pool_release(has_pool);
        if (has_failed)
            PyErr_NoMemory();
    }
    free(plans);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(done);
}
/* A product that is carried out in several calls. */
typedef struct {
    ProductRun work;
    int64_t pointers[MOST_OPERANDS + 2];
    PyObject *plan;
} Begun;

static void free_begun(PyObject *capsule)
{
    Begun *pending = PyCapsule_GetPointer(capsule, "product");
    if (pending) {
        scratch_release(SCRATCH_PRODUCT, pending->work.block);
        Py_XDECREF(pending->plan);
    }
    free(pending);
}

/* Arguments: the plan of a product, and addresses as in carry_out. Its operands are read; None where they cannot be. */
static PyObject *py_begin(PyObject *self, PyObject *args)
{
    int64_t offsets[MOST_OPERANDS + 2];
    (void)self;
    PyObject *given = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    const Plan *plan = given ? PyCapsule_GetPointer(given, "plan") : NULL;
    if (!plan || !plan->product)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "no plan of a product");
    Begun *pending = calloc(1, sizeof *pending);
    PyObject *capsule = pending ? PyCapsule_New(pending, "product", free_begun) : PyErr_NoMemory();
    if (!capsule) {
        free(pending);
        return NULL;
    }
    if (!parsed_addresses(plan, args, 1, pending->pointers, offsets)) {
        Py_DECREF(capsule);
        return NULL;
    }
    Py_INCREF(given);
    pending->plan = given;
    const int has_pool = pool_acquire();
    int is_begun;
    Py_BEGIN_ALLOW_THREADS
    is_begun = product_begin(&pending->work, plan, pending->pointers, has_pool, 0);
    Py_END_ALLOW_THREADS
    pool_release(has_pool);
    if (is_begun)
        return capsule;
    Py_DECREF(capsule);
    Py_RETURN_NONE;
}

/* Arguments: a product that was begun; which of how many parts of its sums. */
static PyObject *py_sum_up(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    long long part, parts;
    (void)self;
    if (!PyArg_ParseTuple(args, "OLL", &capsule, &part, &parts))
        return NULL;
    Begun *pending = PyCapsule_GetPointer(capsule, "product");
    if (!pending)
        return NULL;
    const Product *p = pending->work.p;
    const int64_t everything[4] = {0, p->rows, 0, p->columns};
    int64_t range[4];
    product_take_range(p, everything, part, parts, range);
    pending->work.has_pool = pool_acquire();
    Py_BEGIN_ALLOW_THREADS
    product_sum_parts(&pending->work, range, NULL);
    Py_END_ALLOW_THREADS
    pool_release(pending->work.has_pool);
    if (pending->work.lacks_memory)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* Puts the results of a product where they belong; False, and nothing is done, where carry_out would not. */
static PyObject *py_finish(PyObject *self, PyObject *capsule)
{
    (void)self;
    Begun *pending = PyCapsule_GetPointer(capsule, "product");
    if (!pending)
        return NULL;
    if (pending->work.lacks_memory || pending->work.has_nan)
        Py_RETURN_FALSE;
    pending->work.has_pool = pool_acquire();
    Py_BEGIN_ALLOW_THREADS
    product_store(&pending->work);
    Py_END_ALLOW_THREADS
    pool_release(pending->work.has_pool);
    Py_RETURN_TRUE;
}

/* Arguments: threads, and the products, or what takes as long, that are worth a part of some work. */
static PyObject *py_share(PyObject *self, PyObject *args)
{
    int members;
    long long worth;
    (void)self;
    if (!PyArg_ParseTuple(args, "iL", &members, &worth))
        return NULL;
    if (members < 1 || worth < 1)
        return PyErr_Format(PyExc_ValueError, "%d threads, %lld products", members, worth);
    pool_configure(members, worth);
    Py_RETURN_NONE;
}

static PyObject *py_forget_threads(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    pool_forget();
    Py_RETURN_NONE;
}

/* Arguments: a plan, and about how many products, or what takes as long, a part of it may have. Parts into which the sums
 * of a product can be cut for that; 1 where the plan is of no product. */
static PyObject *py_parts(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    long long worth;
    (void)self;
    if (!PyArg_ParseTuple(args, "OL", &capsule, &worth))
        return NULL;
    const Plan *plan = PyCapsule_GetPointer(capsule, "plan");
    if (!plan || worth < 1)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "parts of %lld products", worth);
    const Product *p = plan->product;
    const int64_t everything[4] = {0, p ? p->rows : 1, 0, p ? p->columns : 1};
    const int64_t wanted = (plan->amount + worth - 1) / worth, most = p ? product_most_parts(p, everything) : 1;
    return PyLong_FromLongLong(wanted < most ? wanted : most < 1 ? 1 : most);
}

static PyObject *py_widths(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    PyObject *found = PyList_New(0);
    for (int i = 0; found && i < simd_count(); i++) {
        PyObject *lanes = PyLong_FromLong(simd_widths[i]->lanes);
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
    if (simd_choose(lanes))
        Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "this processor has no vectors of %d numbers", lanes);
}

static PyObject *py_multiplies_bytes(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return PyBool_FromLong(simd_has_dot4());
}

static PyMethodDef methods[] = {
    {"packed", py_packed, METH_VARARGS, NULL},
    {"multiplies_bytes", py_multiplies_bytes, METH_NOARGS, NULL},
    {"whole", py_whole, METH_VARARGS, NULL},
    {"whole_windows", py_whole_windows, METH_VARARGS, NULL},
    {"exponents", py_exponents, METH_VARARGS, NULL},
    {"floats_of", py_floats_of, METH_VARARGS, NULL},
    {"reciprocal_roots", py_reciprocal_roots, METH_VARARGS, NULL},
    {"divided", py_divided, METH_VARARGS, NULL},
    {"series", py_series, METH_VARARGS, NULL},
    {"whole_of", py_whole_of, METH_VARARGS, NULL},
    {"selected", py_selected, METH_VARARGS, NULL},
    {"converted", py_converted, METH_VARARGS, NULL},
    {"plan", py_plan, METH_VARARGS, NULL},
    {"carry_out", py_carry_out, METH_VARARGS, NULL},
    {"carry_out_some", py_carry_out_some, METH_VARARGS, NULL},
    {"share", py_share, METH_VARARGS, NULL},
    {"forget_threads", py_forget_threads, METH_NOARGS, NULL},
    {"parts", py_parts, METH_VARARGS, NULL},
    {"begin", py_begin, METH_VARARGS, NULL},
    {"sum_up", py_sum_up, METH_VARARGS, NULL},
    {"finish", py_finish, METH_O, NULL},
    {"looked_up", py_looked_up, METH_VARARGS, NULL},
    {"interleaved", py_interleaved, METH_VARARGS, NULL},
    {"grouped", py_grouped, METH_VARARGS, NULL},
    {"elementwise", py_elementwise, METH_VARARGS, NULL},
    {"subnormal", py_subnormal, METH_VARARGS, NULL},
    {"weighted", py_weighted, METH_VARARGS, NULL},
    {"widths", py_widths, METH_NOARGS, NULL},
    {"choose", py_choose, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "Sums of products as the chip forms them.",
                                        -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void)
{
    simd = simd_widths[simd_count() - 1];
    PyObject *module = PyModule_Create(&definition);
    PyObject *sources = module ? PyLong_FromUnsignedLong(SOURCES) : NULL;
    if (!sources || PyModule_AddObject(module, "SOURCES", sources) < 0) {
        Py_XDECREF(sources);
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
