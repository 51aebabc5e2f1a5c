/* The arguments of a product taken apart; see ``arguments`` in plans/sums.py. */

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
        free(p->taps);
        free(p->places);
        free(p->row_at);
        free(p->image_at.at);
        free(p->left_at.at);
    }
    free(p);
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

/* Where each row of sums belongs; none where rows do not lie whole, or sums are not yet results. -1: no memory. */
static int find_rows(Product *p)
{
    int64_t found = 0;
    if (!is_whole(p) && !(p->how == IN_CHAINS && p->form == F32))
        return 0;
    p->row_at = malloc((size_t)(p->rows + 1) * sizeof *p->row_at);
    if (!p->row_at)
        return -1;
    for (int i = 0; i < p->scattered; i++) {
        const Scattered *s = &p->to[i];
        const int64_t word = size_of_word[s->to.format], *n = s->shape;
        const int64_t rows = p->columns ? n[3] / p->columns : 0; /* rows that follow each other are one */
        int is_whole = rows && n[3] == rows * p->columns && (n[3] == 1 || (s->step[3] == 1 && s->to.step[3] == 1)) && !(s->first % p->columns);
        for (int axis = 0; axis < 3; axis++)
            is_whole &= n[axis] == 1 || !(s->step[axis] % p->columns);
        if (!is_whole)
            break;
        for (int64_t a = 0; a < n[0]; a++)
            for (int64_t b = 0; b < n[1]; b++)
                for (int64_t c = 0; c < n[2]; c++)
                    for (int64_t row = 0; row < rows; row++, found++) {
                        const int64_t at = a * s->to.step[0] + b * s->to.step[1] + c * s->to.step[2] + row * p->columns;
                        p->row_at[(s->first + a * s->step[0] + b * s->step[1] + c * s->step[2]) / p->columns + row] =
                            (int64_t)(intptr_t)s->to.data + at * word;
                    }
    }
    if (found != p->rows) {
        free(p->row_at);
        p->row_at = NULL;
    }
    return 0;
}

static Product *parsed_product(PyObject *given, const int64_t *origins, int tensors)
{
    PyObject *gathered, *scattered, *taps, *places;
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
        &p->r.size, &PyTuple_Type, &gathered, &PyTuple_Type, &scattered);
    is_good = is_good && (p->taps = copied_numbers(taps, p->count)) && (p->places = copied_numbers(places, p->columns));
    for (int64_t k = 0; is_good && k < p->count; k++)
        p->has_gaps |= p->taps[k] < 0;
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
    if (is_good && (find_rows(p) || find_direct_factors(p))) {
        PyErr_NoMemory();
        is_good = 0;
    }
    if (!is_good) {
        forget_product(p);
        return NULL;
    }
    find_planes(p);
    return p;
}
