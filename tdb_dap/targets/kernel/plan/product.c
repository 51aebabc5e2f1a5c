/* Products, of matrices or of windows over an image: sums of packed operands, and results put where they belong. */

#include "../scalar/toward_zero.h"
#include "plan.h"

static size_t size_of_work(const Product *p)
{
    ProductRun nowhere;
    return product_lay_out(p, NULL, &nowhere);
}

/* Formats of factors. */
static const int formats[] = {[SIGNED_BYTES] = SI8, [UNSIGNED_BYTES] = UI8, [SIGNED_WORDS] = SI16, [FLOATS_OF_IMAGE] = F32, [UNSIGNED_WORDS] = UI16};

/* The windows of channels [first, last), whose planes begin at ``image``. Sums start from a number of each channel, or floats
 * from zeros. */
static void search_windows(const ProductRun *w, int64_t first, int64_t last, const char *image)
{
    const Product *p = w->p;
    const int64_t plane = p->form.image / p->form.rows, *size = p->form.window;
    char *sums = w->sums + (size_t)(first * p->form.columns) * product_sum_size(p);
    if (p->form.how == WINDOW_MAX) {
        WindowMax of = {image, p->form.starts ? (const float *)w->starts[0] : NULL, p->taps, 0, last - first, plane,
                        p->form.count >> p->form.halves, size[0], size[1], size[2], size[3], formats[p->form.type], p->form.is_last};
        simd->window_max(&of, sums);
        if (p->form.halves) {
            float *kept = (float *)(void *)sums, *other = (float *)(void *)w->second + first * p->form.columns;
            of.offsets += of.taps;
            simd->window_max(&of, other);
            for (int64_t i = 0; i < (last - first) * p->form.columns; i++)
                kept[i] = other[i] > kept[i] ? other[i] : kept[i];
        }
    } else if (p->form.how == WINDOW_F32) {
        const WindowF32 of = {(const float *)image, (const float *)w->left + first * p->form.count,
                            p->form.starts && !p->form.adds_last ? (const float *)w->starts[0] + first : NULL, p->taps,
                            last - first, plane, p->form.count, size[0], size[1], size[2], size[3], p->form.rounding, bits_of(p->form.zero) != 0};
        simd->window_f32(&of, (float *)sums);
    } else {
        const WindowInt of = {image, w->stores_directly ? p->row_at + first : NULL, (const int32_t *)w->left + first * p->form.count,
                                 (const int64_t *)w->starts[0] + first,
                                 p->taps, last - first, plane, p->form.count, size[0], size[1], size[2], size[3],
                                 formats[p->form.type]};
        Requantisation r = product_requantisation(w);
        r.multiplier += first;
        r.amount += first;
        r.zero += first;
        simd->window_int(&of, &r, w->stores_directly ? product_results(w) : sums);
    }
}

/* Bytes of planes that are put together before their windows are looked at: they stay in the nearest cache. */
#define BYTES_OF_PLANES ((int64_t)1 << 14)

/* The same, with planes that are put together here where they are not yet. -1: there is no memory. */
static int sum_windows(const ProductRun *w, int64_t first, int64_t last)
{
    const Product *p = w->p;
    const int64_t plane = p->form.image / p->form.rows, bytes = plane * (int64_t)packed_size[product_image_as(p)];
    if (!w->reads_planes) {
        search_windows(w, first, last, w->image + first * bytes);
        return 0;
    }
    const int64_t most = bytes < BYTES_OF_PLANES ? BYTES_OF_PLANES / bytes : 1;
    char *image = scratch_acquire(SCRATCH_PART, scratch_aligned(most * bytes));
    if (!image)
        return -1;
    for (int64_t next; first < last; first = next) {
        next = last - first < most ? last : first + most;
        operands_gather_planes(w, first, next, image);
        search_windows(w, first, next, image);
    }
    scratch_release(SCRATCH_PART, image);
    return 0;
}

/* Sums of float32; of two halves of the products, each half apart. -1: there is no memory. */
static int sum_floats(const ProductRun *w, const int64_t *range)
{
    const Product *p = w->p;
    const int64_t count = p->form.halves ? p->form.count / 2 : p->form.count, used = range[3] - range[2];
    GemmF32 gemm = {.result = product_results(w), .row_at = w->stores_directly ? p->row_at : NULL,
                    .position = p->form.adds_last ? 0 : p->form.starts, .normal = w->normal, .swapped = p->form.swapped,
                    .epilogue = w->epilogue};
    for (int i = 0; i < 2; i++) {
        gemm.starts[i].numbers = p->form.adds_last ? &p->form.zero : (const float *)w->starts[i];
        if (!p->form.adds_last)
            product_start_steps(p, i, &gemm.starts[i].row, &gemm.starts[i].column);
    }
    for (int half = 0; half <= p->form.halves; half++) {
        const Left left = {(const float *)w->left + half * count, (const float *)w->packed + half * count * ROWS, p->form.rows,
                           p->form.count, range[0], range[1]};
        const Right right = {(const float *)w->image, p->taps + half * count, p->places, count, p->form.columns, range[2], range[3], NULL, 0};
        gemm.result = half ? (float *)w->second : gemm.result;
        if (simd->gemm_f32(&left, &right, &gemm))
            return -1;
    }
    for (int64_t row = range[0]; p->form.halves && row < range[1]; row++) {
        float *sums = (float *)w->sums + row * p->form.columns + range[2];
        simd->elementwise(ADD, sums, (const float *)w->second + row * p->form.columns + range[2], sums, used);
    }
    return 0;
}

/* Factors of 16-bit floats that are put together and packed at a time: they stay in the L2 cache. */
#define FACTORS_AT_ONCE ((int64_t)1 << 16)

/* Sums of groups of 16-bit floats of a few rows or columns. -1: there is no memory. */
static int sum_few_halves(const ProductRun *w, const int64_t *range)
{
    const Product *p = w->p;
    const GemmF16 gemm = {(float *)w->sums, p->form.group, p->form.nan_wins, p->form.drops_bits};
    Left left = {(const float *)w->left, NULL, p->form.rows, p->form.count, range[0], range[1]};
    Right right = operands_right(w, range[2], range[3]);
    void *block = NULL;
    if (p->has_rows)
        left.numbers = operands_gather_rows(w, LEFT_FACTORS, range[0], range[1], &block);
    else if (p->has_columns)
        right.image = operands_gather_rows(w, RIGHT_FACTORS, range[2], range[3], &block);
    const int failed = !left.numbers || !right.image || simd->gemm_f16(&left, &right, &gemm);
    scratch_release(SCRATCH_ROWS, block);
    return failed ? -1 : 0;
}

static int sum_halves(const ProductRun *w, const int64_t *range)
{
    const Product *p = w->p;
    const int64_t fitting = FACTORS_AT_ONCE / (p->form.count + 1) / COLUMNS_OF_PART * COLUMNS_OF_PART;
    const int64_t step = fitting < COLUMNS_OF_PART ? COLUMNS_OF_PART : fitting;
    const int axis = p->has_columns ? 2 : 0;
    if (!p->has_rows && !p->has_columns)
        return sum_few_halves(w, range);
    int64_t few[4];
    memcpy(few, range, sizeof few);
    for (; few[axis] < range[axis + 1]; few[axis] += step) {
        few[axis + 1] = range[axis + 1] - few[axis] < step ? range[axis + 1] : few[axis] + step;
        if (sum_few_halves(w, few))
            return -1;
    }
    return 0;
}

/* The sums of some rows and columns: first and last row, first and last column. -1: there is no memory. */
int product_sum(const ProductRun *w, const int64_t *range)
{
    const Product *p = w->p;
    if (p->form.how >= WINDOW_F32)
        return sum_windows(w, range[0], range[1]);
    if (p->form.how == GEMM_INT) {
        const Requantisation r = product_requantisation(w);
        GemmInt of = operands_gemm_int(w);
        of.first_row = range[0];
        of.last_row = range[1];
        of.first = range[2];
        of.last = range[3];
        of.steps = w->fast_steps;
        of.epilogue = w->epilogue;
        return simd->gemm_int(&of, &r, product_results(w));
    }
    if (p->form.how == GEMM_F32)
        return sum_floats(w, range);
    return sum_halves(w, range);
}

/* Whether a NaN is among some sums. */
static int has_nan(const ProductRun *w, const int64_t *range)
{
    const Product *p = w->p;
    if (product_is_integer(p) || product_image_as(p) != AS_FLOATS || w->is_finite || p->form.keeps_nan)
        return 0;
    uint32_t any_nan = 0;
    for (int64_t row = range[0]; row < range[1]; row++) {
        const float *sums = (const float *)w->sums + row * p->form.columns;
        for (int64_t i = range[2]; i < range[3]; i++)
            any_nan |= (uint32_t)((bits_of(sums[i]) & 0x7fffffff) > 0x7f800000);
    }
    return any_nan != 0;
}

/* Floats rounded to a format, where they belong; both in the steps of a shape. */
static void round_words(const int64_t *shape, int format, const Stored *from, const Stored *to)
{
    uint16_t words[512];
    float numbers[512];
    for (int64_t n = 0; n < shape[0]; n++)
        for (int64_t c = 0; c < shape[1]; c++)
            for (int64_t h = 0; h < shape[2]; h++)
                for (int64_t first = 0; first < shape[3]; first += 512) {
                    const int64_t used = shape[3] - first < 512 ? shape[3] - first : 512;
                    const float *own = (const float *)from->data + n * from->step[0] + c * from->step[1] + h * from->step[2] +
                                       first * from->step[3];
                    uint16_t *out = (uint16_t *)(uintptr_t)to->data + n * to->step[0] + c * to->step[1] + h * to->step[2] +
                                    first * to->step[3];
                    for (int64_t i = 0; from->step[3] != 1 && i < used; i++)
                        numbers[i] = own[i * from->step[3]];
                    simd->write_floats(from->step[3] == 1 ? own : numbers, to->step[3] == 1 ? out : words, format, 0, used);
                    for (int64_t i = 0; to->step[3] != 1 && i < used; i++)
                        out[i * to->step[3]] = words[i];
                }
}

typedef struct {
    ProductRun *w;
    const int64_t *range;
} PartOfSums;

/* ReLU of sums of floats, before they are rounded. */
static void rectify(const ProductRun *w, const int64_t *range)
{
    for (int64_t row = range[0]; row < range[1]; row++) {
        float *sums = (float *)(void *)w->sums + row * w->p->form.columns;
        for (int64_t i = range[2]; i < range[3]; i++)
            sums[i] = sums[i] > 0 ? sums[i] : 0.0f;
    }
}

static void sum_part(void *of, int64_t part, int64_t parts)
{
    const PartOfSums *all = of;
    int64_t range[4];
    product_take_range(all->w->p, all->range, part, parts, range);
    if (range[0] >= range[1] || range[2] >= range[3])
        return;
    const int truncates = all->w->p->form.truncates;
    const uint64_t mode = truncates ? round_toward_zero() : 0;
    const int failed = product_sum(all->w, range), is_beyond = truncates && round_as_before(mode);
    if (failed)
        atomic_store(&all->w->lacks_memory, 1);
    else if (is_beyond || has_nan(all->w, range))
        atomic_store(&all->w->has_nan, 1);
    else if (!product_is_integer(all->w->p)) {
        for (int i = 0; i < all->w->p->form.starts && all->w->p->form.adds_last; i++)
            operands_add_start(all->w, i, range, 0);
        if (all->w->p->form.rectified)
            rectify(all->w, range);
    }
}

/* The sums of some rows and columns; whether they are known. */
int product_sum_parts(ProductRun *w, const int64_t *range, Concurrent *concurrent)
{
    const Product *p = w->p;
    PartOfSums all = {w, range};
    /* Right factors are packed for whole blocks of rows: few rows take as long. */
    const int64_t rows = range[1] - range[0], least = p->form.how < WINDOW_F32 ? ROWS : 1;
    const int64_t amount = (rows < least ? least : rows) * (range[3] - range[2]) * p->form.count * product_cost(p);
    const int64_t most = product_most_parts(p, range);
    parallel_for_with(w->has_pool, pool_parts(w->has_pool, amount, most), sum_part, &all, concurrent);
    return !w->lacks_memory && !w->has_nan;
}

/* Words of a part of the result, from sums in their format. */
static void put_part(void *of, int64_t part, int64_t parts)
{
    const ProductRun *w = of;
    const Product *p = w->p;
    const int is_rounded = !product_is_integer(p) && product_image_as(p) == AS_FLOATS && p->form.result != F32;
    const int size = is_rounded ? (int)sizeof(float) : 0;
    for (int i = 0; i < p->form.store_steps; i++) {
        const StoreStep *s = &p->store[i];
        int64_t shape[4], first, last;
        const int axis = longest_axis(s->shape, 4);
        range_take(s->shape[axis], axis == 3 ? 64 : 1, part, parts, &first, &last);
        if (first == last)
            continue;
        memcpy(shape, s->shape, sizeof shape);
        shape[axis] = last - first;
        const int word = format_size[s->to.format];
        Stored from = {w->sums + (s->first + first * s->step[axis]) * (size ? size : word), s->to.format,
                       {s->step[0], s->step[1], s->step[2], s->step[3]}};
        Stored to = s->to;
        to.data = (const char *)offset_by(to.data, w->pointers[w->result]) + first * to.step[axis] * word;
        if (is_rounded)
            round_words(shape, p->form.result, &from, &to);
        else
            move_words(shape, &from, &to);
    }
}

void product_store(ProductRun *w)
{
    const Product *p = w->p;
    if (!w->stores_directly)
        parallel_for(w->has_pool, pool_parts(w->has_pool, p->form.rows * p->form.columns * STEPS_OF_READING, MOST_PARTS), put_part, w);
}

static int product_lies_well(const Product *p, const int64_t *pointers, int result)
{
    uintptr_t odd = 0;
    for (int i = 0; i < p->form.pack_steps; i++)
        if (p->pack[i].source >= 0)
            odd |= (uintptr_t)offset_by(p->pack[i].from.data, pointers[p->pack[i].source]) %
                   (uintptr_t)format_size[p->pack[i].from.format];
    for (int i = 0; i < p->form.store_steps; i++)
        odd |= (uintptr_t)offset_by(p->store[i].to.data, pointers[result]) % (uintptr_t)format_size[p->store[i].to.format];
    return !odd;
}

/* A product with its operands packed, but planes that are ``kept``; 0 where it cannot be. The caller gives its block back. */
int product_begin(ProductRun *w, const Plan *plan, const int64_t *pointers, int has_pool, int is_kept)
{
    const Product *p = plan->product;
    *w = (ProductRun){.p = p, .pointers = pointers, .result = plan->tensors - 1, .has_pool = has_pool,
                .reads_planes = p->has_planes && is_kept};
    w->block = product_lies_well(p, pointers, w->result) ? scratch_acquire(SCRATCH_PRODUCT, size_of_work(p)) : NULL;
    if (!w->block)
        return 0;
    if (operands_prepare(w))
        return 1;
    scratch_release(SCRATCH_PRODUCT, w->block);
    w->block = NULL;
    return 0;
}
