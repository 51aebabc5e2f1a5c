/* A function over elements whose results lie anywhere: stretches without gaps are computed where they belong, others apart. */

/* The extent [first, first + count) of an axis. */
static void take_extent(Elements *e, Stored *to, int axis, int64_t first, int64_t count)
{
    for (int i = 0; i < e->operands; i++) {
        Stored *operand = &e->grid.operands[i];
        operand->data = (const char *)operand->data + first * operand->step[axis] * size_of_word[operand->format];
    }
    to->data = (const char *)to->data + first * to->step[axis] * size_of_word[to->format];
    e->grid.shape[axis] = count;
    if (axis == 1)
        e->channel += first;
}

/* Numbers of the last axes that lie without gaps in the result, and how many axes these are. */
static int64_t without_gaps(const Grid *grid, const Stored *to, int *axes)
{
    int64_t found = 1;
    for (*axes = 0; *axes < 4; ++*axes) {
        const int axis = 3 - *axes;
        if (grid->shape[axis] != 1 && to->step[axis] != found)
            break;
        found *= grid->shape[axis];
    }
    return found;
}

/* At most a block of elements, put together before they go where they belong. */
static void compute_apart(Elements *e, const Stored *to)
{
    uint64_t words[BLOCK];
    Stored from = {words, to->format, {0, 0, 0, 1}};
    for (int i = 2; i >= 0; i--)
        from.step[i] = from.step[i + 1] * e->grid.shape[i + 1];
    e->result = words;
    compute(e);
    move_words(e->grid.shape, &from, to);
}

/* Elements of ``part``, which are those of ``all`` at some index of the axes before ``axis``, and some of that axis. */
static void place_part(const Elements *all, const Stored *to, const int64_t *index, int axis, Elements *part, Stored *place_)
{
    int64_t moved = 0;
    for (int i = 0; i < all->operands; i++) {
        const Stored *operand = &all->grid.operands[i];
        moved = 0;
        for (int each = 0; each <= axis; each++)
            moved += index[each] * operand->step[each];
        part->grid.operands[i].data = (const char *)operand->data + moved * size_of_word[operand->format];
    }
    moved = 0;
    for (int each = 0; each <= axis; each++)
        moved += index[each] * to->step[each];
    place_->data = (const char *)to->data + moved * size_of_word[to->format];
    part->channel = all->channel + (axis >= 1 ? index[1] : 0);
}

/* Piece by piece: one index of the axes before ``axis``, and ``at_once`` of that axis, each. */
static void compute_pieces(const Elements *e, const Stored *to, int axis, int64_t at_once, int is_direct)
{
    Elements part = *e;
    Stored place_ = *to;
    int64_t index[4] = {0};
    for (int outer = 0; outer < axis; outer++)
        part.grid.shape[outer] = 1;
    for (;;) {
        const int64_t left = e->grid.shape[axis] - index[axis];
        part.grid.shape[axis] = left < at_once ? left : at_once;
        place_part(e, to, index, axis, &part, &place_);
        if (is_direct) {
            part.result = (void *)(uintptr_t)place_.data;
            compute(&part);
        } else
            compute_apart(&part, &place_);
        index[axis] += at_once;
        for (int each = axis; index[each] >= e->grid.shape[each]; each--) {
            if (!each)
                return;
            index[each] = 0;
            index[each - 1]++;
        }
    }
}

#define LONG_ENOUGH 48 /* words without gaps that are worth a call */

static void compute_into(const Elements *e, const Stored *to)
{
    if (e->function == MOVED) {
        move_words(e->grid.shape, &e->grid.operands[0], to);
        return;
    }
    if (e->function == SCATTERED) {
        scatter(e, to);
        return;
    }
    if (e->function == WHOLE_OF && chosen->whole_rows) {
        const Requantisation r = shared_steps(e);
        if (chosen->whole_rows(&e->grid, e->kind, e->each, &r, to))
            return;
    }
    int axes;
    const int64_t whole = without_gaps(&e->grid, to, &axes), count = size_of(&e->grid);
    if (!count)
        return;
    if (whole == count || whole >= LONG_ENOUGH) {
        /* Axes of the stretch without gaps stay together; the one before them is taken one by one. */
        compute_pieces(e, to, axes == 4 ? 0 : 3 - axes, axes == 4 ? e->grid.shape[0] : 1, 1);
        return;
    }
    int axis = 3;
    int64_t inner = 1;
    while (axis > 0 && inner * e->grid.shape[axis] <= BLOCK)
        inner *= e->grid.shape[axis--];
    compute_pieces(e, to, axis, BLOCK / inner, 0);
}
