/* The hash of the recording: the sum of words[i] * keys[i] mod 2^64, keys[i] = splitmix64(i) | 1. */
#include "memory.h"

#include <string.h>

static uint64_t keys[BLOCK_BYTES / 8];

static uint64_t split_mix(uint64_t i) {
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) | 1;
}

void hash_init(void) {
    for (uint64_t i = 0; i < BLOCK_BYTES / 8; i++)
        keys[i] = split_mix(i);
}

uint64_t hash_of(const void *data, size_t size) {
    const uint8_t *at = data;
    uint64_t sum[4] = {0}, word;
    size_t words = size / 8, near = words < BLOCK_BYTES / 8 ? words : BLOCK_BYTES / 8, i = 0;
    for (; i + 4 <= near; i += 4)
        for (int k = 0; k < 4; k++) {
            memcpy(&word, at + 8 * (i + (size_t)k), 8);
            sum[k] += word * keys[i + (size_t)k];
        }
    for (; i < words; i++) {
        memcpy(&word, at + 8 * i, 8);
        sum[0] += word * (i < near ? keys[i] : split_mix(i));
    }
    if (size % 8) {
        word = 0;
        memcpy(&word, at + 8 * words, size % 8);
        sum[1] += word * split_mix(words);
    }
    return sum[0] + sum[1] + sum[2] + sum[3];
}
