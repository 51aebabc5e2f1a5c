/* Stored numbers read into float or whole numbers, and written back; included once per vector width. Loops without
 * branches: compilers turn them into vectors. */

/* Half floats are exact in float. The sign is put back last; infinities and NaNs get the whole exponent. */
static inline float NAME(from_f16)(uint16_t half)
{
    const uint32_t size = (uint32_t)(half & 0x7fff) << 13;
    const uint32_t bits = bits_of(number_of(size) * 0x1p112f) | (size >= 0x0f800000 ? 0x7f800000u : 0);
    return number_of(bits | (uint32_t)(half & 0x8000) << 16);
}

/* Half to even; a NaN keeps its sign and has all other bits set. */
static inline uint16_t NAME(to_f16)(float number)
{
    const uint32_t bits = bits_of(number), size = bits & 0x7fffffff;
    const uint32_t normal = (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13;
    const uint32_t small = bits_of(number_of(size) + 0.5f) - 0x3f000000; /* the unit of 0.5 is that of subnormals */
    uint32_t half = size < 0x38800000 ? small : normal;
    half = size >= 0x477ff000 ? 0x7c00 : half;
    half = size > 0x7f800000 ? 0x7fff : half;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}

static inline uint16_t NAME(to_bf16)(float number)
{
    const uint32_t bits = bits_of(number), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fff : rounded);
}

/* Numbers at equal steps, one row of an operand, as float; as they are stored. */
static void NAME(read_floats)(float *out, const void *data, int format, int64_t step, int64_t count)
{
    const uint16_t *halves = data;
    const float *whole = data;
    if (format == F32 && step == 1)
        memcpy(out, whole, (size_t)count * sizeof *out);
    else if (format == F32)
        for (int64_t i = 0; i < count; i++)
            out[i] = whole[i * step];
    else if (format == F16 && step == 1)
        for (int64_t i = 0; i < count; i++)
            out[i] = NAME(from_f16)(halves[i]);
    else if (format == F16)
        for (int64_t i = 0; i < count; i++)
            out[i] = NAME(from_f16)(halves[i * step]);
    else if (step == 1)
        for (int64_t i = 0; i < count; i++)
            out[i] = number_of((uint32_t)halves[i] << 16);
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = number_of((uint32_t)halves[i * step] << 16);
}

/* The same as products take them: subnormals are zeros, but those of f16. ``least``, if any, becomes the smallest magnitude
 * but zero, less one, of these and what it was. */
static void NAME(read_normal)(float *out, const void *data, int format, int64_t step, int64_t count, uint32_t *least)
{
    uint32_t found = UINT32_MAX;
    const float *from = data;
    if (format != F32 || step != 1) {
        NAME(read_floats)(out, data, format, step, count);
        from = out;
    }
    if (format != F16)
        for (int64_t i = 0; i < count; i++) {
            const uint32_t bits = bits_of(from[i]), normal = bits & 0x7f800000 ? bits : bits & 0x80000000;
            const uint32_t size = (normal & 0x7fffffff) - 1; /* less one, zeros are the largest words */
            found = size < found ? size : found;
            out[i] = number_of(normal);
        }
    else if (least)
        for (int64_t i = 0; i < count; i++) {
            const uint32_t size = (bits_of(out[i]) & 0x7fffffff) - 1;
            found = size < found ? size : found;
        }
    if (least && found < *least)
        *least = found;
}

#define READ(Type)                                                                                                     \
    for (int64_t i = 0; i < count; i++)                                                                                \
        out[i] = ((const Type *)data)[i * step];                                                                       \
    break;

/* Those of at most 32 bits, but unsigned words. */
static void NAME(read_narrow)(int32_t *out, const void *data, int format, int64_t step, int64_t count)
{
    if (format == SI32 && step == 1) {
        memcpy(out, data, (size_t)count * sizeof *out);
        return;
    }
    if (format == UI8 && step == 1) {
        for (int64_t i = 0; i < count; i++)
            out[i] = ((const uint8_t *)data)[i];
        return;
    }
    if (format == SI8 && step == 1) {
        for (int64_t i = 0; i < count; i++)
            out[i] = ((const int8_t *)data)[i];
        return;
    }
    switch (format) {
    case SI8: READ(int8_t)
    case UI8: READ(uint8_t)
    case SI16: READ(int16_t)
    case UI16: READ(uint16_t)
    case SI32: READ(int32_t)
    }
}

static void NAME(read_whole)(int64_t *out, const void *data, int format, int64_t step, int64_t count)
{
    switch (format) {
    case SI8: READ(int8_t)
    case UI8: READ(uint8_t)
    case SI16: READ(int16_t)
    case UI16: READ(uint16_t)
    case SI32: READ(int32_t)
    case UI32: READ(uint32_t)
    case SI64: READ(int64_t)
    }
}
#undef READ

/* What arithmetic takes: subnormals of float32 and bf16 are zeros; those of f16 only if the chip ``flushes`` them. */
static void NAME(flushed)(float *numbers, int format, int flushes, int64_t count)
{
    const uint32_t least = format != F16 ? 0x00800000 : flushes ? 0x38800000 : 0;
    if (!least)
        return;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(numbers[i]);
        numbers[i] = number_of((bits & 0x7fffffff) < least ? bits & 0x80000000 : bits);
    }
}

/* Rounded half to even to a format, and stored from element ``start`` of a result on. */
static void NAME(write_floats)(const float *numbers, void *result, int format, int flushes, int64_t start, int64_t count)
{
    uint16_t *halves = (uint16_t *)result + start;
    if (format == F32)
        memcpy((float *)result + start, numbers, (size_t)count * sizeof *numbers);
    else if (format == BF16)
        for (int64_t i = 0; i < count; i++)
            halves[i] = NAME(to_bf16)(numbers[i]);
    else
        for (int64_t i = 0; i < count; i++) {
            const uint16_t half = NAME(to_f16)(numbers[i]);
            halves[i] = flushes && !(half & 0x7c00) ? half & 0x8000 : half;
        }
}

/* The same of numbers that are rounded once, from float32; a NaN has all bits set. */
static void NAME(round_floats)(const float *numbers, void *result, int format, int64_t count)
{
    NAME(write_floats)(numbers, result, format, 0, 0, count);
}
