/* Recorder: a library that is loaded before a program's own and writes down what its emulated TPU executes.

   Everything below is shared between the files of the library; nothing but the interposed functions is exported. */
#ifndef RECORDER_H
#define RECORDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERPOSED __attribute__((visibility("default")))

enum event {
    REGION = 1, COMMAND, QUIET, BLOCK, HASH, BASE, MARK, COPY_IN, COPY_OUT, LAUNCH_BEGIN, LAUNCH_END, MODEL, CPU_LAYER,
    REMARK, NAME
};
enum { COPY_DATA = 1, COPY_SET = 2, COPY_DEVICE = 4, COPY_CONTINUED = 8, BLOCK_FILLED = 1, REGION_INSIDE = 1, COMMAND_ISSUED = 1 };
#define NO_COMMAND 0xffffffffu
#define NO_MARK 0xffffffffu
#define NO_STAGE 0xffffffffu

/* stream.c: events on their way to the process that keeps them. */

bool is_recording(void);           /* whether this process is the recorded one */
bool stream_is_asked(void);        /* whether it has been tried to become it */
void stream_open(void (*forked)(void)); /* under the lock: try it; ``forked`` is called in each child of the recorded process */
void lock(void);
void unlock(void);
bool locked_here(void);            /* whether this thread holds the lock */
uint8_t *event_begin(enum event type, unsigned flags, unsigned core, size_t payload); /* under the lock */
void event_end(void);
void stop_recording(void);
uint32_t thread_number(void);
#define LARGEST_EVENT (512u << 10)

/* libraries.c: the emulators that are loaded. */

#define MOST_DEVICES 16

typedef struct {
    const char *base, *end;
    void *handle;
    char name[256];
    unsigned device;
    char *(*global)(int), *(*l2)(int), *(*fixed)(int), *(*processor)(int);
    uint64_t (*global_size)(int), (*global_start)(int), (*l2_size)(void), (*l2_start)(void), (*processor_size)(int);
    struct local_memory *(*local)(int);
    int (*core)(void);
    uint32_t (*command_size)(const void *, int);
    bool chooses_function, has_system_dma; /* BM1684: asks for the function of a command instead of handing over the command */
    uint64_t cores_seen;
} Library;

void *(*loaded_dlsym(void))(void *, const char *); /* the loader's own */
void *loaded_symbol(void *handle, const char *name);
void *own_function(const char *name); /* of the recorder itself */
void *next_function(const char *name, const void *own);
void *function_of(Library *library, const char *name);
void *real_function(Library **library, const void *caller, const char *name, const void *own);

/* In an interposed function: the ``library`` that calls it and the ``real`` function there, kept for the thread. */
#define FIND_REAL(name, ...)                                                                                           \
    static _Thread_local Library *library;                                                                             \
    static _Thread_local __typeof__(__VA_ARGS__) real;                                                                 \
    const char *caller_ = __builtin_return_address(0);                                                                 \
    if (!library || caller_ < library->base || caller_ >= library->end) {                                              \
        void *found_ = real_function(&library, caller_, #name, (const void *)name);                                    \
        memcpy(&real, &found_, sizeof found_);                                                                         \
    }

/* recorder.c */

bool recording(void);              /* whether this process is the recorded one; the first that asks becomes it */

/* host.c: what a program gets that asks the loader for a function that runs on the host, in place of ``found``. */

void *host_layer(const char *name, void *found);

/* marks.c */

extern _Thread_local uint32_t current_mark; /* number of the last MARK of this thread */

/* hash.c, spaces.c, memory.c, copies.c: what the recording knows of the device's memories. */

void hash_init(void);
uint64_t hash_of(const void *data, size_t size);
void regions_of_core(Library *library, int core); /* under the lock, no command in flight on this core */
void command_begins(uint32_t number);
void keep_what_was_written(void);             /* under the lock */
void command_ends(uint32_t number);
void compare_private_memories(void);              /* under the lock, at the begin of a launch */
void learn_private_memories(void);                /* and at its end */
void copy_in_before(uint64_t address, uint64_t size);
void copy_in_after(uint64_t address, uint64_t size, unsigned flags, uint64_t source);
void copy_out(uint64_t address, uint64_t size, const void *host);
void host_comes(void);                            /* under the lock: it reads or writes much, maybe by system calls */
void wait_until_quiet(void);                      /* without the lock */
void launch_runs(int change);                     /* under the lock */
void memory_after_fork(void);
void open_everything(void);
extern _Thread_local bool is_host_thread;         /* it queues commands, or copies: what it touches is no command's */
uint32_t command_count(void);                     /* commands.c */

/* faults.c: the first touch of a block. */

bool first_touch(const void *address, bool is_write); /* memory.c; false: not ours */
void faults_init(void);

#endif
