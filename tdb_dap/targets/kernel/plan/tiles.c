/* Functions over elements of plans, with their tensors at some addresses: tile by tile, in parts that threads share. */

#include "plan.h"

/* Whether two tensors have no byte in common. */
int are_disjoint(const BoundPlan *one, int tensor, const BoundPlan *other, int second)
{
    const Extent *a = &one->plan->extents[tensor], *b = &other->plan->extents[second];
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

/* Whether every tensor stays in the lanes that it begins in: a plan is made for addresses from which on it does. */
int stays_in_lanes(const Plan *plan, const int64_t *offsets)
{
    for (int i = 0; i < plan->tensors; i++)
        if (plan->extents[i].inner && offsets[i] % plan->lane_bytes + plan->extents[i].inner > plan->lane_bytes)
            return 0;
    return 1;
}

int result_tensor(const BoundPlan *bound) { return bound->plan->tensors - 1; }

/* Whether the result may be written while a tensor is read, by one or more threads. */
static int may_be_written(const BoundPlan *bound, int tensor, int64_t parts)
{
    const int order = bound->plan->extents[tensor].order, last = result_tensor(bound);
    if (bound->pointers[tensor] == bound->pointers[last] && (order == 1 || (order == 2 && parts == 1)))
        return 1;
    return are_disjoint(bound, tensor, bound, last);
}

/* Bind a tile to addresses; 0 where a word is not aligned. */
int bind_tile(const Tile *tile, const int64_t *pointers, int result, Elements *e, Stored *to)
{
    *e = tile->work;
    *to = tile->to;
    to->data = offset_by(to->data, pointers[result]);
    uintptr_t odd = (uintptr_t)to->data % (uintptr_t)format_size[to->format];
    for (int i = 0; i < e->operands; i++) {
        Stored *operand = &e->grid.operands[i];
        operand->data = tile->sources[i] < 0 ? &tile->constants[i] : offset_by(operand->data, pointers[tile->sources[i]]);
        odd |= (uintptr_t)operand->data % (uintptr_t)format_size[operand->format];
    }
    if (elements_has_table(e->function)) {
        e->table.data = offset_by(e->table.data, pointers[tile->table_source]);
        odd |= (uintptr_t)e->table.data % (uintptr_t)format_size[e->table.format];
    }
    return !odd;
}

/* Whether the tiles can be computed with the tensors at these addresses. */
int tiles_fit(const BoundPlan *bound, int64_t parts)
{
    const Plan *plan = bound->plan;
    Elements e;
    Stored to;
    for (int i = 0; i < result_tensor(bound); i++)
        if (!may_be_written(bound, i, parts))
            return 0;
    for (int i = 0; i < plan->tiles; i++)
        if (!bind_tile(&plan->all[i], bound->pointers, result_tensor(bound), &e, &to) || !elements_fit(&e))
            return 0;
    return 1;
}

/* One of ``parts`` parts of all tiles. */
static void compute_part(void *of, int64_t part, int64_t parts)
{
    const BoundPlan *bound = of;
    Elements e;
    Stored to;
    for (int i = 0; i < bound->plan->tiles; i++) {
        bind_tile(&bound->plan->all[i], bound->pointers, result_tensor(bound), &e, &to);
        if (parts > 1) {
            const int axis = longest_axis(e.grid.shape, elements_axes_to_cut(e.function));
            const int64_t first = e.grid.shape[axis] * part / parts, last = e.grid.shape[axis] * (part + 1) / parts;
            if (first == last)
                continue;
            elements_take(&e, &to, axis, first, last - first);
        }
        elements_store(&e, &to);
    }
}

/* Two tasks, each thread with as many parts of both. */
typedef struct {
    ParallelTask tasks[2];
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

/* Run all parts of some work, and the concurrent command, if there is one. */
void parallel_for_with(int has_pool, int64_t parts, ParallelTask task, void *of, Concurrent *concurrent)
{
    const int64_t threads = pool_threads(has_pool);
    if (!concurrent) {
        parallel_for(has_pool, parts, task, of);
        return;
    }
    BoundPlan bound = *concurrent->bound;
    concurrent->is_done = 1;
    if (threads < 2 || parts < threads || parts % threads || parts + threads > MOST_PARTS) {
        parallel_for(has_pool, parts, task, of);
        parallel_for(has_pool, pool_parts(has_pool, bound.plan->amount, MOST_PARTS), compute_part, &bound);
        return;
    }
    TwoTasks both = {{task, compute_part}, {of, &bound}, {parts, threads}, threads};
    parallel_for(has_pool, parts + threads, part_of_two, &both);
}

/* Run all tiles; 0, and nothing is done, where they cannot be computed. */
int run_tiles(const BoundPlan *bound, int has_pool, Concurrent *concurrent)
{
    BoundPlan all = *bound;
    int64_t parts = pool_parts(has_pool, bound->plan->amount, MOST_PARTS);
    if (parts > 1 && !tiles_fit(bound, parts))
        parts = 1; /* a result over its operand has to be written in order */
    if (parts == 1 && !tiles_fit(bound, 1))
        return 0;
    parallel_for_with(has_pool, parts, compute_part, &all, concurrent);
    return 1;
}
