/* Bytes of products that are read where they are stored: nothing has to be packed where all that a micro-kernel takes in one go
 * has no gaps. */

#include "plan.h"

/* Numbers of an operand from ``first`` on whose bytes follow each other, ``at`` bytes from its tensor's address on. */
typedef struct {
    int64_t first, count, at;
} ByteRun;

typedef struct {
    ByteRun *all;
    int64_t count;
    int source;
} ByteRuns;

/* More of them are not looked for. */
#define MOST_RUNS ((int64_t)1 << 16)

static int compare_runs(const void *a, const void *b)
{
    const int64_t left = ((const ByteRun *)a)->first, right = ((const ByteRun *)b)->first;
    return left < right ? -1 : left > right;
}

/* The runs of one operand, in order; none where it is not made of bytes of one tensor. -1: there is no memory. */
static int find_byte_runs(const Product *p, int which, ByteRuns *runs)
{
    int64_t most = 0;
    *runs = (ByteRuns){NULL, 0, -1};
    for (int i = 0; i < p->form.pack_steps; i++) {
        const PackStep *g = &p->pack[i];
        if (g->which != which)
            continue;
        if (g->source < 0 || (runs->source >= 0 && g->source != runs->source) || format_size[g->from.format] != 1 ||
            (g->shape[3] > 1 && (g->step[3] != 1 || g->from.step[3] != 1)))
            return 0;
        runs->source = g->source;
        most += g->shape[0] * g->shape[1] * g->shape[2];
    }
    if (most < 1 || most > MOST_RUNS)
        return 0;
    runs->all = malloc((size_t)most * sizeof *runs->all);
    if (!runs->all)
        return -1;
    for (int i = 0; i < p->form.pack_steps; i++) {
        const PackStep *g = &p->pack[i];
        if (g->which != which || !g->shape[3])
            continue;
        for (int64_t a = 0; a < g->shape[0]; a++)
            for (int64_t b = 0; b < g->shape[1]; b++)
                for (int64_t c = 0; c < g->shape[2]; c++)
                    runs->all[runs->count++] = (ByteRun){
                        g->first + a * g->step[0] + b * g->step[1] + c * g->step[2], g->shape[3],
                        (int64_t)(intptr_t)g->from.data + a * g->from.step[0] + b * g->from.step[1] + c * g->from.step[2]};
    }
    qsort(runs->all, (size_t)runs->count, sizeof *runs->all, compare_runs);
    int64_t kept = 0;
    for (int64_t i = 0; i < runs->count; i++) {
        ByteRun *last = kept ? &runs->all[kept - 1] : NULL;
        if (last && last->first + last->count == runs->all[i].first && last->at + last->count == runs->all[i].at)
            last->count += runs->all[i].count;
        else
            runs->all[kept++] = runs->all[i];
    }
    runs->count = kept;
    return 0;
}

/* Where ``count`` numbers from ``first`` on begin, if they are in one run: whether they are. */
static int find_in_runs(const ByteRuns *runs, int64_t first, int64_t count, int64_t *at)
{
    int64_t low = 0, high = runs->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (runs->all[middle].first <= first)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || first + count > runs->all[low - 1].first + runs->all[low - 1].count)
        return 0;
    *at = runs->all[low - 1].at + first - runs->all[low - 1].first;
    return 1;
}

/* Find where runs of ``count`` numbers begin in memory: run i is numbers from starts[i] on, or from i * count on without
 * ``starts``; a negative start stays -1. No result where one of them has gaps. -1: out of memory. */
static int find_in_place(const Product *p, int which, const int64_t *starts, int64_t number, int64_t count, InPlace *in_place)
{
    ByteRuns runs;
    *in_place = (InPlace){NULL, 0, -1};
    if (find_byte_runs(p, which, &runs))
        return -1;
    int64_t *at = runs.count ? malloc((size_t)(number + 1) * sizeof *at) : NULL, base = INT64_MAX;
    int is_in_place = at != NULL;
    for (int64_t i = 0; is_in_place && i < number; i++) {
        const int64_t first = starts ? starts[i] : i * count;
        if (first < 0)
            continue;
        is_in_place = find_in_runs(&runs, first, count, &at[i]);
        base = is_in_place && at[i] < base ? at[i] : base;
    }
    const int has_failed = runs.count && !at;
    free(runs.all);
    if (!is_in_place || base == INT64_MAX) {
        free(at);
        return has_failed ? -1 : 0;
    }
    for (int64_t i = 0; i < number; i++)
        at[i] = starts && starts[i] < 0 ? -1 : at[i] - base;
    *in_place = (InPlace){at, base, runs.source};
    return 0;
}

/* What is read where it is: of bytes that are multiplied exactly. -1: there is no memory. */
int in_place_find(Product *p)
{
    int64_t span = 0;
    if (p->form.how != GEMM_INT)
        return 0;
    for (int64_t i = 0; i < p->form.columns; i++)
        span = p->places[i] > span ? p->places[i] : span;
    if (!p->form.is_filled && p->form.type != SIGNED_WORDS && find_in_place(p, RIGHT_FACTORS, p->taps, p->form.count, span + 1, &p->image_in_place))
        return -1;
    return find_in_place(p, LEFT_FACTORS, NULL, p->form.rows, p->form.count, &p->left_in_place);
}

/* The first byte of what is read where it is. */
const void *in_place_data(const InPlace *direct, const int64_t *pointers)
{
    return (const void *)(uintptr_t)(pointers[direct->source] + direct->base);
}
