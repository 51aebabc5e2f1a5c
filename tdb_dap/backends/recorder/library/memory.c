/* Who touches the memories, and what commands make of them.

   DDR and L2 are closed while commands are in flight: the first touch of a block is a fault (faults.c), which writes
   down the block if it is not what the recording says, and opens it. When the last command in flight ends, the blocks
   that commands wrote are hashed again, and what was touched is closed again. Between two commands of a launch all stays
   closed: what the firmware touches then is opened for it and closed before the next command. At the end of a launch,
   for copies, and after commands outside of launches, everything is opened: system calls cannot read what is closed.

   Local and static memory have too many pages that every command touches: they are compared before the first command
   and at the begin of each launch. */
#include "memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local bool is_host_thread;
static int launches_running;

/* An engine whose commands are not replayed has ended one: what it may have written is written down. */
void keep_what_was_written(void) {
    for (unsigned i = 0; i < space_count; i++)
        for (uint32_t k = 0; k < spaces[i].touched_count; k++)
            if (spaces[i].state[spaces[i].touched[k]] & WRITABLE)
                ensure_known(&spaces[i], spaces[i].touched[k]);
}

static void close_everything(void) {
    for (unsigned i = 0; i < space_count; i++)
        if (spaces[i].is_closed)
            protect(&spaces[i], PROT_NONE);
    closed = true;
}

/* Host pages of some blocks that may be closed. */
static uint8_t *pages_of(const Space *space, uint32_t from, uint32_t to, size_t *size) {
    uint8_t *first = space->first + (uint64_t)from * BLOCK_BYTES, *end = space->first + (uint64_t)to * BLOCK_BYTES;
    if (first < space->closed_first)
        first = space->closed_first;
    if (end > space->closed_end)
        end = space->closed_end;
    *size = first < end ? (size_t)(end - first) : 0;
    return first;
}

/* Forget which blocks were touched; with ``closing`` they are closed again, neighbours at once. */
static void forget_touched_of(Space *space, bool closing) {
    for (uint32_t k = 0; k < space->touched_count;) {
        uint32_t from = space->touched[k], to = from;
        for (; k < space->touched_count && space->touched[k] == to; k++, to++)
            space->state[to] &= UNKNOWN;
        size_t size;
        uint8_t *first = pages_of(space, from, to, &size);
        if (closing && size && mprotect(first, size, PROT_NONE))
            unprotectable = true;
    }
    space->touched_count = 0;
}

static void forget_touched(bool closing) {
    for (unsigned i = 0; i < space_count; i++)
        forget_touched_of(&spaces[i], closing);
}

void command_begins(uint32_t number) {
    own_command = number;
    if (in_flight < MOST_FLYING)
        flying[in_flight] = number;
    if (in_flight++ || unprotectable)
        return;
    forget_touched(closed); /* by the host, since the last command */
    if (!closed)
        close_everything();
    for (unsigned i = 0; i < space_count; i++)
        if (spaces[i].is_closed)
            ensure_edges_known(&spaces[i]);
}

static void hash_event(const Space *space, uint64_t offset, uint64_t size, uint64_t hash) {
    uint8_t *at = event_begin(HASH, space->device << 4, space->core, 32);
    memset(at, 0, 8);
    at[0] = (uint8_t)space->space;
    memcpy(at + 8, &offset, 8);
    memcpy(at + 16, &size, 8);
    memcpy(at + 24, &hash, 8);
    event_end();
}

/* The new hash of a block that commands wrote is their effect, unless the host wrote there at the same time. */
static void settle(Space *space, uint32_t block, uint8_t state) {
    if (!(state & WRITABLE))
        return;
    size_t size;
    const uint8_t *bytes = block_bytes(space, block, &size);
    uint64_t hash = hash_of(bytes, size);
    if (hash == space->known[block])
        return;
    if (state & BY_HOST) {
        space->state[block] |= UNKNOWN;
        return;
    }
    space->known[block] = hash;
    hash_event(space, (uint64_t)(bytes - space->base), size, hash);
}

static void settle_all(Space *space) {
    for (uint32_t k = 0; k < space->touched_count; k++)
        settle(space, space->touched[k], space->state[space->touched[k]]);
    if (space->is_closed && space->has_edges) {
        settle(space, 0, WRITABLE);
        if (space->blocks > 1)
            settle(space, space->blocks - 1, WRITABLE);
    }
}

void open_everything(void) {
    closed = false;
    for (unsigned i = 0; i < space_count; i++)
        if (spaces[i].is_closed)
            protect(&spaces[i], PROT_READ | PROT_WRITE);
}

static void lands(uint32_t number) {
    for (unsigned i = 0; i < in_flight && i < MOST_FLYING; i++)
        if (flying[i] == number) {
            flying[i] = in_flight <= MOST_FLYING ? flying[in_flight - 1] : NO_COMMAND;
            break;
        }
    in_flight--;
}

void command_ends(uint32_t number) {
    own_command = NO_COMMAND;
    if (!in_flight)
        return;
    lands(number);
    if (in_flight)
        return;
    for (unsigned i = 0; i < space_count; i++)
        settle_all(&spaces[i]);
    bool stays_closed = closed && launches_running && !unprotectable;
    forget_touched(stays_closed);
    if (!stays_closed)
        open_everything();
    event_begin(QUIET, 0, 0, 0);
    event_end();
}

/* The host goes on as soon as a command has signalled that it is done, which is a little before it returns. Commands of
   other launches may go on for long. */
void wait_until_quiet(void) {
    for (int turn = 0; turn < 400; turn++) {
        lock();
        bool is_busy = in_flight && launches_running <= 1 && is_recording();
        unlock();
        if (!is_busy)
            return;
        usleep(50);
    }
}

void host_comes(void) {
    if (in_flight || !closed)
        return;
    open_everything();
    forget_touched(false);
}

void launch_runs(int change) {
    launches_running += change;
    if (!launches_running)
        host_comes();
}

void memory_after_fork(void) {
    if (closed)
        open_everything();
}

/* Too many pieces for the system: the rest of this period goes unobserved, and the recording says so. */
static void give_up(void) {
    static const char text[] = "too many pieces of memory: from here to the next QUIET, what commands read is not recorded";
    memcpy(event_begin(REMARK, 0, 0, sizeof text - 1), text, sizeof text - 1);
    event_end();
    open_everything();
}

bool first_touch(const void *address, bool is_write) {
    Space *space = NULL;
    for (unsigned i = 0; i < space_count; i++)
        if (spaces[i].is_closed && (const uint8_t *)address >= spaces[i].closed_first &&
            (const uint8_t *)address < spaces[i].closed_end)
            space = &spaces[i];
    if (!space)
        return false;
    lock();
    uint32_t block = (uint32_t)(((const uint8_t *)address - space->first) / BLOCK_BYTES);
    uint8_t *state = &space->state[block];
    size_t size;
    uint8_t *from = pages_of(space, block, block + 1, &size);
    bool is_new = !(*state & (READABLE | WRITABLE)), alone = in_flight == 1;
    if (closed && !in_flight) { /* the firmware, or another part of the host: what it does is seen at the next touch */
        if (is_new)
            space->touched[space->touched_count++] = block;
        *state |= READABLE | WRITABLE;
        if (mprotect(from, size, PROT_READ | PROT_WRITE))
            open_everything();
    } else if (closed && !(*state & (is_write ? WRITABLE : READABLE))) {
        bool is_refused = false;
        if (is_new) { /* others may write as soon as it is writable: it is written down before */
            is_refused = mprotect(from, size, PROT_READ | (is_write && alone ? PROT_WRITE : 0));
            if (!is_refused)
                ensure_known(space, block);
            space->touched[space->touched_count++] = block;
            *state |= READABLE;
        }
        if (is_write) {
            is_refused |= (!is_new || !alone) && mprotect(from, size, PROT_READ | PROT_WRITE);
            *state |= WRITABLE;
        }
        if (is_host_thread && is_write)
            *state |= BY_HOST;
        if (is_refused)
            give_up();
    }
    unlock();
    return true;
}
