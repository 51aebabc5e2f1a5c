/* Whether results hold a NaN: the words of floats above that of infinity. */

#include "plan.h"

/* Whether one of ``count`` words is above infinity, without the sign; ``step`` in words. */
static int has_nan32(const char *data, int64_t count, int64_t step)
{
    uint32_t seen = 0, word;
    if (step == 1)
        for (int64_t i = 0; i < count; i++) {
            memcpy(&word, data + i * 4, sizeof word);
            seen |= 0x7F800000u - (word & 0x7FFFFFFFu);
        }
    else
        for (int64_t i = 0; i < count; i++) {
            memcpy(&word, data + i * step * 4, sizeof word);
            seen |= 0x7F800000u - (word & 0x7FFFFFFFu);
        }
    return seen >> 31;
}

static int has_nan16(const char *data, int64_t count, int64_t step, uint16_t infinity)
{
    uint16_t seen = 0, word;
    if (step == 1)
        for (int64_t i = 0; i < count; i++) {
            memcpy(&word, data + i * 2, sizeof word);
            seen |= (uint16_t)(infinity - (word & 0x7FFF));
        }
    else
        for (int64_t i = 0; i < count; i++) {
            memcpy(&word, data + i * step * 2, sizeof word);
            seen |= (uint16_t)(infinity - (word & 0x7FFF));
        }
    return seen >> 15;
}

static int part_may_hold_nan(const Stored *to, const int64_t *shape, int64_t pointer, int format)
{
    const int64_t size = format_size[format];
    if (format_size[to->format] != size)
        return 1;
    int64_t n[4], step[4], count = shape[3];
    int axis = 3;
    while (axis > 0 && to->step[axis - 1] == count * to->step[3])
        count *= shape[--axis];
    for (int i = 0; i < 4; i++) { /* the axes before those without gaps */
        n[i] = i < axis && i < 3 ? shape[i] : 1;
        step[i] = to->step[i];
    }
    const char *data = offset_by(to->data, pointer);
    for (int64_t a = 0; a < n[0]; a++)
        for (int64_t b = 0; b < n[1]; b++)
            for (int64_t c = 0; c < n[2]; c++) {
                const char *row = data + (a * step[0] + b * step[1] + c * step[2]) * size;
                if (size == 4 ? has_nan32(row, count, step[3]) : has_nan16(row, count, step[3], format == BF16 ? 0x7F80 : 0x7C00))
                    return 1;
            }
    return 0;
}

int may_hold_nan(const BoundPlan *bound, int format)
{
    const Plan *plan = bound->plan;
    const Product *p = plan->product;
    const int64_t pointer = bound->pointers[plan->tensors - 1];
    for (int i = 0; p && i < p->form.store_steps; i++)
        if (part_may_hold_nan(&p->store[i].to, p->store[i].shape, pointer, format))
            return 1;
    for (int i = 0; !p && i < plan->tiles; i++) {
        const Elements *e = &plan->all[i].work;
        /* Where scattered words go, only their indices tell. */
        if (e->function == SCATTERED || part_may_hold_nan(&plan->all[i].to, e->grid.shape, pointer, format))
            return 1;
    }
    return 0;
}
