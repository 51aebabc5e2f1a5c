/* Plans made from a block of records, see plan/records.h. */

#include "plan.h"

/* What is wrong with a record, or NULL. */
typedef const char *Problem;

static const Problem no_memory = "memory", no_tensor = "an operand of no tensor", beyond_block = "records beyond its block";

typedef struct {
    const PlanRecord *plan;
    uint64_t bytes;
} Block;

/* Axes that go on, on both sides, where the next one ends become one with it: rows are long. */
static void join_steps(int64_t *shape, int64_t *from, int64_t *to)
{
    int last = 3;
    for (int axis = 2; axis >= 0; axis--) {
        if (shape[axis] == 1)
            continue;
        const int is_single = shape[last] == 1;
        if (is_single || (from[axis] == from[last] * shape[last] && to[axis] == to[last] * shape[last])) {
            if (is_single) {
                from[last] = from[axis];
                to[last] = to[axis];
            }
            shape[last] *= shape[axis];
            shape[axis] = 1;
            from[axis] = to[axis] = 0;
        } else if (--last != axis) {
            shape[last] = shape[axis];
            from[last] = from[axis];
            to[last] = to[axis];
            shape[axis] = 1;
            from[axis] = to[axis] = 0;
        }
    }
}

/* ``count`` records of ``size`` bytes at an offset of the block; NULL where they are not all in it. */
static const void *records_at(const Block *block, uint64_t offset, int64_t count, size_t size)
{
    const int is_inside = count >= 0 && offset <= block->bytes && !(offset % sizeof(int64_t)) && (uint64_t)count <= (block->bytes - offset) / size;
    return is_inside ? (const char *)block->plan + offset : NULL;
}

/* Words as they count from the address of their tensor. */
static Stored stored_of(const StoredRecord *record)
{
    Stored stored = {(const void *)(uintptr_t)record->data, record->format, {0}};
    memcpy(stored.step, record->step, sizeof stored.step);
    return stored;
}

static int has_format(const StoredRecord *stored) { return stored->format >= F32 && stored->format <= SI64; }

/* Integers of 32 bits at any byte are factors of no product, but the numbers of its rows. */
static int is_packed_operand(const PlanRecord *r, const StepRecord *step)
{
    const StoredRecord *stored = &step->stored;
    return stored->format == PACKED_SI32 && stored->source >= 0 && stored->source < r->tensors - 1 && step->part >= FIRST_START && step->part <= ZERO_POINT;
}

static int is_operand(const PlanRecord *r, const StoredRecord *stored) { return has_format(stored) && stored->source >= -1 && stored->source < r->tensors - 1; }

static Problem make_tile(const PlanRecord *r, const ElementsRecord *record, Tile *tile)
{
    Elements *e = &tile->work;
    *e = (Elements){.function = record->function, .operands = record->operands, .kind = record->operator,
                    .format = record->format, .steps = record->newton_steps, .rule = record->reciprocal,
                    .each = record->has_own_steps, .how = record->conversion, .variant = record->variant, .mode = record->rounding, .low = record->low,
                    .high = record->high, .fill = record->fill, .fills = record->fills, .terms = record->terms,
                    .rows = record->rows, .numbers = {record->multiplier, record->amount, record->zero},
                    .r = {.low = record->least, .high = record->most, .mode = record->rounding, .held = record->held,
                          .rectified = record->rectified, .size = record->size, .is_high = record->is_high, .plane = record->plane,
                          .keeps_sign = record->keeps_sign}};
    if (record->function == INT_ELEMENTS && (record->plane < 0 || record->plane > 7 || (record->plane && record->size != 1)))
        return "a byte that no result has";
    if (record->function == INT_ELEMENTS && record->operator == MULTIPLY_ADD &&
        (record->has_own_steps || record->operands != 4 || record->variant < 0 || record->variant > HIGH_BITS))
        return "a sum of other operands";
    if (record->function < 0 || record->function > TRUNCATING_BYTES || record->operands < 1 || record->operands > MOST_OPERANDS)
        return "a function that is not known";
    memcpy(e->grid.shape, record->shape, sizeof e->grid.shape);
    for (int i = 0; i < e->operands; i++) {
        const StoredRecord *operand = &record->operand[i];
        tile->sources[i] = operand->source;
        if (!is_operand(r, operand))
            return no_tensor;
        e->grid.operands[i] = stored_of(operand);
        for (int axis = 0; axis < 4 && operand->source < 0; axis++)
            if (operand->step[axis])
                return no_tensor;
        tile->constants[i] = operand->data;
    }
    if (elements_has_table(e->function)) {
        e->first = 2; /* channels stay apart: each has a row of its own */
        tile->table_source = record->table.source;
        if (record->table.source < 0 || !is_operand(r, &record->table))
            return no_tensor;
        if (e->terms < 1 || (e->function == SERIES && e->terms > MOST_TERMS) || e->rows < 1)
            return "a table of no rows, or of too many terms";
        e->table = stored_of(&record->table);
        if (e->function != SERIES && e->terms > 1 && e->table.step[3] != 1)
            return "a row with gaps";
    }
    if (!has_format(&record->to))
        return no_tensor;
    e->grid.operands[e->operands] = stored_of(&record->to); /* axes are joined only where the result's are */
    join_axes(&e->grid, e->operands + 1, e->first);
    tile->to = e->grid.operands[e->operands];
    return NULL;
}

static Problem make_step(const PlanRecord *r, const StepRecord *record, PackStep *step)
{
    *step = (PackStep){.source = record->stored.source, .which = record->part, .from = stored_of(&record->stored), .constant = record->stored.data,
                       .first = record->first};
    memcpy(step->shape, record->shape, sizeof step->shape);
    memcpy(step->step, record->step, sizeof step->step);
    for (int axis = 0; axis < 4 && step->source < 0; axis++)
        if (step->from.step[axis])
            return no_tensor;
    if (!(is_operand(r, &record->stored) || is_packed_operand(r, record)) || step->which < LEFT_FACTORS || step->which > ALIKE)
        return no_tensor;
    if (step->which != ALIKE)
        join_steps(step->shape, step->from.step, step->step);
    return NULL;
}

static int64_t *copied(const int64_t *numbers, int64_t count)
{
    int64_t *copy = malloc((size_t)(count + 1) * sizeof *copy);
    if (copy)
        memcpy(copy, numbers, (size_t)count * sizeof *copy);
    return copy;
}

static Problem make_product(const Block *block, Product *p)
{
    const PlanRecord *r = block->plan;
    const ProductRecord *form = &p->form;
    const int64_t columns = form->how < WINDOW_F32 ? form->columns : 0; /* windows have no places */
    const StepRecord *pack = records_at(block, form->pack, form->pack_steps, sizeof *pack);
    const StepRecord *store = records_at(block, form->store, form->store_steps, sizeof *store);
    const int64_t *taps = records_at(block, form->taps, form->count, sizeof *taps);
    const int64_t *places = records_at(block, form->places, columns, sizeof *places);
    if (!pack || !store || !taps || !places)
        return beyond_block;
    p->taps = copied(taps, form->count);
    p->places = copied(places, columns);
    p->pack = calloc((size_t)form->pack_steps + 1, sizeof *p->pack);
    p->store = calloc((size_t)form->store_steps + 1, sizeof *p->store);
    if (!p->taps || !p->places || !p->pack || !p->store)
        return no_memory;
    if (form->how == GEMM_F16 && (form->group < 1 || form->group > LARGEST_GROUP))
        return "a group of no products, or of too many";
    const int is_halved = form->how == GEMM_F32 || (form->how == WINDOW_MAX && form->type == FLOATS_OF_IMAGE);
    if (form->truncates < 0 || form->truncates > 1 || (form->truncates && form->how != GEMM_F32 && form->how != WINDOW_F32))
        return "sums that cannot be rounded toward zero";
    if (form->halves < 0 || form->halves > 1 || (form->halves && (!is_halved || form->count % 2)))
        return "halves of products that cannot be halved";
    if (form->shifts_right && !product_is_integer(p))
        return "shifts of sums that are no integers";
    for (int64_t k = 0; k < form->count; k++)
        p->has_gaps |= p->taps[k] < 0;
    for (int i = 0; i < form->pack_steps; i++) {
        const Problem problem = make_step(r, &pack[i], &p->pack[i]);
        if (problem)
            return problem;
        if (p->pack[i].from.format == PACKED_SI32 && !product_is_integer(p))
            return no_tensor;
        if (p->pack[i].which >= MULTIPLIER && p->pack[i].which <= ZERO_POINT)
            p->has_own[p->pack[i].which - MULTIPLIER] = 1;
    }
    for (int i = 0; i < form->store_steps; i++) {
        if (!has_format(&store[i].stored))
            return no_tensor;
        p->store[i] = (StoreStep){.to = stored_of(&store[i].stored), .first = store[i].first};
        memcpy(p->store[i].shape, store[i].shape, sizeof p->store[i].shape);
        memcpy(p->store[i].step, store[i].step, sizeof p->store[i].step);
        join_steps(p->store[i].shape, p->store[i].to.step, p->store[i].step);
    }
    return NULL;
}

static Problem fill_plan(const Block *block, Plan *plan)
{
    const PlanRecord *r = block->plan;
    const TensorRecord *tensors = records_at(block, r->tensor, r->tensors, sizeof *tensors);
    const ElementsRecord *elements = records_at(block, r->element, r->elements, sizeof *elements);
    const ProductRecord *product = r->product ? records_at(block, r->product, 1, sizeof *product) : NULL;
    if (!tensors || !elements || (r->product && !product))
        return beyond_block;
    plan->tensors = (int)r->tensors;
    plan->tiles = (int)r->elements;
    plan->lane_bytes = r->lane_bytes;
    for (int i = 0; i < plan->tensors; i++) {
        const TensorRecord *tensor = &tensors[i];
        if (tensor->address < 0 || tensor->address >= MOST_ADDRESSES)
            return no_tensor;
        plan->extents[i] = (Extent){.low = tensor->low, .high = tensor->high, .inner = tensor->inner, .address = tensor->address,
                                    .order = tensor->order};
    }
    if (product) {
        plan->product = calloc(1, sizeof *plan->product);
        if (!plan->product)
            return no_memory;
        plan->product->form = *product;
        const Problem problem = make_product(block, plan->product);
        if (problem)
            return problem;
    }
    plan->all = calloc((size_t)r->elements + 1, sizeof *plan->all);
    if (!plan->all)
        return no_memory;
    for (int64_t i = 0; i < r->elements; i++) {
        const Problem problem = make_tile(r, &elements[i], &plan->all[i]);
        if (problem)
            return problem;
    }
    return layout_find(plan) ? no_memory : NULL;
}

Plan *plan_make(const void *records, size_t bytes, const char **problem)
{
    const Block block = {records, bytes};
    const PlanRecord *r = block.plan;
    static const int64_t sizes[5] = {sizeof(StoredRecord), sizeof(TensorRecord), sizeof(ElementsRecord), sizeof(StepRecord), sizeof(ProductRecord)};
    Plan *plan = calloc(1, sizeof *plan);
    *problem = !plan                                          ? no_memory
               : bytes < sizeof *r || memcmp(r->sizes, sizes, sizeof sizes) ? "records of other sizes"
               : r->tensors < 1 || r->tensors > MOST_TENSORS  ? "too many tensors, or none"
               : r->lane_bytes < 1                            ? "lanes of no bytes"
               : !r->product && r->elements < 1               ? "nothing to compute"
                                                              : fill_plan(&block, plan);
    if (!*problem)
        return plan;
    plan_free(plan);
    if (*problem == no_memory)
        *problem = NULL;
    return NULL;
}
