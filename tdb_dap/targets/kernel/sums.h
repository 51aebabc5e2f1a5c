/* Sums of products, LANES outputs at a time. Included once per vector width: see module.c.
 *
 * Expects LANES and NAME(x), and, where LANES > 1, a compiler with vector extensions. Every output has a chain of
 * additions of its own, in the order of the chip; lanes never meet. The results therefore do not depend on LANES, on
 * how outputs are split among threads, or on the machine.
 *
 * All functions read the right factor of product k at output column j as image[taps[k] + places[j]]; a negative tap
 * stands for zeros. A column block is first packed into a panel [k][LANES].
 */

#if LANES > 1
typedef float NAME(floats) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(ints) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
#define TO_FLOATS(x) __builtin_convertvector(x, floats)
#define TO_INTS(x) __builtin_convertvector(x, ints)
#define AS_INTS(x) ((ints)(x))
#define AS_FLOATS(x) ((floats)(x))
#define MASK(x) (x)
#else
typedef float NAME(floats);
typedef int32_t NAME(ints);
#define TO_FLOATS(x) ((float)(x))
#define TO_INTS(x) ((int32_t)(x))
#define AS_INTS(x) ((ints)bits_of(x))
#define AS_FLOATS(x) number_of((uint32_t)(x))
#define MASK(x) (-(int32_t)(x))
#endif
#define floats NAME(floats)
#define ints NAME(ints)
#define SELECT(mask, yes, no) (((mask) & (yes)) | (~(mask) & (no)))
#define AT(pointer) (*(floats *)(pointer))

#define ROWS 8

static void NAME(pack)(float *panel, const Right *right, int64_t first, int64_t used)
{
    const int64_t *places = right->places + first;
    int adjacent = used == LANES;
    for (int lane = 1; lane < used; lane++)
        adjacent &= places[lane] - places[lane - 1] == 1;
    for (int64_t k = 0; k < right->count; k++) {
        float *row = panel + k * LANES;
        const int64_t tap = right->taps[k];
        if (tap >= 0 && adjacent) {
            memcpy(row, right->image + tap + places[0], LANES * sizeof(float));
            continue;
        }
        for (int lane = 0; lane < LANES; lane++)
            row[lane] = tap >= 0 && lane < used ? right->image[tap + places[lane]] : 0.0f;
    }
}

#define CHUNK 256

/* One operation per element; where a result is a NaN or at the lower end of the range, the careful way decides. */
static void NAME(elementwise)(int kind, const float *a, const float *b, float *result, int64_t count)
{
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t stop = count - first < CHUNK ? count : first + CHUNK;
        uint32_t doubtful = 0;
        if (kind == ADD)
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] + b[i];
        else if (kind == SUBTRACT)
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] - b[i];
        else
            for (int64_t i = first; i < stop; i++)
                result[i] = a[i] * b[i];
        for (int64_t i = first; i < stop; i++) {
            const uint32_t size = bits_of(result[i]) & 0x7fffffff;
            doubtful |= (uint32_t)(size - 1 < 0x00800000) | (uint32_t)(size > 0x7f800000);
        }
        if (doubtful)
            for (int64_t i = first; i < stop; i++)
                result[i] = operation(kind, a[i], b[i]);
    }
}

/* Whether any number is subnormal. */
static int NAME(subnormal)(const float *numbers, int64_t count)
{
    uint32_t found = 0;
    for (int64_t i = 0; i < count; i++)
        found |= (uint32_t)((bits_of(numbers[i]) & 0x7fffffff) - 1 < 0x007fffff);
    return found != 0;
}

/* sums[r] += left[k][r] * panel[k] for every second k: one of the two chains of ROWS x LANES outputs. */
static void NAME(chain)(float *sums, const float *left, const float *panel, int64_t first, int64_t count)
{
    floats sum[ROWS];
    for (int r = 0; r < ROWS; r++)
        sum[r] = AT(sums + r * LANES);
    for (int64_t k = first; k < count; k += 2) {
        const floats factor = AT(panel + k * LANES);
        for (int r = 0; r < ROWS; r++)
            sum[r] = sum[r] + factor * left[k * ROWS + r];
    }
    for (int r = 0; r < ROWS; r++)
        AT(sums + r * LANES) = sum[r];
}

/* Two interleaved chains per output; see the function of that name in dot.py. */
static int NAME(interleaved)(const Left *left, const Right *right, const Chains *chains)
{
    const int64_t count = right->count, rows = left->rows, blocks = (rows + ROWS - 1) / ROWS;
    float *panel = malloc((size_t)(count * LANES + blocks * ROWS * count + 2 * ROWS * LANES + 1) * sizeof(float));
    if (!panel)
        return -1;
    float *packed = panel + count * LANES, *sums = packed + blocks * ROWS * count;
    for (int64_t row = 0; row < blocks * ROWS; row++)
        for (int64_t k = 0; k < count; k++)
            packed[(row / ROWS * count + k) * ROWS + row % ROWS] = row < rows ? left->numbers[row * count + k] : 0.0f;
    for (int64_t first = right->first; first < right->last; first += LANES) {
        const int64_t used = right->last - first < LANES ? right->last - first : LANES;
        NAME(pack)(panel, right, first, used);
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t height = rows - block * ROWS < ROWS ? rows - block * ROWS : ROWS;
            memset(sums, 0, 2 * ROWS * LANES * sizeof(float));
            for (int side = 0; side < 2; side++) {
                float *own = sums + side * ROWS * LANES;
                for (int64_t r = 0; r < height; r++)
                    memcpy(own + r * LANES, chains->sums[side] + (block * ROWS + r) * right->columns + first,
                           (size_t)used * sizeof(float));
                if (chains->normal)
                    NAME(chain)(own, packed + block * ROWS * count, panel, side ^ (chains->position & 1), count);
            }
            for (int64_t r = 0; r < height; r++)
                for (int64_t lane = 0; lane < used; lane++) {
                    const float even = sums[r * LANES + lane], odd = sums[(ROWS + r) * LANES + lane];
                    float *result = chains->sums[0] + (block * ROWS + r) * right->columns + first + lane;
                    const float total = even + odd;
                    if (chains->normal && total == total)
                        *result = total;
                    else
                        *result = careful_chains(left->numbers + (block * ROWS + r) * count, panel + lane, LANES, count,
                                                 *result, chains->sums[1][result - chains->sums[0]], chains);
                }
        }
    }
    free(panel);
    return 0;
}

/* One group of one row: the exact sum of truncated products, rounded. All factors are finite, products are narrow. */
static floats NAME(group)(const float *left, const float *panel, int64_t size)
{
    floats products[LARGEST_GROUP];
    ints largest = {0};
    for (int64_t i = 0; i < size; i++) {
        products[i] = AT(panel + i * LANES) * left[i];
        const ints magnitude = AS_INTS(products[i]) & 0x7fffffff;
        largest = SELECT(MASK(magnitude > largest), magnitude, largest);
    }
    /* Where all products are zero any scale will do. */
    const ints exponent = largest & 0x7f800000;
    const ints held = SELECT(MASK(exponent > (32 << 23)), exponent, (exponent ^ exponent) + (32 << 23));
    const floats scale = AS_FLOATS(((254 + 24) << 23) - held), unit = AS_FLOATS(held - (24 << 23));
    ints sum = {0};
    for (int64_t i = 0; i < size; i++)
        sum += TO_INTS(products[i] * scale);
    return TO_FLOATS(sum) * unit;
}

/* Groups of products summed exactly, groups added in float32; see ``grouped`` in dot.py. */
static int NAME(grouped)(const Left *left, const Right *right, const Groups *groups)
{
    const int64_t count = right->count;
    float *panel = malloc((size_t)(count * LANES + 1) * sizeof(float));
    unsigned char *plain = malloc((size_t)left->rows + 1);
    if (!panel || !plain) {
        free(panel);
        free(plain);
        return -1;
    }
    for (int64_t row = 0; row < left->rows; row++)
        plain[row] = groups->narrow && all_finite(left->numbers + row * count, count);
    for (int64_t first = right->first; first < right->last; first += LANES) {
        const int64_t used = right->last - first < LANES ? right->last - first : LANES;
        NAME(pack)(panel, right, first, used);
        const int panel_plain = all_finite(panel, count * LANES);
        for (int64_t start = 0; start < count; start += groups->size) {
            const int64_t size = count - start < groups->size ? count - start : groups->size;
            const float *factors = panel + start * LANES;
            for (int64_t row = 0; row < left->rows; row++) {
                const float *own = left->numbers + row * count + start;
                float *totals = groups->totals + row * right->columns + first;
                if (panel_plain && plain[row]) {
                    float spare[LANES] = {0}, *here = used == LANES ? totals : spare;
                    if (here == spare)
                        memcpy(spare, totals, (size_t)used * sizeof(float));
                    const floats total = AT(here), sum = total + NAME(group)(own, factors, size);
                    const ints after = AS_INTS(sum), tiny = MASK((after & 0x7f800000) == 0);
                    const ints flushed = SELECT(tiny, after & INT32_MIN, after);
                    /* The group's sum is finite: a NaN can only have been there before. */
                    AT(here) = AS_FLOATS(SELECT(MASK(total != total), AS_INTS(total) | 0x00400000, flushed));
                    if (here == spare)
                        memcpy(totals, spare, (size_t)used * sizeof(float));
                    continue;
                }
                for (int64_t lane = 0; lane < used; lane++)
                    totals[lane] = add(totals[lane], careful_group(own, factors + lane, LANES, size, groups->nan_wins));
            }
        }
    }
    free(plain);
    free(panel);
    return 0;
}

#undef floats
#undef ints
#undef TO_FLOATS
#undef TO_INTS
#undef AS_INTS
#undef AS_FLOATS
#undef MASK
#undef SELECT
#undef AT
#undef ROWS
#undef CHUNK
