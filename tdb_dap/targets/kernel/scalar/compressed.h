/* Compressed weights of CV18xx, see semantics/cv18xx/unpacking.py, which gives the same numbers. */

#ifndef TDB_DAP_SCALAR_COMPRESSED_H
#define TDB_DAP_SCALAR_COMPRESSED_H

#include "compiler.h"

#define SYMBOLS 16 /* of a block */
#define RAW_BLOCK 7

/* ``codes``: a byte for each block; ``stream``: ``bits`` bits, lowest first. */
typedef struct {
    const uint8_t *codes, *stream;
    int64_t bits, at;
    int is_signed, is_float, first_bias, second_bias, has_zeros_apart;
} Compressed;

static inline int bit_at(const Compressed *c, int64_t at) { return c->stream[at >> 3] >> (at & 7) & 1; }

static inline int byte_at(const Compressed *c, int64_t at)
{
    int byte = c->stream[at >> 3] >> (at & 7);
    return (at & 7 ? byte | c->stream[(at >> 3) + 1] << (8 - (at & 7)) : byte) & 0xff;
}

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
    if (c->at + SYMBOLS * order > c->bits)
        return 0;
    for (int i = 0; i < SYMBOLS; i++)
        symbols[i] = 0;
    for (int plane = 0; plane < order; plane++)
        for (int half = 0; half < 2; half++, c->at += 8) {
            const int byte = byte_at(c, c->at);
            for (int i = 0; i < 8; i++)
                symbols[8 * half + i] |= (byte >> i & 1) << plane;
        }
    if (c->is_float && c->has_zeros_apart && order)
        c->at += 4;
    int known = 0, unary = 0;
    for (int i = 0; i < length && known < SYMBOLS && c->at + i < c->bits; i++) {
        if (bit_at(c, c->at + i)) {
            symbols[known++] += unary << order;
            unary = 0;
        } else
            unary++;
    }
    c->at += length;
    return known == SYMBOLS;
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
