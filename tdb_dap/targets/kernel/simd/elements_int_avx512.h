/* Integers of at most 32 bits whose words follow each other in rows: one operation and requantisation in registers, 64 numbers
 * at a time. Vectors of 16 lanes only; elements_int.h has the way for all others. */

#ifndef TDB_DAP_SIMD_ELEMENTS_INT_AVX512_H
#define TDB_DAP_SIMD_ELEMENTS_INT_AVX512_H

#include "vectors.h"

#if LANES == 16

#define VECTORS_OF_ROW 4

ALWAYS_INLINE void load_words(__m512i *out, const char *from, int format, int64_t step, int64_t count)
{
    if (step == 0) {
        const __m512i one = _mm512_set1_epi32((int32_t)int_at(from, format));
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            out[v] = one;
        return;
    }
#define LOADED_AS(Simd, Read)                                                                                         \
    for (int v = 0; v < VECTORS_OF_ROW; v++) {                                                                         \
        const __mmask16 used = count >= 16 * (v + 1) ? (__mmask16)0xffff : count > 16 * v ? USED_OF(16 * v, count) : 0; \
        const char *at = from + 16 * v * Simd;                                                                        \
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

/* The steps of a row as vectors take them. ``shifts``: SHIFTED_ONCE with limits that 32 bits hold, else IN_32_BITS, which
 * may have no limits (``is_limited``). ``fits_32_bits``: 32 bits hold what is shifted; then ``low`` and ``high`` are limits of
 * that, without the zero point. */
typedef struct {
    __m512i low, high, multiplier, added, mask, zero;
    int shifts, is_limited, is_rectified, has_mask, from, right, fits_32_bits, has_zero;
} RowSteps;

/* Whether the results of all numbers of 32 bits have 32 bits before the zero point is added. They grow with the numbers, so
 * rectified numbers give the results of at least 0. */
static int find_32_bit_steps(const Requantisation *r, const FastRequant *s, int64_t multiplier, int64_t zero, RowSteps *out)
{
    if (s->right > 32 || multiplier < 0 || multiplier > (int64_t)1 << s->right || zero != within_word(zero) ||
        r->low - zero > INT32_MAX || r->high - zero < INT32_MIN)
        return 0;
    const int32_t low = within_word(r->low - zero);
    out->low = _mm512_set1_epi32(r->rectified && low < 0 ? 0 : low);
    out->high = _mm512_set1_epi32(within_word(r->high - zero));
    out->zero = _mm512_set1_epi32((int32_t)zero);
    out->has_zero = zero != 0;
    return 1;
}

/* Whether steps can be taken in registers. */
static int row_steps(const Requantisation *r, const FastRequant *s, int64_t row, RowSteps *out)
{
    out->shifts = s->form == SHIFTED_ONCE;
    out->is_rectified = r->rectified;
    out->is_limited = 1;
    out->fits_32_bits = out->has_mask = out->has_zero = 0;
    if (s->form == IN_32_BITS) {
        out->is_limited = s->low != INT32_MIN || s->high != INT32_MAX;
        out->low = _mm512_set1_epi32(s->low);
        out->high = _mm512_set1_epi32(s->high);
        return 1;
    }
    if (!out->shifts || !s->wraps || r->low < INT32_MIN || r->high > INT32_MAX || r->low > r->high)
        return 0;
    out->multiplier = _mm512_set1_epi32((int32_t)r->multiplier[row]);
    out->added = _mm512_set1_epi64(s->rounding.added);
    out->mask = _mm512_set1_epi64(s->rounding.mask);
    out->has_mask = s->rounding.mask != 0;
    out->from = s->rounding.from;
    out->right = s->right;
    out->fits_32_bits = find_32_bit_steps(r, s, r->multiplier[row], r->zero[row], out);
    if (!out->fits_32_bits) {
        out->low = _mm512_set1_epi64(r->low);
        out->high = _mm512_set1_epi64(r->high);
        out->zero = _mm512_set1_epi64(r->zero[row]);
    }
    return 1;
}

/* Eight products of 64 bits, with what is added before they are shifted. */
ALWAYS_INLINE __m512i rounded_products(__m512i numbers, const RowSteps *s)
{
    const __m512i products = _mm512_mul_epi32(numbers, s->multiplier), sums = _mm512_add_epi64(products, s->added);
    if (!s->has_mask)
        return sums;
    return _mm512_add_epi64(sums, _mm512_and_si512(_mm512_srai_epi64(products, (unsigned)s->from), s->mask));
}

/* The same shifted, moved and limited. */
ALWAYS_INLINE __m512i shifted_products(__m512i numbers, const RowSteps *s)
{
    const __m512i shifted = _mm512_srai_epi64(rounded_products(numbers, s), (unsigned)s->right);
    return _mm512_min_epi64(_mm512_max_epi64(_mm512_add_epi64(shifted, s->zero), s->low), s->high);
}

/* The 32 bits of each result come from above ``right`` bits of a product: those of odd lanes are where they belong. */
ALWAYS_INLINE void requantise_32_bits(__m512i *words, const RowSteps *s)
{
    const __m128i right = _mm_cvtsi32_si128(s->right), left = _mm_cvtsi32_si128(32 - s->right);
    for (int v = 0; v < VECTORS_OF_ROW; v++) {
        const __m512i even = _mm512_srl_epi64(rounded_products(words[v], s), right);
        const __m512i odd = _mm512_sll_epi64(rounded_products(_mm512_srli_epi64(words[v], 32), s), left);
        const __m512i shifted = _mm512_mask_mov_epi32(even, 0xaaaa, odd);
        words[v] = _mm512_min_epi32(_mm512_max_epi32(shifted, s->low), s->high);
        if (s->has_zero)
            words[v] = _mm512_add_epi32(words[v], s->zero);
    }
}

ALWAYS_INLINE void step_words(__m512i *words, const RowSteps *s)
{
    if (!s->shifts) {
        for (int v = 0; v < VECTORS_OF_ROW && s->is_limited; v++)
            words[v] = _mm512_min_epi32(_mm512_max_epi32(words[v], s->low), s->high);
        return;
    }
    if (s->fits_32_bits) {
        requantise_32_bits(words, s);
        return;
    }
    for (int v = 0; v < VECTORS_OF_ROW; v++) {
        const __m512i own = s->is_rectified ? _mm512_max_epi32(words[v], _mm512_setzero_si512()) : words[v];
        const __m512i even = shifted_products(own, s);
        const __m512i odd = shifted_products(_mm512_srli_epi64(own, 32), s);
        words[v] = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32));
    }
}

/* The steps of a channel: multiplier, amount and zero point, where they are stored. */
static void read_steps(const Grid *grid, int64_t n, int64_t c, int64_t *numbers)
{
    for (int i = 0; i < 3; i++) {
        const Stored *stored = &grid->operands[2 + i];
        const int64_t at = n * stored->step[0] + c * stored->step[1];
        numbers[i] = int_at((const char *)stored->data + at * format_size[stored->format], stored->format);
    }
}

/* What is done with the words of rows: ``first``, ``second``: formats of the operands; ``steps``: between their words. */
typedef struct {
    int kind, saturates, first, second, steps[2], size;
} RowForm;

/* The second operand of a row that is one number for all, and what numbers must not exceed for their sum with it. */
typedef struct {
    __m512i number, low, high;
} OneNumber;

/* ``most`` numbers, but no more than 64: one operation, and the steps after it. */
ALWAYS_INLINE void compute_words(char *out, const char *a, const char *b, const OneNumber *one, const RowForm f,
                                 const RowSteps *s, int64_t most)
{
    __m512i words[VECTORS_OF_ROW], others[VECTORS_OF_ROW];
    load_words(words, a, f.first, f.steps[0], most);
    if (f.kind != FIRST && f.steps[1]) {
        load_words(others, b, f.second, f.steps[1], most);
        operate_on_words(f.kind, words, others, f.saturates);
    } else if (f.kind == ADD && f.saturates) {
        /* What would leave the range is limited before the number is added. */
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            words[v] = _mm512_add_epi32(_mm512_min_epi32(_mm512_max_epi32(words[v], one->low), one->high), one->number);
    } else if (f.kind != FIRST) {
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            others[v] = one->number;
        operate_on_words(f.kind, words, others, f.saturates);
    }
    step_words(words, s);
    store_words(out, words, f.size, most);
}

ALWAYS_INLINE void compute_row(char *out, const char *a, const char *b, int64_t length, const RowForm f, const RowSteps *s)
{
    const int64_t a_step = f.steps[0] * format_size[f.first], b_step = f.steps[1] * format_size[f.second];
    int64_t first = 0;
    OneNumber one;
    if (f.kind != FIRST && !f.steps[1]) {
        const int64_t number = int_at(b, f.second);
        one.number = _mm512_set1_epi32((int32_t)(uint32_t)(uint64_t)number);
        one.low = _mm512_set1_epi32((int32_t)(INT32_MIN - (number < 0 ? number : 0)));
        one.high = _mm512_set1_epi32((int32_t)(INT32_MAX - (number > 0 ? number : 0)));
    }
    for (; first + 16 * VECTORS_OF_ROW <= length; first += 16 * VECTORS_OF_ROW)
        compute_words(out + first * f.size, a + first * a_step, b + first * b_step, &one, f, s, 16 * VECTORS_OF_ROW);
    if (first < length)
        compute_words(out + first * f.size, a + first * a_step, b + first * b_step, &one, f, s, length - first);
}

/* The same with steps of one kind: where the arguments are constants, a loop has no questions. */
ALWAYS_INLINE void compute_row_of(char *out, const char *a, const char *b, int64_t length, const RowForm f,
                                  const RowSteps *s, int shifts, int fits_32_bits, int has_mask)
{
    RowSteps own = *s;
    own.shifts = shifts;
    own.fits_32_bits = fits_32_bits;
    own.has_mask = has_mask;
    own.is_limited = shifts;
    compute_row(out, a, b, length, f, &own);
}

/* Rows of the kinds that networks are made of have loops of their own. */
static void any_row(char *out, const char *a, const char *b, int64_t length, const RowForm *f, const RowSteps *s)
{
    const RowForm to_bytes = {FIRST, 0, SI32, SI32, {1, 1}, 1};
    const RowForm sum = {ADD, 1, SI32, SI32, {1, 1}, 4}, sum_with_one = {ADD, 1, SI32, SI32, {1, 0}, 4};
    const int are_words = f->first == SI32 && f->steps[0];
    if (are_words && f->kind == FIRST && f->size == 1 && s->fits_32_bits) {
        if (s->has_mask)
            compute_row_of(out, a, b, length, to_bytes, s, 1, 1, 1);
        else
            compute_row_of(out, a, b, length, to_bytes, s, 1, 1, 0);
    } else if (are_words && f->kind == ADD && f->saturates && f->second == SI32 && f->size == 4 && !s->shifts && !s->is_limited) {
        if (f->steps[1])
            compute_row_of(out, a, b, length, sum, s, 0, 0, 0);
        else
            compute_row_of(out, a, b, length, sum_with_one, s, 0, 0, 0);
    } else
        compute_row(out, a, b, length, *f, s);
}

/* Steps taken apart as registers need them; 0 where they do not hold what comes up. */
static int steps_of(const Requantisation *r, const int64_t *numbers, RowSteps *out)
{
    Requantisation own = *r;
    own.multiplier = &numbers[0];
    own.amount = &numbers[1];
    own.zero = &numbers[2];
    const FastRequant plain = fast_requant(&own, 0, 0, 1);
    return row_steps(&own, &plain, 0, out);
}

/* Whether registers hold what comes up with the steps of every channel. */
static int all_steps_fit(const Grid *grid, const Requantisation *r)
{
    const int has_limits = r->low >= INT32_MIN && r->high <= INT32_MAX && r->low <= r->high;
    RowSteps steps;
    int64_t numbers[3];
    for (int i = 2; i < 5; i++)
        if (grid->operands[i].step[3] || grid->operands[i].step[2])
            return 0;
    for (int64_t n = 0; n < grid->shape[0]; n++)
        for (int64_t c = 0; c < grid->shape[1]; c++) {
            read_steps(grid, n, c, numbers);
            if (!(has_limits && shifts_right(numbers[0], numbers[1])) && !steps_of(r, numbers, &steps))
                return 0;
        }
    return 1;
}

/* As ``int_elements``, to words that lie in rows, too; 0, and nothing is done, where registers do not hold what comes up. */
static int int_rows(const Grid *grid, int kind, int each, const Requantisation *r, const Stored *to)
{
    const int operands = kind == FIRST ? 1 : 2, is_held = fits_32_bits(grid, kind);
    const int saturates = !is_held && (kind == ADD || kind == SUBTRACT) && r->low >= INT32_MIN && r->high <= INT32_MAX && !r->held;
    const int64_t length = grid->shape[3];
    if (r->is_high || r->plane || r->size > 4 || (length > 1 && to->step[3] != 1) || (!is_held && (!saturates || each)))
        return 0;
    for (int i = 0; i < operands; i++)
        if (grid->operands[i].format < SI8 || format_bound(grid->operands[i].format) > (int64_t)1 << 31 ||
            (grid->operands[i].step[3] != 0 && grid->operands[i].step[3] != 1))
            return 0;
    RowSteps steps;
    const int64_t shared[3] = {r->multiplier[0], r->amount[0], r->zero[0]};
    if (each ? !all_steps_fit(grid, r) : !steps_of(r, shared, &steps) || (saturates && steps.shifts))
        return 0;
    const int is_turned = kind == ADD && !grid->operands[0].step[3]; /* one number for a row is the second one */
    const Stored *left = &grid->operands[is_turned], *right = operands > 1 ? &grid->operands[!is_turned] : left;
    const int64_t a_word = format_size[left->format], b_word = format_size[right->format], word = format_size[to->format];
    const RowForm form = {kind, saturates, left->format, right->format,
                          {(int)left->step[3], (int)right->step[3]}, r->size};
    for (int64_t n = 0; n < grid->shape[0]; n++)
        for (int64_t c = 0; c < grid->shape[1]; c++) {
            if (each) {
                int64_t numbers[3];
                read_steps(grid, n, c, numbers);
                steps_of(r, numbers, &steps);
            }
            for (int64_t h = 0; h < grid->shape[2]; h++) {
                const char *a = (const char *)left->data + (n * left->step[0] + c * left->step[1] + h * left->step[2]) * a_word;
                const char *b = (const char *)right->data + (n * right->step[0] + c * right->step[1] + h * right->step[2]) * b_word;
                char *out = (char *)(uintptr_t)to->data + (n * to->step[0] + c * to->step[1] + h * to->step[2]) * word;
                any_row(out, a, b, length, &form, &steps);
            }
        }
    return 1;
}

#endif

#endif
