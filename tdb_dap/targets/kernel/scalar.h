/* Arithmetic of one number at a time, with every rule of the chip written out: see float32.py and dot.py.
 *
 * The processor's flush modes are never touched, so this runs the same on every machine.
 */

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static float number_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Subnormals become zero of their sign. */
static float flush(float number)
{
    const uint32_t bits = bits_of(number);
    return bits & 0x7f800000 ? number : number_of(bits & 0x80000000);
}

/* The NaN of an operation on a and b: the first operand's made quiet, else the second's, else that of an invalid one. */
static float nan_of(float a, float b)
{
    return number_of(a != a ? bits_of(a) | 0x00400000 : b != b ? bits_of(b) | 0x00400000 : 0xffc00000);
}

static float add(float a, float b)
{
    const float sum = a + b;
    return sum != sum ? nan_of(a, b) : flush(sum);
}

/* float64 holds a product of two float32 exactly: what is tiny is decided on it. */
static float multiply(float a, float b)
{
    const double exact = (double)a * b, size = exact < 0 ? -exact : exact;
    if (exact != exact)
        return nan_of(a, b);
    if (size < (1 - 0x1p-25) * 0x1p-126)
        return number_of((bits_of(a) ^ bits_of(b)) & 0x80000000);
    return (float)exact;
}

static float subtract(float a, float b)
{
    const float difference = a - b;
    return difference != difference ? nan_of(a, b) : flush(difference);
}

enum { ADD = 0, SUBTRACT = 1, MULTIPLY = 2 };

static float operation(int kind, float a, float b)
{
    return kind == ADD ? add(a, b) : kind == SUBTRACT ? subtract(a, b) : multiply(a, b);
}

/* Whether any number is below the normal ones of f16, and not zero. */
static int has_small_halves(const float *numbers, int64_t count)
{
    int found = 0;
    for (int64_t i = 0; i < count; i++)
        found |= (bits_of(numbers[i]) & 0x7fffffff) - 1 < 0x387fffff;
    return found;
}

/* Both chains of one output, flushing at every step. ``even`` and ``odd`` are what the chains start from. */
static float careful_chains(const float *left, const float *right, int64_t step, int64_t count, float even, float odd,
                            const Chains *chains)
{
    float sums[2] = {even, odd};
    for (int64_t k = 0; k < count; k++) {
        const float a = left[k], b = right[k * step];
        float *sum = &sums[(chains->position + k) & 1];
        *sum = add(*sum, chains->swapped ? multiply(b, a) : multiply(a, b));
    }
    return add(sums[0], sums[1]);
}

/* What a chain of one output starts from. */
static float start_of(const Chains *chains, int side, int64_t row, int64_t column)
{
    const Start *start = &chains->starts[side];
    return start->numbers[row * start->row + column * start->column];
}

/* 2^exponent for exponents of normal numbers. */
static double power(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* See ``without_dropped`` in dot.py. */
static float kept_part(float product, int drops_bits)
{
    const float size = product < 0 ? -product : product;
    if (!drops_bits || !(size >= 0x1p-41f && size < 0x1p-38f))
        return product;
    const float rest = size - (float)(int)(size * 0x1p41f) * 0x1p-41f;
    const float kept = rest > 0 && rest < 0x1p-42f ? rest + 0x1p-42f : rest;
    return product < 0 ? -kept : kept;
}

/* The sum of one group, whatever its products are. */
static float careful_group(const float *left, const float *right, int64_t step, int64_t size, int nan_wins,
                           int drops_bits)
{
    int up = 0, down = 0, undefined = 0;
    uint32_t largest = 0;
    for (int64_t i = 0; i < size; i++) {
        const float product = kept_part(left[i] * right[i * step], drops_bits);
        const uint32_t magnitude = bits_of(product) & 0x7fffffff;
        undefined |= magnitude > 0x7f800000;
        up |= bits_of(product) == 0x7f800000;
        down |= bits_of(product) == 0xff800000;
        largest = magnitude > largest ? magnitude : largest;
    }
    if ((up && down) || (undefined && (nan_wins || !(up || down))))
        return number_of(nan_wins ? 0x7fc00000 : 0xffc00000);
    if (up || down)
        return number_of(up ? 0x7f800000 : 0xff800000);
    const int exponent = (int)(largest >> 23) - 127;
    if (exponent < -126)
        return 0.0f;
    const double scale = power(24 - exponent);
    int64_t sum = 0;
    for (int64_t i = 0; i < size; i++) {
        const float product = kept_part(left[i] * right[i * step], drops_bits);
        if (bits_of(product) & 0x7f800000)
            sum += (int64_t)(product * scale);
    }
    return flush((float)((double)sum * power(exponent - 24)));
}
