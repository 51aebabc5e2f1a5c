/* Integer sums to results in one pass: rectified, multiplied, shifted with rounding, moved to a zero point, limited,
 * and cut to their width. integers.py and finish.py say what that is, and compute it in NumPy.
 *
 * Sums and products wrap as in NumPy: signed overflow would be undefined here, so they are formed unsigned. Included once
 * per vector width. */

/* The numbers of a row, some at a time: every step is a loop of its own, which compilers turn into vectors. */
static inline void NAME(requantised_piece)(const Requantisation *r, int64_t row, const int64_t *numbers, int64_t *out,
                                           int64_t count)
{
    const int64_t multiplier = r->multiplier[row], zero = r->zero[row], low = r->low, high = r->high;
    const int amount = (int)r->amount[row];
    for (int64_t i = 0; i < count; i++) {
        int64_t v = r->held ? (int64_t)(int32_t)(uint32_t)(uint64_t)numbers[i] : numbers[i];
        v = r->rectified && v < 0 ? 0 : v;
        out[i] = times(v, multiplier);
    }
    if (amount >= 0) {
        for (int64_t i = 0; i < count; i++)
            out[i] = (int64_t)((uint64_t)out[i] << amount);
    } else {
        const int right = -amount;
        const int64_t half = (int64_t)1 << (right - 1);
#define ROUNDED(how)                                                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const int64_t v = out[i], quotient = v >> right;                                                               \
        const int64_t rest = minus(v, (int64_t)((uint64_t)quotient << right));                                         \
        (void)half, (void)rest;                                                                                        \
        out[i] = how##_ROUNDED(v);                                                                                     \
    }                                                                                                                  \
    break;
        switch (r->mode) {
        case 0: ROUNDED(HALF_EVEN)
        case 1: ROUNDED(HALF_AWAY)
        case 2: ROUNDED(TOWARD_ZERO)
        case 4: ROUNDED(UP)
        case 5: ROUNDED(HALF_UP)
        case 6: ROUNDED(HALF_DOWN)
        default: ROUNDED(DOWN)
        }
#undef ROUNDED
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t v = plus(out[i], zero);
        v = v < low ? low : v;
        out[i] = v > high ? high : v;
    }
}

/* The same where every number has steps of its own; shifts are those of a single number. */
static void NAME(requantised_each)(const Requantisation *r, const int64_t *numbers, const int64_t *multiplier,
                                   const int64_t *amount, const int64_t *zero, int64_t *out, int64_t count)
{
    int64_t products[PIECE];
    for (int64_t i = 0; i < count; i++) {
        int64_t v = r->held ? (int64_t)(int32_t)(uint32_t)(uint64_t)numbers[i] : numbers[i];
        v = r->rectified && v < 0 ? 0 : v;
        products[i] = times(v, multiplier[i]);
    }
#define ROUNDED(how)                                                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const int64_t v = products[i], right = amount[i] < 0 ? -amount[i] : 0, quotient = v >> right;                  \
        const int64_t rest = minus(v, (int64_t)((uint64_t)quotient << right)), half = ((int64_t)1 << right) >> 1;      \
        (void)half, (void)rest;                                                                                        \
        const int64_t shifted = (int64_t)((uint64_t)v << (amount[i] < 0 ? 0 : amount[i]));                             \
        int64_t moved = plus(amount[i] < 0 ? how##_ROUNDED(v) : shifted, zero[i]);                                     \
        moved = moved < r->low ? r->low : moved;                                                                       \
        out[i] = moved > r->high ? r->high : moved;                                                                    \
    }                                                                                                                  \
    break;
    switch (r->mode) {
    case 0: ROUNDED(HALF_EVEN)
    case 1: ROUNDED(HALF_AWAY)
    case 2: ROUNDED(TOWARD_ZERO)
    case 4: ROUNDED(UP)
    case 5: ROUNDED(HALF_UP)
    case 6: ROUNDED(HALF_DOWN)
    default: ROUNDED(DOWN)
    }
#undef ROUNDED
}

/* The low bytes of numbers, stored from element ``start`` of a result on. */
static inline void NAME(cut)(const Requantisation *r, const int64_t *out, void *result, int64_t start, int64_t count)
{
    if (r->size == 1)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)result)[start + i] = (uint8_t)(uint64_t)out[i];
    else if (r->size == 2)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)result)[start + i] = (uint16_t)(uint64_t)out[i];
    else if (r->size == 4)
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)result)[start + i] = (uint32_t)(uint64_t)out[i];
    else
        memcpy((int64_t *)result + start, out, (size_t)count * sizeof *out);
}
