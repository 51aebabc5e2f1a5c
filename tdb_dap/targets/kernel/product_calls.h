/* What Python calls of sums of products: arguments taken apart, see kernel/__init__.py. */

static PyObject *py_packed(PyObject *self, PyObject *args)
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
        packed_floats((const float *)(uintptr_t)numbers, 0, rows, count, (float *)(uintptr_t)packed);
    else if (size == 1)
        packed_quads(&all, type, type, 0, rows, (uint8_t *)(uintptr_t)packed);
    else
        packed_pairs((const int16_t *)(uintptr_t)numbers, 0, rows, count, (int16_t *)(uintptr_t)packed);
    Py_END_ALLOW_THREADS
    return done(0);
}

static PyObject *py_interleaved(PyObject *self, PyObject *args)
{
    unsigned long long numbers, packed, image, taps, places, starts[2], result;
    long long rows, count, columns, range[4];
    Chains chains = {.row_at = NULL};
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O&LO&O&O&LL(LLLL)(O&LL)(O&LL)O&iii", address_of, &numbers, address_of, &packed,
                          &rows, address_of, &image, address_of, &taps, address_of, &places, &count, &columns,
                          &range[0], &range[1], &range[2], &range[3], address_of, &starts[0], &chains.starts[0].row,
                          &chains.starts[0].column, address_of, &starts[1], &chains.starts[1].row,
                          &chains.starts[1].column, address_of, &result, &chains.position, &chains.normal,
                          &chains.swapped))
        return NULL;
    const Left left = {(const float *)(uintptr_t)numbers, (const float *)(uintptr_t)packed, rows, range[0], range[1]};
    const Right right = {(const float *)(uintptr_t)image, (const int64_t *)(uintptr_t)taps,
                         (const int64_t *)(uintptr_t)places, count, columns, range[2], range[3]};
    for (int side = 0; side < 2; side++)
        chains.starts[side].numbers = (const float *)(uintptr_t)starts[side];
    chains.result = (float *)(uintptr_t)result;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = chosen->interleaved(&left, &right, &chains);
    Py_END_ALLOW_THREADS
    return done(status);
}

static PyObject *py_grouped(PyObject *self, PyObject *args)
{
    unsigned long long numbers, image, taps, places, totals;
    long long rows, count, columns, range[4], size;
    Groups groups;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&LO&O&O&LL(LLLL)O&Lii", address_of, &numbers, &rows, address_of, &image, address_of,
                          &taps, address_of, &places, &count, &columns, &range[0], &range[1], &range[2], &range[3],
                          address_of, &totals, &size, &groups.nan_wins, &groups.drops_bits))
        return NULL;
    if (size < 1 || size > LARGEST_GROUP)
        return PyErr_Format(PyExc_ValueError, "groups of %lld products", size);
    const Left left = {(const float *)(uintptr_t)numbers, NULL, rows, range[0], range[1]};
    const Right right = {(const float *)(uintptr_t)image, (const int64_t *)(uintptr_t)taps,
                         (const int64_t *)(uintptr_t)places, count, columns, range[2], range[3]};
    groups.totals = (float *)(uintptr_t)totals;
    groups.size = size;
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = chosen->grouped(&left, &right, &groups);
    Py_END_ALLOW_THREADS
    return done(status);
}

static PyObject *py_whole(PyObject *self, PyObject *args)
{
    unsigned long long left, image, taps, places, start, multiplier, amount, zero, result;
    long long low, high;
    Whole w = {.row_at = NULL};
    Requantisation r;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&iLO&iO&O&LL(LLLL)(O&LL)(O&O&O&iiiLL)iO&", address_of, &left, &w.left_type, &w.rows,
                          address_of, &image, &w.type, address_of, &taps, address_of, &places, &w.count, &w.columns,
                          &w.first_row, &w.last_row, &w.first, &w.last, address_of, &start, &w.start_row, &w.start_column,
                          address_of, &multiplier, address_of, &amount, address_of, &zero, &r.mode, &r.held,
                          &r.rectified, &low, &high, &r.size, address_of, &result))
        return NULL;
    w.left = (const int16_t *)(uintptr_t)left;
    w.quads = w.left_type == SIGNED_WORDS ? NULL : (const uint8_t *)(uintptr_t)left;
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
    status = chosen->whole(&w, &r, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    if (status == -2)
        return PyErr_Format(PyExc_ValueError, "vectors of %d numbers do not multiply bytes", chosen->lanes);
    return done(status);
}

static PyObject *py_whole_windows(PyObject *self, PyObject *args)
{
    unsigned long long image, weights, starts, offsets, multiplier, amount, zero, result;
    long long low, high;
    WholeWindows w = {.row_at = NULL};
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
    chosen->whole_windows(&w, &r, (void *)(uintptr_t)result);
    Py_END_ALLOW_THREADS
    return done(0);
}
