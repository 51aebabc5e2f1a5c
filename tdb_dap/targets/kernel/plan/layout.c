/* Facts of a plan that hold wherever its tensors are. */

#include "plan.h"

/* Find where the rows of an operand of a tile, or of its result, begin; 0 where they have gaps. */
static int add_rows(const Grid *grid, const Stored *stored, int64_t *at)
{
    const int axis = row_axis(grid);
    if (grid->shape[3] > 1 && stored->step[3] != 1)
        return 0;
    for (int64_t row = 0; row < grid->shape[axis]; row++)
        at[row] = (int64_t)(intptr_t)stored->data + row * stored->step[axis] * format_size[stored->format];
    return 1;
}

/* Find the rows of tensors, if all tiles have rows of the same length. -1: out of memory. */
static int find_rows_of_tiles(Plan *plan)
{
    const int64_t columns = plan->all[0].work.grid.shape[3];
    const int last = plan->tensors - 1;
    int64_t rows = 0;
    for (int i = 0; i < plan->tiles; i++) {
        const Grid *grid = &plan->all[i].work.grid;
        if (grid->shape[3] != columns || row_axis(grid) < 0 || plan->all[i].work.function == SCATTERED ||
            plan->all[i].work.r.plane) /* of several results one may be written over what another one is computed from */
            return 0;
        rows += element_count(grid) / (columns ? columns : 1);
    }
    for (int tensor = 0; rows && columns && tensor < plan->tensors; tensor++) {
        int64_t *at = malloc((size_t)rows * sizeof *at), top = 0;
        if (!at)
            return -1;
        plan->row_at[tensor] = at;
        int has_rows = 1;
        for (int i = 0; has_rows && i < plan->tiles; i++) {
            const Tile *tile = &plan->all[i];
            const Stored *stored = tensor == last ? &tile->to : NULL;
            /* Amounts are checked before anything is computed: no earlier command of a block may write them. */
            const int changing = tile->work.function == INT_ELEMENTS ? 2 : tile->work.operands;
            for (int k = 0; k < tile->work.operands && tensor < last; k++)
                if (tile->sources[k] == tensor) {
                    has_rows &= k < changing;
                    const Stored *operand = &tile->work.grid.operands[k];
                    has_rows &= !stored || !memcmp(stored, operand, sizeof *stored); /* one operand may be both */
                    stored = operand;
                }
            has_rows = has_rows && stored && add_rows(&tile->work.grid, stored, at + top);
            top += element_count(&tile->work.grid) / columns;
            plan->word[tensor] = stored ? format_size[stored->format] : 0;
        }
        if (!has_rows) {
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

/* Find the address of each row of sums; none where rows have gaps, or sums still have to be rounded. -1: out of memory. */
static int find_rows(Product *p)
{
    int64_t rows_known = 0;
    if (!product_is_integer(p) && !(p->form.how == GEMM_F32 && p->form.result == F32 && !p->form.rectified && !p->form.adds_last && !p->form.halves))
        return 0;
    p->row_at = malloc((size_t)(p->form.rows + 1) * sizeof *p->row_at);
    if (!p->row_at)
        return -1;
    for (int i = 0; i < p->form.store_steps; i++) {
        const StoreStep *s = &p->store[i];
        const int64_t word = format_size[s->to.format], *n = s->shape;
        const int64_t rows = p->form.columns ? n[3] / p->form.columns : 0; /* rows that follow each other are one */
        int has_rows = rows && n[3] == rows * p->form.columns && !(s->first % p->form.columns) &&
                       (n[3] == 1 || (s->step[3] == 1 && s->to.step[3] == 1));
        for (int axis = 0; axis < 3; axis++)
            has_rows &= n[axis] == 1 || !(s->step[axis] % p->form.columns);
        if (!has_rows)
            break;
        for (int64_t a = 0; a < n[0]; a++)
            for (int64_t b = 0; b < n[1]; b++)
                for (int64_t c = 0; c < n[2]; c++)
                    for (int64_t row = 0; row < rows; row++, rows_known++) {
                        const int64_t at = a * s->to.step[0] + b * s->to.step[1] + c * s->to.step[2] + row * p->form.columns;
                        p->row_at[(s->first + a * s->step[0] + b * s->step[1] + c * s->step[2]) / p->form.columns + row] =
                            (int64_t)(intptr_t)s->to.data + at * word;
                    }
    }
    if (rows_known != p->form.rows) {
        free(p->row_at);
        p->row_at = NULL;
    }
    return 0;
}

void product_free(Product *p)
{
    if (p) {
        free(p->pack);
        free(p->store);
        free(p->taps);
        free(p->places);
        free(p->row_at);
        free(p->image_in_place.at);
        free(p->left_in_place.at);
    }
    free(p);
}

void plan_free(Plan *plan)
{
    if (plan) {
        for (int i = 0; i < plan->tensors && !plan->product; i++)
            free(plan->row_at[i]); /* those of a product are its own */
        free(plan->all);
        product_free(plan->product);
    }
    free(plan);
}

/* Rows, what is read in place, and the amount of work. -1: there is no memory. */
int layout_find(Plan *plan)
{
    Product *p = plan->product;
    if (p) {
        if (find_rows(p) || in_place_find(p))
            return -1;
        operands_find_planes(p);
        plan->rows = p->form.rows;
        plan->columns = p->form.columns;
        plan->row_at[plan->tensors - 1] = p->row_at;
        plan->word[plan->tensors - 1] = p->form.store_steps ? format_size[p->store[0].to.format] : 0;
        plan->amount = p->form.rows * p->form.count * p->form.columns * product_cost(p) + STEPS_OF_READING * (p->form.image + p->form.rows * p->form.count);
    } else if (find_rows_of_tiles(plan))
        return -1;
    for (int i = 0; i < plan->tiles; i++)
        plan->amount += STEPS_OF_ELEMENT * element_count(&plan->all[i].work.grid);
    return 0;
}
