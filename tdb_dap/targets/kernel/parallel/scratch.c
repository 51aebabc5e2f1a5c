/* Each thread has a slot of its own for each use; threads that come later share the slots of earlier ones, and a block is in
 * one slot at a time. */

#include "scratch.h"

#include <stdlib.h>
#include <string.h>

#if !defined(__STDC_NO_ATOMICS__) && UINTPTR_MAX > UINT32_MAX
#define KEEPS_BLOCKS 1
#include <stdatomic.h>
#else
#define KEEPS_BLOCKS 0
#endif

#define LEAST_SIZE ((size_t)1 << 18)
#define HEADER 64 /* bytes before a block, where its size is */
#define SLOTS 16

static const size_t largest_kept[SCRATCH_USES] = {(size_t)1 << 26, (size_t)1 << 23, (size_t)1 << 23};

#if KEEPS_BLOCKS
static _Atomic(void *) slots[SCRATCH_USES][SLOTS];
static _Atomic int64_t threads;
static _Thread_local int thread_number; /* from 1 on */

static _Atomic(void *) *own_slot(int use)
{
    if (!thread_number)
        thread_number = (int)(atomic_fetch_add(&threads, 1) % SLOTS) + 1;
    return &slots[use][thread_number - 1];
}
#endif

static void *allocate(size_t size)
{
    char *block = malloc(size + HEADER);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    return block + HEADER;
}

static size_t size_of(const void *block)
{
    size_t size;
    memcpy(&size, (const char *)block - HEADER, sizeof size);
    return size;
}

static void deallocate(void *block)
{
    if (block)
        free((char *)block - HEADER);
}

void *scratch_acquire(int use, size_t size)
{
#if KEEPS_BLOCKS
    void *block = atomic_exchange(own_slot(use), NULL);
    if (block && size_of(block) >= size)
        return block;
    deallocate(block);
#else
    (void)use;
#endif
    return allocate(size < LEAST_SIZE ? LEAST_SIZE : size);
}

void scratch_release(int use, void *block)
{
#if KEEPS_BLOCKS
    if (block && size_of(block) <= largest_kept[use])
        block = atomic_exchange(own_slot(use), block);
#else
    (void)use;
#endif
    deallocate(block);
}
