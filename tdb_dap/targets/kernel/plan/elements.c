/* Functions over elements whose results lie anywhere: stretches without gaps are computed in place, others in a buffer. */

#include "plan.h"

#define LOOKED_UP_WORDS(Word, Index)                                                                                            \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const int64_t at = ((const Index *)index)[i];                                                                  \
        ((Word *)result)[i] = at < size ? ((const Word *)row)[at] : (Word)fill;                                    \
    }

#define LOOKED_UP_BY(Index)                                                                                               \
    if (word == 1)                                                                                                     \
        LOOKED_UP_WORDS(uint8_t, Index)                                                                                         \
    else if (word == 2)                                                                                                \
        LOOKED_UP_WORDS(uint16_t, Index)                                                                                        \
    else                                                                                                               \
        LOOKED_UP_WORDS(uint32_t, Index)

/* result[i] = row[index[i]]; beyond its ``size`` words ``fill``. */
static void look_up_words(const void *row, int64_t size, const void *index, int index_size, int64_t count, int word,
                      uint32_t fill, void *result)
{
    if (index_size == 1)
        LOOKED_UP_BY(uint8_t)
    else if (index_size == 2)
        LOOKED_UP_BY(uint16_t)
    else
        LOOKED_UP_BY(uint32_t)
}

/* Whether a function has a table besides its operands. */
int elements_has_table(int function) { return function == SERIES || function == LOOKED_UP || function == SCATTERED; }

/* Axes along which a function may be cut; where an index says which words of a row are written, rows stay whole. */
int elements_axes_to_cut(int function) { return function == SCATTERED ? 2 : 4; }

/* Words of the table, by the unsigned words of the only operand; one after another from the start of the result on. */
static void look_up(const Elements *e)
{
    const Grid *grid = &e->grid, row = {.shape = {1, e->rows, 1, e->terms}};
    const Stored *index = &grid->operands[0];
    const int word = format_size[e->table.format], size = format_size[index->format];
    const int64_t width = grid->shape[3], lines = grid->shape[0] * grid->shape[1] * grid->shape[2];
    uint64_t chosen_words[512];
    char *to = e->result;
    for (int64_t line = 0; line < lines; line++) {
        const int64_t own = (e->channel + line / grid->shape[2] % grid->shape[1]) % e->rows;
        const char *words = element_address(&row, &e->table, own, 0);
        for (int64_t first = 0; first < width; first += 512) {
            const int64_t used = width - first < 512 ? width - first : 512;
            const char *at = element_address(grid, index, line, first);
            if (index->step[3] != 1) {
                move_row(chosen_words, 1, at, index->step[3], used, size);
                at = (const char *)chosen_words;
            }
            look_up_words(words, e->terms, at, size, used, word, e->fill, to + (line * width + first) * word);
        }
    }
}

/* Words of the table put into each row of the result, which else stays as it is, where the words of the only operand say,
 * one for each of the ``terms`` and the first of them given: a later one wins, one beyond the row is left out. */
static void scatter(const Elements *e, const Stored *to)
{
    const Grid *grid = &e->grid, row = {.shape = {1, e->rows, 1, e->terms}};
    const Stored *index = &grid->operands[0];
    const int word = format_size[to->format], size = format_size[index->format];
    const uint64_t width = (uint64_t)grid->shape[3], places = (uint64_t)grid->shape[2] * width;
    for (int64_t n = 0; n < grid->shape[0]; n++)
        for (int64_t c = 0; c < grid->shape[1]; c++) {
            const char *words = element_address(&row, &e->table, (e->channel + c) % e->rows, 0);
            const char *chosen_words = (const char *)index->data + (n * index->step[0] + c * index->step[1]) * size;
            char *out = (char *)(uintptr_t)to->data + (n * to->step[0] + c * to->step[1]) * word;
            for (int64_t j = 0; j < e->terms; j++) {
                const uint64_t at = (uint64_t)int_at(chosen_words + j * size, index->format); /* words without signs */
                if (at >= places)
                    continue;
                const int64_t moved = (int64_t)(at / width) * to->step[2] + (int64_t)(at % width) * to->step[3];
                memcpy(out + moved * word, words + j * word, (size_t)word);
            }
        }
}

/* Steps with the numbers that all elements share. */
static Requantisation shared_steps(const Elements *e)
{
    Requantisation r = e->r;
    r.multiplier = &e->numbers[0];
    r.amount = &e->numbers[1];
    r.zero = &e->numbers[2];
    return r;
}

/* All elements of the grid, one after another from the start of the result on. */
static void elements_compute(const Elements *e)
{
    const Requantisation r = shared_steps(e);
    const Grid *grid = &e->grid;
    switch (e->function) {
    case FLOAT_ELEMENTS: simd->float_elements(grid, e->kind, e->result, e->format, e->operands == 3 ? e->variant : 0); break;
    case SERIES: simd->series(grid, &e->table, e->rows, e->terms, e->channel, e->variant, e->result); break;
    case RECIPROCAL_ROOTS: simd->reciprocal_roots(grid, e->format, e->steps, e->result); break;
    case DIVIDED: simd->divided(grid, e->format, e->steps, e->rule, e->variant, e->result); break;
    case INT_ELEMENTS: simd->int_elements(grid, e->kind, e->each, e->variant, &r, e->result); break;
    case CONVERTED:
        switch (e->how) {
        case FLOATS_TO_INTS: simd->ints_of_floats(grid, e->mode, e->low, e->high, e->format, e->variant, e->result); break;
        case FLOATS_TO_FLOATS: simd->floats_of_floats(grid, e->mode, e->format, e->variant, e->result); break;
        case INTS_TO_FLOATS: simd->floats_of_ints(grid, e->format, e->result); break;
        case TO_INTEGRAL: simd->integral_floats(grid, e->mode, e->result); break;
        case HALVES_TO_INTEGRAL: simd->integral_halves(grid, e->mode, e->result); break;
        case MAGNITUDES: simd->magnitudes(grid, e->variant, e->result); break;
        case TO_HALVES_BY_MODE: simd->halves_by_mode(grid, e->mode, e->format, e->variant, e->result); break;
        }
        break;
    case SELECTED: simd->selected(grid, e->kind, e->format, e->result); break;
    case LOOKED_UP: look_up(e); break;
    case TRUNCATING_ELEMENTS: simd->truncating_elements(grid, e->kind, e->variant, e->result); break;
    case TRUNCATING_BYTES: simd->truncating_bytes(grid, e->mode, e->variant, (int32_t)e->low, (int32_t)e->high, e->result); break;
    case MOVED: {
        Stored to = {e->result, grid->operands[0].format, {0, 0, 0, 1}};
        for (int axis = 2; axis >= 0; axis--)
            to.step[axis] = to.step[axis + 1] * grid->shape[axis + 1];
        move_words(grid->shape, &grid->operands[0], &to);
        break;
    }
    }
}

/* The smallest and the largest number of an operand. */
static void find_range(const Grid *grid, const Stored *stored, int64_t *least, int64_t *most)
{
    const int64_t *step = stored->step;
    int64_t n[4];
    for (int axis = 0; axis < 4; axis++)
        n[axis] = step[axis] ? grid->shape[axis] : 1;
    *least = INT64_MAX, *most = INT64_MIN;
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++)
                for (int64_t d = 0; d < n[3]; d++) {
                    const int64_t at = a * step[0] + b * step[1] + c * step[2] + d * step[3];
                    const int64_t number = int_at((const char *)stored->data + at * format_size[stored->format], stored->format);
                    *least = number < *least ? number : *least;
                    *most = number > *most ? number : *most;
                }
}

/* Whether no index is beyond the words that it chooses from, where such a one is not said to choose another word, or none. */
static int indices_fit(const Elements *e)
{
    const int is_scattered = e->function == SCATTERED, size = format_size[e->grid.operands[0].format];
    const int64_t places = is_scattered ? e->grid.shape[2] * e->grid.shape[3] : e->terms;
    if (e->fills || (size < 4 && places >= (int64_t)1 << 8 * size))
        return 1;
    Grid grid = e->grid;
    Stored index = grid.operands[0];
    if (is_scattered) {
        grid.shape[2] = 1;
        grid.shape[3] = e->terms;
        index.step[3] = 1;
    }
    int64_t least, most;
    find_range(&grid, &index, &least, &most);
    return most < places;
}

int elements_fit(const Elements *e)
{
    if (e->function == LOOKED_UP || e->function == SCATTERED)
        return indices_fit(e);
    if (e->function != INT_ELEMENTS || !e->each)
        return 1;
    int64_t least, most;
    find_range(&e->grid, &e->grid.operands[3], &least, &most);
    return most <= LARGEST_STORED_SHIFT && least >= -LARGEST_SHIFT;
}

/* The extent [first, first + count) of an axis. */
void elements_take(Elements *e, Stored *to, int axis, int64_t first, int64_t count)
{
    for (int i = 0; i < e->operands; i++) {
        Stored *operand = &e->grid.operands[i];
        operand->data = (const char *)operand->data + first * operand->step[axis] * format_size[operand->format];
    }
    to->data = (const char *)to->data + first * to->step[axis] * format_size[to->format];
    e->grid.shape[axis] = count;
    if (axis == 1)
        e->channel += first;
}

/* Numbers of the last axes that lie without gaps in the result, and how many axes these are. */
static int64_t without_gaps(const Grid *grid, const Stored *to, int *axes)
{
    int64_t count = 1;
    for (*axes = 0; *axes < 4; ++*axes) {
        const int axis = 3 - *axes;
        if (grid->shape[axis] != 1 && to->step[axis] != count)
            break;
        count *= grid->shape[axis];
    }
    return count;
}

/* At most a block of elements, put together before they go where they belong. */
static void compute_apart(Elements *e, const Stored *to)
{
    uint64_t words[BLOCK];
    Stored from = {words, to->format, {0, 0, 0, 1}};
    for (int i = 2; i >= 0; i--)
        from.step[i] = from.step[i + 1] * e->grid.shape[i + 1];
    e->result = words;
    elements_compute(e);
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
        part->grid.operands[i].data = (const char *)operand->data + moved * format_size[operand->format];
    }
    moved = 0;
    for (int each = 0; each <= axis; each++)
        moved += index[each] * to->step[each];
    place_->data = (const char *)to->data + moved * format_size[to->format];
    part->channel = all->channel + (axis >= 1 ? index[1] : 0);
}

/* Block by block: one index of the axes before ``axis``, and ``at_once`` elements of that axis. */
static void compute_blocks_of(const Elements *e, const Stored *to, int axis, int64_t at_once, int in_place)
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
        if (in_place) {
            part.result = (void *)(uintptr_t)place_.data;
            elements_compute(&part);
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

void elements_store(const Elements *e, const Stored *to)
{
    if (e->function == MOVED) {
        move_words(e->grid.shape, &e->grid.operands[0], to);
        return;
    }
    if (e->function == SCATTERED) {
        scatter(e, to);
        return;
    }
    if (e->function == INT_ELEMENTS && simd->int_rows) {
        const Requantisation r = shared_steps(e);
        if (simd->int_rows(&e->grid, e->kind, e->each, &r, to))
            return;
    }
    int axes;
    const int64_t whole = without_gaps(&e->grid, to, &axes), count = element_count(&e->grid);
    if (!count)
        return;
    if (whole == count || whole >= LONG_ENOUGH) {
        /* Axes of the stretch without gaps stay together; the one before them is taken one by one. */
        compute_blocks_of(e, to, axes == 4 ? 0 : 3 - axes, axes == 4 ? e->grid.shape[0] : 1, 1);
        return;
    }
    int axis = 3;
    int64_t inner = 1;
    while (axis > 0 && inner * e->grid.shape[axis] <= BLOCK)
        inner *= e->grid.shape[axis--];
    compute_blocks_of(e, to, axis, BLOCK / inner, 0);
}
