/* Commands computed one after the other by the plans of their forms; see plans/batches.py. */

#include "plan.h"

/* Where the tensors of a command are; 0 where there is no memory, or they leave their lanes. */
static int find_tensors(const Commands *c, int64_t command, const Plan *plan, int64_t *pointers, int64_t *offsets)
{
    for (int i = 0; i < plan->tensors; i++) {
        const Extent *extents = &plan->extents[i];
        const int64_t space = c->spaces[command * MOST_ADDRESSES + extents->address];
        const int64_t offset = c->offsets[command * MOST_ADDRESSES + extents->address];
        const MemoryRegion *match = NULL;
        for (const MemoryRegion *region = c->regions; !match && region < c->regions + c->count; region++)
            if (region->space == space && (region->core < 0 || region->core == c->cores[command]) &&
                region->first <= offset + extents->low && offset + extents->high <= region->stop)
                match = region;
        if (!match)
            return 0;
        pointers[i] = match->pointer + offset;
        offsets[i] = offset;
    }
    return stays_in_lanes(plan, offsets);
}

static int is_watched(const Commands *c, int64_t command) { return c->watched && c->watched[command]; }

/* Whether a command is watched that overwrites its operands: a NaN that was there before it is not its own. */
static int is_watched_in_place(const Commands *c, int64_t command) { return is_watched(c, command) && c->watched[command] & WATCHED_IN_PLACE; }

static int watched_may_hold_nan(const Commands *c, const BoundPlan *bound, int64_t command)
{
    return is_watched(c, command) && may_hold_nan(bound, (c->watched[command] & (WATCHED_IN_PLACE - 1)) - 1);
}

/* So many products, about, between two moments at which a run can be interrupted: some milliseconds, tens without vectors. */
#define MOST_PRODUCTS ((int64_t)1 << 29)

#define MOST_IN_BATCH (MOST_FUSED + 1)

/* Commands that run together: their numbers, and the addresses of their tensors. After the ``count`` fused ones comes one
 * that runs concurrently, if there is one. */
typedef struct {
    int count, has_concurrent;
    int64_t numbers[MOST_IN_BATCH], pointers[MOST_IN_BATCH][MOST_OPERANDS + 2], offsets[MOST_IN_BATCH][MOST_OPERANDS + 2];
    BoundPlan all[MOST_IN_BATCH];
} Batch;

/* Add a command that is the first one, or can follow those before it; else it may run concurrently with them. */
static int batch_add(Batch *batch, const Commands *c, int64_t command, const Plan *plan)
{
    const int at = batch->count;
    if (!plan || product_is_long(plan) || !find_tensors(c, command, plan, batch->pointers[at], batch->offsets[at]))
        return 0;
    batch->all[at] = (BoundPlan){plan, batch->pointers[at], batch->offsets[at]};
    batch->numbers[at] = command;
    if (at == MOST_FUSED || (at && !can_follow(batch->all, at, &batch->all[at]))) {
        batch->has_concurrent = runs_concurrently(batch->all, at, &batch->all[at]);
        return 0;
    }
    batch->count++;
    return 1;
}

/* Commands from ``first`` on that may unpack weights: their numbers; 0 where they are others. */
static int find_unpacking(const Commands *c, const Plan *const *plans, int64_t start, int64_t first, int64_t stop, int64_t *numbers)
{
    int count = 0;
    for (int64_t i = first; i < stop && count < unpack_count(); i++)
        if (c->numbers[i] != NO_DATA) {
            if (!unpack_takes(plans[i - start], count))
                return 0;
            numbers[count++] = i;
        }
    return count == unpack_count();
}

/* Run commands that unpack weights in one pass; 0, and nothing is done, where they are others. */
static int batch_unpack(Batch *batch, const Commands *c, const Plan *const *plans, int64_t start, int64_t first, int64_t stop, int has_pool)
{
    if (!find_unpacking(c, plans, start, first, stop, batch->numbers))
        return 0;
    for (int i = 0; i < unpack_count(); i++) {
        const Plan *plan = plans[batch->numbers[i] - start];
        if (!find_tensors(c, batch->numbers[i], plan, batch->pointers[i], batch->offsets[i]))
            return 0;
        batch->all[i] = (BoundPlan){plan, batch->pointers[i], batch->offsets[i]};
    }
    return unpack_run(batch->all, has_pool) ? unpack_count() : 0;
}

/* The first of the commands [first, stop) that is not done: there is no memory for it (``has_failed``), it has no plan, its
 * plan does not fit, it is watched and may find a NaN where its result will be, those before it have taken long enough, or the
 * one before it is watched (``may_be_nan``). */
int64_t batch_run(const Commands *c, const Plan *const *plans, int64_t first, int64_t stop, int has_pool, int *has_failed, int *may_be_nan)
{
    const int64_t start = first;
    Batch batch;
    int64_t amount = 0; /* of what is done */
    while (first < stop && amount < MOST_PRODUCTS) {
        if (c->numbers[first] == NO_DATA) {
            first++;
            continue;
        }
        int64_t ahead[MOST_IN_BATCH];
        batch.count = batch.has_concurrent = 0;
        Concurrent concurrent = {NULL, 0};
        int done = c->watched ? 0 : batch_unpack(&batch, c, plans, start, first, stop, has_pool);
        for (int64_t i = first; i < stop && !done; i++)
            if (c->numbers[i] != NO_DATA && ((i > first && (is_watched_in_place(c, i) || (!c->watched && find_unpacking(c, plans, start, i, stop, ahead)))) ||
                                             !batch_add(&batch, c, i, plans[i - start]) || is_watched(c, i)))
                break; /* what is watched is the last one: others would overwrite it */
        if (batch.count && is_watched_in_place(c, first) && watched_may_hold_nan(c, &batch.all[0], first))
            return first;
        concurrent.bound = &batch.all[batch.count];
        done = done ? done : batch.count ? plan_run(batch.all, batch.count, has_pool, batch.has_concurrent ? &concurrent : NULL) : 0;
        *has_failed = done < 0;
        if (done <= 0)
            return first;
        done += done == batch.count && concurrent.is_done;
        for (int i = 0; i < done; i++)
            amount += batch.all[i].plan->amount;
        const int64_t last = batch.numbers[done - 1];
        first = last + 1;
        *may_be_nan = watched_may_hold_nan(c, &batch.all[done - 1], last);
        if (*may_be_nan)
            return first;
    }
    return first;
}
