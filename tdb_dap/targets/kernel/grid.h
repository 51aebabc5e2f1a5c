/* Operands where they are stored: four axes, equal steps along each. */

enum { F32, F16, BF16, SI8, UI8, SI16, UI16, SI32, UI32, SI64 };

/* Operands at most: two numbers, and multiplier, amount and zero point of the steps after them. */
#define MOST_OPERANDS 5

/* Coefficients of a series at most. */
#define MOST_TERMS 256

/* Kinds of operations beyond those of scalar.h. */
enum { LARGER = 3, SMALLER = 4, FIRST = 5 };

/* Conversions of one operand. */
enum { FLOATS_TO_WHOLE, FLOATS_TO_FLOATS, WHOLE_TO_FLOATS, TO_INTEGRAL, TO_F16_BY_MODE, HALVES_TO_INTEGRAL, MAGNITUDES };

/* Conditions of a selection. */
enum { IS_GREATER, IS_EQUAL, IS_LESS };

/* How zeros, infinities and NaNs are divided by: as the formula has it, or as they are; then subnormals count as zeros. */
enum { BY_FORMULA, TRUE_ZEROS, TRUE_SUBNORMALS };

/* Words of ``format`` at data + sum over axes of index * step, in elements. */
typedef struct {
    const void *data;
    int format;
    int64_t step[4];
} Stored;

typedef struct {
    Stored operands[MOST_OPERANDS + 1]; /* and the result, where that has steps as well */
    int64_t shape[4];
} Grid;

static inline int64_t size_of(const Grid *grid)
{
    return grid->shape[0] * grid->shape[1] * grid->shape[2] * grid->shape[3];
}

/* Bytes of a word, by format. */
static const int size_of_word[] = {4, 2, 2, 1, 1, 2, 2, 4, 4, 8};

/* Address of an element by row, over the first three axes, and column. */
static inline const void *place(const Grid *grid, const Stored *operand, int64_t row, int64_t column)
{
    const int64_t line = row % grid->shape[2], plane = row / grid->shape[2];
    const int64_t at = plane / grid->shape[1] * operand->step[0] + plane % grid->shape[1] * operand->step[1] +
                       line * operand->step[2] + column * operand->step[3];
    return (const char *)operand->data + at * size_of_word[operand->format];
}

/* Bits that are shifted by at most. */
#define LARGEST_SHIFT 62

/* A whole number as it is stored. */
static int64_t whole_at(const void *data, int format)
{
    switch (format) {
    case SI8: return *(const int8_t *)data;
    case UI8: return *(const uint8_t *)data;
    case SI16: return *(const int16_t *)data;
    case UI16: return *(const uint16_t *)data;
    case SI32: return *(const int32_t *)data;
    case UI32: return *(const uint32_t *)data;
    default: return *(const int64_t *)data;
    }
}

/* The largest magnitude of a format, a power of two; more than 32 bits hold for unsigned words of 32 bits and wider ones. */
static inline int64_t bound_of(int format)
{
    switch (format) {
    case SI8: return (int64_t)1 << 7;
    case UI8: return (int64_t)1 << 8;
    case SI16: return (int64_t)1 << 15;
    case UI16: return (int64_t)1 << 16;
    case SI32: return (int64_t)1 << 31;
    default: return (int64_t)1 << 40;
    }
}

/* Whether 32 bits hold all results of an operation on whole numbers. */
static inline int is_narrow(const Grid *grid, int kind)
{
    const int64_t word = (int64_t)1 << 31, a = bound_of(grid->operands[0].format);
    if (kind == FIRST)
        return a <= word;
    const int64_t b = bound_of(grid->operands[1].format);
    if (a > word || b > word)
        return 0;
    return kind == LARGER || kind == SMALLER || (kind == MULTIPLY ? a * b < word : a + b < word);
}

/* The one axis but the last that has more than one element; -1: there are more of them. */
static int row_axis(const Grid *grid)
{
    int found = -1;
    for (int axis = 0; axis < 3; axis++)
        if (grid->shape[axis] != 1) {
            if (found >= 0)
                return -1;
            found = axis;
        }
    return found < 0 ? 0 : found;
}

/* The axis with the most elements, the first one of several, among so many. */
static int longest_axis(const int64_t *shape, int axes)
{
    int found = 0;
    for (int axis = 1; axis < axes; axis++)
        if (shape[axis] > shape[found])
            found = axis;
    return found;
}

/* Axis ``from`` becomes axis ``to``, and the other way round. */
static void exchange_axes(Grid *grid, int operands, int from, int to)
{
    const int64_t extent = grid->shape[from];
    grid->shape[from] = grid->shape[to];
    grid->shape[to] = extent;
    for (int i = 0; i < operands; i++) {
        int64_t *step = grid->operands[i].step;
        const int64_t kept = step[from];
        step[from] = step[to];
        step[to] = kept;
    }
}

/* Rows become long: axes of one element go to the front, and an axis that goes on where the last one ends is joined with
 * it. Elements keep their order. ``first``: the first axis that may be joined. */
static void join_axes(Grid *grid, int operands, int first)
{
    for (int last = 3; last > first; last--)
        for (int axis = last; axis > first && grid->shape[last] == 1; axis--)
            for (int at = last; at > first; at--)
                exchange_axes(grid, operands, at - 1, at);
    for (int axis = 2; axis >= first && grid->shape[axis] > 1; axis--) {
        for (int i = 0; i < operands; i++)
            if (grid->operands[i].step[axis] != grid->operands[i].step[3] * grid->shape[3])
                return;
        grid->shape[3] *= grid->shape[axis];
        grid->shape[axis] = 1;
    }
}
