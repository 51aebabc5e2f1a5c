/* Facts of a product that follow from its form: types, sizes, how it is cut into parts. */

#include "plan.h"

int64_t product_start_size(const Product *p, int number)
{
    return number < p->form.starts ? p->form.start_rows[number] * p->form.start_columns[number] : 1;
}

int product_is_integer(const Product *p)
{
    return p->form.how == GEMM_INT || p->form.how == WINDOW_INT;
}

int product_start_as(const Product *p)
{
    return product_is_integer(p) ? AS_WIDE : AS_FLOATS;
}

int product_image_as(const Product *p)
{
    return p->form.type == FLOATS_OF_IMAGE ? AS_FLOATS : p->form.type == SIGNED_WORDS || p->form.type == UNSIGNED_WORDS ? AS_WORDS : AS_BYTES;
}

int product_left_as(const Product *p)
{
    return p->form.how == GEMM_INT ? AS_WORDS : p->form.how == WINDOW_INT ? AS_INTEGERS : AS_FLOATS;
}

/* Bytes of a sum before it is rounded. */
size_t product_sum_size(const Product *p)
{
    return product_is_integer(p) ? (size_t)p->form.size : packed_size[product_image_as(p)];
}

/* The parts of a block, one after the other, each at a multiple of 64 bytes; its size. */
/* Numbers of right factors, at most, that are packed for all rows at once. */
#define MOST_SHARED ((int64_t)1 << 20)

int64_t product_panels(const Product *p)
{
    if (p->form.how != GEMM_F16 || p->form.rows <= ROWS || p->form.count * p->form.columns > MOST_SHARED)
        return 0;
    return (p->form.columns + simd->lanes - 1) / simd->lanes;
}

size_t product_lay_out(const Product *p, char *block, ProductRun *w)
{
    const size_t rows = (size_t)(p->form.rows + ROWS), count = (size_t)p->form.count + 1, number = packed_size[product_left_as(p)];
    const size_t sums = (size_t)(p->form.rows * p->form.columns) * product_sum_size(p);
    const size_t exact = p->form.how == GEMM_INT ? rows : 0, second = p->form.halves ? sums : 0;
    const size_t sizes[] = {rows * 8, rows * 8, rows * 8, exact * sizeof(FastRequant), exact * 8,
                            (size_t)product_start_size(p, 0) * 8, (size_t)product_start_size(p, 1) * 8, sums, second,
                            p->has_rows ? 0 : rows * count * number, p->form.how == GEMM_F32 || p->form.how == GEMM_INT ? rows * (count + 4) * number : 0,
                            p->has_columns ? 0 : (size_t)p->form.image * packed_size[product_image_as(p)],
                            (size_t)product_panels(p) * (product_panels(p) ? simd->panel_f16_size(p->form.count) : 0)};
    char **parts[] = {(char **)&w->steps[0], (char **)&w->steps[1], (char **)&w->steps[2], (char **)&w->fast_steps,
                      (char **)&w->own_starts, &w->starts[0], &w->starts[1], &w->sums, &w->second, &w->left, &w->packed, &w->image, &w->panels};
    size_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *parts[i] = block + at;
        at += (sizes[i] + 127) / 64 * 64;
    }
    return at;
}

/* Cost of one product, in multiplications of gemm_f32, by accumulation. */
int64_t product_cost(const Product *p)
{
    return p->form.how == GEMM_F16 ? 4 : p->form.how == WINDOW_F32 ? 16 : p->form.how >= WINDOW_INT ? 4 : 1;
}

/* Columns that are worth a part of their own: left factors are read again for each. */
#define WIDE_ENOUGH 64

/* The parts that the sums of a range are cut into, at most. */
int64_t product_most_parts(const Product *p, const int64_t *range)
{
    const int64_t columns = (range[3] - range[2]) / WIDE_ENOUGH, rows = (range[1] - range[0] + ROWS - 1) / ROWS;
    return p->form.how >= WINDOW_F32 ? range[1] - range[0] : columns > rows ? columns : rows;
}

/* One of ``parts`` parts of the rows and columns of a range; perhaps none of them. The windows of a channel stay together. */
void product_take_range(const Product *p, const int64_t *range, int64_t part, int64_t parts, int64_t *taken)
{
    memcpy(taken, range, 4 * sizeof *taken);
    const int by_columns = p->form.how < WINDOW_F32 && (range[3] - range[2]) / WIDE_ENOUGH >= parts;
    const int axis = 2 * by_columns, block = p->form.how >= WINDOW_F32 ? 1 : by_columns ? COLUMNS_OF_PART : ROWS;
    int64_t first, last;
    range_take(range[axis + 1] - range[axis], block, part, parts, &first, &last);
    taken[axis + 1] = range[axis] + last;
    taken[axis] = range[axis] + first;
}

int64_t product_long = (int64_t)1 << 27; /* some milliseconds, of 16-bit floats tens */

int product_is_long(const Plan *plan)
{
    const Product *p = plan->product;
    return p && plan->amount > product_long && product_most_parts(p, (const int64_t[]){0, p->form.rows, 0, p->form.columns}) > 1;
}

/* [*first, *last): one of ``parts`` parts of ``count`` numbers, in whole blocks. */
void range_take(int64_t count, int64_t block, int64_t part, int64_t parts, int64_t *first, int64_t *last)
{
    const int64_t blocks = (count + block - 1) / block;
    *first = blocks * part / parts * block;
    *last = blocks * (part + 1) / parts * block;
    *last = *last < count ? *last : count;
}

/* Steps in a start between rows, and between columns. */
void product_start_steps(const Product *p, int number, int64_t *row, int64_t *column)
{
    *row = number < p->form.starts && p->form.start_rows[number] > 1 ? p->form.start_columns[number] : 0;
    *column = number < p->form.starts && p->form.start_columns[number] > 1;
}

/* Where sums are put. */
void *product_results(const ProductRun *w)
{
    return w->stores_directly ? (void *)(uintptr_t)w->pointers[w->result] : w->sums;
}

Requantisation product_requantisation(const ProductRun *w)
{
    const ProductRecord *form = &w->p->form;
    Requantisation r = {.mode = form->mode, .held = form->held, .rectified = form->rectified, .size = form->size, .low = form->low,
                        .high = form->high, .is_high = form->is_high, .keeps_sign = form->keeps_sign,
                        .is_scaled = form->is_scaled};
    r.multiplier = w->steps[0];
    r.amount = w->steps[1];
    r.zero = w->steps[2];
    r.held |= w->has_own_starts; /* 32 bits hold these sums */
    return r;
}
