/* Weights in 4 bits unpacked in one pass, instead of by five commands that each read and write all of them: halves of bytes, low
 * and high, minus a zero point, as bf16, times a scale. A group of numbers with one zero point and one scale has 16 different
 * results, which the functions of the commands themselves compute; the rest is look-ups.
 *
 * Only what is left in the end is written: the numbers, where the halves were, and the scaled ones, where the differences were. */

#include "plan.h"

enum { LOW_HALVES, HIGH_HALVES, DIFFERENCES, NUMBERS, SCALED_NUMBERS, UNPACKING_COMMANDS };

#define GROUPS_AT_ONCE 32

/* The rows of one tile of all commands. ``row``: bytes from one to the next; ``zero_step``, ``scale_step``: from group to group. */
typedef struct {
    const uint8_t *packed, *zeros;
    const char *scales;
    uint16_t *numbers, *scaled;
    int64_t rows, row, groups, group, zero_step, scale_step;
} UnpackedTile;

typedef struct {
    const BoundPlan *all;
    int scale; /* which factor of the product is the scale */
} Unpacking;

/* Bytes from an address of a tile's operand, or result, bound to the command's tensors. */
static const char *address_of(const BoundPlan *bound, const Tile *tile, int operand)
{
    return offset_by(tile->work.grid.operands[operand].data, bound->pointers[tile->sources[operand]]);
}

static char *result_of(const BoundPlan *bound, const Tile *tile)
{
    return (char *)(uintptr_t)offset_by(tile->to.data, bound->pointers[result_tensor(bound)]);
}

/* Whether a tile is one function of integers without steps but a shift by ``amount``, with results of a byte. */
static int is_plain_integer(const Elements *e, int kind, int64_t amount, int operands)
{
    return e->function == INT_ELEMENTS && e->kind == kind && !e->each && e->operands == operands && e->numbers[0] == 1 &&
           e->numbers[1] == amount && !e->numbers[2] && !e->r.held && !e->r.rectified && e->r.size == 1;
}

static int is_unlimited(const Elements *e) { return e->r.low == INT64_MIN && e->r.high == INT64_MAX; }

/* Whether a tile is (1, 1, rows, columns), an operand in rows of ``step``. */
static int has_rows(const Grid *grid, const Stored *operand, int64_t step)
{
    return grid->shape[0] == 1 && grid->shape[1] == 1 && operand->step[3] == step;
}

/* The axis of rows of a tile (rows, groups, numbers), and its groups: with one group there is no axis of groups. -1: another. */
static int axis_of_rows(const Grid *grid, int64_t rows, int64_t columns, int64_t *groups)
{
    const int64_t *shape = grid->shape;
    if (shape[0] == 1 && shape[1] == rows && shape[2] * shape[3] == columns) {
        *groups = shape[2];
        return 1;
    }
    *groups = 1;
    return shape[0] == 1 && shape[1] == 1 && shape[2] == rows && shape[3] == columns ? 2 : -1;
}

/* Whether an operand has all numbers of a row one after the other, and rows ``row`` words apart. */
static int is_dense(const Grid *grid, const Stored *operand, int axis, int64_t row, int64_t groups)
{
    return operand->step[3] == 1 && (grid->shape[axis] == 1 || operand->step[axis] == row) &&
           (groups == 1 || operand->step[2] == grid->shape[3]);
}

/* Whether an operand has one number for each group, and rows ``row`` words apart; the words from group to group. */
static int is_of_groups(const Grid *grid, const Stored *operand, int axis, int64_t row, int64_t groups, int64_t *step)
{
    *step = groups == 1 ? 0 : operand->step[2];
    return !operand->step[3] && (grid->shape[axis] == 1 || operand->step[axis] == row);
}

/* The rows of tile ``number``; 0 where the commands do anything else there. */
static int find_tile(const Unpacking *unpacking, int64_t number, UnpackedTile *found)
{
    const BoundPlan *all = unpacking->all;
    const Tile *tiles[UNPACKING_COMMANDS];
    for (int i = 0; i < UNPACKING_COMMANDS; i++)
        tiles[i] = &all[i].plan->all[number];
    const Elements *low = &tiles[LOW_HALVES]->work, *high = &tiles[HIGH_HALVES]->work, *less = &tiles[DIFFERENCES]->work;
    const Elements *cast = &tiles[NUMBERS]->work, *times = &tiles[SCALED_NUMBERS]->work;
    const int64_t rows = cast->grid.shape[2], columns = cast->grid.shape[3];
    const Stored *packed = &low->grid.operands[0], *shifted = &high->grid.operands[0], *from = &cast->grid.operands[0];
    const int scale = unpacking->scale;
    if (!is_plain_integer(low, AND, 0, 2) || !is_unlimited(low) || packed->format != UI8 || tiles[LOW_HALVES]->sources[0] < 0 ||
        tiles[LOW_HALVES]->sources[1] >= 0 || low->grid.operands[1].format != UI8 || (uint8_t)tiles[LOW_HALVES]->constants[1] != 15)
        return 0;
    if (!is_plain_integer(high, FIRST, -4, 2) || !is_unlimited(high) || shifted->format != UI8 || tiles[HIGH_HALVES]->sources[0] < 0 ||
        (high->r.mode != TOWARD_ZERO && high->r.mode != DOWN))
        return 0;
    if (!is_plain_integer(less, SUBTRACT, 0, 2) || less->grid.operands[0].format != UI8 || less->grid.operands[1].format != UI8 ||
        tiles[DIFFERENCES]->sources[0] < 0 || tiles[DIFFERENCES]->sources[1] < 0)
        return 0;
    if (cast->function != CONVERTED || cast->how != INTS_TO_FLOATS || cast->format != BF16 || from->format != SI8 ||
        tiles[NUMBERS]->sources[0] < 0 || tiles[NUMBERS]->to.format != UI16)
        return 0;
    if (times->function != FLOAT_ELEMENTS || times->kind != MULTIPLY || times->operands != 2 || times->format != BF16 ||
        times->grid.operands[0].format != BF16 || times->grid.operands[1].format != BF16 ||
        tiles[SCALED_NUMBERS]->sources[0] < 0 || tiles[SCALED_NUMBERS]->sources[1] < 0)
        return 0;
    if (low->grid.shape[2] != rows || high->grid.shape[2] != rows || 2 * low->grid.shape[3] != columns || 2 * high->grid.shape[3] != columns ||
        !has_rows(&low->grid, packed, 1) || !has_rows(&high->grid, shifted, 1) || !has_rows(&cast->grid, from, 1) ||
        tiles[LOW_HALVES]->to.step[3] != 2 || tiles[HIGH_HALVES]->to.step[3] != 2 || tiles[NUMBERS]->to.step[3] != 1)
        return 0;
    int64_t groups, others;
    const int axis = axis_of_rows(&less->grid, rows, columns, &groups);
    if (axis < 0 || axis_of_rows(&times->grid, rows, columns, &others) != axis || others != groups || less->grid.shape[3] % 2 ||
        less->grid.shape[3] != times->grid.shape[3])
        return 0;
    const int64_t row = rows == 1 ? 0 : packed->step[2];
    if (rows > 1 && (row % 2 || shifted->step[2] != row || tiles[LOW_HALVES]->to.step[2] != row || tiles[HIGH_HALVES]->to.step[2] != row ||
                     from->step[2] != row || 2 * tiles[NUMBERS]->to.step[2] != row))
        return 0;
    int64_t zero_step, scale_step;
    if (!is_dense(&less->grid, &less->grid.operands[0], axis, row, groups) || !is_dense(&less->grid, &tiles[DIFFERENCES]->to, axis, row, groups) ||
        !is_of_groups(&less->grid, &less->grid.operands[1], axis, row, groups, &zero_step) ||
        !is_dense(&times->grid, &times->grid.operands[1 - scale], axis, row / 2, groups) ||
        !is_dense(&times->grid, &tiles[SCALED_NUMBERS]->to, axis, row / 2, groups) ||
        !is_of_groups(&times->grid, &times->grid.operands[scale], axis, row / 2, groups, &scale_step))
        return 0;
    char *halves = result_of(&all[LOW_HALVES], tiles[LOW_HALVES]), *differences = result_of(&all[DIFFERENCES], tiles[DIFFERENCES]);
    char *numbers = result_of(&all[NUMBERS], tiles[NUMBERS]), *scaled = result_of(&all[SCALED_NUMBERS], tiles[SCALED_NUMBERS]);
    if (address_of(&all[HIGH_HALVES], tiles[HIGH_HALVES], 0) != address_of(&all[LOW_HALVES], tiles[LOW_HALVES], 0) ||
        result_of(&all[HIGH_HALVES], tiles[HIGH_HALVES]) != halves + 1 || address_of(&all[DIFFERENCES], tiles[DIFFERENCES], 0) != halves ||
        address_of(&all[NUMBERS], tiles[NUMBERS], 0) != differences ||
        address_of(&all[SCALED_NUMBERS], tiles[SCALED_NUMBERS], 1 - scale) != numbers || ((uintptr_t)numbers | (uintptr_t)scaled) % 2)
        return 0;
    /* What is not written must be overwritten: tile after tile, from the same addresses on. */
    const char *first[2] = {result_of(&all[NUMBERS], all[NUMBERS].plan->all), result_of(&all[SCALED_NUMBERS], all[SCALED_NUMBERS].plan->all)};
    if (halves != first[0] + number * columns || numbers != first[0] + 2 * number * columns || differences != first[1] + number * columns ||
        scaled != first[1] + 2 * number * columns)
        return 0;
    const char *scales = address_of(&all[SCALED_NUMBERS], tiles[SCALED_NUMBERS], scale);
    *found = (UnpackedTile){(const uint8_t *)address_of(&all[LOW_HALVES], tiles[LOW_HALVES], 0),
                            (const uint8_t *)address_of(&all[DIFFERENCES], tiles[DIFFERENCES], 1), scales, (uint16_t *)(void *)numbers,
                            (uint16_t *)(void *)scaled, rows, row, groups, less->grid.shape[3], zero_step, scale_step};
    return !((uintptr_t)scales % 2);
}

/* Of each zero point the numbers that the 16 halves stand for, in bf16, which holds all bytes. */
typedef struct {
    uint16_t words[256][16];
} Differences;

static void find_differences(Differences *found, const Elements *less)
{
    for (int64_t zero = 0; zero < 256; zero++)
        for (int64_t half = 0; half < 16; half++) {
            int64_t difference = half - zero;
            difference = difference < less->r.low ? less->r.low : difference > less->r.high ? less->r.high : difference;
            found->words[zero][half] = (uint16_t)(bits_of((float)(int8_t)(uint8_t)difference) >> 16);
        }
}

/* Some rows of a tile. */
static void unpack_rows(const Unpacking *unpacking, const UnpackedTile *t, const Differences *differences, const Elements *times,
                        int64_t first, int64_t last)
{
    uint16_t words[16][GROUPS_AT_ONCE], results[16 * GROUPS_AT_ONCE], own_results[16];
    Grid grid = times->grid;
    Stored *own = &grid.operands[1 - unpacking->scale], *scale = &grid.operands[unpacking->scale];
    *own = (Stored){words, BF16, {0, 0, GROUPS_AT_ONCE, 1}};
    grid.shape[0] = grid.shape[1] = 1;
    grid.shape[2] = 16;
    for (int64_t r = first; r < last; r++)
        for (int64_t begin = 0; begin < t->groups; begin += GROUPS_AT_ONCE) {
            const int64_t count = t->groups - begin < GROUPS_AT_ONCE ? t->groups - begin : GROUPS_AT_ONCE;
            const uint8_t *zeros = t->zeros + r * t->row + begin * t->zero_step;
            for (int64_t g = 0; g < count; g++)
                for (int half = 0; half < 16; half++)
                    words[half][g] = differences->words[zeros[g * t->zero_step]][half];
            *scale = (Stored){t->scales + r * t->row + begin * t->scale_step * 2, BF16, {0, 0, 0, t->scale_step}};
            grid.shape[3] = count;
            simd->float_elements(&grid, times->kind, results, times->format, 0);
            for (int64_t g = 0; g < count; g++) {
                const int64_t at = (begin + g) * t->group;
                const uint8_t *packed = t->packed + r * t->row + at / 2;
                for (int half = 0; half < 16; half++)
                    own_results[half] = results[half * count + g];
                simd->unpack_halves(packed, t->group / 2, differences->words[zeros[g * t->zero_step]], t->numbers + r * (t->row / 2) + at);
                simd->unpack_halves(packed, t->group / 2, own_results, t->scaled + r * (t->row / 2) + at);
            }
        }
}

static void unpack_part(void *of, int64_t part, int64_t parts)
{
    const Unpacking *unpacking = of;
    UnpackedTile tile;
    Differences differences;
    find_differences(&differences, &unpacking->all[DIFFERENCES].plan->all->work); /* limits are those of the command */
    for (int64_t number = 0; number < unpacking->all->plan->tiles; number++) {
        find_tile(unpacking, number, &tile);
        unpack_rows(unpacking, &tile, &differences, &unpacking->all[SCALED_NUMBERS].plan->all[number].work, tile.rows * part / parts,
                    tile.rows * (part + 1) / parts);
    }
}

/* Whether nothing that is written is read by any of the commands, and both results are disjoint. */
static int are_apart(const BoundPlan *all, int scale)
{
    for (int written = NUMBERS; written <= SCALED_NUMBERS; written++) {
        const BoundPlan *to = &all[written];
        const int result = result_tensor(to);
        const BoundPlan *readers[] = {&all[LOW_HALVES], &all[DIFFERENCES], &all[SCALED_NUMBERS]};
        const int tensors[] = {all[LOW_HALVES].plan->all->sources[0], all[DIFFERENCES].plan->all->sources[1],
                               all[SCALED_NUMBERS].plan->all->sources[scale]};
        for (int i = 0; i < 3; i++)
            if (!are_disjoint(readers[i], tensors[i], to, result))
                return 0;
    }
    return are_disjoint(&all[NUMBERS], result_tensor(&all[NUMBERS]), &all[SCALED_NUMBERS], result_tensor(&all[SCALED_NUMBERS]));
}

int unpack_count(void) { return UNPACKING_COMMANDS; }

/* Whether a plan may be command ``which`` of them. */
int unpack_takes(const Plan *plan, int which)
{
    if (!plan || plan->product || !plan->tiles)
        return 0;
    const Elements *e = &plan->all->work;
    switch (which) {
    case LOW_HALVES: return is_plain_integer(e, AND, 0, 2);
    case HIGH_HALVES: return is_plain_integer(e, FIRST, -4, 2);
    case DIFFERENCES: return is_plain_integer(e, SUBTRACT, 0, 2);
    case NUMBERS: return e->function == CONVERTED && e->how == INTS_TO_FLOATS;
    default: return e->function == FLOAT_ELEMENTS && e->kind == MULTIPLY;
    }
}

/* Run the commands in one pass; 0, and nothing is done, where they are others. */
int unpack_run(const BoundPlan *all, int has_pool)
{
    int64_t amount = 0;
    for (int i = 0; i < UNPACKING_COMMANDS; i++) {
        if (all[i].plan->product || all[i].plan->tiles != all->plan->tiles)
            return 0;
        amount += all[i].plan->amount;
    }
    UnpackedTile tile;
    for (int scale = 0; scale < 2; scale++) {
        Unpacking unpacking = {all, scale};
        int64_t number = 0;
        while (number < all->plan->tiles && find_tile(&unpacking, number, &tile))
            number++;
        if (number < all->plan->tiles || !are_apart(all, scale))
            continue;
        parallel_for(has_pool, pool_parts(has_pool, amount, MOST_PARTS), unpack_part, &unpacking);
        return 1;
    }
    return 0;
}
