/* The operands of a product packed, in parts that threads may share: padding first, then all numbers from where they are stored,
 * then left factors in the order in which they are used. */

#include "plan.h"

/* Numbers of an image where none is put. */
static void fill_image(const Product *p, char *image, int64_t first, int64_t last)
{
    if (product_image_as(p) == AS_BYTES)
        memset(image + first, (int)p->form.fill, (size_t)(last - first));
    else if (product_image_as(p) == AS_WORDS)
        for (int64_t i = first; i < last; i++)
            ((int16_t *)(void *)image)[i] = (int16_t)p->form.fill;
    else
        for (int64_t i = first; i < last; i++)
            ((float *)(void *)image)[i] = p->form.fill;
}

/* Where nothing is put. */
static void fill_part(void *of, int64_t part, int64_t parts)
{
    const ProductRun *w = of;
    const Product *p = w->p;
    int64_t first, last;
    range_take(p->form.image, 64, part, parts, &first, &last);
    if (p->form.is_filled && !w->reads_planes)
        fill_image(p, w->image, first, last);
    if (p->has_gaps) {
        range_take(p->form.rows * p->form.count, 64, part, parts, &first, &last);
        memset(w->left + first * (int64_t)packed_size[product_left_as(p)], 0, (size_t)((last - first) * (int64_t)packed_size[product_left_as(p)]));
    }
}

/* Whether factors are not put together, or not yet. */
static int is_read_in_place(const ProductRun *w, int which)
{
    if (which == RIGHT_FACTORS)
        return w->reads_planes || w->p->has_columns || w->p->image_in_place.at;
    return which == LEFT_FACTORS && (w->p->has_rows || (w->uses_dot4 && w->p->left_in_place.at));
}

/* The axis of a part of an image along which planes follow each other, or of left factors, rows; one of one element, if there is
 * one plane; else -1. */
static int find_plane_axis(const PackStep *g, int64_t plane)
{
    int plane_axis = -1, single = -1;
    int64_t last = g->first % plane;
    for (int axis = 0; axis < 4; axis++) {
        if (g->shape[axis] == 1)
            single = axis < 3 ? axis : single;
        else if (plane_axis < 0 && axis < 3 && g->step[axis] == plane)
            plane_axis = axis;
        else if (g->step[axis] < 0)
            return -1;
        else
            last += (g->shape[axis] - 1) * g->step[axis];
    }
    return last >= plane ? -1 : plane_axis < 0 ? single : plane_axis;
}

/* Whether all packing steps of some factors put planes one after the other. */
static int have_planes(Product *p, int which, int64_t plane)
{
    for (int i = 0; i < p->form.pack_steps; i++)
        if (p->pack[i].which == which && (p->pack[i].plane_axis = find_plane_axis(&p->pack[i], plane)) < 0)
            return 0;
    return 1;
}

/* Whether an image has one column of products after the other. */
static int has_turned_image(const Product *p)
{
    int is_turned = !p->form.is_filled && !p->has_gaps && p->form.image == p->form.count * p->form.columns;
    for (int64_t k = 0; is_turned && k < p->form.count; k++)
        is_turned = p->taps[k] == k;
    for (int64_t column = 0; is_turned && column < p->form.columns; column++)
        is_turned = p->places[column] == column * p->form.count;
    return is_turned;
}

/* Whether the planes of an image, rows of left factors, or columns of right ones can be put together one by one. */
void operands_find_planes(Product *p)
{
    p->has_planes = p->form.how >= WINDOW_F32 && p->form.rows && p->form.image % p->form.rows == 0 && p->form.image >= p->form.rows &&
                    have_planes(p, RIGHT_FACTORS, p->form.image / p->form.rows);
    /* Parts are made of rows, or of columns, where these are more: each is read once. */
    p->has_rows = product_panels(p) && p->form.rows > p->form.columns && !p->has_gaps && have_planes(p, LEFT_FACTORS, p->form.count);
    p->has_columns = p->form.how == GEMM_F16 && p->form.rows <= ROWS && has_turned_image(p) && have_planes(p, RIGHT_FACTORS, p->form.count);
}

/* Planes [first, last) of factors, put together at ``to``. */
static void gather_planes(const ProductRun *w, int which, int64_t plane, int64_t first, int64_t last, int as, char *to_data)
{
    const Product *p = w->p;
    for (int i = 0; i < p->form.pack_steps; i++) {
        PackStep g = p->pack[i];
        const int axis = g.plane_axis;
        const int64_t begin = g.first / plane, end = begin + g.shape[axis];
        const int64_t from = first > begin ? first : begin, to = last < end ? last : end;
        if (g.which != which || from >= to)
            continue;
        const char *data = g.source < 0 ? (const char *)&g.constant : offset_by(g.from.data, w->pointers[g.source]);
        g.shape[axis] = to - from;
        g.first += (from - begin - first) * plane;
        gather(&g, data + (from - begin) * g.from.step[axis] * format_size[g.from.format], to_data, as, NULL);
    }
}

/* Planes [first, last) of an image, put together at ``image``. */
void operands_gather_planes(const ProductRun *w, int64_t first, int64_t last, char *image)
{
    const Product *p = w->p;
    const int64_t plane = p->form.image / p->form.rows;
    if (p->form.is_filled)
        fill_image(p, image, 0, (last - first) * plane);
    gather_planes(w, RIGHT_FACTORS, plane, first, last, product_image_as(p), image);
}

/* Rows [first, last) of left factors, or columns of right ones, put together now: the first of all of them, or NULL without memory.
 * ``block`` is to be released. */
const float *operands_gather_rows(const ProductRun *w, int which, int64_t first, int64_t last, void **block)
{
    const int64_t count = w->p->form.count;
    *block = scratch_acquire(SCRATCH_ROWS, (size_t)((last - first) * count) * sizeof(float));
    if (!*block)
        return NULL;
    gather_planes(w, which, count, first, last, AS_FLOATS, *block);
    return (const float *)((uintptr_t)*block - (uintptr_t)(first * count) * sizeof(float));
}

/* A part of all operands, each along its longest axis. */
static void gather_part(void *of, int64_t part, int64_t parts)
{
    ProductRun *w = of;
    const Product *p = w->p;
    uint32_t range[2] = {UINT32_MAX, 0};
    for (int i = 0; i < p->form.pack_steps; i++) {
        PackStep g = p->pack[i];
        const int axis = longest_axis(g.shape, 4);
        int64_t first, last;
        range_take(g.shape[axis], axis == 3 ? 64 : 1, part, parts, &first, &last);
        if (first == last || g.which == ALIKE || is_read_in_place(w, g.which))
            continue;
        const int64_t moved = first * g.from.step[axis] * format_size[g.from.format];
        const char *data = g.source < 0 ? (const char *)&g.constant : offset_by(g.from.data, w->pointers[g.source]);
        g.shape[axis] = last - first;
        g.first += first * g.step[axis];
        if (g.which == LEFT_FACTORS)
            gather(&g, data + moved, w->left, w->uses_dot4 ? AS_BYTES : product_left_as(p), NULL);
        else if (g.which == RIGHT_FACTORS)
            gather(&g, data + moved, w->image, product_image_as(p), p->form.how == GEMM_F32 ? range : NULL);
        else if (g.which <= SECOND_START)
            gather(&g, data + moved, w->starts[g.which - FIRST_START], product_start_as(p), NULL);
        else
            gather(&g, data + moved, (char *)w->steps[g.which - MULTIPLIER], AS_WIDE, NULL);
    }
    memcpy(w->ranges[RIGHT_FACTORS][part], range, sizeof range);
}

/* Adds one start to the sums of some rows and columns; where it ``begins`` them, they are what it is. */
void operands_add_start(const ProductRun *w, int number, const int64_t *range, int begins)
{
    const Product *p = w->p;
    const float *start = (const float *)w->starts[number];
    float own[256], before[256];
    int64_t row_step, step;
    product_start_steps(p, number, &row_step, &step);
    for (int64_t row = range[0]; row < range[1]; row++)
        for (int64_t first = range[2]; first < range[3]; first += 256) {
            const int64_t used = range[3] - first < 256 ? range[3] - first : 256;
            float *to = (float *)w->sums + row * p->form.columns + first;
            for (int64_t i = 0; i < used; i++)
                own[i] = start[row * row_step + (first + i) * step];
            memcpy(before, to, (size_t)used * sizeof *own);
            if (begins)
                memcpy(to, own, (size_t)used * sizeof *own);
            else
                simd->elementwise(ADD, before, own, to, used);
        }
}

/* The parameters of gemm_int. */
GemmInt operands_gemm_int(const ProductRun *w)
{
    const Product *p = w->p;
    GemmInt of = {.left = (const int16_t *)w->packed, .left_type = p->form.left_type,
                .left_dot4 = w->uses_dot4 ? (const uint8_t *)w->packed : NULL, .image = w->image, .taps = p->taps, .places = p->places,
                .rows = p->form.rows, .count = p->form.count, .columns = p->form.columns, .type = p->form.type,
                .start = p->form.starts ? (const int64_t *)w->starts[0] : NULL, .row_at = w->stores_directly ? p->row_at : NULL};
    product_start_steps(p, 0, &of.start_row, &of.start_column);
    if (w->has_own_starts) {
        of.start = w->own_starts;
        of.start_row = 1;
    }
    if (p->image_in_place.at) {
        of.image = in_place_data(&p->image_in_place, w->pointers);
        of.taps = p->image_in_place.at;
    }
    return of;
}

/* Logarithms pay where a factor is one of many products. */
#define LEAST_LOGGED 16

Right operands_right(const ProductRun *w, int64_t first, int64_t last)
{
    const Product *p = w->p;
    return (Right){(const float *)w->image, p->taps, p->places, p->form.count, p->form.columns, first, last,
                   product_panels(p) ? w->panels : NULL,
                   p->form.rows >= LEAST_LOGGED && p->form.columns >= LEAST_LOGGED && p->form.group % 2 == 0};
}

/* Some of the panels that all parts share. */
static void pack_panels_part(void *of, int64_t part, int64_t parts)
{
    const ProductRun *w = of;
    const Right right = operands_right(w, 0, w->p->form.columns);
    int64_t first, last;
    range_take(product_panels(w->p), 1, part, parts, &first, &last);
    for (int64_t panel = first; panel < last; panel++)
        simd->pack_panel_f16(&right, panel * simd->lanes, w->panels + (size_t)panel * simd->panel_f16_size(right.count));
}

/* Left factors of some rows in the order in which they are used. */
static void pack_part(void *of, int64_t part, int64_t parts)
{
    ProductRun *w = of;
    const Product *p = w->p;
    int64_t first, last;
    range_take(p->form.rows, ROWS, part, parts, &first, &last);
    if (p->form.how == GEMM_INT) {
        const Requantisation r = product_requantisation(w);
        const GemmInt of = operands_gemm_int(w);
        for (int64_t row = first; row < last; row++)
            w->fast_steps[row] = fast_requant_of_row(&of, &r, row);
    }
    if (w->uses_dot4) {
        const RowsOfBytes rows = {p->left_in_place.at ? in_place_data(&p->left_in_place, w->pointers) : w->left, p->left_in_place.at, p->form.rows, p->form.count};
        pack_left_dot4(&rows, p->form.left_type, p->form.type, first, last, (uint8_t *)w->packed);
    }
    else if (p->form.how == GEMM_INT)
        pack_left_pairs((const int16_t *)w->left, first, last, p->form.count, (int16_t *)w->packed);
    else if (p->form.how == GEMM_F16)
        for (int i = 0; i < p->form.starts; i++)
            operands_add_start(w, i, (const int64_t[]){first, last, 0, p->form.columns}, i == 0);
    else if (p->form.how == GEMM_F32) {
        pack_left_f32((const float *)w->left, first, last, p->form.count, (float *)w->packed);
        uint32_t range[2] = {UINT32_MAX, 0};
        simd->widen_range((const float *)w->left + first * p->form.count, (last - first) * p->form.count, range);
        memcpy(w->ranges[LEFT_FACTORS][part], range, sizeof range);
    }
}

static int64_t exponent_of(uint32_t size) { return (int64_t)(size >> 23) - 127; }

/* The exponent of the smallest number but zero less the least one; large where there is none. See float32.py. */
static int64_t least_exponent(uint32_t size) { return size != UINT32_MAX ? exponent_of(size + 1) : 1 << 20; }

/* Of sums of two accumulators: whether none can be subnormal, and whether all are finite. */
static void judge_ranges(ProductRun *w, int64_t left_parts, int64_t right_parts)
{
    const Product *p = w->p;
    uint32_t of[2][2] = {{UINT32_MAX, 0}, {UINT32_MAX, 0}}, starts[2] = {UINT32_MAX, 0};
    if (p->form.is_filled)
        simd->widen_range(&p->form.fill, 1, of[RIGHT_FACTORS]);
    for (int which = LEFT_FACTORS; which <= RIGHT_FACTORS; which++)
        for (int64_t i = 0; i < (which == LEFT_FACTORS ? left_parts : right_parts); i++) {
            const uint32_t *range = w->ranges[which][i];
            of[which][0] = range[0] < of[which][0] ? range[0] : of[which][0];
            of[which][1] = range[1] > of[which][1] ? range[1] : of[which][1];
        }
    for (int i = 0; i < p->form.starts; i++)
        simd->widen_range((const float *)w->starts[i], product_start_size(p, i), starts);
    w->normal = p->form.truncates || (least_exponent(of[0][0]) + least_exponent(of[1][0]) - 23 >= -126 && least_exponent(starts[0]) - 23 >= -126);
    /* Each product is below 2^(sum of both + 2), and all together are below 2^64 times as much. */
    const int64_t left = exponent_of(of[0][1]), right = exponent_of(of[1][1]), start = exponent_of(starts[1]);
    w->is_finite = left + right + 2 + 64 < 127 && start < 100;
}

/* Whether the words of all rows of a step, along axis 1, are those of the first. */
static int are_alike(const PackStep *g, const char *data)
{
    const int word = format_size[g->from.format];
    for (int64_t row = 1; row < g->shape[1]; row++)
        for (int64_t i = 0; i < g->shape[3]; i++) {
            const char *first = data + i * g->from.step[3] * word;
            if (memcmp(first, first + row * g->from.step[1] * word, (size_t)word))
                return 0;
        }
    return 1;
}

/* Packs all operands; 0 where a row is shifted too far, or rows are not alike. Where amounts count to the right they have bytes. */
int operands_prepare(ProductRun *w)
{
    const Product *p = w->p;
    for (int i = 0; i < p->form.pack_steps; i++)
        if (p->pack[i].which == ALIKE && !are_alike(&p->pack[i], offset_by(p->pack[i].from.data, w->pointers[p->pack[i].source])))
            return 0;
    product_lay_out(p, w->block, w);
    w->uses_dot4 = simd_has_dot4() && p->form.how == GEMM_INT && p->form.type != SIGNED_WORDS &&
                   p->form.left_type != SIGNED_WORDS;
    const int64_t left = p->form.rows * p->form.count;
    const int64_t packed_numbers = (is_read_in_place(w, RIGHT_FACTORS) ? 0 : p->form.image) + (is_read_in_place(w, LEFT_FACTORS) ? 0 : left);
    if ((p->form.is_filled && !w->reads_planes) || p->has_gaps)
        parallel_for(w->has_pool, pool_parts(w->has_pool, p->form.image * STEPS_OF_READING, MOST_PARTS), fill_part, w);
    for (int i = p->form.starts; i < 2 && !product_is_integer(p); i++)
        memcpy(w->starts[i], &p->form.zero, sizeof p->form.zero);
    const int64_t parts = pool_parts(w->has_pool, packed_numbers * STEPS_OF_READING, MOST_PARTS);
    parallel_for(w->has_pool, parts, gather_part, w);
    for (int i = 0; i < 3 && product_is_integer(p); i++)
        for (int64_t row = 0; row < p->form.rows && !p->has_own[i]; row++)
            w->steps[i][row] = p->form.numbers[i];
    for (int64_t row = 0; row < p->form.rows && p->form.shifts_right; row++) {
        if (w->steps[1][row] > HIGH_BITS)
            return 0;
        w->steps[1][row] = -w->steps[1][row];
    }
    for (int64_t row = 0; row < p->form.rows && p->has_own[1]; row++)
        if (w->steps[1][row] > LARGEST_SHIFT || w->steps[1][row] < -LARGEST_SHIFT)
            return 0;
    for (int64_t i = 0; p->form.is_zero_positive && i < product_start_size(p, 0); i++)
        ((float *)w->starts[0])[i] += 0.0f;
    if (p->form.how <= GEMM_INT) {
        const int64_t written = p->form.how == GEMM_F16 ? p->form.rows * p->form.columns : left;
        const int64_t packed = pool_parts(w->has_pool, written * STEPS_OF_READING, (p->form.rows + ROWS - 1) / ROWS);
        parallel_for(w->has_pool, packed, pack_part, w);
        if (product_panels(p))
            parallel_for(w->has_pool, pool_parts(w->has_pool, p->form.count * p->form.columns * STEPS_OF_READING, product_panels(p)),
                         pack_panels_part, w);
        if (p->form.how == GEMM_F32)
            judge_ranges(w, packed, parts);
    }
    return 1;
}
