/* Products and sums of float windows, rounded to the format of the data; see float_windows.h. */

/* ``image``: planes of ``plane`` numbers; ``weights``: (planes, taps); ``starts``: (planes), or none; ``offsets``: of the
 * taps in a plane. Results are (planes, height, width), ``line`` and ``step`` numbers of the image apart.
 * ``negative``: sums that nothing else starts start at -0, so that the first term comes out as it is. */
typedef struct {
    const float *image, *weights, *starts;
    const int64_t *offsets;
    int64_t planes, plane, taps, height, width, line, step;
    int format, negative;
} Windows;

/* Planes [first, last) of an image whose windows are searched; float32, or bytes of a format. ``start``: no result is less. */
typedef struct {
    const void *image;
    const float *start;
    const int64_t *offsets;
    int64_t first, last, plane, taps, height, width, line, step;
    int format, is_last;
} Largest;

/* Half to even on 11 bits, with the subnormals of f16; a NaN keeps its sign and has all other bits set. */
static float rounded_f16(float number)
{
    uint32_t bits = bits_of(number);
    const uint32_t sign = bits & 0x80000000;
    bits ^= sign;
    if (bits > 0x7f800000)
        return number_of(sign | 0x7fffe000);
    if (bits >= 0x477ff000)
        return number_of(sign | 0x7f800000);
    if (bits < 0x38800000) /* below 2^-14 all f16 are multiples of 2^-24, the unit of 0.5 in float32 */
        return number_of(sign | bits_of((number_of(bits) + 0.5f) - 0.5f));
    return number_of(sign | ((bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff));
}

/* Half to even on 8 bits; a NaN keeps its sign and has all other bits set. */
static float rounded_bf16(float number)
{
    const uint32_t bits = bits_of(number);
    if (number != number)
        return number_of((bits & 0x80000000) | 0x7fff0000);
    return number_of((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

static float rounded(float number, int format)
{
    return format == F32 ? number : format == F16 ? rounded_f16(number) : rounded_bf16(number);
}

static float product(float a, float b, int format)
{
    if (format == F32)
        return multiply(a, b);
    const double exact = (double)a * b, size = exact < 0 ? -exact : exact;
    if (exact != exact)
        return rounded(nan_of(a, b), format);
    if (format == BF16 && size < 0x1p-126) /* tiny is judged after rounding to 8 bits */
        return number_of(((bits_of(a) ^ bits_of(b)) & 0x80000000) | (size < (1 - 0x1p-9) * 0x1p-126 ? 0 : 0x00800000));
    return rounded((float)exact, format);
}
