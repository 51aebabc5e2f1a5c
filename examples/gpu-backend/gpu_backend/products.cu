/* Matrix products of float32 on a CUDA device, with the bits of the chip.
 *
 * Every addition and multiplication is an intrinsic that rounds by itself (__fadd_rn, __fmul_rn, __dmul_rn): no compiler
 * makes one operation of two. One thread adds one chain, in the chip's order. NaNs and subnormals are recognized by their
 * words and written as such, whatever the device would make of them. Only names that are built into the compiler are
 * used: there is no header to be found.
 */

typedef long long whole;
typedef unsigned int word;

#define SIGN 0x80000000u
#define INFINITY_WORD 0x7f800000u
#define SMALLEST_NORMAL 0x00800000u

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

/* One of the two chains of each element, blockIdx.y says which, into ``chains`` (2, rows, columns). Chain 0 starts with the
 * bias of the column, chain 1 with ``second`` of the element; the first product goes to chain ``position`` % 2. */
extern "C" __global__ void chain(const float *left, const float *right, whole rows, whole inner, whole columns,
                                 const float *bias, const float *second, whole position, float *chains)
{
    const whole element = (whole)blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= rows * columns)
        return;
    const whole side = blockIdx.y, row = element / columns, column = element % columns;
    float sum = side ? second[element] : bias[column];
    for (whole k = (side + position) & 1; k < inner; k += 2)
        sum = added(sum, multiplied(left[row * inner + k], right[k * columns + column]));
    chains[side * rows * columns + element] = sum;
}

/* The sums of both chains. */
extern "C" __global__ void joined(const float *chains, whole elements, float *result)
{
    const whole element = (whole)blockIdx.x * blockDim.x + threadIdx.x;
    if (element < elements)
        result[element] = added(chains[element], chains[elements + element]);
}
