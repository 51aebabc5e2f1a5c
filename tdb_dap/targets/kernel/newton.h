/* Reciprocals, of roots too, by Newton steps from a guess on the bits; float32.py says what they are, in NumPy. Included
 * once per vector width. */

#define CHUNK 512

static void NAME(product_in)(const float *a, const float *b, float *result, int format, int flushes, int64_t count)
{
    NAME(operate)(MULTIPLY, format, a, b, result, count);
    NAME(rounded_to)(result, format, flushes, count);
}

static void NAME(first_guess)(float *result, const float *numbers, int format, int64_t count)
{
    if (format == F32)
        for (int64_t i = 0; i < count; i++)
            result[i] = number_of(0x5f3759df - (uint32_t)((int32_t)bits_of(numbers[i]) >> 1));
    else if (format == F16)
        for (int64_t i = 0; i < count; i++)
            result[i] = NAME(from_f16)((uint16_t)(0x59ba - (NAME(to_f16)(numbers[i]) >> 1)));
    else
        for (int64_t i = 0; i < count; i++)
            result[i] = number_of((uint32_t)(uint16_t)(0x5f37 - (NAME(to_bf16)(numbers[i]) >> 1)) << 16);
}

/* result = 1 / sqrt(numbers), at most a chunk of them. */
static void NAME(roots)(float *result, const float *numbers, int format, int flushes, int steps, int64_t count)
{
    float x[CHUNK], half[CHUNK], products[CHUNK], rest[CHUNK], constants[CHUNK];
    NAME(first_guess)(result, numbers, format, count);
    memcpy(x, numbers, (size_t)count * sizeof *x);
    NAME(flushed)(x, format, flushes, count);
    for (int64_t i = 0; i < count; i++)
        constants[i] = 0.5f;
    NAME(product_in)(x, constants, half, format, flushes, count);
    for (int64_t i = 0; i < count; i++)
        constants[i] = 1.5f;
    for (int step = 0; step < steps; step++) {
        NAME(flushed)(result, format, flushes, count);
        NAME(product_in)(half, result, products, format, flushes, count);
        NAME(product_in)(products, result, x, format, flushes, count);
        NAME(operate)(SUBTRACT, format, constants, x, rest, count);
        NAME(rounded_to)(rest, format, flushes, count);
        NAME(product_in)(result, rest, products, format, flushes, count);
        memcpy(result, products, (size_t)count * sizeof *result);
    }
}

static void NAME(reciprocal_roots)(const Grid *grid, int format, int flushes, int steps, float *result)
{
    float numbers[CHUNK];
    const int64_t count = size_of(grid);
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(numbers, grid, &grid->operands[0], first, used);
        NAME(roots)(result + first, numbers, format, flushes, steps, used);
    }
}

/* result = a / b = a * copysign(r * r, b), r = 1 / sqrt(|b|), every product rounded to the format. */
static void NAME(divided)(const Grid *grid, int format, int flushes, int steps, int rule, float *result)
{
    float a[CHUNK], b[CHUNK], size[CHUNK], root[CHUNK], inverse[CHUNK];
    uint32_t kept[CHUNK];
    const int64_t count = size_of(grid);
    const uint32_t least = rule != TRUE_SUBNORMALS ? 1 : format != F16 ? 0x00800000 : flushes ? 0x38800000 : 1;
    for (int64_t first = 0; first < count; first += CHUNK) {
        const int64_t used = count - first < CHUNK ? count - first : CHUNK;
        NAME(load_floats)(a, grid, &grid->operands[0], first, used);
        NAME(load_floats)(b, grid, &grid->operands[1], first, used);
        for (int64_t i = 0; i < used; i++)
            size[i] = number_of(bits_of(b[i]) & 0x7fffffff);
        NAME(roots)(root, size, format, flushes, steps, used);
        if (rule != BY_FORMULA)
            for (int64_t i = 0; i < used; i++) {
                const uint32_t bits = bits_of(size[i]);
                const uint32_t large = bits > 0x7f800000 ? 0x7fc00000 : bits == 0x7f800000 ? 0 : bits_of(root[i]);
                root[i] = number_of(bits < least ? 0x7f800000 : large);
            }
        NAME(product_in)(root, root, inverse, format, flushes, used);
        for (int64_t i = 0; i < used; i++)
            inverse[i] = number_of((bits_of(inverse[i]) & 0x7fffffff) | (bits_of(b[i]) & 0x80000000));
        memcpy(kept, a, (size_t)used * sizeof *a);
        NAME(flushed)(a, format, flushes, used);
        float *out = result + first;
        NAME(product_in)(a, inverse, out, format, flushes, used);
        if (rule == TRUE_ZEROS) /* a subnormal, before it is flushed, by a zero */
            for (int64_t i = 0; i < used; i++) {
                const uint32_t sign = (kept[i] ^ bits_of(b[i])) & 0x80000000;
                const int is_tiny = (kept[i] & 0x7fffffff) - 1 < 0x007fffff;
                out[i] = number_of(is_tiny && b[i] == 0 ? 0x7f800000 | sign : bits_of(out[i]));
            }
    }
}

#undef CHUNK
