/* Sums of products on a CUDA device: the same bits as semantics/numerics/dot.py, which says what the sums are.
 *
 * Every addition and multiplication of floats is an intrinsic that rounds by itself (__fadd_rn, __fmul_rn, __dmul_rn):
 * no compiler makes one operation of two. One thread holds one chain of additions, in the chip's order; threads never
 * meet. NaNs and subnormals are found by their words and written as such, whatever the device would make of them.
 *
 * The right factor of product k at a column is image[taps[k] + places[column]]; a negative tap stands for a zero.
 * Outputs are numbered row by row; one call forms those from ``first`` to ``last``. Only names that are built into the
 * compiler are used: there is no header to be found.
 */

typedef long long whole;
typedef unsigned int word;

#define SIGN 0x80000000u
#define INFINITY_WORD 0x7f800000u
#define SMALLEST_NORMAL 0x00800000u
#define POWER(exponent) __uint_as_float((word)((exponent) + 127) << 23)

static __device__ word bits_of(float number)
{
    return __float_as_uint(number);
}

static __device__ word size_of(float number)
{
    return bits_of(number) & ~SIGN;
}

/* Subnormals become zero of their sign. */
static __device__ float flushed(float number)
{
    return size_of(number) < SMALLEST_NORMAL ? __uint_as_float(bits_of(number) & SIGN) : number;
}

/* The NaN of an operation: the first operand's made quiet, else the second's, else that of an invalid operation. */
static __device__ float nan_of(float a, float b)
{
    const word quiet = 0x00400000u;
    if (size_of(a) > INFINITY_WORD)
        return __uint_as_float(bits_of(a) | quiet);
    return __uint_as_float(size_of(b) > INFINITY_WORD ? bits_of(b) | quiet : SIGN | INFINITY_WORD | quiet);
}

static __device__ float added(float a, float b)
{
    const float sum = __fadd_rn(a, b);
    return size_of(sum) > INFINITY_WORD ? nan_of(a, b) : flushed(sum);
}

/* What is tiny is judged after rounding: the smallest normal number may stand for less than it. */
static __device__ float multiplied(float a, float b)
{
    const float product = __fmul_rn(a, b);
    if (size_of(product) > INFINITY_WORD)
        return nan_of(a, b);
    if (size_of(product) == SMALLEST_NORMAL) {
        const whole exact = __double_as_longlong(__dmul_rn((double)a, (double)b)) & 0x7fffffffffffffffLL;
        if (exact < 0x380ffffff0000000LL) /* (1 - 2^-25) * 2^-126 */
            return __uint_as_float(bits_of(product) & SIGN);
    }
    return flushed(product);
}

static __device__ float right_factor(const float *image, const whole *taps, whole k, whole place)
{
    return taps[k] < 0 ? __uint_as_float(0) : image[taps[k] + place];
}

/* One of the two chains of each output, blockIdx.y says which, into ``chains`` (2, outputs). The first product goes to
 * chain ``position`` % 2. ``normal``: no sum can be subnormal, so that only a NaN needs care. */
extern "C" __global__ void chain(const float *left, const float *image, const whole *taps, const whole *places,
                                 whole count, whole columns, whole first, whole last, const float *even, whole even_row,
                                 whole even_column, const float *odd, whole odd_row, whole odd_column, whole position,
                                 whole normal, whole swapped, float *chains, whole outputs)
{
    const whole output = first + (whole)blockIdx.x * blockDim.x + threadIdx.x;
    if (output >= last)
        return;
    const whole side = blockIdx.y, row = output / columns, column = output % columns, place = places[column];
    const float start = side ? odd[row * odd_row + column * odd_column] : even[row * even_row + column * even_column];
    const float *own = left + row * count;
    const whole begin = (side + position) & 1;
    float sum = start;
    if (normal)
        for (whole k = begin; k < count; k += 2)
            sum = __fadd_rn(sum, __fmul_rn(own[k], right_factor(image, taps, k, place)));
    if (!normal || size_of(sum) > INFINITY_WORD) {
        sum = start;
        for (whole k = begin; k < count; k += 2) {
            const float a = own[k], b = right_factor(image, taps, k, place);
            sum = added(sum, swapped ? multiplied(b, a) : multiplied(a, b));
        }
    }
    chains[side * outputs + output] = sum;
}

/* The sums of both chains. */
extern "C" __global__ void joined(const float *chains, whole outputs, float *result)
{
    const whole output = (whole)blockIdx.x * blockDim.x + threadIdx.x;
    if (output < outputs)
        result[output] = added(chains[output], chains[outputs + output]);
}

/* A product of two f16 with what some chips drop: see ``without_dropped`` in dot.py. All steps are exact. */
static __device__ float kept_part(float product)
{
    const word size = size_of(product);
    if (size < bits_of(POWER(-41)) || size >= bits_of(POWER(-38)))
        return product;
    /* In units of the last bit that such a product may have, 2^-64. */
    const word units = ((size & 0x007fffffu) | SMALLEST_NORMAL) << ((size >> 23) - (127 - 41));
    word rest = units & 0x007fffffu;
    if (rest && rest < 0x00400000u)
        rest += 0x00400000u;
    return __uint_as_float(bits_of(__fmul_rn(__uint2float_rn(rest), POWER(-64))) | (bits_of(product) & SIGN));
}

static __device__ float product_of(const float *own, const float *image, const whole *taps, whole k, whole place,
                                   whole drops_bits)
{
    const float product = __fmul_rn(own[k], right_factor(image, taps, k, place));
    return drops_bits ? kept_part(product) : product;
}

/* The sum of products [first, last): each cut off below the 24th bit under the largest one's first, then summed exactly,
 * in units of that bit, and rounded once. */
static __device__ float group_sum(const float *own, const float *image, const whole *taps, whole first, whole last,
                                  whole place, whole nan_wins, whole drops_bits)
{
    bool up = false, down = false, undefined = false;
    word largest = 0;
    for (whole k = first; k < last; k++) {
        const word bits = bits_of(product_of(own, image, taps, k, place, drops_bits)), size = bits & ~SIGN;
        undefined |= size > INFINITY_WORD;
        up |= bits == INFINITY_WORD;
        down |= bits == (SIGN | INFINITY_WORD);
        largest = size > largest ? size : largest;
    }
    if ((up && down) || (undefined && (nan_wins || !(up || down))))
        return __uint_as_float(nan_wins ? 0x7fc00000u : 0xffc00000u);
    if (up || down)
        return __uint_as_float(up ? INFINITY_WORD : SIGN | INFINITY_WORD);
    if (largest < SMALLEST_NORMAL)
        return __uint_as_float(0);
    whole sum = 0;
    for (whole k = first; k < last; k++) {
        const word bits = bits_of(product_of(own, image, taps, k, place, drops_bits)), size = bits & ~SIGN;
        const word below = (largest >> 23) - (size >> 23);
        if (size < SMALLEST_NORMAL || below > 24)
            continue;
        const whole units = (whole)(((size & 0x007fffffu) | SMALLEST_NORMAL) << 1 >> below);
        sum += bits & SIGN ? -units : units;
    }
    const whole exponent = (whole)(largest >> 23) - 127 - 24;
    const double unit = __longlong_as_double((exponent + 1023) << 52);
    return flushed(__double2float_rn(__dmul_rn(__ll2double_rn(sum), unit)));
}

/* ``totals`` (outputs) plus the products of 16-bit floats, group by group of ``size``. */
extern "C" __global__ void grouped(const float *left, const float *image, const whole *taps, const whole *places,
                                   whole count, whole columns, whole first, whole last, whole size, whole nan_wins,
                                   whole drops_bits, float *totals)
{
    const whole output = first + (whole)blockIdx.x * blockDim.x + threadIdx.x;
    if (output >= last)
        return;
    const whole place = places[output % columns];
    const float *own = left + output / columns * count;
    float total = totals[output];
    for (whole begin = 0; begin < count; begin += size) {
        const whole end = count - begin < size ? count : begin + size;
        total = added(total, group_sum(own, image, taps, begin, end, place, nan_wins, drops_bits));
    }
    totals[output] = total;
}

/* Exact sums of products of whole numbers. */
extern "C" __global__ void exact(const int *left, const int *image, const whole *taps, const whole *places, whole count,
                                 whole columns, whole first, whole last, whole *sums)
{
    const whole output = first + (whole)blockIdx.x * blockDim.x + threadIdx.x;
    if (output >= last)
        return;
    const whole place = places[output % columns];
    const int *own = left + output / columns * count;
    whole sum = 0;
    for (whole k = 0; k < count; k++)
        if (taps[k] >= 0)
            sum += (whole)own[k] * image[taps[k] + place];
    sums[output] = sum;
}
