/* Compressed weights of CV18xx, see semantics/cv18xx/unpacking.py, which gives the same numbers. */

#ifndef TDB_DAP_SCALAR_COMPRESSED_H
#define TDB_DAP_SCALAR_COMPRESSED_H

#include "compiler.h"

#define SYMBOLS 16 /* of a block */
#define RAW_BLOCK 7
#define PADDING 8 /* bytes behind a stream that are read, and do not matter */

/* ``codes``: a byte for each block; ``stream``: ``bits`` bits, lowest first. */
typedef struct {
    const uint8_t *codes, *stream;
    int64_t bits, at;
    int is_signed, is_float, first_bias, second_bias, has_zeros_apart;
} Compressed;

/* 57 bits or more from a bit on, lowest first; ``bits`` are followed by PADDING bytes. */
static inline uint64_t bits_from(const Compressed *c, int64_t at)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) /* one load where bytes are in this order */
        word |= (uint64_t)c->stream[(at >> 3) + i] << 8 * i;
    return word >> (at & 7);
}

static inline int byte_at(const Compressed *c, int64_t at) { return (int)(bits_from(c, at) & 0xff); }

/* The symbols of the next block; 0 where the stream ends within it. */
static int read_symbols(Compressed *c, int code, int *symbols)
{
    const int order = code >> 5, length = (code & 31) + SYMBOLS;
    if (order == RAW_BLOCK) {
        if (c->at + 8 * SYMBOLS > c->bits)
            return 0;
        for (int i = 0; i < SYMBOLS; i++, c->at += 8)
            symbols[i] = byte_at(c, c->at);
        return 1;
    }
    const int64_t unary_at = c->at + SYMBOLS * order + (c->is_float && c->has_zeros_apart && order ? 4 : 0);
    if (unary_at > c->bits)
        return 0;
    uint64_t unary = bits_from(c, unary_at) & (((uint64_t)1 << length) - 1);
    for (int i = 0; i < SYMBOLS; i++) {
        if (!unary)
            return 0;
        const int zeros = __builtin_ctzll(unary);
        symbols[i] = zeros << order;
        unary >>= zeros + 1;
    }
    for (int plane = 0; plane < order; plane++, c->at += SYMBOLS) {
        const int bits = (int)(bits_from(c, c->at) & 0xffff);
        for (int i = 0; i < SYMBOLS; i++)
            symbols[i] |= (bits >> i & 1) << plane;
    }
    c->at = unary_at + length;
    return 1;
}

/* A signed byte: odd symbols are negative, and a bias of their sign moves numbers away from zero. */
static inline uint8_t unfolded(const Compressed *c, int symbol)
{
    const int folded = symbol & 1 ? -((symbol + 1) >> 1) : (symbol + 1) >> 1, number = ((folded + 128) & 255) - 128;
    const int is_negative = number < 0, most = 127 + is_negative;
    int size = (is_negative ? -number : number) + (is_negative ? c->second_bias : c->first_bias);
    size = (size <= most ? size : size - most) & 255;
    return (uint8_t)(number == 0 ? 0 : is_negative ? -size : size);
}

/* An exponent, folded around the bias as far as both sides reach. */
static inline int exponent_of_symbol(const Compressed *c, int symbol)
{
    const int zeros = c->has_zeros_apart, bias = c->first_bias, folded = (symbol - zeros) & 255, reach = 255 - bias;
    const int distance = folded & 1 ? -((folded + 1) >> 1) : (folded + 1) >> 1;
    const int is_beyond = bias <= 128 ? symbol >= 2 * bias : folded > 2 * reach;
    const int beyond = bias <= 128 ? symbol : reach + bias - symbol + zeros;
    return symbol == 0 && zeros ? 0 : (is_beyond ? beyond : distance + bias) & 255;
}

/* ``count`` numbers, bytes or bfloat16; 0 where the stream ends before. */
static int unpack_numbers(Compressed *c, int64_t count, void *out)
{
    int symbols[SYMBOLS];
    for (int64_t first = 0; first < count; first += SYMBOLS) {
        const int64_t used = count - first < SYMBOLS ? count - first : SYMBOLS;
        if (!read_symbols(c, c->codes[first / SYMBOLS], symbols))
            return 0;
        for (int64_t i = 0; i < used; i++) {
            if (!c->is_float) {
                ((uint8_t *)out)[first + i] = c->is_signed ? unfolded(c, symbols[i]) : (uint8_t)symbols[i];
                continue;
            }
            const int exponent = exponent_of_symbol(c, symbols[i]);
            int rest = 0;
            if (exponent || !c->has_zeros_apart) {
                if (c->at + 8 > c->bits)
                    return 0;
                rest = byte_at(c, c->at);
                c->at += 8;
            }
            ((uint16_t *)out)[first + i] = (uint16_t)(rest >> 7 << 15 | exponent << 7 | (rest & 127));
        }
    }
    return 1;
}

#endif
