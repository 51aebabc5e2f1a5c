/* Commands that follow each other, carried out block by block: what one has just written is in the cache when the next one
 * reads it, and threads wait for each other once. Every command after the first one is made of pieces. */

#define MOST_OF_SEQUENCE 4

/* Bytes of results that stay in the cache until the next command reads them, about. */
#define BYTES_OF_BLOCK ((int64_t)1 << 17)

/* Whether each row of one tensor lies where that of the other one does. */
static int have_same_rows(const Placed *one, int tensor, const Placed *other, int second)
{
    const int64_t *a = one->plan->row_at[tensor], *b = other->plan->row_at[second];
    return a && b && one->pointers[tensor] == other->pointers[second] && one->plan->word[tensor] == other->plan->word[second] &&
           !memcmp(a, b, (size_t)one->plan->rows * sizeof *a);
}

/* Whether nothing that one command writes is read or written by the other one; or, ``by_rows``, only in rows that lie in the
 * same place, but no operands of a product. */
static int are_apart(const Placed *each, const Placed *next, int by_rows)
{
    const int last = result_of(each), own = result_of(next);
    for (int i = 0; i <= own; i++)
        if (!lie_apart(next, i, each, last) && !(by_rows && have_same_rows(next, i, each, last)))
            return 0;
    for (int i = 0; i < last; i++)
        if (!lie_apart(each, i, next, own) && !(by_rows && !each->plan->product && have_same_rows(each, i, next, own)))
            return 0;
    return 1;
}

/* Whether a block of ``next`` can be computed as soon as the same block of all those before it is: no other block of theirs
 * reads or writes what it writes, or writes what it reads. What the operands of a product are is kept until all are done,
 * so that it can be begun again. */
static int can_follow(const Placed *before, int count, const Placed *next)
{
    const Plan *plan = next->plan;
    if (plan->product || !plan->rows || plan->rows != before->plan->rows || plan->columns != before->plan->columns)
        return 0;
    for (int i = 0; i < count; i++)
        if (!are_apart(&before[i], next, 1))
            return 0;
    return pieces_fit(next, MOST_PARTS);
}

/* Whether a command can be carried out beside others, and again after them. */
static int goes_beside(const Placed *all, int count, const Placed *next)
{
    if (next->plan->product)
        return 0;
    for (int i = 0; i < result_of(next); i++)
        if (!lie_apart(next, i, next, result_of(next)))
            return 0;
    for (int i = 0; i < count; i++)
        if (!are_apart(&all[i], next, 0))
            return 0;
    return pieces_fit(next, MOST_PARTS);
}

/* Which operand of a piece is a number for each row that is added to the other one in 32 bits, if that is all it does; else -1. */
static int number_added(const Piece *piece)
{
    const Elements *e = &piece->work;
    const Stored *operands = e->grid.operands;
    if (e->function != WHOLE_OF || e->kind != ADD || e->each || e->numbers[0] != 1 || e->numbers[1] || e->numbers[2] ||
        e->r.rectified || e->r.size != (int)sizeof(int32_t) || e->r.low > INT32_MIN || e->r.high < INT32_MAX ||
        operands[0].format != SI32 || operands[1].format != SI32 || piece->sources[0] < 0 || piece->sources[1] < 0)
        return -1;
    return !operands[1].step[3] ? 1 : !operands[0].step[3] ? 0 : -1;
}

/* The largest magnitude of sums of products of bytes. */
static int64_t largest_sum(const Product *p)
{
    const int64_t left = p->left_type == SIGNED_BYTES ? 128 : 255, right = p->type == SIGNED_BYTES ? 128 : 255;
    return p->count > INT32_MAX ? INT32_MAX : left * right * p->count;
}

/* Whether the second command adds a number to each row of the sums where they are, and 32 bits hold what comes out: then
 * these numbers are what the sums of the first one start from, and the second one is done with it. */
static int starts_with_next(const Placed *all, Work *w)
{
    const Placed *next = all + 1;
    const Plan *plan = next->plan;
    const Product *p = w->p;
    if (!w->in_quads || p->starts || p->r.size != (int)sizeof(int32_t) || !p->rows || !is_plain(w->short_steps) ||
        !have_same_rows(next, result_of(next), all, result_of(all)))
        return 0;
    const int64_t most = INT32_MAX - largest_sum(p);
    int64_t *found = w->own_starts;
    for (int i = 0; i < plan->pieces; i++) {
        const Piece *piece = &plan->all[i];
        const int number = number_added(piece), axis = row_axis(&piece->work.grid);
        if (number < 0 || !have_same_rows(next, piece->sources[1 - number], all, result_of(all)))
            return 0;
        const Stored *numbers = &piece->work.grid.operands[number];
        const char *data = moved_by(numbers->data, next->pointers[piece->sources[number]]);
        for (int64_t row = 0; row < piece->work.grid.shape[axis]; row++, found++) {
            *found = whole_at(data + row * numbers->step[axis] * (int64_t)sizeof(int32_t), SI32);
            if (*found > most || *found < -most)
                return 0;
        }
    }
    w->has_own_starts = 1;
    return 1;
}

/* ``work``: of the first one, if that is a product. */
typedef struct {
    const Placed *all;
    int count;
    Work *work;
} Sequence;

/* Some rows and columns of all pieces. */
static void compute_block(const Placed *placed, const int64_t *range)
{
    const Plan *plan = placed->plan;
    Elements e;
    Stored to;
    for (int64_t i = 0, top = 0; i < plan->pieces && top < range[1]; i++) {
        const Piece *piece = &plan->all[i];
        const int64_t rows = size_of(&piece->work.grid) / plan->columns;
        const int64_t first = range[0] > top ? range[0] - top : 0, last = range[1] - top < rows ? range[1] - top : rows;
        top += rows;
        if (first >= last)
            continue;
        place_piece(piece, placed->pointers, result_of(placed), &e, &to);
        take_extent(&e, &to, row_axis(&e.grid), first, last - first);
        take_extent(&e, &to, 3, range[2], range[3] - range[2]);
        compute_into(&e, &to);
    }
}

/* A block of those that follow a product, or of all commands. */
static void compute_blocks(const void *of, const int64_t *range)
{
    const Sequence *s = of;
    for (int i = s->work ? 1 : 0; i < s->count; i++)
        compute_block(&s->all[i], range);
}

/* One part of as many of a sequence. */
static void sequence_part(void *of, int64_t part, int64_t parts)
{
    const Sequence *s = of;
    const Plan *plan = s->all->plan;
    const Product *p = plan->product;
    const int64_t everything[4] = {0, plan->rows, 0, plan->columns};
    int64_t range[4];
    if (p)
        take_range(p, everything, part, parts, range);
    else {
        const int axis = plan->rows < parts ? 2 : 0;
        memcpy(range, everything, sizeof range);
        take_part(everything[axis + 1], axis ? 64 : 1, part, parts, &range[axis], &range[axis + 1]);
    }
    if (range[0] >= range[1] || range[2] >= range[3])
        return;
    if (s->work && s->work->after) {
        if (sum_up(s->work, range))
            STORED(&s->work->lacks_memory, 1);
        return;
    }
    const int64_t rows = 1 + BYTES_OF_BLOCK / ((range[3] - range[2]) * (int64_t)sizeof(int32_t));
    for (int64_t first = range[0], last; first < range[1]; first = last) {
        last = range[1] - first < rows ? range[1] : first + rows;
        const int64_t block[4] = {first, last, range[2], range[3]};
        if (p && sum_up(s->work, block)) {
            STORED(&s->work->lacks_memory, 1);
            return;
        }
        compute_blocks(s, block);
    }
}

/* ``count``, or what ``plans_done`` says; results of a product go where they belong. */
static int sequence_done(const Placed *all, int count, Work *w, int joined, Beside *beside)
{
    const int is_second_done = w && starts_with_next(all, w);
    Placed kept[MOST_OF_SEQUENCE];
    Sequence sequence = {kept, 0, w};
    for (int i = 0; i < count; i++)
        if (i != 1 || !is_second_done)
            kept[sequence.count++] = all[i];
    const After after = {compute_blocks, &sequence};
    const Plan *plan = all->plan;
    const int64_t everything[4] = {0, plan->rows, 0, plan->columns};
    int64_t amount = 0;
    for (int i = 0; i < count; i++)
        amount += all[i].plan->amount;
    if (!w && !pieces_fit(all, MOST_PARTS))
        return pieces_done(all, joined, NULL);
    if (w && w->p->how < WINDOWS_OF_FLOATS) /* blocks of these begin with factors that are packed once for many rows */
        w->after = &after;
    const int64_t most = w ? most_parts(w->p, everything) : plan->rows > plan->columns ? plan->rows : plan->columns;
    together_with(joined, parts_of(joined, amount, most), sequence_part, &sequence, beside);
    return w && w->lacks_memory ? -1 : count;
}
