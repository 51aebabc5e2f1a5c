/* Wrapping integer arithmetic, rounding shifts, and the parameters of requantisation. */

#ifndef TDB_DAP_SCALAR_ROUNDING_H
#define TDB_DAP_SCALAR_ROUNDING_H

#include "grid.h"

typedef struct {
    const int64_t *multiplier, *amount, *zero; /* one of each row */
    int64_t low, high;
    int mode, held, rectified, size; /* held: the sum wraps to 32 bits first; size: bytes of a result */
    int is_high, plane; /* is_high: products are divided by 2^HIGH_BITS, half away from zero, first; plane: the byte of a result that is
                         * stored, from the lowest one on, of results of one byte */
    int is_scaled;      /* multipliers are words of float32, and all that there is: see ProductRecord */
    int keeps_sign;     /* the highest bit stays when the others are shifted to the left */
} Requantisation;

static inline int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* A sum that stays at the end of 64 bits which it passes. */
static inline int64_t plus_saturated(int64_t a, int64_t b)
{
    const int64_t sum = plus(a, b);
    return ((a ^ sum) & (b ^ sum)) < 0 ? a < 0 ? INT64_MIN : INT64_MAX : sum;
}

/* Bits of a number that a shift to the left does not move. */
static inline uint64_t bits_kept(const Requantisation *r) { return r->keeps_sign ? (uint64_t)1 << 63 : 0; }

ALWAYS_INLINE int64_t shifted_left(int64_t v, int left, uint64_t kept)
{
    return (int64_t)(((uint64_t)v << left & ~kept) | ((uint64_t)v & kept));
}

/* v / 2^right rounded: (v + added + ((v >> from) & mask)) >> right; one form for all rounding modes. */
typedef struct {
    int64_t added, mask;
    int from;
} ShiftRounding;

ALWAYS_INLINE ShiftRounding rounding_of(int mode, int right)
{
    const int64_t all = ((int64_t)1 << right) - 1, half = ((int64_t)1 << right) >> 1, is_shifted = all & 1;
    switch (mode) {
    case HALF_EVEN: return (ShiftRounding){all >> 1, is_shifted, right};
    case HALF_AWAY: return (ShiftRounding){half, -is_shifted, 63};
    case TOWARD_ZERO: return (ShiftRounding){0, all, 63};
    case UP: return (ShiftRounding){all, 0, 0};
    case HALF_UP: return (ShiftRounding){half, 0, 0};
    case HALF_DOWN: return (ShiftRounding){all >> 1, 0, 0};
    default: return (ShiftRounding){0, 0, 0};
    }
}

/* The same for any 64-bit number: adding to it could overflow, so only the bits that are shifted out are rounded. */
ALWAYS_INLINE int64_t rounded_shift(int64_t v, int right, ShiftRounding r)
{
    const int64_t quotient = v >> right, rest = minus(v, (int64_t)((uint64_t)quotient << right));
    return plus(quotient, (rest + r.added + ((v >> r.from) & r.mask)) >> right);
}

#define HIGH_BITS 31

/* Requantisation of one row in a cheaper form with the same results, where its numbers allow that.
 *
 * IN_32_BITS: sums of 32 bits are limited and cut. SHIFTED_ONCE: rounded without overflow, as rounding_of says, and moved to the
 * zero point. SHIFTED_TWICE: sums of 32 bits become the high halves of products,
 * rounded and shifted half away from zero, and are limited and cut. */
enum { AS_GIVEN, IN_32_BITS, SHIFTED_ONCE, SHIFTED_TWICE };

typedef struct {
    ShiftRounding rounding;
    int32_t low, high;
    int form, wraps, right; /* wraps: sums are held in 32 bits before these steps, or fit into them */
} FastRequant;

/* Whether sums of 32 bits are stored as they are. */
static inline int is_plain(const FastRequant *s) { return s->form == IN_32_BITS && s->low == INT32_MIN && s->high == INT32_MAX; }

static inline int32_t within_word(int64_t number)
{
    return number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

/* Whether a multiplier fits 32 bits and a shift is a right shift within the width of the products. */
static inline int shifts_right(int64_t multiplier, int64_t amount)
{
    return amount <= 0 && amount >= -LARGEST_SHIFT && multiplier == within_word(multiplier);
}

/* ``start``: initial value of the sums, if ``is_known``; else it may be any number. */
static inline FastRequant fast_requant(const Requantisation *r, int64_t row, int64_t start, int is_known)
{
    const int64_t multiplier = r->multiplier[row], amount = r->amount[row];
    const int is_plain = multiplier == 1 && amount == 0 && r->zero[row] == 0 && r->size <= 4 && !r->is_high && !r->plane;
    const int is_word = r->held || (is_known && start == 0), is_near = is_known && start == within_word(start);
    const int unlimited = r->low == INT64_MIN && r->high == INT64_MAX && !r->rectified;
    FastRequant s = {.form = AS_GIVEN, .wraps = is_word};
    if (r->is_scaled)
        return s;
    if (is_plain && (unlimited || (is_word && r->low <= INT32_MAX && r->high >= INT32_MIN))) {
        s.form = IN_32_BITS;
        s.wraps = 1; /* without limits the low bytes are the same, whether the sum is held in 32 bits or not */
        s.low = within_word(r->rectified && r->low < 0 ? 0 : r->low);
        s.high = within_word(r->high);
    } else if (r->is_high) {
        if (is_word && !r->rectified && r->mode == HALF_AWAY && r->zero[row] == 0 && r->size <= 4 && !r->plane && amount <= 0 &&
            amount >= -HIGH_BITS && multiplier == within_word(multiplier) && multiplier != INT32_MIN && r->low >= INT32_MIN &&
            r->high <= INT32_MAX) {
            s.form = SHIFTED_TWICE;
            s.right = (int)-amount;
            s.low = (int32_t)r->low;
            s.high = (int32_t)r->high;
        }
    } else if (shifts_right(multiplier, amount) && (is_word || is_near) &&
               (is_word || 4 * multiplier == within_word(4 * multiplier))) {
        /* Sums have at most 33 bits: products and the rounding term stay below 2^62. */
        s.form = SHIFTED_ONCE;
        s.right = (int)-amount;
        s.rounding = rounding_of(r->mode, s.right);
    }
    return s;
}

#endif
