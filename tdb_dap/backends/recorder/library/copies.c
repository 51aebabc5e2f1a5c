/* What the host copies into DDR and out of it. */
#include "memory.h"

#include <string.h>

static Space *global_at(uint64_t address, uint64_t size) {
    for (unsigned i = 0; i < space_count; i++)
        if (spaces[i].space == 'G' && address >= spaces[i].start && size <= spaces[i].size &&
            address - spaces[i].start <= spaces[i].size - size)
            return &spaces[i];
    return NULL;
}

static void blocks_of(const Space *space, uint64_t address, uint64_t size, uint32_t *from, uint32_t *to) {
    uint64_t before = (uint64_t)(space->base - space->first) + address - space->start;
    *from = (uint32_t)(before / BLOCK_BYTES);
    *to = (uint32_t)((before + size + BLOCK_BYTES - 1) / BLOCK_BYTES);
}

/* A block that is not as the recording says before the host changes it is not known after it either. */
void copy_in_before(uint64_t address, uint64_t size) {
    Space *space = global_at(address, size);
    uint32_t from, to;
    if (!space || !size)
        return;
    blocks_of(space, address, size, &from, &to);
    for (uint32_t block = from; block < to; block++) {
        size_t bytes;
        const uint8_t *at;
        if (in_flight) {
            space->state[block] |= UNKNOWN;
        } else if (space->known[block] && !(space->state[block] & UNKNOWN)) {
            at = block_bytes(space, block, &bytes);
            if (hash_of(at, bytes) != space->known[block])
                space->state[block] |= UNKNOWN;
        }
    }
}

static void copy_event(const Space *space, uint64_t address, uint64_t size, const uint8_t *data, unsigned flags,
                       uint64_t source) {
    size_t head = flags & COPY_DEVICE ? 24 : 16;
    unsigned device = space ? space->device : 0;
    uint8_t *at = event_begin(COPY_IN, device << 4 | flags | (data ? COPY_DATA : 0), 0, head + (data ? size : 0));
    memcpy(at, &address, 8);
    memcpy(at + 8, &size, 8);
    if (flags & COPY_DEVICE)
        memcpy(at + 16, &source, 8);
    if (data)
        memcpy(at + head, data, size);
    event_end();
}

/* Data is written down where the recording knows the block, so that it goes on knowing it. While a command is in flight,
   as the last one of another core may be, a block that was touched is open: what the next command reads of it causes no
   fault, so the data has to be told here. */
static bool tells_data(const Space *space, uint32_t block) {
    return space->known[block] && (in_flight || !(space->state[block] & UNKNOWN));
}

/* The host's last copies, whose bytes the recording may not have. */
#define LATEST 64
static struct {
    uint64_t address, size, hash;
} latest[LATEST];
static unsigned latest_count;

static void remember(uint64_t address, uint64_t size, const Space *space) {
    latest[latest_count++ % LATEST].address = address;
    latest[(latest_count - 1) % LATEST].size = size;
    latest[(latest_count - 1) % LATEST].hash = hash_of(space->base + (address - space->start), size);
}

/* Whether the host reads back what it has copied there itself. */
static bool is_its_own(uint64_t address, uint64_t size, uint64_t hash) {
    for (unsigned i = 0; i < LATEST && i < latest_count; i++)
        if (latest[i].address == address && latest[i].size == size && latest[i].hash == hash)
            return true;
    return false;
}

void copy_in_after(uint64_t address, uint64_t size, unsigned flags, uint64_t source) {
    Space *space = global_at(address, size);
    uint32_t from, to;
    if (!space || !size) {
        copy_event(space, address, size, NULL, flags, source);
        return;
    }
    blocks_of(space, address, size, &from, &to);
    uint64_t end = address + size, at = address;
    for (uint32_t block = from; block < to;) {
        bool with_data = tells_data(space, block);
        uint64_t stop = at, bytes_limit = with_data ? LARGEST_EVENT / 2 : UINT64_MAX;
        uint32_t first = block;
        for (; block < to; block++) {
            bool same = tells_data(space, block) == with_data;
            uint64_t block_end = space->start + (uint64_t)(block + 1) * BLOCK_BYTES - (uint64_t)(space->base - space->first);
            if (!same || (block > first && block_end - at > bytes_limit))
                break;
            stop = block_end < end ? block_end : end;
        }
        copy_event(space, at, stop - at, with_data ? space->base + (at - space->start) : NULL, flags, source);
        if (with_data && !in_flight)
            for (uint32_t k = first; k < block; k++) {
                size_t bytes;
                const uint8_t *content = block_bytes(space, k, &bytes);
                space->known[k] = hash_of(content, bytes);
            }
        source += stop - at;
        at = stop;
        flags |= COPY_CONTINUED;
    }
    remember(address, size, space);
}

/* Whatever the host reads is in the recording: the firmware writes some outputs itself, such as shapes. So what the
   recording knows of these blocks is brought up to date first, but for bytes that came from the host and that no
   command has touched. Of blocks that commands in flight may write to, only the host's bytes are recorded. */
void copy_out(uint64_t address, uint64_t size, const void *host) {
    Space *space = global_at(address, size);
    uint32_t from, to;
    uint64_t hash = hash_of(host, size);
    if (space && size && !in_flight) {
        bool own = is_its_own(address, size, hash);
        blocks_of(space, address, size, &from, &to);
        for (uint32_t block = from; block < to; block++)
            if (space->known[block] || space->state[block] & UNKNOWN || !own)
                ensure_known(space, block);
    } else if (space && size) {
        range_event(space, address - space->start, host, size);
    }
    uint64_t value[3] = {address, size, hash};
    memcpy(event_begin(COPY_OUT, (space ? space->device : 0) << 4, 0, sizeof value), value, sizeof value);
    event_end();
}
