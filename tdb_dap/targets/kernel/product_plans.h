/* Products in plans, of matrices or of windows over an image: both factors, and what sums start from, are put together
 * from where they are stored, and the results are put where they belong. plans/products.py makes the arguments. */

enum { LEFT_FACTORS, RIGHT_FACTORS, FIRST_START, SECOND_START };

/* How products are added: float32 in two chains, 16-bit floats in exact groups, or whole numbers; or one window of each
 * channel: floats, whole numbers, or its largest number. */
enum { IN_CHAINS, IN_GROUPS, EXACTLY, WINDOWS_OF_FLOATS, WINDOWS_EXACTLY, LARGEST };

/* A part of one operand in equal steps, and its place among factors or starts: numbers from ``first`` on. ``plane_axis``:
 * along which there is one plane of an image after the other, or -1. */
typedef struct {
    int source, which, plane_axis;
    Stored from;
    uint64_t constant;
    int64_t shape[4], first, step[4];
} Gathered;

/* A part of the result, and where its words are among the sums. */
typedef struct {
    Stored to;
    int64_t shape[4], first, step[4];
} Scattered;

/* Bytes of an operand that are read where they are stored: where each stretch begins, from ``base`` bytes after the address
 * of the tensor ``source`` on; no ``at`` where they are put together. */
typedef struct {
    int64_t *at, base;
    int source;
} Direct;

/* Left factors are (rows, count), starts (rows or 1, columns or 1); right factors as in Right and Whole, over an image of
 * ``image`` numbers of a ``type``, which hold ``fill`` where none is put. ``form``: of results of floats; ``rounding``: of
 * their products and sums in windows; ``has_gaps``: some
 * taps stand for zeros, and no left factors are put beside them; ``has_planes``: the planes of an image can be put together
 * one by one. Of windows rows are channels of all batches, ``taps`` are
 * in a plane, ``window`` has rows and columns of results, and steps between both. */
typedef struct {
    int how, starts, swapped, gathered, scattered, type, left_type, form, rounding;
    int is_filled, has_gaps, has_planes, nan_wins, drops_bits, is_last, is_zero_positive;
    float zero, fill;
    int64_t rows, count, columns, image, start_rows[2], start_columns[2], numbers[3], group, window[4], *taps, *places;
    int64_t *row_at; /* bytes from the result's address to each row of sums, where rows lie whole; else none */
    Direct image_at, left_at; /* of taps, and of rows */
    Requantisation r;
    Gathered *from;
    Scattered *to;
} Product;

/* A product that is under way: operands are read before anything is written, so that they may lie anywhere; but planes of an
 * image that is not written to only when their sums are formed (``reads_planes``). ``joined``:
 * whether it is shared with the team. ``ranges``: of the left and right
 * factors that each part has read, see widen_range. */
typedef struct {
    const Product *p;
    const int64_t *pointers;
    int result, normal, is_finite, in_quads, joined, reads_planes;
    int is_direct; /* sums go where they belong as they are formed */
    const After *after; /* or none */
    volatile int64_t lacks_memory, has_nan; /* has_nan: among the sums, and nobody knows which one it would be */
    uint32_t ranges[2][MOST_PARTS][2];
    void *block;
    int64_t *steps[3]; /* multiplier, amount and zero point of each row */
    Shortened *short_steps; /* the same for each row, where it is short */
    int64_t *own_starts;    /* room for what the sums of each row start from by the next command; ``has_own_starts`` */
    int has_own_starts;
    char *starts[2], *sums, *left, *packed, *image;
} Work;

#include "gathering.h"


static int64_t exponent_of(uint32_t size) { return (int64_t)(size >> 23) - 127; }

/* The exponent of the smallest number but zero less the least one; large where there is none. See float32.py. */
static int64_t least_exponent(uint32_t size) { return size != UINT32_MAX ? exponent_of(size + 1) : 1 << 20; }

static int64_t start_size(const Product *p, int number)
{
    return number < p->starts ? p->start_rows[number] * p->start_columns[number] : 1;
}

static int is_whole(const Product *p)
{
    return p->how == EXACTLY || p->how == WINDOWS_EXACTLY;
}

static int start_as(const Product *p)
{
    return is_whole(p) ? AS_WIDE : AS_FLOATS;
}

static int image_as(const Product *p)
{
    return p->type == FLOATS_OF_IMAGE ? AS_FLOATS : p->type == SIGNED_WORDS ? AS_WORDS : AS_BYTES;
}

static int left_as(const Product *p)
{
    return p->how == EXACTLY ? AS_WORDS : p->how == WINDOWS_EXACTLY ? AS_INTEGERS : AS_FLOATS;
}

/* Bytes of a sum before it is rounded. */
static size_t sum_size(const Product *p)
{
    return is_whole(p) ? (size_t)p->r.size : (size_t)size_as[image_as(p)];
}

/* The parts of a block, one after the other, each at a multiple of 64 bytes; its size. */
static size_t laid_out(const Product *p, char *block, Work *w)
{
    const size_t rows = (size_t)(p->rows + ROWS), count = (size_t)p->count + 1, number = (size_t)size_as[left_as(p)];
    const size_t sums = (size_t)(p->rows * p->columns) * sum_size(p);
    const size_t exact = p->how == EXACTLY ? rows : 0;
    const size_t sizes[] = {rows * 8, rows * 8, rows * 8, exact * sizeof(Shortened), exact * 8,
                            (size_t)start_size(p, 0) * 8, (size_t)start_size(p, 1) * 8, sums,
                            rows * count * number, p->how == IN_CHAINS || p->how == EXACTLY ? rows * (count + 4) * number : 0,
                            (size_t)p->image * (size_t)size_as[image_as(p)]};
    char **parts[] = {(char **)&w->steps[0], (char **)&w->steps[1], (char **)&w->steps[2], (char **)&w->short_steps,
                      (char **)&w->own_starts, &w->starts[0], &w->starts[1], &w->sums, &w->left, &w->packed, &w->image};
    size_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *parts[i] = block + at;
        at += (sizes[i] + 127) / 64 * 64;
    }
    return at;
}

static size_t size_of_work(const Product *p)
{
    Work nowhere;
    return laid_out(p, NULL, &nowhere);
}

#include "direct.h"
#include "product_operands.h"

/* The windows of channels [first, last), whose planes begin at ``image``. Sums start from a number of each channel, or floats
 * from zeros. */
static void search_windows(const Work *w, int64_t first, int64_t last, const char *image)
{
    const Product *p = w->p;
    const int64_t plane = p->image / p->rows, *size = p->window;
    char *sums = w->sums + (size_t)(first * p->columns) * sum_size(p);
    if (p->how == LARGEST) {
        const Largest of = {image, p->starts ? (const float *)w->starts[0] : NULL, p->taps, 0, last - first, plane, p->count,
                            size[0], size[1], size[2], size[3], p->type == SIGNED_BYTES ? SI8 : p->type == UNSIGNED_BYTES ? UI8 : F32,
                            p->is_last};
        chosen->largest(&of, sums);
    } else if (p->how == WINDOWS_OF_FLOATS) {
        const Windows of = {(const float *)image, (const float *)w->left + first * p->count,
                            p->starts ? (const float *)w->starts[0] + first : NULL, p->taps, last - first, plane, p->count,
                            size[0], size[1], size[2], size[3], p->rounding, bits_of(p->zero) != 0};
        chosen->weighted(&of, (float *)sums);
    } else {
        const WholeWindows of = {image, w->is_direct ? p->row_at + first : NULL, (const int32_t *)w->left + first * p->count,
                                 (const int64_t *)w->starts[0] + first,
                                 p->taps, last - first, plane, p->count, size[0], size[1], size[2], size[3],
                                 p->type == SIGNED_BYTES ? SI8 : UI8};
        const Requantisation r = requantisation_of(w);
        chosen->whole_windows(&of, &r, w->is_direct ? results_of(w) : sums);
    }
}

/* Bytes of planes that are put together before their windows are looked at: they stay in the nearest cache. */
#define BYTES_OF_PLANES ((int64_t)1 << 14)

/* The same, with planes that are put together here where they are not yet. -1: there is no memory. */
static int sum_windows(const Work *w, int64_t first, int64_t last)
{
    const Product *p = w->p;
    const int64_t plane = p->image / p->rows, bytes = plane * size_as[image_as(p)];
    if (!w->reads_planes) {
        search_windows(w, first, last, w->image + first * bytes);
        return 0;
    }
    const int64_t most = bytes < BYTES_OF_PLANES ? BYTES_OF_PLANES / bytes : 1;
    char *image = taken_scratch(FOR_PART, in_lines(most * bytes));
    if (!image)
        return -1;
    for (int64_t next; first < last; first = next) {
        next = last - first < most ? last : first + most;
        gather_planes(w, first, next, image);
        search_windows(w, first, next, image);
    }
    give_back_scratch(FOR_PART, image);
    return 0;
}

/* Products of float32 in chains that one takes as long as, of each way to add them. */
static int64_t cost_of_product(const Product *p)
{
    return p->how == IN_GROUPS ? 4 : p->how == WINDOWS_OF_FLOATS ? 16 : p->how >= WINDOWS_EXACTLY ? 4 : 1;
}

/* The sums of some rows and columns: first and last row, first and last column. -1: there is no memory. */
static int sum_up(const Work *w, const int64_t *range)
{
    const Product *p = w->p;
    if (p->how >= WINDOWS_OF_FLOATS)
        return sum_windows(w, range[0], range[1]);
    if (p->how == EXACTLY) {
        const Requantisation r = requantisation_of(w);
        Whole of = whole_of_work(w);
        of.first_row = range[0];
        of.last_row = range[1];
        of.first = range[2];
        of.last = range[3];
        of.steps = w->short_steps;
        of.after = w->after;
        return chosen->whole(&of, &r, results_of(w));
    }
    const Left left = {(const float *)w->left, (const float *)w->packed, p->rows, range[0], range[1]};
    const Right right = {(const float *)w->image, p->taps, p->places, p->count, p->columns, range[2], range[3]};
    if (p->how == IN_GROUPS) {
        const Groups groups = {(float *)w->sums, p->group, p->nan_wins, p->drops_bits};
        return chosen->grouped(&left, &right, &groups);
    }
    Chains chains = {.result = results_of(w), .row_at = w->is_direct ? p->row_at : NULL, .position = p->starts,
                     .normal = w->normal, .swapped = p->swapped, .after = w->after};
    for (int i = 0; i < 2; i++) {
        chains.starts[i].numbers = (const float *)w->starts[i];
        start_steps(p, i, &chains.starts[i].row, &chains.starts[i].column);
    }
    return chosen->interleaved(&left, &right, &chains);
}

/* Whether a NaN is among some sums. */
static int has_nan(const Work *w, const int64_t *range)
{
    const Product *p = w->p;
    if (is_whole(p) || image_as(p) != AS_FLOATS || w->is_finite)
        return 0;
    uint32_t found = 0;
    for (int64_t row = range[0]; row < range[1]; row++) {
        const float *sums = (const float *)w->sums + row * p->columns;
        for (int64_t i = range[2]; i < range[3]; i++)
            found |= (uint32_t)((bits_of(sums[i]) & 0x7fffffff) > 0x7f800000);
    }
    return found != 0;
}

/* Another command that is carried out at the same time; see plans.h. */
typedef struct Beside Beside;
static void together_with(int joined, int64_t parts, Task task, void *of, Beside *beside);

typedef struct {
    Work *w;
    const int64_t *range;
} PartOfSums;

/* Columns that are worth a part of their own: left factors are read again for each. */
#define WIDE_ENOUGH 64

/* The parts that the sums of a range are cut into, at most. */
static int64_t most_parts(const Product *p, const int64_t *range)
{
    const int64_t columns = (range[3] - range[2]) / WIDE_ENOUGH, rows = (range[1] - range[0] + ROWS - 1) / ROWS;
    return p->how >= WINDOWS_OF_FLOATS ? range[1] - range[0] : columns > rows ? columns : rows;
}

/* One of ``parts`` parts of the rows and columns of a range; perhaps none of them. The windows of a channel stay together. */
static void take_range(const Product *p, const int64_t *range, int64_t part, int64_t parts, int64_t *found)
{
    memcpy(found, range, 4 * sizeof *found);
    const int by_columns = p->how < WINDOWS_OF_FLOATS && (range[3] - range[2]) / WIDE_ENOUGH >= parts;
    const int axis = 2 * by_columns, block = p->how >= WINDOWS_OF_FLOATS ? 1 : by_columns ? 32 : ROWS;
    int64_t first, last;
    take_part(range[axis + 1] - range[axis], block, part, parts, &first, &last);
    found[axis + 1] = range[axis] + last;
    found[axis] = range[axis] + first;
}

static void sum_part(void *of, int64_t part, int64_t parts)
{
    const PartOfSums *all = of;
    int64_t range[4];
    take_range(all->w->p, all->range, part, parts, range);
    if (range[0] >= range[1] || range[2] >= range[3])
        return;
    if (sum_up(all->w, range))
        STORED(&all->w->lacks_memory, 1);
    else if (has_nan(all->w, range))
        STORED(&all->w->has_nan, 1);
}

/* The sums of some rows and columns; whether they are known. */
static int sum_up_together(Work *w, const int64_t *range, Beside *beside)
{
    const Product *p = w->p;
    PartOfSums all = {w, range};
    /* Right factors are packed for whole blocks of rows: few rows take as long. */
    const int64_t rows = range[1] - range[0], least = p->how < WINDOWS_OF_FLOATS ? ROWS : 1;
    const int64_t amount = (rows < least ? least : rows) * (range[3] - range[2]) * p->count * cost_of_product(p);
    const int64_t most = most_parts(p, range);
    together_with(w->joined, parts_of(w->joined, amount, most), sum_part, &all, beside);
    return !w->lacks_memory && !w->has_nan;
}

/* Words of a part of the result, from sums in their format. */
static void put_part(void *of, int64_t part, int64_t parts)
{
    const Work *w = of;
    const Product *p = w->p;
    const int is_rounded = !is_whole(p) && image_as(p) == AS_FLOATS && p->form != F32;
    const int size = is_rounded ? (int)sizeof(float) : 0;
    for (int i = 0; i < p->scattered; i++) {
        const Scattered *s = &p->to[i];
        int64_t shape[4], first, last;
        const int axis = longest_axis(s->shape, 4);
        take_part(s->shape[axis], axis == 3 ? 64 : 1, part, parts, &first, &last);
        if (first == last)
            continue;
        memcpy(shape, s->shape, sizeof shape);
        shape[axis] = last - first;
        const int word = size_of_word[s->to.format];
        Stored from = {w->sums + (s->first + first * s->step[axis]) * (size ? size : word), s->to.format,
                       {s->step[0], s->step[1], s->step[2], s->step[3]}};
        Stored to = s->to;
        to.data = (const char *)moved_by(to.data, w->pointers[w->result]) + first * to.step[axis] * word;
        if (is_rounded)
            round_words(shape, p->form, &from, &to);
        else
            move_words(shape, &from, &to);
    }
}

static void put_results(Work *w)
{
    const Product *p = w->p;
    if (!w->is_direct)
        together(w->joined, parts_of(w->joined, p->rows * p->columns * STEPS_OF_READING, MOST_PARTS), put_part, w);
}

static int product_lies_well(const Product *p, const int64_t *pointers, int result)
{
    uintptr_t odd = 0;
    for (int i = 0; i < p->gathered; i++)
        if (p->from[i].source >= 0)
            odd |= (uintptr_t)moved_by(p->from[i].from.data, pointers[p->from[i].source]) %
                   (uintptr_t)size_of_word[p->from[i].from.format];
    for (int i = 0; i < p->scattered; i++)
        odd |= (uintptr_t)moved_by(p->to[i].to.data, pointers[result]) % (uintptr_t)size_of_word[p->to[i].to.format];
    return !odd;
}
