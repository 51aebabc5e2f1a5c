/* Commands that follow each other, computed block by block: what one has just written is in the cache when the next one reads it,
 * and threads wait for each other once. Every command after the first one is made of tiles. */

#include "plan.h"

/* Bytes of results that stay in the cache until the next command reads them, about. */
#define BYTES_OF_BLOCK ((int64_t)1 << 17)

/* Whether two tensors have their rows at the same addresses. */
static int have_same_rows(const BoundPlan *one, int tensor, const BoundPlan *other, int second)
{
    const int64_t *a = one->plan->row_at[tensor], *b = other->plan->row_at[second];
    return a && b && one->pointers[tensor] == other->pointers[second] && one->plan->word[tensor] == other->plan->word[second] &&
           !memcmp(a, b, (size_t)one->plan->rows * sizeof *a);
}

/* Whether nothing that one command writes is read or written by the other one; or, ``by_rows``, only in rows that lie in the
 * same place, but no operands of a product. */
static int are_independent(const BoundPlan *each, const BoundPlan *next, int by_rows)
{
    const int last = result_tensor(each), own = result_tensor(next);
    for (int i = 0; i <= own; i++)
        if (!are_disjoint(next, i, each, last) && !(by_rows && have_same_rows(next, i, each, last)))
            return 0;
    for (int i = 0; i < last; i++)
        if (!are_disjoint(each, i, next, own) && !(by_rows && !each->plan->product && have_same_rows(each, i, next, own)))
            return 0;
    return 1;
}

/* Whether a block of ``next`` can be computed as soon as the same block of all those before it is: no other block of theirs
 * reads or writes what it writes, or writes what it reads. What the operands of a product are is kept until all are done,
 * so that it can be begun again. */
int can_follow(const BoundPlan *before, int count, const BoundPlan *next)
{
    const Plan *plan = next->plan;
    if (plan->product || !plan->rows || plan->rows != before->plan->rows || plan->columns != before->plan->columns)
        return 0;
    for (int i = 0; i < count; i++)
        if (!are_independent(&before[i], next, 1))
            return 0;
    return tiles_fit(next, MOST_PARTS);
}

/* Whether a command may run concurrently with others, and may be re-run after them. */
int runs_concurrently(const BoundPlan *all, int count, const BoundPlan *next)
{
    if (next->plan->product)
        return 0;
    for (int i = 0; i < result_tensor(next); i++)
        if (!are_disjoint(next, i, next, result_tensor(next)))
            return 0;
    for (int i = 0; i < count; i++)
        if (!are_independent(&all[i], next, 0))
            return 0;
    return tiles_fit(next, MOST_PARTS);
}

/* The operand of a tile that is one number per row, added to the other one in 32 bits; -1 where the tile does anything else. */
static int number_added(const Tile *tile)
{
    const Elements *e = &tile->work;
    const Stored *operands = e->grid.operands;
    if (e->function != INT_ELEMENTS || e->kind != ADD || e->each || e->numbers[0] != 1 || e->numbers[1] || e->numbers[2] ||
        e->r.rectified || e->r.size != (int)sizeof(int32_t) || e->r.low > INT32_MIN || e->r.high < INT32_MAX ||
        operands[0].format != SI32 || operands[1].format != SI32 || tile->sources[0] < 0 || tile->sources[1] < 0)
        return -1;
    return !operands[1].step[3] ? 1 : !operands[0].step[3] ? 0 : -1;
}

/* The largest magnitude of sums of products of bytes. */
static int64_t largest_sum(const Product *p)
{
    const int64_t left = p->form.left_type == SIGNED_BYTES ? 128 : 255, right = p->form.type == SIGNED_BYTES ? 128 : 255;
    return p->form.count > INT32_MAX ? INT32_MAX : left * right * p->form.count;
}

/* Whether the second command adds a number to each row of the sums where they are, and 32 bits hold what comes out: then
 * these numbers are what the sums of the first one start from, and the second one is done with it. */
static int starts_with_next(const BoundPlan *all, ProductRun *w)
{
    const BoundPlan *next = all + 1;
    const Plan *plan = next->plan;
    const Product *p = w->p;
    if (!w->uses_dot4 || p->form.starts || p->form.size != (int)sizeof(int32_t) || !p->form.rows || !is_plain(w->fast_steps) ||
        !have_same_rows(next, result_tensor(next), all, result_tensor(all)))
        return 0;
    const int64_t most = INT32_MAX - largest_sum(p);
    int64_t *start = w->own_starts;
    for (int i = 0; i < plan->tiles; i++) {
        const Tile *tile = &plan->all[i];
        const int number = number_added(tile), axis = row_axis(&tile->work.grid);
        if (number < 0 || !have_same_rows(next, tile->sources[1 - number], all, result_tensor(all)))
            return 0;
        const Stored *numbers = &tile->work.grid.operands[number];
        const char *data = offset_by(numbers->data, next->pointers[tile->sources[number]]);
        for (int64_t row = 0; row < tile->work.grid.shape[axis]; row++, start++) {
            *start = int_at(data + row * numbers->step[axis] * (int64_t)sizeof(int32_t), SI32);
            if (*start > most || *start < -most)
                return 0;
        }
    }
    w->has_own_starts = 1;
    return 1;
}

/* ``work``: of the first one, if that is a product. */
typedef struct {
    const BoundPlan *all;
    int count;
    ProductRun *work;
} Fusion;

/* Some rows and columns of all tiles. */
static void compute_block(const BoundPlan *bound, const int64_t *range)
{
    const Plan *plan = bound->plan;
    Elements e;
    Stored to;
    for (int64_t i = 0, top = 0; i < plan->tiles && top < range[1]; i++) {
        const Tile *tile = &plan->all[i];
        const int64_t rows = element_count(&tile->work.grid) / plan->columns;
        const int64_t first = range[0] > top ? range[0] - top : 0, last = range[1] - top < rows ? range[1] - top : rows;
        top += rows;
        if (first >= last)
            continue;
        bind_tile(tile, bound->pointers, result_tensor(bound), &e, &to);
        elements_take(&e, &to, row_axis(&e.grid), first, last - first);
        elements_take(&e, &to, 3, range[2], range[3] - range[2]);
        elements_store(&e, &to);
    }
}

/* A block of those that follow a product, or of all commands. */
static void compute_blocks(const void *of, const int64_t *range)
{
    const Fusion *s = of;
    for (int i = s->work ? 1 : 0; i < s->count; i++)
        compute_block(&s->all[i], range);
}

/* One part of as many of a sequence. */
static void fusion_part(void *of, int64_t part, int64_t parts)
{
    const Fusion *s = of;
    const Plan *plan = s->all->plan;
    const Product *p = plan->product;
    const int64_t everything[4] = {0, plan->rows, 0, plan->columns};
    int64_t range[4];
    if (p)
        product_take_range(p, everything, part, parts, range);
    else {
        const int axis = plan->rows < parts ? 2 : 0;
        memcpy(range, everything, sizeof range);
        range_take(everything[axis + 1], axis ? 64 : 1, part, parts, &range[axis], &range[axis + 1]);
    }
    if (range[0] >= range[1] || range[2] >= range[3])
        return;
    if (s->work && s->work->epilogue) {
        if (product_sum(s->work, range))
            atomic_store(&s->work->lacks_memory, 1);
        return;
    }
    const int64_t rows = 1 + BYTES_OF_BLOCK / ((range[3] - range[2]) * (int64_t)sizeof(int32_t));
    for (int64_t first = range[0], last; first < range[1]; first = last) {
        last = range[1] - first < rows ? range[1] : first + rows;
        const int64_t block[4] = {first, last, range[2], range[3]};
        if (p && product_sum(s->work, block)) {
            atomic_store(&s->work->lacks_memory, 1);
            return;
        }
        compute_blocks(s, block);
    }
}

/* ``count``, or what ``plan_run`` says; results of a product go where they belong. */
int fusion_run(const BoundPlan *all, int count, ProductRun *w, int has_pool, Concurrent *concurrent)
{
    const int is_second_done = w && starts_with_next(all, w);
    BoundPlan kept[MOST_FUSED];
    Fusion sequence = {kept, 0, w};
    for (int i = 0; i < count; i++)
        if (i != 1 || !is_second_done)
            kept[sequence.count++] = all[i];
    const Epilogue epilogue = {compute_blocks, &sequence};
    const Plan *plan = all->plan;
    const int64_t everything[4] = {0, plan->rows, 0, plan->columns};
    int64_t amount = 0;
    for (int i = 0; i < count; i++)
        amount += all[i].plan->amount;
    if (!w && !tiles_fit(all, MOST_PARTS))
        return run_tiles(all, has_pool, NULL);
    if (w && w->p->form.how < WINDOW_F32) /* blocks of these begin with factors that are packed once for many rows */
        w->epilogue = &epilogue;
    const int64_t most = w ? product_most_parts(w->p, everything) : plan->rows > plan->columns ? plan->rows : plan->columns;
    parallel_for_with(has_pool, pool_parts(has_pool, amount, most), fusion_part, &sequence, concurrent);
    return w && w->lacks_memory ? -1 : count;
}
