/* A runtime that is built as the vendor's is: memories of malloc, a queue for each engine, all calls through the table
   of the linker. Its commands copy, fill, wait for each other and go wrong. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CORES 2
#define GLOBAL (64u << 20)
#define START 0x100000000ull
#define LANES 4u
#define LANE (64u << 10)
#define L2 (100u << 10)

enum { COPY = 1, FILL, MEET, BY_HELPER, CRASH, TO_LOCAL, TO_L2, FROM_L2, SCATTERED, HELD };

struct command {
    uint32_t kind, id;
    uint64_t from, to, size;
};

struct local {
    uint8_t *content;
    void *lanes;
    uint32_t lane_count, lane_size;
};

static uint8_t *global, *l2, *fixed[CORES];
static struct local locals[CORES];
static _Thread_local int core_here;
static atomic_int meeting, running, released;

/* DDR and local memory have pages of their own, as malloc gives for what is large; L2 shares its first and last. */
void fake_open(void) {
    global = calloc(1, GLOBAL);
    l2 = calloc(1, L2);
    for (int i = 0; i < CORES; i++) {
        fixed[i] = calloc(1, 64 << 10);
        locals[i] = (struct local){malloc(LANES * LANE), NULL, LANES, LANE};
        for (uint32_t k = 0; k < LANES * LANE; k += 4)
            memcpy(locals[i].content + k, "\xef\xbe\xad\xde", 4);
    }
}

/* Nothing is given back: what is opened next has other addresses. */
void fake_close(void) { global = l2 = NULL; }

void fake_wait_until_held(void) {
    while (!atomic_load(&running))
        ;
}

void fake_release(void) { atomic_store(&released, 1); }

uint8_t *get_global_memaddr(int core) { return core < CORES ? global : NULL; }
uint64_t cmodel_get_global_mem_size(int core) { return core < CORES ? GLOBAL : 0; }
uint64_t cmodel_get_gmem_start_addr(int core) { return core < CORES ? START : 0; }
uint8_t *get_l2_sram(int core) { return core < CORES ? l2 : NULL; }
uint64_t tpu_l2_sram_size(void) { return L2; }
uint64_t tpu_l2_sram_get_start_addr(void) { return 0x10000000; }
uint8_t *get_static_memaddr_by_node(int core) { return fixed[core]; }
struct local *get_local_mem(int core) { return &locals[core]; }
int get_cur_nodechip_idx(void) { return core_here; }
uint32_t get_cmd_bytesize(const void *command, int engine) { return command && engine >= 0 ? sizeof(struct command) : 0; }

static void *help(void *given) {
    const struct command *command = given;
    memmove(global + command->to, global + command->from, command->size);
    return NULL;
}

long execute_command(int core, void *descriptor, int engine) {
    const struct command *command = descriptor;
    pthread_t helper;
    switch (command->kind) {
    case COPY:
        memmove(global + command->to, global + command->from, command->size);
        break;
    case FILL:
        memset(global + command->to, (int)command->from, command->size);
        break;
    case MEET: /* both have begun before either goes on */
        atomic_fetch_add(&meeting, 1);
        while (atomic_load(&meeting) < CORES)
            ;
        memmove(global + command->to, global + command->from, command->size);
        break;
    case BY_HELPER:
        pthread_create(&helper, NULL, help, descriptor);
        pthread_join(helper, NULL);
        break;
    case CRASH:
        *(volatile int *)8 = 1;
        break;
    case TO_LOCAL:
        memcpy(locals[core].content + command->to, global + command->from, command->size);
        break;
    case SCATTERED: /* a byte in every 64 KiB */
        for (uint64_t at = 0; at < command->size; at += 64 << 10)
            global[command->to + at] = global[command->from + at];
        break;
    case HELD: /* until the host says so; it has read and written before */
        memmove(global + command->to, global + command->from, command->size);
        atomic_store(&running, 1);
        while (!atomic_load(&released))
            ;
        break;
    case TO_L2:
        memcpy(l2 + command->to, global + command->from, command->size);
        break;
    case FROM_L2:
        memcpy(global + command->to, l2 + command->from, command->size);
        break;
    }
    return engine;
}

/* One thread for each core executes; the caller goes on. */
struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    struct command commands[256];
    int engines[256];
    unsigned first, count, running;
};

static struct queue queues[CORES];

static void *engine(void *given) {
    struct queue *queue = given;
    int core = (int)(queue - queues);
    core_here = core;
    for (;;) {
        pthread_mutex_lock(&queue->mutex);
        while (!queue->count)
            pthread_cond_wait(&queue->changed, &queue->mutex);
        struct command command = queue->commands[queue->first % 256];
        int number = queue->engines[queue->first++ % 256];
        queue->count--;
        queue->running = 1;
        pthread_mutex_unlock(&queue->mutex);
        execute_command(core, &command, number);
        pthread_mutex_lock(&queue->mutex);
        queue->running = 0;
        pthread_cond_broadcast(&queue->changed);
        pthread_mutex_unlock(&queue->mutex);
    }
    return NULL;
}

long cmodel_call_atomic(int core, void *descriptor, int number) {
    struct queue *queue = &queues[core];
    pthread_mutex_lock(&queue->mutex);
    if (!queue->thread)
        pthread_create(&queue->thread, NULL, engine, queue);
    memcpy(&queue->commands[(queue->first + queue->count) % 256], descriptor, sizeof(struct command));
    queue->engines[(queue->first + queue->count++) % 256] = number;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    return 0;
}

void fake_wait(void) {
    for (int i = 0; i < CORES; i++) {
        pthread_mutex_lock(&queues[i].mutex);
        while (queues[i].count || queues[i].running)
            pthread_cond_wait(&queues[i].changed, &queues[i].mutex);
        pthread_mutex_unlock(&queues[i].mutex);
    }
}

void fake_queue(int core, int number, uint32_t kind, uint64_t from, uint64_t to, uint64_t size) {
    static uint32_t id;
    struct command command = {kind, ++id, from, to, size};
    core_here = core;
    cmodel_call_atomic(core, &command, number);
}

/* As if it stood in a command stream: the firmware has not queued it. */
void fake_stream(int core, int number, uint32_t kind, uint64_t from, uint64_t to, uint64_t size) {
    struct command command = {kind, 0, from, to, size};
    execute_command(core, &command, number);
}

void atomic_set_base_ddr(const int *tags, const uint64_t *bases, int count, int number) {
    (void)tags, (void)bases, (void)count, (void)number;
}

void fake_bases(void) {
    int tags[] = {1, 2};
    uint64_t bases[] = {0x1000, 0x2000};
    atomic_set_base_ddr(tags, bases, 2, 1);
}

/* Arguments on the stack have to arrive, too. */
long dynamic_context_set_io_tensors(long a, long b, long c, long d, long e, long f, long g, long h) {
    return a + b + c + d + e + f + g + h;
}

long dynamic_context_local_set_output_info(void *context, void *memory, const uint8_t *info) {
    (void)context, (void)memory;
    return info[0x10];
}

long fake_op(uint64_t from, uint64_t to, uint64_t size, int id) {
    uint8_t info[0x60] = {0};
    int32_t shape[] = {3, 1, (int32_t)size, 7};
    memcpy(info + 0x10, &id, 4);
    memcpy(info + 0x2c, shape, sizeof shape);
    long sum = dynamic_context_set_io_tensors(1, 2, 3, 4, 5, 6, 7, 8);
    fake_queue(0, 1, COPY, from, to, size);
    dynamic_context_local_set_output_info(NULL, NULL, info);
    fake_queue(0, 1, COPY, from, to + size, size);
    return sum;
}

/* The host's side. */

typedef struct {
    uint64_t address, reserved;
    uint32_t flags, size;
} Memory;

typedef struct {
    int32_t dtype, rank, shape[8];
    Memory memory;
    int32_t mode;
} Tensor;

int bm_memcpy_s2d_partial_offset(void *handle, Memory memory, const void *host, uint32_t size, uint32_t offset) {
    (void)handle;
    memcpy(global + (memory.address - START) + offset, host, size);
    return 0;
}

int bm_memcpy_s2d(void *handle, Memory memory, const void *host) {
    return bm_memcpy_s2d_partial_offset(handle, memory, host, memory.size, 0);
}

int bm_memcpy_d2s(void *handle, void *host, Memory memory) {
    (void)handle;
    memcpy(host, global + (memory.address - START), memory.size);
    return 0;
}

int bm_thread_sync(void *handle) {
    (void)handle;
    fake_wait();
    return 0;
}

void *bmrt_get_bm_handle(void *runtime) { return runtime; }

_Bool bmrt_load_bmodel(void *runtime, const char *path) { return path != runtime; }

static int firmware_writes;
void fake_firmware_writes(int how) { firmware_writes = how; }

/* The net: its output is its input, and half of its first dimension is left. Comes back before it is computed. */
_Bool bmrt_launch_tensor_ex(void *runtime, const char *net, const Tensor *inputs, int input_count, Tensor *outputs,
                            int output_count, _Bool memory, _Bool mode) {
    (void)runtime, (void)net, (void)memory, (void)mode;
    for (int i = 0; i < input_count && i < output_count; i++) {
        for (uint64_t k = 0; k <= inputs[i].memory.reserved; k++) { /* as often as that says, and once */
            uint64_t at = k * inputs[i].memory.size % (16 << 20);
            fake_queue(0, 1, COPY, inputs[i].memory.address - START + at, outputs[i].memory.address - START + at,
                       inputs[i].memory.size);
            if (firmware_writes) {
                fake_wait();
                if (firmware_writes > 1 && !fork()) { /* a child, while the memory is closed */
                    memset(global, 1, 1 << 20);
                    execute_command(0, &(struct command){COPY, 0, 0, 1 << 20, 64}, 1);
                    _exit(0);
                }
                if (firmware_writes > 1) {
                    int status;
                    wait(&status);
                    printf("child %d\n", status);
                }
                global[inputs[i].memory.address - START + at] = (uint8_t)(k + 100);
            }
            if (k % 128 == 127)
                fake_wait();
        }
        if (inputs[i].memory.flags)
            fake_queue(0, 1, TO_LOCAL, inputs[i].memory.address - START, 0, 64);
        outputs[i].rank = inputs[i].rank;
        memcpy(outputs[i].shape, inputs[i].shape, sizeof inputs[i].shape);
        outputs[i].shape[0] /= 2;
    }
    return 1;
}

/* What bmrt_launch_tensor_ex is to others: calls nest. */
_Bool bmrt_launch_tensor(void *runtime, const char *net, const Tensor *inputs, int input_count, Tensor *outputs,
                         int output_count) {
    return bmrt_launch_tensor_ex(runtime, net, inputs, input_count, outputs, output_count, 0, 0);
}

__attribute__((constructor)) static void prepare(void) {
    for (int i = 0; i < CORES; i++) {
        pthread_mutex_init(&queues[i].mutex, NULL);
        pthread_cond_init(&queues[i].changed, NULL);
    }
}
