/* Commands carried out one after the other by the plans of their forms; see plans/stretches.py. */

#define MOST_SPOTS 8
#define NO_DATA (-2) /* the number of a command that moves none */

/* Part of a memory: space, core or -1, first offset, offset after the last one, address of offset 0. */
typedef struct {
    int64_t space, core, first, stop, pointer;
} MemoryRegion;

/* What each command is, from the first of a stretch on. */
typedef struct {
    const int32_t *numbers;
    const int8_t *spaces;
    const int64_t *offsets;
    const int16_t *cores;
    const MemoryRegion *regions;
    int64_t count;
} Commands;

/* Where the tensors of a command are; 0 where there is no memory. */
static int find_tensors(const Commands *c, int64_t command, const Plan *plan, int64_t *pointers, int64_t *offsets)
{
    for (int i = 0; i < plan->tensors; i++) {
        const Reach *reach = &plan->reach[i];
        const int64_t space = c->spaces[command * MOST_SPOTS + reach->spot];
        const int64_t offset = c->offsets[command * MOST_SPOTS + reach->spot];
        const MemoryRegion *found = NULL;
        for (const MemoryRegion *region = c->regions; !found && region < c->regions + c->count; region++)
            if (region->space == space && (region->core < 0 || region->core == c->cores[command]) &&
                region->first <= offset + reach->low && offset + reach->high <= region->stop)
                found = region;
        if (!found)
            return 0;
        pointers[i] = found->pointer + offset;
        offsets[i] = offset;
    }
    return 1;
}

/* So many products, about, between two moments at which a run can be interrupted: some milliseconds, tens without vectors. */
#define MOST_PRODUCTS ((int64_t)1 << 29)

#define MOST_OF_BATCH (MOST_OF_SEQUENCE + 1)

/* Commands that are carried out together: their numbers, and where their tensors are. After the ``count`` of a sequence comes
 * one that goes beside them, if there is one. */
typedef struct {
    int count, has_beside;
    int64_t numbers[MOST_OF_BATCH], pointers[MOST_OF_BATCH][MOST_OPERANDS + 2], offsets[MOST_OF_BATCH][MOST_OPERANDS + 2];
    Placed all[MOST_OF_BATCH];
} Batch;

/* Whether a command is the first one, or can follow those that are there; another one may go beside them. */
static int take_in(Batch *batch, const Commands *c, int64_t command, const Plan *plan)
{
    const int at = batch->count;
    if (!plan || !find_tensors(c, command, plan, batch->pointers[at], batch->offsets[at]))
        return 0;
    batch->all[at] = (Placed){plan, batch->pointers[at], batch->offsets[at]};
    batch->numbers[at] = command;
    if (at == MOST_OF_SEQUENCE || (at && !can_follow(batch->all, at, &batch->all[at]))) {
        batch->has_beside = goes_beside(batch->all, at, &batch->all[at]);
        return 0;
    }
    batch->count++;
    return 1;
}

/* The first of the commands [first, stop) that is not done: there is no memory for it (``has_failed``), it has no plan, its
 * plan does not fit, or those before it have taken long enough. */
static int64_t carry_out_commands(const Commands *c, const Plan *const *plans, int64_t first, int64_t stop, int joined,
                                  int *has_failed)
{
    const int64_t start = first;
    Batch batch;
    int64_t amount = 0; /* of what is done */
    while (first < stop && amount < MOST_PRODUCTS) {
        if (c->numbers[first] == NO_DATA) {
            first++;
            continue;
        }
        batch.count = batch.has_beside = 0;
        for (int64_t i = first; i < stop && (c->numbers[i] == NO_DATA || take_in(&batch, c, i, plans[i - start])); i++)
            ;
        Beside beside = {&batch.all[batch.count], 0};
        int done = batch.count ? plans_done(batch.all, batch.count, joined, batch.has_beside ? &beside : NULL) : 0;
        *has_failed = done < 0;
        if (done <= 0)
            return first;
        done += done == batch.count && beside.is_done;
        for (int i = 0; i < done; i++)
            amount += batch.all[i].plan->amount;
        first = batch.numbers[done - 1] + 1;
    }
    return first;
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
        const int joined = join_team();
        int has_failed = 0;
        Py_BEGIN_ALLOW_THREADS
        done = carry_out_commands(&c, plans, first, stop, joined, &has_failed);
        Py_END_ALLOW_THREADS
        leave_team(joined);
        if (has_failed)
            PyErr_NoMemory();
    }
    free(plans);
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(done);
}
