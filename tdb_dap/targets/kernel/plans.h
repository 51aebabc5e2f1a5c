/* Functions over elements prepared for commands that differ only in where their operands and results lie: operands are
 * read, and results written, where they are stored. plans/making.py makes them. */

#define STEPS_OF_ELEMENT 16 /* products that take as long as one element, roughly */

#define BLOCK 4096 /* words that are computed apart before they are put where they belong */

static const void *moved_by(const void *data, int64_t pointer)
{
    return (const void *)((uintptr_t)data + (uintptr_t)pointer);
}

/* Bytes that the elements of a tensor lie in, from its address on: in the whole memory, and in a lane (0: not known). */
typedef struct {
    int64_t low, high, inner;
    int spot; /* its place among those that a command names */
    int order; /* where its address is the result's: 1, it lies as the result; 2, elements are read before they are written */
} Reach;

/* One function over part of a command. Data of operands count from addresses; -1: a constant of its own. */
typedef struct {
    Elements work;
    Stored to;
    int sources[MOST_OPERANDS], table_source;
    uint64_t constants[MOST_OPERANDS];
} Piece;

#include "product_plans.h"

#include "parsed_products.h"

/* ``rows`` and ``columns``: of the result, and where each row of a tensor begins, in bytes from its address on, of words
 * of ``word`` bytes; 0, and none, where they do not lie in rows without gaps. */
typedef struct {
    int tensors, pieces; /* tensors: the last one is the result */
    Product *product; /* instead of pieces */
    int64_t lane_bytes, amount; /* amount: about how many products or steps of elements it takes */
    Reach reach[MOST_OPERANDS + 2];
    int64_t rows, columns, *row_at[MOST_OPERANDS + 2];
    int word[MOST_OPERANDS + 2];
    Piece *all;
} Plan;

/* A plan with its tensors at some addresses. */
typedef struct {
    const Plan *plan;
    const int64_t *pointers, *offsets;
} Placed;

#include "pieces.h"

/* Whether two tensors have no byte in common. */
static int lie_apart(const Placed *one, int tensor, const Placed *other, int second)
{
    const Reach *a = &one->plan->reach[tensor], *b = &other->plan->reach[second];
    const int64_t lane_bytes = one->plan->lane_bytes;
    if (one->pointers[tensor] + a->high <= other->pointers[second] + b->low ||
        other->pointers[second] + b->high <= one->pointers[tensor] + a->low)
        return 1;
    if (!a->inner || !b->inner)
        return 0;
    const int64_t first = one->offsets[tensor] % lane_bytes, then = other->offsets[second] % lane_bytes;
    if (first + a->inner > lane_bytes || then + b->inner > lane_bytes)
        return 0;
    return first + a->inner <= then || then + b->inner <= first;
}

static int result_of(const Placed *placed) { return placed->plan->tensors - 1; }

/* Whether the result may be written while a tensor is read, by one or more threads. */
static int may_be_written(const Placed *placed, int tensor, int64_t parts)
{
    const int order = placed->plan->reach[tensor].order, last = result_of(placed);
    if (placed->pointers[tensor] == placed->pointers[last] && (order == 1 || (order == 2 && parts == 1)))
        return 1;
    return lie_apart(placed, tensor, placed, last);
}

/* A piece for these addresses; 0 where a word does not lie as such words are read. */
static int place_piece(const Piece *piece, const int64_t *pointers, int result, Elements *e, Stored *to)
{
    *e = piece->work;
    *to = piece->to;
    to->data = moved_by(to->data, pointers[result]);
    uintptr_t odd = (uintptr_t)to->data % (uintptr_t)size_of_word[to->format];
    for (int i = 0; i < e->operands; i++) {
        Stored *operand = &e->grid.operands[i];
        operand->data = piece->sources[i] < 0 ? &piece->constants[i] : moved_by(operand->data, pointers[piece->sources[i]]);
        odd |= (uintptr_t)operand->data % (uintptr_t)size_of_word[operand->format];
    }
    if (has_table(e->function)) {
        e->table.data = moved_by(e->table.data, pointers[piece->table_source]);
        odd |= (uintptr_t)e->table.data % (uintptr_t)size_of_word[e->table.format];
    }
    return !odd;
}

/* Where the tensors of a plan are, and their addresses, from arguments on. */
static int parsed_addresses(const Plan *plan, PyObject *args, int first, int64_t *pointers, int64_t *offsets)
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

/* Whether the pieces can be computed with the tensors at these addresses. */
static int pieces_fit(const Placed *placed, int64_t parts)
{
    const Plan *plan = placed->plan;
    Elements e;
    Stored to;
    for (int i = 0; i < result_of(placed); i++)
        if (!may_be_written(placed, i, parts))
            return 0;
    for (int i = 0; i < plan->pieces; i++)
        if (!place_piece(&plan->all[i], placed->pointers, result_of(placed), &e, &to) || !shifts_fit(&e))
            return 0;
    return 1;
}

/* One part of as many of all pieces. */
static void compute_part(void *of, int64_t part, int64_t parts)
{
    const Placed *placed = of;
    Elements e;
    Stored to;
    for (int i = 0; i < placed->plan->pieces; i++) {
        place_piece(&placed->plan->all[i], placed->pointers, result_of(placed), &e, &to);
        if (parts > 1) {
            const int axis = longest_axis(e.grid.shape, axes_to_cut(e.function));
            const int64_t first = e.grid.shape[axis] * part / parts, last = e.grid.shape[axis] * (part + 1) / parts;
            if (first == last)
                continue;
            take_extent(&e, &to, axis, first, last - first);
        }
        compute_into(&e, &to);
    }
}

/* A command of pieces that needs nothing of those before it, and has nothing that they need: it is carried out at the same
 * time, as another engine of the chip would. It can be carried out again. */
struct Beside {
    const Placed *placed;
    int is_done;
};

/* Two tasks, each thread with as many parts of both. */
typedef struct {
    Task tasks[2];
    void *of[2];
    int64_t parts[2], threads;
} TwoTasks;

static void part_of_two(void *of, int64_t part, int64_t parts)
{
    const TwoTasks *both = of;
    const int64_t each = parts / both->threads, own = both->parts[0] / both->threads, thread = part / each, at = part % each;
    const int second = at >= own;
    both->tasks[second](both->of[second], second ? thread * (each - own) + at - own : thread * own + at, both->parts[second]);
}

/* All parts of some work, and the command beside it, if there is one. */
static void together_with(int joined, int64_t parts, Task task, void *of, Beside *beside)
{
    const int64_t threads = threads_of(joined);
    if (!beside) {
        together(joined, parts, task, of);
        return;
    }
    Placed placed = *beside->placed;
    beside->is_done = 1;
    if (threads < 2 || parts < threads || parts % threads || parts + threads > MOST_PARTS) {
        together(joined, parts, task, of);
        together(joined, parts_of(joined, placed.plan->amount, MOST_PARTS), compute_part, &placed);
        return;
    }
    TwoTasks both = {{task, compute_part}, {of, &placed}, {parts, threads}, threads};
    together(joined, parts + threads, part_of_two, &both);
}

/* All pieces; 0, and nothing is done, where they cannot be computed. */
static int pieces_done(const Placed *placed, int joined, Beside *beside)
{
    Placed all = *placed;
    int64_t parts = parts_of(joined, placed->plan->amount, MOST_PARTS);
    if (parts > 1 && !pieces_fit(placed, parts))
        parts = 1; /* a result over its operand has to be written in order */
    if (parts == 1 && !pieces_fit(placed, 1))
        return 0;
    together_with(joined, parts, compute_part, &all, beside);
    return 1;
}

/* Whether a product's image lies apart from its result. */
static int keeps_image(const Placed *placed)
{
    const Product *p = placed->plan->product;
    for (const Gathered *g = p->from; g < p->from + p->gathered; g++)
        if (g->which == RIGHT_FACTORS && g->source >= 0 && !lie_apart(placed, g->source, placed, result_of(placed)))
            return 0;
    return 1;
}

/* A product with its operands read, but planes that are ``kept``; 0 where it cannot be. The caller gives its block back. */
static int begin_work(Work *w, const Plan *plan, const int64_t *pointers, int joined, int is_kept)
{
    const Product *p = plan->product;
    *w = (Work){.p = p, .pointers = pointers, .result = plan->tensors - 1, .joined = joined,
                .reads_planes = p->has_planes && is_kept};
    w->block = product_lies_well(p, pointers, w->result) ? taken_scratch(FOR_PRODUCT, size_of_work(p)) : NULL;
    if (w->block)
        prepare(w);
    return w->block != NULL;
}

/* Whether sums may go where they belong as they are formed. */
static int is_direct(const Work *w, const Placed *placed)
{
    const Product *p = w->p;
    /* Which NaN comes out another way has to say: then nothing must have been written. */
    return p->row_at && (is_whole(p) || w->is_finite) && (!p->image_at.at || keeps_image(placed));
}

#include "sequences.h"

/* How many of some plans, which follow each other, are carried out: 0, and nothing is done, where the first one cannot be.
 * -1: there is no memory, and some of the first one is done. ``beside``: or none. */
static int plans_done(const Placed *all, int count, int joined, Beside *beside)
{
    const Plan *plan = all->plan;
    if (!plan->product)
        return count > 1 ? sequence_done(all, count, NULL, joined, beside) : pieces_done(all, joined, beside);
    const Product *p = plan->product;
    const int64_t everything[4] = {0, p->rows, 0, p->columns};
    Work w;
    int done = begin_work(&w, plan, all->pointers, joined, keeps_image(all));
    w.is_direct = done && is_direct(&w, all);
    if (w.is_direct && count > 1)
        done = sequence_done(all, count, &w, joined, beside);
    else if (done && !sum_up_together(&w, everything, beside))
        done = w.is_direct ? -1 : 0;
    else if (done)
        put_results(&w);
    give_back_scratch(FOR_PRODUCT, w.block);
    return done;
}

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
    const int joined = plan->amount >= 2 * team_size.worth && join_team();
    const Placed placed = {plan, pointers, offsets};
    int is_done;
    Py_BEGIN_ALLOW_THREADS
    is_done = plans_done(&placed, 1, joined, NULL);
    Py_END_ALLOW_THREADS
    leave_team(joined);
    return is_done < 0 ? PyErr_NoMemory() : PyBool_FromLong(is_done);
}

#include "stretches.h"

/* A product that is carried out in several calls. */
typedef struct {
    Work work;
    int64_t pointers[MOST_OPERANDS + 2];
    PyObject *plan;
} Begun;

static void forget_begun(PyObject *capsule)
{
    Begun *begun = PyCapsule_GetPointer(capsule, "product");
    if (begun) {
        give_back_scratch(FOR_PRODUCT, begun->work.block);
        Py_XDECREF(begun->plan);
    }
    free(begun);
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
    Begun *begun = calloc(1, sizeof *begun);
    PyObject *capsule = begun ? PyCapsule_New(begun, "product", forget_begun) : PyErr_NoMemory();
    if (!capsule) {
        free(begun);
        return NULL;
    }
    if (!parsed_addresses(plan, args, 1, begun->pointers, offsets)) {
        Py_DECREF(capsule);
        return NULL;
    }
    Py_INCREF(given);
    begun->plan = given;
    const int joined = join_team();
    int is_begun;
    Py_BEGIN_ALLOW_THREADS
    is_begun = begin_work(&begun->work, plan, begun->pointers, joined, 0);
    Py_END_ALLOW_THREADS
    leave_team(joined);
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
    Begun *begun = PyCapsule_GetPointer(capsule, "product");
    if (!begun)
        return NULL;
    const Product *p = begun->work.p;
    const int64_t everything[4] = {0, p->rows, 0, p->columns};
    int64_t range[4];
    take_range(p, everything, part, parts, range);
    begun->work.joined = join_team();
    Py_BEGIN_ALLOW_THREADS
    sum_up_together(&begun->work, range, NULL);
    Py_END_ALLOW_THREADS
    leave_team(begun->work.joined);
    return done(begun->work.lacks_memory != 0);
}

/* Puts the results of a product where they belong; False, and nothing is done, where carry_out would not. */
static PyObject *py_finish(PyObject *self, PyObject *capsule)
{
    (void)self;
    Begun *begun = PyCapsule_GetPointer(capsule, "product");
    if (!begun)
        return NULL;
    if (begun->work.lacks_memory || begun->work.has_nan)
        Py_RETURN_FALSE;
    begun->work.joined = join_team();
    Py_BEGIN_ALLOW_THREADS
    put_results(&begun->work);
    Py_END_ALLOW_THREADS
    leave_team(begun->work.joined);
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
    team_size.members = members < MOST_MEMBERS ? members : MOST_MEMBERS;
    team_size.worth = worth;
    Py_RETURN_NONE;
}

static PyObject *py_forget_threads(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    forget_team();
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
    const int64_t wanted = (plan->amount + worth - 1) / worth, most = p ? most_parts(p, everything) : 1;
    return PyLong_FromLongLong(wanted < most ? wanted : most < 1 ? 1 : most);
}

static void forget_plan(PyObject *capsule)
{
    Plan *plan = PyCapsule_GetPointer(capsule, "plan");
    if (plan) {
        for (int i = 0; i < plan->tensors && !plan->product; i++)
            free(plan->row_at[i]); /* those of a product are its own */
        free(plan->all);
        forget_product(plan->product);
    }
    free(plan);
}

#include "parsed_plans.h"
