/* Plans: what a form of commands computes, prepared for tensors at any addresses. The structs, and what the units here share. */

#ifndef TDB_DAP_PLAN_PLAN_H
#define TDB_DAP_PLAN_PLAN_H

#include "../parallel/pool.h"
#include "../parallel/scratch.h"
#include "../scalar/moves.h"
#include "../simd/simd.h"
#include "records.h"
#include <stdatomic.h>

#define MOST_TENSORS (MOST_OPERANDS + 2)

#define COLUMNS_OF_PART 32 /* columns of a part are a multiple of these: of vectors, too */

#define MOST_FUSED 4 /* commands that are computed block by block together */

/* Types that operands are packed as, and bytes of each. */
enum { AS_FLOATS, AS_WORDS, AS_BYTES, AS_INTEGERS, AS_WIDE };
static const size_t packed_size[] = {sizeof(float), sizeof(int16_t), 1, sizeof(int32_t), sizeof(int64_t)};

static inline const void *offset_by(const void *data, int64_t bytes) { return (const void *)((uintptr_t)data + (uintptr_t)bytes); }

#define BLOCK 4096 /* words that are computed into a buffer before they are stored */

#define STEPS_OF_ELEMENT 16 /* multiplications that take as long as one element, roughly */

#define STEPS_OF_READING 16 /* the same of reading a number, or writing one */

/* A function over elements with its parameters, operands in a grid, and where the words of the result go. */
typedef struct {
    int function, operands, first; /* first: the first axis that may be joined with others */
    int kind, format, steps, rule, each, how, mode, variant;
    double low, high;
    Stored table; /* of a series or of look-ups: a row of terms for each of ``rows`` channels, repeated */
    uint32_t fill; /* beyond the words of a row; only where ``fills`` an index may be */
    int fills;
    int64_t terms, rows, channel, numbers[3]; /* channel: of the first element */
    Requantisation r;
    void *result;
    Grid grid;
} Elements;

/* Bytes that the elements of a tensor lie in, from its address on: in the whole memory, and in a lane (0: not known). */
typedef struct {
    int64_t low, high, inner;
    int address; /* its place among those that a command names */
    int order; /* where its address is the result's: 1, it has the result's layout; 2, elements are read before they are written */
} Extent;

/* One function over part of a command. Data of operands count from addresses; -1: a constant of its own. */
typedef struct {
    Elements work;
    Stored to;
    int sources[MOST_OPERANDS], table_source;
    uint64_t constants[MOST_OPERANDS];
} Tile;

/* A part of one operand in equal steps, and its place among factors or starts: numbers from ``first`` on. ``plane_axis``:
 * along which there is one plane of an image after the other, or -1. */
typedef struct {
    int source, which, plane_axis;
    Stored from;
    uint64_t constant;
    int64_t shape[4], first, step[4];
} PackStep;

/* A part of the result, and where its words are among the sums. */
typedef struct {
    Stored to;
    int64_t shape[4], first, step[4];
} StoreStep;

/* Bytes of an operand that are read where they are stored: where each stretch begins, from ``base`` bytes after the address
 * of the tensor ``source`` on; no ``at`` where they are put together. */
typedef struct {
    int64_t *at, base;
    int source;
} InPlace;

/* ``taps``, ``places``: copies of those of the form; ``has_gaps``: some taps stand for zeros, and no left factors are put there;
 * ``has_planes``, ``has_rows``, ``has_columns``: the planes of an image, the rows of left factors, or the columns of right ones can
 * be packed one by one; ``has_own``: which of multiplier, amount and zero point each
 * row has of its own. */
typedef struct {
    ProductRecord form;
    int has_gaps, has_planes, has_rows, has_columns, has_own[3];
    int64_t *taps, *places;
    int64_t *row_at; /* bytes from the result's address to each row of sums, where rows lie whole; else none */
    InPlace image_in_place, left_in_place; /* of taps, and of rows */
    PackStep *pack;
    StoreStep *store;
} Product;

/* A product that is being computed. Operands are packed before anything is written, so that they may lie anywhere; only planes of
 * an image that the result does not overlap are packed when their sums are formed (``reads_planes``). ``has_pool``: whether it
 * shares its parts with the thread pool. ``ranges``: of the left and right factors of each part, see widen_range. */
typedef struct {
    const Product *p;
    const int64_t *pointers;
    int result, normal, is_finite, uses_dot4, has_pool, reads_planes;
    int stores_directly; /* sums are stored in the result as they are formed */
    const Epilogue *epilogue; /* or none */
    _Atomic int64_t lacks_memory, has_nan; /* has_nan: among the sums; which one it would be only the semantic function knows */
    uint32_t ranges[2][MOST_PARTS][2];
    void *block;
    int64_t *steps[3]; /* multiplier, amount and zero point of each row */
    FastRequant *fast_steps; /* the same for each row, where it is short */
    int64_t *own_starts;    /* room for what the sums of each row start from by the next command; ``has_own_starts`` */
    int has_own_starts;
    char *starts[2], *sums, *second, *left, *packed, *image, *panels; /* second: of the second halves */
} ProductRun;

/* ``rows`` and ``columns``: of the result, and where each row of a tensor begins, in bytes from its address on, of words
 * of ``word`` bytes; 0, and none, where they do not lie in rows without gaps. */
typedef struct {
    int tensors, tiles; /* tensors: the last one is the result */
    Product *product; /* instead of tiles */
    int64_t lane_bytes, amount; /* amount: about how many products or steps of elements it takes */
    Extent extents[MOST_TENSORS];
    int64_t rows, columns, *row_at[MOST_TENSORS];
    int word[MOST_TENSORS];
    Tile *all;
} Plan;

/* A plan with its tensors at some addresses. */
typedef struct {
    const Plan *plan;
    const int64_t *pointers, *offsets;
} BoundPlan;

/* Part of a memory: space, core or -1, first offset, offset after the last one, address of offset 0. */
typedef struct {
    int64_t space, core, first, stop, pointer;
} MemoryRegion;

#define WATCHED_IN_PLACE 8

/* What each command is, from the first of a stretch on. ``watched``: none, or for each command one more than the format of
 * its result if a NaN in it is to be seen, else 0. */
typedef struct {
    const int8_t *watched;
    const int32_t *numbers;
    const int8_t *spaces;
    const int64_t *offsets;
    const int16_t *cores;
    const MemoryRegion *regions;
    int64_t count;
} Commands;

/* A command of tiles that is independent of the commands before it: it runs concurrently, as another engine of the chip would,
 * and may be re-run. */
typedef struct {
    const BoundPlan *bound;
    int is_done;
} Concurrent;

/* elements.c: functions over elements, stored anywhere. */
int elements_has_table(int function);
int elements_axes_to_cut(int function);
void elements_store(const Elements *e, const Stored *to);
void elements_take(Elements *e, Stored *to, int axis, int64_t first, int64_t count);
int elements_fit(const Elements *e); /* whether the numbers of operands that say how or where to are ones that it takes */

/* form.c: facts of a product that follow from its form. Those of more multiplications than product_long can be interrupted. */
extern int64_t product_long;
int product_is_integer(const Product *p);
int product_image_as(const Product *p);
int product_left_as(const Product *p);
int product_start_as(const Product *p);
int64_t product_start_size(const Product *p, int number);
void product_start_steps(const Product *p, int number, int64_t *row, int64_t *column);
size_t product_sum_size(const Product *p);
int64_t product_cost(const Product *p);
int64_t product_panels(const Product *p); /* of right factors of 16-bit floats that all parts share; 0: each packs its own */
size_t product_lay_out(const Product *p, char *block, ProductRun *w);
void *product_results(const ProductRun *w);
Requantisation product_requantisation(const ProductRun *w);
int product_is_long(const Plan *plan);
int64_t product_most_parts(const Product *p, const int64_t *range);
void product_take_range(const Product *p, const int64_t *range, int64_t part, int64_t parts, int64_t *taken);
void range_take(int64_t count, int64_t block, int64_t part, int64_t parts, int64_t *first, int64_t *last);

/* gather.c: all numbers of one packing step; ``range``: widened by them, or none, see widen_range. */
void gather(const PackStep *g, const void *data, char *to, int as, uint32_t *range);

/* in_place.c: bytes of products that need no packing. */
int in_place_find(Product *p);
const void *in_place_data(const InPlace *in_place, const int64_t *pointers);

/* operands.c: the operands of a product packed. */
void operands_find_planes(Product *p);
int operands_prepare(ProductRun *w);
void operands_gather_planes(const ProductRun *w, int64_t first, int64_t last, char *image);
void operands_add_start(const ProductRun *w, int number, const int64_t *range, int begins);
GemmInt operands_gemm_int(const ProductRun *w);
const float *operands_gather_rows(const ProductRun *w, int which, int64_t first, int64_t last, void **block);
Right operands_right(const ProductRun *w, int64_t first, int64_t last);

/* layout.c: facts of a plan that hold at all addresses. */
int layout_find(Plan *plan);
void product_free(Product *p);
void plan_free(Plan *plan);

/* make.c: the plan of a block of records, which begins at a multiple of 8 bytes; NULL and what is wrong with the records, or NULL
 * where there is no memory. */
Plan *plan_make(const void *records, size_t bytes, const char **problem);

/* tiles.c: the functions of plans over elements, with tensors at some addresses. */
int stays_in_lanes(const Plan *plan, const int64_t *offsets);
int result_tensor(const BoundPlan *bound);
int are_disjoint(const BoundPlan *one, int tensor, const BoundPlan *other, int second);
int bind_tile(const Tile *tile, const int64_t *pointers, int result, Elements *e, Stored *to);
int tiles_fit(const BoundPlan *bound, int64_t parts);
int run_tiles(const BoundPlan *bound, int has_pool, Concurrent *concurrent);
void parallel_for_with(int has_pool, int64_t parts, ParallelTask task, void *of, Concurrent *concurrent);

/* product.c: the sums of a product, and its results. */
int product_begin(ProductRun *w, const Plan *plan, const int64_t *pointers, int has_pool, int keeps_image);
int product_sum(const ProductRun *w, const int64_t *range);
int product_sum_parts(ProductRun *w, const int64_t *range, Concurrent *concurrent);
void product_store(ProductRun *w);

/* fusion.c: plans that follow each other, block by block. */
int can_follow(const BoundPlan *before, int count, const BoundPlan *next);
int runs_concurrently(const BoundPlan *all, int count, const BoundPlan *next);
int fusion_run(const BoundPlan *all, int count, ProductRun *w, int has_pool, Concurrent *concurrent);

/* unpack.c: commands that unpack weights in 4 bits, ``unpack_count`` of them, in one pass. */
int unpack_count(void);
int unpack_takes(const Plan *plan, int which);
int unpack_run(const BoundPlan *all, int has_pool);

/* run.c: plans, one or several that follow each other. */
int plan_run(const BoundPlan *all, int count, int has_pool, Concurrent *concurrent);

/* nan.c: whether the result of a command may hold a NaN of a format; 1 where its words are of another size. */
int may_hold_nan(const BoundPlan *bound, int format);

/* batch.c: commands one after the other, by the plans of their forms. */
int64_t batch_run(const Commands *c, const Plan *const *plans, int64_t first, int64_t stop, int has_pool, int *has_failed, int *may_be_nan);

#endif
