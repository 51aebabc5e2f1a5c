/* The micro-kernels of one vector width, and their parameters. */

#ifndef TDB_DAP_SIMD_SIMD_H
#define TDB_DAP_SIMD_SIMD_H

#include "../scalar/arithmetic.h"
#include "../scalar/left_factors.h"
#include "../scalar/rounding.h"

/* Left factors, (rows, count) without gaps; rows [first, last) are computed. ``packed``: as (block, count, ROWS). A product may
 * be of some of the ``count`` factors of each row, from those at ``numbers`` and ``packed`` on. */
typedef struct {
    const float *numbers, *packed;
    int64_t rows, count, first, last;
} Left;

/* Right factors: product k at column j is image[taps[k] + places[j]]; columns [first, last) are computed. ``panels``: all of
 * them as pack_panel_f16 packs them, or none; ``has_logs``: with logarithms. */
typedef struct {
    const float *image;
    const int64_t *taps, *places;
    int64_t count, columns, first, last;
    char *panels;
    int has_logs;
} Right;

/* Initial values of accumulators: numbers[row * row step + column * column step]. */
typedef struct {
    const float *numbers;
    int64_t row, column;
} Start;

/* Epilogue of each finished block of results: rows [range[0], range[1]), columns [range[2], range[3]). */
typedef struct {
    void (*compute)(const void *of, const int64_t *range);
    const void *of;
} Epilogue;

/* Least number of results that an epilogue is called for. */
#define LEAST_EPILOGUE ((int64_t)1 << 13)

/* Call the epilogue for rows [*pending, row) of some columns, if they are enough; ``is_last``: the columns are complete. */
static inline void run_epilogue(const Epilogue *epilogue, int64_t *pending, int64_t row, int is_last, int64_t first, int64_t last)
{
    const int64_t range[4] = {*pending, row, first, last};
    if (!epilogue || (!is_last && (row - *pending) * (last - first) < LEAST_EPILOGUE))
        return;
    epilogue->compute(epilogue->of, range);
    *pending = row;
}

/* ``result``: (rows, columns); ``row_at``: bytes from there to each row, or none where rows follow each other. ``position``:
 * index of the first product in the sequence; ``normal``: no sum can be subnormal; ``swapped``: the right factor is the first
 * operand; ``epilogue``: or none. */
typedef struct {
    Start starts[2];
    float *result;
    const int64_t *row_at;
    int position, normal, swapped;
    const Epilogue *epilogue;
} GemmF32;

/* ``totals``: (rows, columns), added to. ``size``: products per group. */
typedef struct {
    float *totals;
    int64_t size;
    int nan_wins, drops_bits;
} GemmF16;

/* Integers: left factors as (block, pair, ROWS, 2) of 16 bits; right ones as in Right, of a ``type``. Sums
 * start from start[row * row step + column * column step], or from zeros. Instead of ``left``, where both factors are
 * bytes and ``has_dot4``: ``left_dot4`` of ``left_type``, as pack_left_dot4 writes them. ``row_at``: as in GemmF32. */
typedef struct {
    const int16_t *left;
    const void *image;
    const int64_t *taps, *places, *start;
    int64_t rows, count, columns, first, last, first_row, last_row, start_row, start_column;
    int type;
    const uint8_t *left_dot4;
    int left_type;
    const int64_t *row_at;
    const FastRequant *steps; /* of each row */
    const Epilogue *epilogue;
} GemmInt;

/* The fast form of a row, where its steps do not depend on the column. */
static inline FastRequant fast_requant_of_row(const GemmInt *w, const Requantisation *r, int64_t row)
{
    const int is_known = !w->start || w->start_column == 0;
    return fast_requant(r, row, w->start && is_known ? w->start[row * w->start_row] : 0, is_known);
}

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
} WindowInt;

/* ``image``: planes of ``plane`` numbers; ``weights``: (planes, taps); ``starts``: (planes), or none; ``offsets``: of the
 * taps in a plane. Results are (planes, height, width), ``line`` and ``step`` numbers of the image apart.
 * ``negative``: sums without a start begin with -0, so that the first term keeps its sign. */
typedef struct {
    const float *image, *weights, *starts;
    const int64_t *offsets;
    int64_t planes, plane, taps, height, width, line, step;
    int format, negative;
} WindowF32;

/* Planes [first, last) of an image whose windows are searched; float32, or bytes of a format. ``start``: no result is less. */
typedef struct {
    const void *image;
    const float *start;
    const int64_t *offsets;
    int64_t first, last, plane, taps, height, width, line, step;
    int format, is_last;
} WindowMax;

typedef struct {
    int lanes;
    int (*gemm_f32)(const Left *, const Right *, const GemmF32 *);
    int (*gemm_f16)(const Left *, const Right *, const GemmF16 *);
    size_t (*panel_f16_size)(int64_t);
    void (*pack_panel_f16)(const Right *, int64_t, void *);
    int (*gemm_int)(const GemmInt *, const Requantisation *, void *);
    void (*window_int)(const WindowInt *, const Requantisation *, void *);
    void (*window_f32)(const WindowF32 *, float *);
    void (*window_max)(const WindowMax *, void *);
    void (*elementwise)(int, const float *, const float *, float *, int64_t);
    void (*float_elements)(const Grid *, int, void *, int, int);
    void (*reciprocal_roots)(const Grid *, int, int, float *);
    void (*divided)(const Grid *, int, int, int, int, void *);
    void (*series)(const Grid *, const Stored *, int64_t, int64_t, int64_t, int, void *);
    int (*int_rows)(const Grid *, int, int, const Requantisation *, const Stored *); /* or none */
    void (*int_elements)(const Grid *, int, int, int, const Requantisation *, void *);
    void (*ints_of_floats)(const Grid *, int, double, double, int, int, void *);
    void (*floats_of_floats)(const Grid *, int, int, int, void *);
    void (*floats_of_ints)(const Grid *, int, void *);
    void (*widen_range)(const float *, int64_t, uint32_t *);
    void (*read_normal)(float *, const void *, int, int64_t, int64_t, uint32_t *);
    void (*write_floats)(const float *, void *, int, int64_t, int64_t);
    void (*integral_floats)(const Grid *, int, float *);
    void (*integral_halves)(const Grid *, int, uint16_t *);
    void (*magnitudes)(const Grid *, int, uint32_t *);
    void (*selected)(const Grid *, int, int, void *);
    void (*halves_by_mode)(const Grid *, int, int, int, uint16_t *);
    void (*unpack_halves)(const uint8_t *, int64_t, const uint16_t *, uint16_t *);
    void (*truncating_elements)(const Grid *, int, int, uint16_t *);
    void (*truncating_bytes)(const Grid *, int, int, int32_t, int32_t, uint8_t *);
} Simd;

/* log2(1 + i / 2^LOG_BITS) in units of 2^-LOG_BITS, rounded down. */
#define LOG_BITS 10
extern int32_t log_fractions[1 << LOG_BITS];
void simd_fill_tables(void);

/* The widths that this processor can run, ascending, and how many. */
extern const Simd *const simd_widths[];
int simd_count(void);

/* The width in use; the widest at first. */
extern const Simd *simd;

/* Whether gemm_int takes bytes in fours. */
static inline int simd_has_dot4(void) { return simd->lanes == 16; }

/* Use vectors of this many numbers from now on; 0: this processor has none. */
int simd_choose(int lanes);

#endif
