/* Whole-number arithmetic that wraps, and the ways to round; for integers.h. */

typedef struct {
    const int64_t *multiplier, *amount, *zero; /* one of each row */
    int64_t low, high;
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

/* The steps of one row in a form that is cheaper, where its numbers allow that; results are those of the steps.
 *
 * IN_32_BITS: sums of 32 bits are limited and cut. SHIFTED_ONCE: ((p + added + ((p >> from) & mask)) >> right) + zero,
 * limited, with p = sum * multiplier: one form of all ways to round. */
enum { AS_GIVEN, IN_32_BITS, SHIFTED_ONCE };

typedef struct {
    int64_t added, mask;
    int32_t low, high;
    int form, wraps, from, right; /* wraps: sums are held in 32 bits before these steps, or fit into them */
} Shortened;

/* Whether sums of 32 bits are stored as they are. */
static inline int is_plain(const Shortened *s) { return s->form == IN_32_BITS && s->low == INT32_MIN && s->high == INT32_MAX; }

static inline int32_t within_word(int64_t number)
{
    return number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

/* Whether a multiplier has 32 bits, and a shift goes to the right by fewer bits than products have. */
static inline int shifts_right(int64_t multiplier, int64_t amount)
{
    return amount <= 0 && amount >= -LARGEST_SHIFT && multiplier == within_word(multiplier);
}

/* ``start``: what is added to a sum of 32 bits before the steps, where ``is_known``; else that is any number. */
static Shortened shortened(const Requantisation *r, int64_t row, int64_t start, int is_known)
{
    const int64_t multiplier = r->multiplier[row], amount = r->amount[row];
    const int is_plain = multiplier == 1 && amount == 0 && r->zero[row] == 0 && r->size <= 4;
    const int is_word = r->held || (is_known && start == 0), is_near = is_known && start == within_word(start);
    const int unlimited = r->low == INT64_MIN && r->high == INT64_MAX && !r->rectified;
    Shortened s = {.form = AS_GIVEN, .wraps = is_word};
    if (is_plain && (unlimited || (is_word && r->low <= INT32_MAX && r->high >= INT32_MIN))) {
        s.form = IN_32_BITS;
        s.wraps = 1; /* without limits the low bytes are the same, whether the sum is held in 32 bits or not */
        s.low = within_word(r->rectified && r->low < 0 ? 0 : r->low);
        s.high = within_word(r->high);
    } else if (shifts_right(multiplier, amount) && (is_word || is_near) &&
               (is_word || 4 * multiplier == within_word(4 * multiplier))) {
        /* Neither products nor what is added to them exceed 2^62: sums have 32 bits, or 33. */
        const int64_t all = ((int64_t)1 << -amount) - 1, half = ((int64_t)1 << -amount) >> 1;
        s.form = SHIFTED_ONCE;
        s.right = (int)-amount;
        if (amount < 0)
            switch (r->mode) {
            case 0: s.added = half - 1, s.from = s.right, s.mask = 1; break;
            case 1: s.added = half, s.from = 63, s.mask = -1; break;
            case 2: s.from = 63, s.mask = all; break;
            case 4: s.added = all; break;
            case 5: s.added = half; break;
            case 6: s.added = half - 1; break;
            }
    }
    return s;
}

#define PIECE 512 /* numbers at a time, those of a chunk in elements.h */

/* ``image``: planes of ``plane`` numbers; ``weights``: (planes, taps); ``starts``: (planes); ``offsets``: of the taps in
 * a plane. Results are (planes, height, width), ``line`` and ``step`` numbers of the image apart. ``row_at``: bytes from the
 * first result to each plane, or none where planes follow each other. */
typedef struct {
    const void *image;
    const int64_t *row_at;
    const int32_t *weights;
    const int64_t *starts, *offsets;
    int64_t planes, plane, taps, height, width, line, step;
    int format;
} WholeWindows;
