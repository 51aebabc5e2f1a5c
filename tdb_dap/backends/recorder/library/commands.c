/* The functions of the emulator through which every command goes: into a queue, and out of it to be executed. */
#include "recorder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_DESCRIPTOR 256
#define USUAL_DESCRIPTOR 128

/* Commands wait in a queue of the emulator, one for each core and engine. What the firmware's thread was doing when it
   queued a command is known there only, and when the command is executed only where it leaves the queue. */
struct queued {
    uint8_t head[16];
    uint32_t mark;
};

struct queue {
    struct queued *entries;
    uint32_t capacity, first, count;
};

/* Engines by the emulators' numbers. HAU sorts; the fourth is GDE, which gathers, or on BM1690 the system DMA. Only
   the first two and the system DMA are replayed from their commands. */
enum { TIU, DMA, HAU, GDE_OR_SDMA };

#define CORES 64
#define ENGINES 8
static struct queue queues[MOST_DEVICES][CORES][ENGINES];
static uint32_t commands;
static _Thread_local bool ready;

uint32_t command_count(void) { return commands; }

static struct queue *queue_of(const Library *library, int core, int engine) {
    bool known = core >= 0 && core < CORES && engine >= 0 && engine < ENGINES;
    return known ? &queues[library->device][core][engine] : NULL;
}

static void put(struct queue *queue, const uint8_t *head) {
    if (queue->count == queue->capacity) {
        uint32_t capacity = queue->capacity ? 2 * queue->capacity : 64;
        struct queued *entries = malloc(capacity * sizeof *entries);
        if (!entries)
            return;
        for (uint32_t i = 0; i < queue->count; i++)
            entries[i] = queue->entries[(queue->first + i) % queue->capacity];
        free(queue->entries);
        *queue = (struct queue){entries, capacity, 0, queue->count};
    }
    struct queued *entry = &queue->entries[(queue->first + queue->count++) % queue->capacity];
    memcpy(entry->head, head, sizeof entry->head);
    entry->mark = current_mark;
}

/* Whether the command is the next of those that the firmware queued; those of a command stream are not in the queue. */
static bool take(struct queue *queue, const uint8_t *head, uint32_t *mark) {
    if (!queue || !queue->count || memcmp(queue->entries[queue->first].head, head, 16))
        return false;
    *mark = queue->entries[queue->first].mark;
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
    return true;
}

/* A thread that blocks SIGSEGV would be ended by the first touch of a closed block. */
static void prepare_thread(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    ready = true;
}

/* Bytes of a command: what the emulator says, and never beyond a mapped page. */
static size_t bytes_of_command(const Library *library, const void *descriptor, int engine) {
    size_t size = library->command_size ? library->command_size(descriptor, engine) : USUAL_DESCRIPTOR;
    if (!size || size > MOST_DESCRIPTOR)
        size = USUAL_DESCRIPTOR;
    uintptr_t at = (uintptr_t)descriptor;
    size_t here = 4096 - (at & 4095);
    unsigned char resident;
    return size <= here || !mincore((void *)(at + here), 1, &resident) ? size : here;
}

static uint32_t begins(Library *library, int core, const void *descriptor, int engine) {
    if (!ready)
        prepare_thread();
    uint8_t bytes[MOST_DESCRIPTOR];
    size_t size = bytes_of_command(library, descriptor, engine);
    memcpy(bytes, descriptor, size); /* without the lock: it may lie in a closed memory */
    uint32_t head[2] = {(uint32_t)engine, NO_MARK}, number = NO_COMMAND;
    lock();
    if (is_recording()) {
        regions_of_core(library, core);
        bool is_queued = size >= 16 && take(queue_of(library, core, engine), bytes, &head[1]);
        uint8_t *at = event_begin(COMMAND, library->device << 4 | (is_queued ? COMMAND_ISSUED : 0), (unsigned)core,
                                  sizeof head + size);
        memcpy(at, head, sizeof head);
        memcpy(at + sizeof head, bytes, size);
        event_end();
        number = commands++;
        command_begins(number);
    }
    unlock();
    return number;
}

static void ends(const Library *library, uint32_t number, int engine) {
    if (number == NO_COMMAND)
        return;
    lock();
    if (engine == HAU || (engine == GDE_OR_SDMA && !library->has_system_dma))
        keep_what_was_written();
    command_ends(number);
    unlock();
}

INTERPOSED long execute_command(int core, void *descriptor, int engine, long a, long b, long c) {
    FIND_REAL(execute_command, long (*)(int, void *, int, long, long, long));
    if (!library || !recording())
        return real(core, descriptor, engine, a, b, c);
    uint32_t number = begins(library, core, descriptor, engine);
    long result = real(core, descriptor, engine, a, b, c);
    ends(library, number, engine);
    return result;
}

/* BM1684's emulator asks for the function that executes a command, and calls it at once. */
static _Thread_local struct {
    long (*function)(int, void *, long, long);
    Library *library;
    int engine;
} chosen;

static long execute_chosen(int core, void *descriptor, long a, long b) {
    long (*function)(int, void *, long, long) = chosen.function;
    uint32_t number = begins(chosen.library, core, descriptor, chosen.engine);
    long result = function(core, descriptor, a, b);
    ends(chosen.library, number, chosen.engine);
    return result;
}

INTERPOSED void *get_atomic_function(const void *descriptor, int engine, long a, long b) {
    FIND_REAL(get_atomic_function, void *(*)(const void *, int, long, long));
    void *function = real(descriptor, engine, a, b);
    if (!library || !function || !recording())
        return function;
    memcpy(&chosen.function, &function, sizeof function);
    chosen.library = library;
    chosen.engine = engine;
    return (void *)execute_chosen;
}

INTERPOSED long cmodel_call_atomic(int core, void *descriptor, int engine, long a, long b, long c) {
    FIND_REAL(cmodel_call_atomic, long (*)(int, void *, int, long, long, long));
    if (library && recording()) {
        is_host_thread = true;
        uint8_t head[16];
        memcpy(head, descriptor, sizeof head);
        lock();
        struct queue *queue = queue_of(library, core, engine);
        if (queue)
            put(queue, head);
        unlock();
    }
    return real(core, descriptor, engine, a, b, c);
}

INTERPOSED void atomic_set_base_ddr(const int *tags, const uint64_t *bases, int count, int engine, long a, long b) {
    FIND_REAL(atomic_set_base_ddr, void (*)(const int *, const uint64_t *, int, int, long, long));
    if (library && recording()) {
        is_host_thread = true;
        int core = library->core ? library->core() : 0;
        lock();
        for (int i = 0; i < count && is_recording(); i++) {
            uint32_t head[2] = {(uint32_t)engine, (uint32_t)tags[i]};
            uint8_t *at = event_begin(BASE, library->device << 4, (unsigned)core, 16);
            memcpy(at, head, 8);
            memcpy(at + 8, &bases[i], 8);
            event_end();
        }
        unlock();
    }
    real(tags, bases, count, engine, a, b);
}
