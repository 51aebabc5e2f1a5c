/* Words moved from where they lie to where they belong, as they are. */

#ifndef TDB_DAP_SCALAR_MOVES_H
#define TDB_DAP_SCALAR_MOVES_H

#include "grid.h"

#define MOVED_WORDS(Word)                                                                                              \
    for (int64_t i = 0; i < count; i++)                                                                                \
        ((Word *)to)[i * to_step] = ((const Word *)from)[i * from_step];                                               \
    break;

#define OVERLAPPING(Word)                                                                                              \
    {                                                                                                                  \
        Word first, last;                                                                                              \
        memcpy(&first, from, sizeof first);                                                                            \
        memcpy(&last, (const char *)from + bytes - sizeof last, sizeof last);                                          \
        memcpy(to, &first, sizeof first);                                                                              \
        memcpy((char *)to + bytes - sizeof last, &last, sizeof last);                                                  \
        return;                                                                                                        \
    }

typedef struct {
    uint64_t words[2];
} TwoWords;

typedef struct {
    uint64_t words[4];
} FourWords;

/* As memmove, without a call for few bytes: all are read before the first one is written. */
static inline void move_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes > 64)
        memmove(to, from, bytes);
    else if (bytes >= 32)
        OVERLAPPING(FourWords)
    else if (bytes >= 16)
        OVERLAPPING(TwoWords)
    else if (bytes >= 8)
        OVERLAPPING(uint64_t)
    else if (bytes >= 4)
        OVERLAPPING(uint32_t)
    else if (bytes >= 2)
        OVERLAPPING(uint16_t)
    else if (bytes)
        *(char *)to = *(const char *)from;
}
#undef OVERLAPPING

/* One row of words of ``size`` bytes. */
static inline void move_row(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t count, int size)
{
    if (to_step == 1 && from_step == 1) {
        move_bytes(to, from, (size_t)(count * size)); /* a tensor may be copied to where it is */
        return;
    }
    switch (size) {
    case 1: MOVED_WORDS(uint8_t)
    case 2: MOVED_WORDS(uint16_t)
    case 4: MOVED_WORDS(uint32_t)
    default: MOVED_WORDS(uint64_t)
    }
}

static inline void move_words(const int64_t *shape, const Stored *from, const Stored *to)
{
    const int size = format_size[to->format];
    for (int64_t n = 0; n < shape[0]; n++)
        for (int64_t c = 0; c < shape[1]; c++)
            for (int64_t h = 0; h < shape[2]; h++)
                move_row((char *)(uintptr_t)to->data + (n * to->step[0] + c * to->step[1] + h * to->step[2]) * size,
                         to->step[3],
                         (const char *)from->data + (n * from->step[0] + c * from->step[1] + h * from->step[2]) * size,
                         from->step[3], shape[3], size);
}

#endif
