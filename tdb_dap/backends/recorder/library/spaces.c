/* The memories of the emulators, and blocks of them as events. */
#include "memory.h"

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

Space spaces[MOST_SPACES];
unsigned space_count;
uint32_t flying[MOST_FLYING];
unsigned in_flight;
bool closed, unprotectable;
_Thread_local uint32_t own_command = NO_COMMAND; /* workers of OpenMP have none, and execute nevertheless */

void protect(Space *space, int protection) {
    if (space->closed_end > space->closed_first &&
        mprotect(space->closed_first, (size_t)(space->closed_end - space->closed_first), protection))
        unprotectable = true;
}

struct local_memory {
    uint8_t *content;
    void *lanes;
    uint32_t lane_count, lane_size;
};

/* The bytes of a block: from host pages, without the bytes before and after the memory itself. */
uint8_t *block_bytes(const Space *space, uint32_t block, size_t *size) {
    uint8_t *from = space->first + (uint64_t)block * BLOCK_BYTES, *to = from + BLOCK_BYTES;
    if (from < space->base)
        from = space->base;
    if (to > space->base + space->size)
        to = space->base + space->size;
    *size = (size_t)(to - from);
    return from;
}

static uint8_t *head_of(const Space *space, uint64_t offset, unsigned flags, size_t payload, uint32_t command) {
    uint8_t *at = event_begin(BLOCK, space->device << 4 | flags, space->core, 16 + payload);
    memset(at, 0, 4);
    at[0] = (uint8_t)space->space;
    memcpy(at + 4, &command, 4);
    memcpy(at + 8, &offset, 8);
    return at + 16;
}

static uint8_t *block_head(const Space *space, uint64_t offset, unsigned flags, size_t payload) {
    uint32_t command = !space->is_closed ? NO_COMMAND : in_flight == 1 ? flying[0] : own_command;
    return head_of(space, offset, flags, payload, command);
}

/* Bytes that the host has got, whatever commands in flight make of their blocks. */
void range_event(const Space *space, uint64_t offset, const uint8_t *bytes, uint64_t size) {
    for (uint64_t done = 0; done < size; done += BLOCK_BYTES) {
        size_t part = size - done < BLOCK_BYTES ? size - done : BLOCK_BYTES;
        memcpy(head_of(space, offset + done, 0, part, NO_COMMAND), bytes + done, part);
        event_end();
    }
}

static bool is_filled(const uint8_t *bytes, size_t size) { return size >= 16 && !memcmp(bytes, bytes + 8, size - 8); }

static void filled_event(const Space *space, const uint8_t *bytes, uint64_t size) {
    uint8_t *at = block_head(space, (uint64_t)(bytes - space->base), BLOCK_FILLED, 16);
    memcpy(at, &size, 8);
    memcpy(at + 8, bytes, 8);
    event_end();
}

static void block_event(const Space *space, const uint8_t *bytes, size_t size) {
    if (is_filled(bytes, size)) {
        filled_event(space, bytes, size);
        return;
    }
    memcpy(block_head(space, (uint64_t)(bytes - space->base), 0, size), bytes, size);
    event_end();
}

/* Write the block down if the recording does not say what is in it. */
void ensure_known(Space *space, uint32_t block) {
    size_t size;
    const uint8_t *bytes = block_bytes(space, block, &size);
    uint64_t hash = hash_of(bytes, size);
    if (hash == space->known[block] && !(space->state[block] & UNKNOWN))
        return;
    block_event(space, bytes, size);
    space->known[block] = hash;
    space->state[block] &= (uint8_t)~UNKNOWN;
}

/* All blocks of a memory. Emulators fill theirs with one word before the first use: such blocks become one event. */
static void compare(Space *space) {
    const uint8_t *run = NULL;
    uint64_t run_size = 0;
    for (uint32_t block = 0; block < space->blocks; block++) {
        size_t size;
        const uint8_t *bytes = block_bytes(space, block, &size);
        uint64_t hash = hash_of(bytes, size);
        bool is_known = hash == space->known[block];
        bool joins = !is_known && is_filled(bytes, size);
        if (run && !(joins && !memcmp(run, bytes, 8))) {
            filled_event(space, run, run_size);
            run = NULL;
        }
        if (joins && !run) {
            run = bytes;
            run_size = 0;
        }
        if (joins)
            run_size += size;
        else if (!is_known)
            block_event(space, bytes, size);
        space->known[block] = hash;
    }
    if (run)
        filled_event(space, run, run_size);
}

/* The blocks at both ends whose pages the memory shares with others are never closed. */
void ensure_edges_known(Space *space) {
    if (space->has_edges) {
        ensure_known(space, 0);
        ensure_known(space, space->blocks - 1);
    }
}

static void *table(size_t size) {
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

/* Memory that malloc mapped for this alone begins behind 16 bytes of malloc's own. */
static bool owns_pages(const uint8_t *base) {
    return ((uintptr_t)base & (PAGE - 1)) == 16 && (((const size_t *)base)[-1] & 2);
}

static Space *space_at(const uint8_t *base) {
    for (unsigned i = 0; i < space_count; i++)
        if (base >= spaces[i].base && base < spaces[i].base + spaces[i].size)
            return &spaces[i];
    return NULL;
}

static void region_event(const Library *library, char letter, unsigned core, uint64_t size, uint64_t start, bool inside) {
    size_t length = strlen(library->name);
    uint8_t *at = event_begin(REGION, library->device << 4 | (inside ? REGION_INSIDE : 0), core, 24 + length);
    memset(at, 0, 8);
    at[0] = (uint8_t)letter;
    memcpy(at + 8, &size, 8);
    memcpy(at + 16, &start, 8);
    memcpy(at + 24, library->name, length);
    event_end();
}

static void add(const Library *library, char letter, unsigned core, uint8_t *base, uint64_t size, uint64_t start) {
    if (!base || !size || space_count == MOST_SPACES)
        return;
    Space *around = space_at(base);
    if (around) { /* L2 of BM1688 is a part of its DDR */
        if (around->base != base || around->space != letter)
            region_event(library, letter, core, size, start, true);
        return;
    }
    Space *space = &spaces[space_count];
    *space = (Space){.space = letter, .device = library->device, .core = core, .base = base, .size = size, .start = start};
    uintptr_t first = (uintptr_t)base & ~(uintptr_t)(PAGE - 1), end = (uintptr_t)base + size;
    space->first = (uint8_t *)first;
    space->blocks = (uint32_t)((end - first + BLOCK_BYTES - 1) / BLOCK_BYTES);
    space->known = table(space->blocks * sizeof *space->known);
    space->state = table(space->blocks);
    space->touched = table(space->blocks * sizeof *space->touched);
    if (!space->known || !space->state || !space->touched)
        return;
    /* Static memory is filled once, before the first command; that of a processor is written all the time. */
    space->is_closed = letter == 'G' || letter == 'R' || (letter == 'S' && !library->fixed);
    bool owns = owns_pages(base) || first == (uintptr_t)base;
    space->has_edges = !owns;
    space->closed_first = space->first + (owns ? 0 : BLOCK_BYTES);
    space->closed_end = owns ? (uint8_t *)((end + PAGE - 1) & ~(uintptr_t)(PAGE - 1))
                             : space->first + (uint64_t)(space->blocks - 1) * BLOCK_BYTES;
    space_count++;
    region_event(library, letter, core, size, start, false);
    if (!space->is_closed)
        compare(space);
    else if (closed)
        protect(space, PROT_NONE);
}

/* A runtime that was closed and opened again has memories elsewhere: what is known of the old ones is void. */
static void forget_old(Library *library, int core) {
    const uint8_t *base = library->global ? (const uint8_t *)library->global(core) : NULL;
    const Space *space = base ? space_at(base) : NULL;
    if (!library->cores_seen || in_flight || (space && space->base == base))
        return;
    unsigned kept = 0;
    for (unsigned i = 0; i < space_count; i++) {
        Space *old = &spaces[i];
        if (old->device != library->device) {
            spaces[kept++] = *old;
            continue;
        }
        munmap(old->known, old->blocks * sizeof *old->known);
        munmap(old->state, old->blocks);
        munmap(old->touched, old->blocks * sizeof *old->touched);
    }
    space_count = kept;
    library->cores_seen = 0;
}

void regions_of_core(Library *library, int core) {
    forget_old(library, core);
    if (core < 0 || core > 63 || library->cores_seen >> core & 1)
        return;
    library->cores_seen |= 1ull << core;
    unsigned c = (unsigned)core;
    if (library->global && library->global_size)
        add(library, 'G', c, (uint8_t *)library->global(core), library->global_size(core),
            library->global_start ? library->global_start(core) : 0);
    if (library->l2) {
        uint8_t *base = (uint8_t *)library->l2(core);
        uint64_t size = library->l2_size ? library->l2_size() : 0;
        if (base && (!size || size > 1u << 30) && !space_at(base))
            size = malloc_usable_size(base) & ~(uint64_t)(PAGE - 1);
        add(library, 'R', c, base, size, library->l2_start ? library->l2_start() : 0);
    }
    struct local_memory *local = library->local ? library->local(core) : NULL;
    if (local && local->content && local->lane_count <= 256 && local->lane_size <= 4u << 20)
        add(library, 'L', c, local->content, (uint64_t)local->lane_count * local->lane_size, 0);
    if (library->fixed) {
        uint8_t *base = (uint8_t *)library->fixed(core);
        uint64_t size = base ? malloc_usable_size(base) & ~(uint64_t)(PAGE - 1) : 0;
        add(library, 'S', c, base, size < 16u << 20 ? size : 0, 0);
    } else if (library->processor && library->processor_size) { /* BM1684: commands copy from there what it computes */
        uint64_t size = library->processor_size(core);
        add(library, 'S', c, (uint8_t *)library->processor(core), size < 16u << 20 ? size : 0, 0);
    }
}

/* Local and static memory before a launch: what is not as the recording says becomes an event. */
void compare_private_memories(void) {
    for (unsigned i = 0; i < space_count && !in_flight; i++)
        if (!spaces[i].is_closed)
            compare(&spaces[i]);
}

/* And after one: what commands made of it follows from the recording. */
void learn_private_memories(void) {
    for (unsigned i = 0; i < space_count && !in_flight; i++)
        for (uint32_t block = 0; !spaces[i].is_closed && block < spaces[i].blocks; block++) {
            size_t size;
            const uint8_t *bytes = block_bytes(&spaces[i], block, &size);
            spaces[i].known[block] = hash_of(bytes, size);
        }
}
