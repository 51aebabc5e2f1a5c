/* Integer sums to results in one pass: rectified, multiplied, shifted with rounding, moved to a zero point, limited,
 * and cut to their width. integers.py and finish.py say what that is, and compute it in NumPy.
 *
 * Sums and products wrap as in NumPy: signed overflow would be undefined here, so they are formed unsigned. */

typedef struct {
    const int64_t *numbers, *multiplier, *amount, *zero; /* (rows, inner); the others one of each row */
    int64_t rows, inner, low, high;
    int mode, held, rectified, size; /* held: the sum wraps to 32 bits first; size: bytes of a result */
} Requantisation;

static inline int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* How v >> right is rounded; rest: what was shifted out, 0 <= rest < 2^right. */
#define HALF_EVEN_ROUNDED(v) plus(quotient, rest > half || (rest == half && (quotient & 1)))
#define HALF_AWAY_ROUNDED(v) plus(quotient, rest > half || (rest == half && (v) >= 0))
#define TOWARD_ZERO_ROUNDED(v) ((v) < 0 ? minus(0, minus(0, v) >> right) : quotient)
#define DOWN_ROUNDED(v) quotient
#define UP_ROUNDED(v) minus(0, minus(0, v) >> right)
#define HALF_UP_ROUNDED(v) plus(quotient, rest >= half)
#define HALF_DOWN_ROUNDED(v) plus(quotient, rest > half)

#define PIECE 1024

/* The numbers of a row, some at a time: every step is a loop of its own, which compilers turn into vectors. */
static void requantised_piece(const Requantisation *r, int64_t row, const int64_t *numbers, int64_t *out, int64_t count)
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

static void requantised(const Requantisation *r, void *result)
{
    int64_t out[PIECE];
    for (int64_t row = 0; row < r->rows; row++)
        for (int64_t first = 0; first < r->inner; first += PIECE) {
            const int64_t left = r->inner - first, count = left < PIECE ? left : PIECE;
            const int64_t start = row * r->inner + first;
            requantised_piece(r, row, r->numbers + start, out, count);
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
}
