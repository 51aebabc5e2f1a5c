/* Rows of stored numbers read as floats or integers, and written back. Loops without branches: compilers vectorise them. */

#ifndef TDB_DAP_SIMD_LOAD_STORE_H
#define TDB_DAP_SIMD_LOAD_STORE_H

#include "vectors.h"

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

#if LANES == 16
/* The processor's own conversions give the same words, but for NaNs: it makes them quiet and keeps their other bits. */
static inline __m512 floats_of_halves(__m256i halves)
{
    const __m512 numbers = _mm512_cvtph_ps(halves);
    const __mmask16 nan = _mm512_cmp_ps_mask(numbers, numbers, _CMP_UNORD_Q);
    if (!nan)
        return numbers;
    const __m512i words = _mm512_cvtepu16_epi32(halves), sign = _mm512_slli_epi32(_mm512_srli_epi32(words, 15), 31);
    const __m512i kept = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(words, _mm512_set1_epi32(0x7fff)), 13), sign);
    return _mm512_mask_mov_ps(numbers, nan, (__m512)_mm512_or_si512(kept, _mm512_set1_epi32(0x7f800000)));
}

static inline __m256i halves_of_floats(__m512 floats)
{
    const __m256i rounded = _mm512_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __mmask16 nan = _mm512_cmp_ps_mask(floats, floats, _CMP_UNORD_Q);
    return nan ? _mm256_or_si256(rounded, _mm256_maskz_set1_epi16(nan, 0x7fff)) : rounded;
}

static void read_halves(float *out, const uint16_t *halves, int64_t count)
{
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(out + i, floats_of_halves(_mm256_loadu_si256((const __m256i *)(halves + i))));
    if (i < count) {
        const __mmask16 rest = (__mmask16)((1u << (count - i)) - 1);
        _mm512_mask_storeu_ps(out + i, rest, floats_of_halves(_mm256_maskz_loadu_epi16(rest, halves + i)));
    }
}

static void write_halves(const float *numbers, uint16_t *halves, int flushes, int64_t count)
{
    const __m256i sign = _mm256_set1_epi16((short)0x8000), exponent = _mm256_set1_epi16(0x7c00);
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 used = USED_OF(i, count);
        const __m256i rounded = halves_of_floats(_mm512_maskz_loadu_ps(used, numbers + i));
        const __mmask16 tiny = flushes ? _mm256_testn_epi16_mask(rounded, exponent) : 0;
        _mm256_mask_storeu_epi16(halves + i, used, _mm256_mask_mov_epi16(rounded, tiny, _mm256_and_si256(rounded, sign)));
    }
}
#endif

#define INTS_AS_FLOATS(Type)                                                                                          \
    for (int64_t i = 0; i < count; i++)                                                                                \
        out[i] = (float)((const Type *)data)[i * step];                                                                \
    break;

/* Numbers at equal steps, one row of an operand, as float; as they are stored, whole ones rounded. */
static void NAME(read_floats)(float *out, const void *data, int format, int64_t step, int64_t count)
{
    const uint16_t *halves = data;
    const float *whole = data;
    format = format == FLUSHED_F16 ? F16 : format;
    if (format > BF16)
        switch (format) {
        case SI8: INTS_AS_FLOATS(int8_t)
        case UI8: INTS_AS_FLOATS(uint8_t)
        case SI16: INTS_AS_FLOATS(int16_t)
        case UI16: INTS_AS_FLOATS(uint16_t)
        case SI32: INTS_AS_FLOATS(int32_t)
        case UI32: INTS_AS_FLOATS(uint32_t)
        default: INTS_AS_FLOATS(int64_t)
        }
    else if (step == 0 && count) {
        const float one = format == F32 ? *whole : format == F16 ? NAME(from_f16)(*halves) : number_of((uint32_t)*halves << 16);
        for (int64_t i = 0; i < count; i++)
            out[i] = one;
    } else if (format == F32 && step == 1)
        memcpy(out, whole, (size_t)count * sizeof *out);
    else if (format == F32)
        for (int64_t i = 0; i < count; i++)
            out[i] = whole[i * step];
#if LANES == 16
    else if (format == F16 && step == 1)
        read_halves(out, halves, count);
#else
    else if (format == F16 && step == 1)
        for (int64_t i = 0; i < count; i++)
            out[i] = NAME(from_f16)(halves[i]);
#endif
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

#if LANES == 16
/* As ``flush`` in scalar.h; from a last vector only ``used`` numbers are read, and zeros stand for the others. */
static inline __m512i normal_numbers(const float *from, __mmask16 used)
{
    const __m512i bits = _mm512_maskz_loadu_epi32(used, from);
    return _mm512_mask_and_epi32(bits, _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7f800000)), bits,
                                 _mm512_set1_epi32(INT32_MIN));
}

/* Magnitudes less one: zeros are the largest words then. */
static inline __m512i sizes_less_one(__m512i bits)
{
    return _mm512_sub_epi32(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)), _mm512_set1_epi32(1));
}

#endif

/* Magnitudes of some numbers, and of those before: ``range`` has the smallest but zero, less one, and the largest one,
 * infinities and NaNs among them. */
static void NAME(widen_range)(const float *numbers, int64_t count, uint32_t *range)
{
#if LANES == 16
    __m512i least = _mm512_set1_epi32((int32_t)range[0]), most = _mm512_set1_epi32((int32_t)range[1]);
    for (int64_t i = 0; i < count; i += 16) {
        const __m512i sizes = sizes_less_one(_mm512_maskz_loadu_epi32(USED_OF(i, count), numbers + i));
        least = _mm512_min_epu32(least, sizes);
        most = _mm512_max_epi32(most, _mm512_add_epi32(sizes, _mm512_set1_epi32(1)));
    }
    range[0] = _mm512_reduce_min_epu32(least);
    range[1] = (uint32_t)_mm512_reduce_max_epi32(most);
#else
    for (int64_t i = 0; i < count; i++) {
        const uint32_t size = bits_of(numbers[i]) & 0x7fffffff, before = size - 1;
        range[0] = before < range[0] ? before : range[0];
        range[1] = size > range[1] ? size : range[1];
    }
#endif
}

#undef INTS_AS_FLOATS

/* What arithmetic takes: subnormals are zeros, but those of F16. */
static void NAME(flushed)(float *numbers, int format, int64_t count)
{
    const uint32_t least = format == FLUSHED_F16 ? 0x38800000 : 0x00800000;
    if (format == F16)
        return;
    /* Of a choice between a new word and the one that is there clang makes masked stores, which are slow on AMD's processors. */
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(numbers[i]), kept = -(uint32_t)((bits & 0x7fffffff) >= least);
        numbers[i] = number_of(bits & (kept | 0x80000000));
    }
}

/* Numbers at equal steps as products take them: see ``flushed``. ``range``: as above, if any. */
static void NAME(read_normal)(float *out, const void *data, int format, int64_t step, int64_t count, uint32_t *range)
{
    const float *from = data;
    if (format != F32 || step != 1) {
        NAME(read_floats)(out, data, format, step, count);
        from = out;
    }
    if (format == F16 || format == FLUSHED_F16) {
        NAME(flushed)(out, format, count);
        if (range)
            NAME(widen_range)(out, count, range);
        return;
    }
#if LANES == 16
    __m512i least = _mm512_set1_epi32(-1), most = _mm512_setzero_si512();
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 used = USED_OF(i, count);
        const __m512i bits = normal_numbers(from + i, used), size = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
        least = _mm512_min_epu32(least, _mm512_sub_epi32(size, _mm512_set1_epi32(1)));
        most = _mm512_max_epi32(most, size);
        _mm512_mask_storeu_epi32(out + i, used, bits);
    }
    if (range) {
        const uint32_t low = _mm512_reduce_min_epu32(least), high = (uint32_t)_mm512_reduce_max_epi32(most);
        range[0] = low < range[0] ? low : range[0];
        range[1] = high > range[1] ? high : range[1];
    }
#else
    for (int64_t i = 0; i < count; i++)
        out[i] = flush(from[i]);
    if (range)
        NAME(widen_range)(out, count, range);
#endif
}

#define READ(Type)                                                                                                     \
    if (step == 0)                                                                                                     \
        for (int64_t i = 0; i < count; i++)                                                                            \
            out[i] = *(const Type *)data;                                                                              \
    else if (step == 1)                                                                                                \
        for (int64_t i = 0; i < count; i++)                                                                            \
            out[i] = ((const Type *)data)[i];                                                                          \
    else                                                                                                               \
        for (int64_t i = 0; i < count; i++)                                                                            \
            out[i] = ((const Type *)data)[i * step];                                                                   \
    break;

/* Those of at most 32 bits, but unsigned words. */
static void NAME(read_int32)(int32_t *out, const void *data, int format, int64_t step, int64_t count)
{
    switch (format) {
    case SI8: READ(int8_t)
    case UI8: READ(uint8_t)
    case SI16: READ(int16_t)
    case UI16: READ(uint16_t)
    case SI32: READ(int32_t)
    }
}

static void NAME(read_ints)(int64_t *out, const void *data, int format, int64_t step, int64_t count)
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

/* Rounded half to even to a format, and stored from element ``start`` of a result on; of 16 bits a NaN has all bits set. */
static void NAME(write_floats)(const float *numbers, void *result, int format, int64_t start, int64_t count)
{
    uint16_t *halves = (uint16_t *)result + start;
    if (format == F32)
        memcpy((float *)result + start, numbers, (size_t)count * sizeof *numbers);
    else if (format == BF16)
        for (int64_t i = 0; i < count; i++)
            halves[i] = NAME(to_bf16)(numbers[i]);
#if LANES == 16
    else
        write_halves(numbers, halves, format == FLUSHED_F16, count);
#else
    else
        for (int64_t i = 0; i < count; i++) {
            const uint16_t half = NAME(to_f16)(numbers[i]);
            halves[i] = format == FLUSHED_F16 && !(half & 0x7c00) ? half & 0x8000 : half;
        }
#endif
}

#endif
