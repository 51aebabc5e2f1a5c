/* The arguments of a plan taken apart; see plans/making.py. */

/* Data of an operand as it counts from the address of its tensor; a constant is kept. */
static int kept_operand(Piece *piece, int i, const int64_t *origins, int tensors)
{
    Stored *operand = &piece->work.grid.operands[i];
    if (piece->sources[i] >= tensors - 1)
        return 0;
    if (piece->sources[i] >= 0) {
        operand->data = moved_by(operand->data, -origins[piece->sources[i]]);
        return 1;
    }
    for (int axis = 0; axis < 4; axis++)
        if (operand->step[axis])
            return 0;
    memcpy(&piece->constants[i], operand->data, (size_t)size_of_word[operand->format]);
    return 1;
}

/* One piece: function, its arguments with a result of 0, the words of the result, and the tensor of each operand. */
static int parsed_piece(PyObject *given, const int64_t *origins, int tensors, Piece *piece)
{
    int function;
    PyObject *arguments, *to, *sources;
    if (!PyArg_ParseTuple(given, "iO!OO!", &function, &PyTuple_Type, &arguments, &to, &PyTuple_Type, &sources) ||
        !parsed_elements(function, arguments, &piece->work) || !parsed_operand(to, &piece->work.grid, &piece->to))
        return 0;
    Elements *e = &piece->work;
    int is_good = PyTuple_Size(sources) == e->operands + has_table(function);
    for (int i = 0; is_good && i < PyTuple_Size(sources); i++) {
        const long source = PyLong_AsLong(PyTuple_GetItem(sources, i));
        if (i < e->operands) {
            piece->sources[i] = (int)source;
            is_good = kept_operand(piece, i, origins, tensors);
        } else {
            piece->table_source = (int)source;
            is_good = source >= 0 && source < tensors - 1;
            if (is_good)
                e->table.data = moved_by(e->table.data, -origins[source]);
        }
    }
    if (!is_good) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an operand of no tensor");
        return 0;
    }
    piece->to.data = moved_by(piece->to.data, -origins[tensors - 1]);
    e->grid.operands[e->operands] = piece->to; /* axes are joined only where the result's are */
    join_axes(&e->grid, e->operands + 1, e->first);
    piece->to = e->grid.operands[e->operands];
    return 1;
}

/* Where the rows of one operand of a piece, or of its result, begin: whether they lie without gaps. */
static int add_rows(const Grid *grid, const Stored *stored, int64_t *at)
{
    const int axis = row_axis(grid);
    if (grid->shape[3] > 1 && stored->step[3] != 1)
        return 0;
    for (int64_t row = 0; row < grid->shape[axis]; row++)
        at[row] = (int64_t)(intptr_t)stored->data + row * stored->step[axis] * size_of_word[stored->format];
    return 1;
}

/* The rows of tensors, if all pieces have rows of the same length. -1: there is no memory. */
static int find_rows_of_pieces(Plan *plan)
{
    const int64_t columns = plan->all[0].work.grid.shape[3];
    const int last = plan->tensors - 1;
    int64_t rows = 0;
    for (int i = 0; i < plan->pieces; i++) {
        const Grid *grid = &plan->all[i].work.grid;
        if (grid->shape[3] != columns || row_axis(grid) < 0 || plan->all[i].work.function == SCATTERED)
            return 0;
        rows += size_of(grid) / (columns ? columns : 1);
    }
    for (int tensor = 0; rows && columns && tensor < plan->tensors; tensor++) {
        int64_t *at = malloc((size_t)rows * sizeof *at), top = 0;
        if (!at)
            return -1;
        plan->row_at[tensor] = at;
        int is_whole = 1;
        for (int i = 0; is_whole && i < plan->pieces; i++) {
            const Piece *piece = &plan->all[i];
            const Stored *found = tensor == last ? &piece->to : NULL;
            /* Whether shifts fit is found out before anything is computed: what they are has to be there by then. */
            const int changing = piece->work.function == WHOLE_OF ? 2 : piece->work.operands;
            for (int k = 0; k < piece->work.operands && tensor < last; k++)
                if (piece->sources[k] == tensor) {
                    is_whole &= k < changing;
                    const Stored *operand = &piece->work.grid.operands[k];
                    is_whole &= !found || !memcmp(found, operand, sizeof *found); /* the only operand may stand twice */
                    found = operand;
                }
            is_whole = is_whole && found && add_rows(&piece->work.grid, found, at + top);
            top += size_of(&piece->work.grid) / columns;
            plan->word[tensor] = found ? size_of_word[found->format] : 0;
        }
        if (!is_whole) {
            free(at);
            plan->row_at[tensor] = NULL;
        }
    }
    if (rows && columns && plan->row_at[last]) {
        plan->rows = rows;
        plan->columns = columns;
    }
    return 0;
}

/* Bytes of a lane; for each tensor its address in this process and its Reach; the pieces, or a product. */
static PyObject *py_plan(PyObject *self, PyObject *args)
{
    long long lane_bytes;
    PyObject *tensors, *pieces, *product;
    int64_t origins[MOST_OPERANDS + 2];
    (void)self;
    if (!PyArg_ParseTuple(args, "LO!O!O", &lane_bytes, &PyTuple_Type, &tensors, &PyTuple_Type, &pieces, &product))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(tensors), number = PyTuple_Size(pieces);
    if (count < 1 || count > MOST_OPERANDS + 2 || (number < 1 && product == Py_None) || lane_bytes < 1)
        return PyErr_Format(PyExc_ValueError, "%zd tensors in %zd pieces", count, number);
    Plan *plan = calloc(1, sizeof *plan);
    if (plan)
        plan->all = calloc((size_t)number + 1, sizeof *plan->all);
    PyObject *capsule = plan && plan->all ? PyCapsule_New(plan, "plan", forget_plan) : PyErr_NoMemory();
    if (!capsule) {
        if (plan)
            free(plan->all);
        free(plan);
        return NULL;
    }
    plan->tensors = (int)count;
    plan->pieces = (int)number;
    plan->lane_bytes = lane_bytes;
    int is_good = 1;
    for (int i = 0; is_good && i < count; i++) {
        long long origin, low, high, inner;
        is_good = PyArg_ParseTuple(PyTuple_GetItem(tensors, i), "LLLLii", &origin, &low, &high, &inner,
                                   &plan->reach[i].order, &plan->reach[i].spot);
        if (is_good) {
            origins[i] = origin;
            plan->reach[i].low = low;
            plan->reach[i].high = high;
            plan->reach[i].inner = inner;
        }
    }
    if (is_good && product != Py_None)
        is_good = (plan->product = parsed_product(product, origins, (int)count)) != NULL;
    for (int i = 0; is_good && i < number; i++)
        is_good = parsed_piece(PyTuple_GetItem(pieces, i), origins, (int)count, &plan->all[i]);
    if (is_good && !plan->product && find_rows_of_pieces(plan)) {
        PyErr_NoMemory();
        is_good = 0;
    }
    if (!is_good) {
        Py_CLEAR(capsule);
        return NULL;
    }
    if (plan->product) {
        const Product *p = plan->product;
        plan->rows = p->rows;
        plan->columns = p->columns;
        plan->row_at[count - 1] = p->row_at;
        plan->word[count - 1] = p->scattered ? size_of_word[p->to[0].to.format] : 0;
        plan->amount = p->rows * p->count * p->columns * cost_of_product(p) + STEPS_OF_READING * (p->image + p->rows * p->count);
    }
    for (int i = 0; i < number; i++)
        plan->amount += STEPS_OF_ELEMENT * size_of(&plan->all[i].work.grid);
    return capsule;
}
