/* Arguments from Python taken apart. */

#include "arguments.h"

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
static int described(PyObject *array, ArrayInterface *found, PyObject **capsule)
{
    *capsule = PyObject_GetAttrString(array, "__array_struct__");
    const ArrayInterface *own = *capsule ? PyCapsule_GetPointer(*capsule, NULL) : NULL;
    if (!own) {
        Py_CLEAR(*capsule);
        return 0;
    }
    *found = *own;
    return 1;
}

/* Where an array without gaps lies; a number is an address by itself. */
int address_of(PyObject *given, void *address)
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
        is_good = array.shape[own] == grid->shape[axis] && array.strides[own] % format_size[operand->format] == 0;
        operand->step[axis] = array.strides[own] / format_size[operand->format];
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
int parsed_elements(int function, PyObject *args, Elements *e)
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
    case FLOAT_ELEMENTS:
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
    case INT_ELEMENTS:
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

/* Data of an operand as it counts from the address of its tensor; a constant is kept. */
static int kept_operand(Tile *tile, int i, const int64_t *origins, int tensors)
{
    Stored *operand = &tile->work.grid.operands[i];
    if (tile->sources[i] >= tensors - 1)
        return 0;
    if (tile->sources[i] >= 0) {
        operand->data = offset_by(operand->data, -origins[tile->sources[i]]);
        return 1;
    }
    for (int axis = 0; axis < 4; axis++)
        if (operand->step[axis])
            return 0;
    memcpy(&tile->constants[i], operand->data, (size_t)format_size[operand->format]);
    return 1;
}

/* One piece: function, its arguments with a result of 0, the words of the result, and the tensor of each operand. */
static int parsed_piece(PyObject *given, const int64_t *origins, int tensors, Tile *tile)
{
    int function;
    PyObject *arguments, *to, *sources;
    if (!PyArg_ParseTuple(given, "iO!OO!", &function, &PyTuple_Type, &arguments, &to, &PyTuple_Type, &sources) ||
        !parsed_elements(function, arguments, &tile->work) || !parsed_operand(to, &tile->work.grid, &tile->to))
        return 0;
    Elements *e = &tile->work;
    int is_good = PyTuple_Size(sources) == e->operands + elements_has_table(function);
    for (int i = 0; is_good && i < PyTuple_Size(sources); i++) {
        const long source = PyLong_AsLong(PyTuple_GetItem(sources, i));
        if (i < e->operands) {
            tile->sources[i] = (int)source;
            is_good = kept_operand(tile, i, origins, tensors);
        } else {
            tile->table_source = (int)source;
            is_good = source >= 0 && source < tensors - 1;
            if (is_good)
                e->table.data = offset_by(e->table.data, -origins[source]);
        }
    }
    if (!is_good) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an operand of no tensor");
        return 0;
    }
    tile->to.data = offset_by(tile->to.data, -origins[tensors - 1]);
    e->grid.operands[e->operands] = tile->to; /* axes are joined only where the result's are */
    join_axes(&e->grid, e->operands + 1, e->first);
    tile->to = e->grid.operands[e->operands];
    return 1;
}

/* Axes that go on, on both sides, where the next one ends become one with it: rows are long. */
static void join_steps(int64_t *shape, int64_t *from, int64_t *to)
{
    int last = 3;
    for (int axis = 2; axis >= 0; axis--) {
        if (shape[axis] == 1)
            continue;
        const int is_single = shape[last] == 1;
        if (is_single || (from[axis] == from[last] * shape[last] && to[axis] == to[last] * shape[last])) {
            if (is_single) {
                from[last] = from[axis];
                to[last] = to[axis];
            }
            shape[last] *= shape[axis];
            shape[axis] = 1;
            from[axis] = to[axis] = 0;
        } else if (--last != axis) {
            shape[last] = shape[axis];
            from[last] = from[axis];
            to[last] = to[axis];
            shape[axis] = 1;
            from[axis] = to[axis] = 0;
        }
    }
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
    if (!parsed_operand(operand, &grid, stored))
        return 0;
    join_steps(shape, stored->step, step);
    return 1;
}

static int parsed_gathered(PyObject *given, const int64_t *origins, int tensors, PackStep *g)
{
    PyObject *part;
    if (!PyArg_ParseTuple(given, "iiO", &g->source, &g->which, &part) || !parsed_part(part, &g->from, g->shape, &g->first, g->step))
        return 0;
    if (g->source < tensors - 1 && g->which >= LEFT_FACTORS && g->which <= SECOND_START) {
        if (g->source >= 0)
            g->from.data = offset_by(g->from.data, -origins[g->source]);
        else
            memcpy(&g->constant, g->from.data, (size_t)format_size[g->from.format]);
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "an operand of no tensor");
    return 0;
}

/* A copy of an array of int64 of this size. */
static int64_t *copied_numbers(PyObject *given, int64_t count)
{
    ArrayInterface array;
    PyObject *capsule;
    if (!described(given, &array, &capsule))
        return NULL;
    int64_t *found = NULL;
    if (array.axes != 1 || array.shape[0] != count || array.itemsize != sizeof *found || !(array.flags & C_CONTIGUOUS))
        PyErr_SetString(PyExc_ValueError, "taps or places of another number");
    else if ((found = malloc((size_t)(count + 1) * sizeof *found)))
        memcpy(found, array.data, (size_t)count * sizeof *found);
    else
        PyErr_NoMemory();
    Py_DECREF(capsule);
    return found;
}

static Product *parsed_product(PyObject *given, const int64_t *origins, int tensors)
{
    PyObject *pack_steps, *store_steps, *taps, *places;
    long long low, high;
    Product *p = calloc(1, sizeof *p);
    if (!p) {
        PyErr_NoMemory();
        return NULL;
    }
    int is_good = PyArg_ParseTuple(
        given, "ipf(LLL)(OOLiipf)(LppiippLLLL)((LL)(LL))i(LLLiiiLLi)O!O!", &p->how, &p->swapped, &p->zero, &p->rows, &p->count,
        &p->columns, &taps, &places, &p->image, &p->type, &p->left_type, &p->is_filled, &p->fill, &p->group, &p->nan_wins,
        &p->drops_bits, &p->form, &p->rounding, &p->is_last, &p->is_zero_positive, &p->window[0], &p->window[1], &p->window[2],
        &p->window[3], &p->start_rows[0], &p->start_columns[0], &p->start_rows[1], &p->start_columns[1],
        &p->starts, &p->numbers[0], &p->numbers[1], &p->numbers[2], &p->r.mode, &p->r.held, &p->r.rectified, &low, &high,
        &p->r.size, &PyTuple_Type, &pack_steps, &PyTuple_Type, &store_steps);
    is_good = is_good && (p->taps = copied_numbers(taps, p->count)) && (p->places = copied_numbers(places, p->columns));
    for (int64_t k = 0; is_good && k < p->count; k++)
        p->has_gaps |= p->taps[k] < 0;
    if (is_good) {
        p->r.low = low;
        p->r.high = high;
        p->pack_steps = (int)PyTuple_Size(pack_steps);
        p->store_steps = (int)PyTuple_Size(store_steps);
        p->from = calloc((size_t)p->pack_steps + 1, sizeof *p->from);
        p->to = calloc((size_t)p->store_steps + 1, sizeof *p->to);
        if (!p->from || !p->to) {
            PyErr_NoMemory();
            is_good = 0;
        }
    }
    for (int i = 0; is_good && i < p->pack_steps; i++)
        is_good = parsed_gathered(PyTuple_GetItem(pack_steps, i), origins, tensors, &p->from[i]);
    for (int i = 0; is_good && i < p->store_steps; i++) {
        StoreStep *s = &p->to[i];
        is_good = parsed_part(PyTuple_GetItem(store_steps, i), &s->to, s->shape, &s->first, s->step);
        if (is_good)
            s->to.data = offset_by(s->to.data, -origins[tensors - 1]);
    }
    if (is_good)
        return p;
    product_free(p);
    return NULL;
}
/* Where the tensors of a plan are, and their addresses, from arguments on. */
int parsed_addresses(const Plan *plan, PyObject *args, int first, int64_t *pointers, int64_t *offsets)
{
    if (PyTuple_Size(args) != first + 2 * plan->tensors) {
        PyErr_SetString(PyExc_TypeError, "the addresses of another plan");
        return 0;
    }
    for (int i = 0; i < plan->tensors; i++) {
        pointers[i] = PyLong_AsLongLong(PyTuple_GetItem(args, first + 2 * i));
        offsets[i] = PyLong_AsLongLong(PyTuple_GetItem(args, first + 2 * i + 1));
    }
    return !PyErr_Occurred();
}

static void free_plan(PyObject *capsule) { plan_free(PyCapsule_GetPointer(capsule, "plan")); }

/* Bytes of a lane; for each tensor its address in this process and its Reach; the pieces, or a product. */
PyObject *py_plan(PyObject *self, PyObject *args)
{
    long long lane_bytes;
    PyObject *tensors, *tiles, *product;
    int64_t origins[MOST_OPERANDS + 2];
    (void)self;
    if (!PyArg_ParseTuple(args, "LO!O!O", &lane_bytes, &PyTuple_Type, &tensors, &PyTuple_Type, &tiles, &product))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(tensors), number = PyTuple_Size(tiles);
    if (count < 1 || count > MOST_OPERANDS + 2 || (number < 1 && product == Py_None) || lane_bytes < 1)
        return PyErr_Format(PyExc_ValueError, "%zd tensors in %zd tiles", count, number);
    Plan *plan = calloc(1, sizeof *plan);
    if (plan)
        plan->all = calloc((size_t)number + 1, sizeof *plan->all);
    PyObject *capsule = plan && plan->all ? PyCapsule_New(plan, "plan", free_plan) : PyErr_NoMemory();
    if (!capsule) {
        if (plan)
            free(plan->all);
        free(plan);
        return NULL;
    }
    plan->tensors = (int)count;
    plan->tiles = (int)number;
    plan->lane_bytes = lane_bytes;
    int is_good = 1;
    for (int i = 0; is_good && i < count; i++) {
        long long origin, low, high, inner;
        is_good = PyArg_ParseTuple(PyTuple_GetItem(tensors, i), "LLLLii", &origin, &low, &high, &inner,
                                   &plan->extents[i].order, &plan->extents[i].address);
        if (is_good) {
            origins[i] = origin;
            plan->extents[i].low = low;
            plan->extents[i].high = high;
            plan->extents[i].inner = inner;
        }
    }
    if (is_good && product != Py_None)
        is_good = (plan->product = parsed_product(product, origins, (int)count)) != NULL;
    for (int i = 0; is_good && i < number; i++)
        is_good = parsed_piece(PyTuple_GetItem(tiles, i), origins, (int)count, &plan->all[i]);
    if (is_good && layout_find(plan)) {
        PyErr_NoMemory();
        is_good = 0;
    }
    if (!is_good)
        Py_CLEAR(capsule);
    return capsule;
}
