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

#define PIECE 512 /* numbers at a time, those of a chunk in elements.h */

/* ``image``: planes of ``plane`` numbers; ``weights``: (planes, taps); ``starts``: (planes); ``offsets``: of the taps in
 * a plane. Results are (planes, height, width), ``line`` and ``step`` numbers of the image apart. */
typedef struct {
    const void *image;
    const int32_t *weights;
    const int64_t *starts, *offsets;
    int64_t planes, plane, taps, height, width, line, step;
    int format;
} WholeWindows;
