/* Operands where they are stored: four axes, equal steps along each. */

#ifndef TDB_DAP_SCALAR_GRID_H
#define TDB_DAP_SCALAR_GRID_H

#include "compiler.h"
#include "constants.h"

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

static inline int64_t element_count(const Grid *grid)
{
    return grid->shape[0] * grid->shape[1] * grid->shape[2] * grid->shape[3];
}

/* Bytes of a word, by format; steps of integers at any byte count bytes. */
static const int format_size[] = {4, 2, 2, 2, 1, 1, 2, 2, 4, 4, 8, 1};

/* Address of an element by row, over the first three axes, and column. */
static inline const void *element_address(const Grid *grid, const Stored *operand, int64_t row, int64_t column)
{
    const int64_t line = row % grid->shape[2], plane = row / grid->shape[2];
    const int64_t at = plane / grid->shape[1] * operand->step[0] + plane % grid->shape[1] * operand->step[1] +
                       line * operand->step[2] + column * operand->step[3];
    return (const char *)operand->data + at * format_size[operand->format];
}

/* An integer as it is stored. */
static inline int64_t int_at(const void *data, int format)
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
static inline int64_t format_bound(int format)
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

/* Whether 32 bits hold all results of an operation on integers. */
static inline int fits_32_bits(const Grid *grid, int kind)
{
    const int64_t word = (int64_t)1 << 31, a = format_bound(grid->operands[0].format);
    if (kind == FIRST)
        return a <= word;
    if (kind > FIRST)
        return 0; /* on bits: nobody needs them faster */
    const int64_t b = format_bound(grid->operands[1].format);
    if (a > word || b > word)
        return 0;
    return kind == LARGER || kind == SMALLER || (kind == MULTIPLY ? a * b < word : a + b < word);
}

/* The one axis but the last that has more than one element; -1: there are more of them. */
static inline int row_axis(const Grid *grid)
{
    int best = -1;
    for (int axis = 0; axis < 3; axis++)
        if (grid->shape[axis] != 1) {
            if (best >= 0)
                return -1;
            best = axis;
        }
    return best < 0 ? 0 : best;
}

/* The axis with the most elements, the first of several, among ``axes``. */
static inline int longest_axis(const int64_t *shape, int axes)
{
    int best = 0;
    for (int axis = 1; axis < axes; axis++)
        if (shape[axis] > shape[best])
            best = axis;
    return best;
}

/* Axis ``from`` becomes axis ``to``, and the other way round. */
static inline void exchange_axes(Grid *grid, int operands, int from, int to)
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
static inline void join_axes(Grid *grid, int operands, int first)
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

#endif
