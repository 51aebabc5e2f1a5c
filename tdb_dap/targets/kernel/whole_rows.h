/* Whole numbers of at most 32 bits that lie in rows: one operation and the steps after it in registers, 64 numbers at a
 * time. Vectors of 16 lanes only; elements.h has the way for all others. */

#define VECTORS_OF_ROW 4

ALWAYS_INLINE void load_words(__m512i *out, const char *from, int format, int64_t step, int64_t count)
{
    if (step == 0) {
        const __m512i one = _mm512_set1_epi32((int32_t)whole_at(from, format));
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            out[v] = one;
        return;
    }
#define LOADED_AS(Width, Read)                                                                                         \
    for (int v = 0; v < VECTORS_OF_ROW; v++) {                                                                         \
        const __mmask16 used = count >= 16 * (v + 1) ? (__mmask16)0xffff : count > 16 * v ? USED_OF(16 * v, count) : 0; \
        const char *at = from + 16 * v * Width;                                                                        \
        out[v] = Read;                                                                                                 \
    }                                                                                                                  \
    break;
    switch (format) {
    case SI8: LOADED_AS(1, _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(used, at)))
    case UI8: LOADED_AS(1, _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(used, at)))
    case SI16: LOADED_AS(2, _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(used, at)))
    case UI16: LOADED_AS(2, _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(used, at)))
    default: LOADED_AS(4, _mm512_maskz_loadu_epi32(used, at))
    }
#undef LOADED_AS
}

ALWAYS_INLINE void store_words(char *to, const __m512i *words, int size, int64_t count)
{
    for (int v = 0; v < VECTORS_OF_ROW && count > 16 * v; v++) {
        const __mmask16 used = USED_OF(16 * v, count);
        if (size == 1)
            _mm_mask_storeu_epi8(to + 16 * v, used, _mm512_cvtepi32_epi8(words[v]));
        else if (size == 2)
            _mm256_mask_storeu_epi16(to + 32 * v, used, _mm512_cvtepi32_epi16(words[v]));
        else
            _mm512_mask_storeu_epi32(to + 64 * v, used, words[v]);
    }
}

/* The sum where 32 bits hold it, else the end of their range that is next to it. */
static inline __m512i saturated(__m512i a, __m512i b, __m512i sum)
{
    const __m512i wrong = _mm512_and_si512(_mm512_xor_si512(a, sum), _mm512_xor_si512(b, sum));
    const __m512i end = _mm512_xor_si512(_mm512_srai_epi32(a, 31), _mm512_set1_epi32(INT32_MAX));
    return _mm512_mask_mov_epi32(sum, _mm512_movepi32_mask(wrong), end);
}

ALWAYS_INLINE void operate_on_words(int kind, __m512i *a, const __m512i *b, int saturates)
{
#define EACH(Result)                                                                                                   \
    for (int v = 0; v < VECTORS_OF_ROW; v++)                                                                           \
        a[v] = Result;                                                                                                 \
    break;
    switch (kind) {
    case ADD:
        if (saturates) {
            EACH(saturated(a[v], b[v], _mm512_add_epi32(a[v], b[v])))
        }
        EACH(_mm512_add_epi32(a[v], b[v]))
    case SUBTRACT:
        if (saturates) {
            EACH(saturated(a[v], _mm512_xor_si512(b[v], _mm512_set1_epi32(-1)), _mm512_sub_epi32(a[v], b[v])))
        }
        EACH(_mm512_sub_epi32(a[v], b[v]))
    case MULTIPLY: EACH(_mm512_mullo_epi32(a[v], b[v]))
    case LARGER: EACH(_mm512_max_epi32(a[v], b[v]))
    case SMALLER: EACH(_mm512_min_epi32(a[v], b[v]))
    }
#undef EACH
}

/* The steps of a row as vectors take them. ``shifts``: SHIFTED_ONCE with limits that 32 bits hold, else IN_32_BITS. */
typedef struct {
    __m512i low, high, multiplier, added, mask, zero;
    int shifts, is_rectified, has_mask, from, right;
} RowSteps;

/* Whether steps can be taken in registers. */
static int row_steps(const Requantisation *r, const Shortened *s, int64_t row, RowSteps *out)
{
    out->shifts = s->form == SHIFTED_ONCE;
    out->is_rectified = r->rectified;
    if (s->form == IN_32_BITS) {
        out->low = _mm512_set1_epi32(s->low);
        out->high = _mm512_set1_epi32(s->high);
        return 1;
    }
    if (!out->shifts || !s->wraps || r->low < INT32_MIN || r->high > INT32_MAX || r->low > r->high)
        return 0;
    out->low = _mm512_set1_epi64(r->low);
    out->high = _mm512_set1_epi64(r->high);
    out->multiplier = _mm512_set1_epi32((int32_t)r->multiplier[row]);
    out->added = _mm512_set1_epi64(s->added);
    out->mask = _mm512_set1_epi64(s->mask);
    out->zero = _mm512_set1_epi64(r->zero[row]);
    out->has_mask = s->mask != 0;
    out->from = s->from;
    out->right = s->right;
    return 1;
}

/* Eight products of 64 bits, shifted, moved and limited. */
ALWAYS_INLINE __m512i shifted_products(__m512i products, const RowSteps *s)
{
    __m512i found = _mm512_add_epi64(products, s->added);
    if (s->has_mask)
        found = _mm512_add_epi64(found, _mm512_and_si512(_mm512_srai_epi64(products, (unsigned)s->from), s->mask));
    found = _mm512_add_epi64(_mm512_srai_epi64(found, (unsigned)s->right), s->zero);
    return _mm512_min_epi64(_mm512_max_epi64(found, s->low), s->high);
}

ALWAYS_INLINE void step_words(__m512i *words, const RowSteps *s)
{
    if (!s->shifts) {
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            words[v] = _mm512_min_epi32(_mm512_max_epi32(words[v], s->low), s->high);
        return;
    }
    for (int v = 0; v < VECTORS_OF_ROW; v++) {
        const __m512i own = s->is_rectified ? _mm512_max_epi32(words[v], _mm512_setzero_si512()) : words[v];
        const __m512i even = shifted_products(_mm512_mul_epi32(own, s->multiplier), s);
        const __m512i odd = shifted_products(_mm512_mul_epi32(_mm512_srli_epi64(own, 32), s->multiplier), s);
        words[v] = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32));
    }
}

/* Steps with the numbers that the operands of a row hold; ``own``: room for these. */
static Shortened steps_of_row(const Grid *grid, int64_t row, Requantisation *own, int64_t *numbers)
{
    for (int i = 0; i < 3; i++) {
        const Stored *stored = &grid->operands[2 + i];
        numbers[i] = whole_at(place(grid, stored, row, 0), stored->format);
    }
    own->multiplier = &numbers[0];
    own->amount = &numbers[1];
    own->zero = &numbers[2];
    return shortened(own, 0, 0, 1);
}

/* As ``whole_of``, to words that lie in rows, too; 0, and nothing is done, where registers do not hold what comes up. */
static int whole_rows(const Grid *grid, int kind, int each, const Requantisation *r, const Stored *to)
{
    const int operands = kind == FIRST ? 1 : 2, is_held = is_narrow(grid, kind);
    const int saturates = !is_held && (kind == ADD || kind == SUBTRACT) && r->low >= INT32_MIN && r->high <= INT32_MAX && !r->held;
    const int64_t length = grid->shape[3], rows = size_of(grid) / (length ? length : 1);
    if (r->size > 4 || (length > 1 && to->step[3] != 1) || (!is_held && (!saturates || each)))
        return 0;
    for (int i = 0; i < operands; i++)
        if (grid->operands[i].format < SI8 || bound_of(grid->operands[i].format) > (int64_t)1 << 31 ||
            (grid->operands[i].step[3] != 0 && grid->operands[i].step[3] != 1))
            return 0;
    for (int i = 2; each && i < 5; i++)
        if (grid->operands[i].step[3])
            return 0;
    int64_t numbers[3], before[3] = {0};
    Requantisation own = *r;
    RowSteps steps;
    if (!each) {
        const Shortened plain = shortened(r, 0, 0, 1);
        if (!row_steps(r, &plain, 0, &steps) || (saturates && steps.shifts))
            return 0;
    } else
        for (int64_t row = 0; row < rows; row += grid->shape[2]) { /* steps of each channel */
            const Shortened plain = steps_of_row(grid, row, &own, numbers);
            if (!row_steps(&own, &plain, 0, &steps) || grid->operands[2].step[2] || grid->operands[3].step[2] ||
                grid->operands[4].step[2])
                return 0;
        }
    for (int64_t row = 0; row < rows; row++) {
        char *out = (char *)(uintptr_t)place(grid, to, row, 0);
        const char *a = place(grid, &grid->operands[0], row, 0), *b = operands > 1 ? place(grid, &grid->operands[1], row, 0) : a;
        const int64_t a_step = grid->operands[0].step[3] * size_of_word[grid->operands[0].format];
        const int64_t b_step = grid->operands[1].step[3] * size_of_word[grid->operands[1].format];
        if (each && row % grid->shape[2] == 0) {
            const Shortened plain = steps_of_row(grid, row, &own, numbers);
            if (row == 0 || memcmp(before, numbers, sizeof numbers))
                row_steps(&own, &plain, 0, &steps);
            memcpy(before, numbers, sizeof numbers);
        }
        for (int64_t first = 0; first < length; first += 16 * VECTORS_OF_ROW) {
            __m512i words[VECTORS_OF_ROW], others[VECTORS_OF_ROW];
            load_words(words, a + first * a_step, grid->operands[0].format, a_step, length - first);
            if (operands > 1) {
                load_words(others, b + first * b_step, grid->operands[1].format, b_step, length - first);
                operate_on_words(kind, words, others, saturates);
            }
            step_words(words, &steps);
            store_words(out + first * r->size, words, r->size, length - first);
        }
    }
    return 1;
}
