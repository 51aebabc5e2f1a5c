/* The host's side on BM168x: models, launches and copies, as libbmrt and libbmlib are asked for them. */
#include "launches.h"

#include <string.h>

/* What the runtime calls bm_device_mem_t, and the form with 64-bit sizes. */
typedef struct {
    uint64_t address, reserved;
    uint32_t flags, size;
} Memory;

typedef struct {
    uint64_t address, reserved;
    uint32_t flags;
    uint64_t size;
} LongMemory;

typedef struct {
    int32_t dtype, rank, shape[8];
    Memory memory;
    int32_t mode;
} RuntimeTensor;

typedef struct {
    int32_t rank, shape[8];
} RuntimeShape;

static void describe(Tensor *to, const RuntimeTensor *from) {
    *to = (Tensor){(uint32_t)from->dtype, (uint32_t)from->mode, from->memory.address, from->memory.size, from->rank, {0}};
    memcpy(to->shape, from->shape, sizeof to->shape);
}

static int limited(int count) { return count < 0 ? 0 : count > MOST_TENSORS ? MOST_TENSORS : count; }

/* Launches return before the commands are executed: waiting keeps them between the begin and the end of the launch. */
static void wait_for(void *runtime) {
    static void *(*handle_of)(void *);
    static int (*wait)(void *);
    if (!handle_of)
        handle_of = (void *(*)(void *))next_function("bmrt_get_bm_handle", NULL);
    if (!wait)
        wait = (int (*)(void *))next_function("bm_thread_sync", NULL);
    if (handle_of && wait)
        wait(handle_of(runtime));
}

static uint32_t stage_of(void *runtime, const char *net, const RuntimeTensor *inputs, int count) {
    static int (*stage)(void *, const char *, const RuntimeTensor *, int);
    if (!stage)
        stage = (int (*)(void *, const char *, const RuntimeTensor *, int))next_function("bmrt_get_stage_index", NULL);
    int found = stage ? stage(runtime, net, inputs, count) : -1;
    return found < 0 ? NO_STAGE : (uint32_t)found;
}

/* Those that are given tensors have the same first six arguments. */
#define LAUNCH_TENSORS(name)                                                                                           \
    INTERPOSED long name(void *runtime, const char *net, const RuntimeTensor *inputs, int input_count,                 \
                         RuntimeTensor *outputs, int output_count, long a, long b, long c, long d, long e, long f) {   \
        FIND_REAL(name, long (*)(void *, const char *, const RuntimeTensor *, int, RuntimeTensor *, int, long, long,   \
                                 long, long, long, long));                                                             \
        if (!recording() || !launch_enters())                                                                          \
            return real(runtime, net, inputs, input_count, outputs, output_count, a, b, c, d, e, f);                   \
        Tensor given[MOST_TENSORS], made[MOST_TENSORS];                                                                \
        int in = limited(input_count), out = limited(output_count);                                                    \
        for (int i = 0; i < in; i++)                                                                                   \
            describe(&given[i], &inputs[i]);                                                                           \
        for (int i = 0; i < out; i++)                                                                                  \
            describe(&made[i], &outputs[i]);                                                                           \
        uint32_t number = launch_begins(net, stage_of(runtime, net, inputs, input_count), given, in, made, out);       \
        long result = real(runtime, net, inputs, input_count, outputs, output_count, a, b, c, d, e, f);                \
        if ((char)result)                                                                                              \
            wait_for(runtime);                                                                                         \
        for (int i = 0; i < out; i++)                                                                                  \
            describe(&made[i], &outputs[i]);                                                                           \
        launch_ends(number, (char)result ? 0 : 1, made, out);                                                          \
        return result;                                                                                                 \
    }

LAUNCH_TENSORS(bmrt_launch_tensor)
LAUNCH_TENSORS(bmrt_launch_tensor_ex)
LAUNCH_TENSORS(bmrt_launch_tensor_multi_cores)
LAUNCH_TENSORS(bmrt_launch_tensor_multi_thread)

/* The types of a net's tensors: fields of the record that describes it. */
typedef struct {
    const char *name;
    bool is_dynamic;
    int32_t input_count;
    const char **input_names;
    const int32_t *input_dtypes;
    const float *input_scales;
    int32_t output_count;
    const char **output_names;
    const int32_t *output_dtypes;
} NetInfo;

static const NetInfo *info_of(void *runtime, const char *net) {
    static const NetInfo *(*info)(void *, const char *);
    if (!info)
        info = (const NetInfo *(*)(void *, const char *))next_function("bmrt_get_network_info", NULL);
    return info ? info(runtime, net) : NULL;
}

static void describe_host(Tensor *to, const int32_t *dtypes, int known, int i, const RuntimeShape *shape) {
    *to = (Tensor){.dtype = dtypes && i < known ? (uint32_t)dtypes[i] : 0, .rank = shape->rank};
    memcpy(to->shape, shape->shape, sizeof to->shape);
    to->size = bytes_of(to);
}

#define LAUNCH_DATA(name)                                                                                              \
    INTERPOSED long name(void *runtime, const char *net, void *const *inputs, const RuntimeShape *shapes, int count,   \
                         void **outputs, RuntimeShape *output_shapes, int output_count, long a, long b, long c,        \
                         long d) {                                                                                     \
        FIND_REAL(name, long (*)(void *, const char *, void *const *, const RuntimeShape *, int, void **,              \
                                 RuntimeShape *, int, long, long, long, long));                                        \
        if (!recording() || !launch_enters())                                                                          \
            return real(runtime, net, inputs, shapes, count, outputs, output_shapes, output_count, a, b, c, d);        \
        const NetInfo *info = info_of(runtime, net);                                                                   \
        Tensor given[MOST_TENSORS], made[MOST_TENSORS];                                                                \
        int in = limited(count), out = limited(output_count);                                                          \
        RuntimeTensor tensors[MOST_TENSORS];                                                                           \
        memset(tensors, 0, sizeof *tensors * (size_t)in);                                                              \
        for (int i = 0; i < in; i++) {                                                                                 \
            describe_host(&given[i], info ? info->input_dtypes : NULL, info ? info->input_count : 0, i, &shapes[i]);   \
            tensors[i].dtype = (int32_t)given[i].dtype;                                                                \
            tensors[i].rank = shapes[i].rank;                                                                          \
            memcpy(tensors[i].shape, shapes[i].shape, sizeof tensors[i].shape);                                        \
        }                                                                                                              \
        uint32_t number = launch_begins(net, stage_of(runtime, net, tensors, in), given, in, made, 0);                 \
        long result = real(runtime, net, inputs, shapes, count, outputs, output_shapes, output_count, a, b, c, d);     \
        if ((char)result)                                                                                              \
            wait_for(runtime);                                                                                         \
        for (int i = 0; i < out && (char)result; i++)                                                                  \
            describe_host(&made[i], info ? info->output_dtypes : NULL, info ? info->output_count : 0, i,               \
                          &output_shapes[i]);                                                                          \
        launch_ends(number, (char)result ? 0 : 1, made, (char)result ? out : 0);                                       \
        return result;                                                                                                 \
    }

LAUNCH_DATA(bmrt_launch_data)
LAUNCH_DATA(bmrt_launch_data_multi_cores)
LAUNCH_DATA(bmrt_launch_data_multi_thread)

#define LOAD_FILE(name)                                                                                                \
    INTERPOSED long name(void *runtime, const char *path, long a, long b, long c, long d) {                            \
        FIND_REAL(name, long (*)(void *, const char *, long, long, long, long));                                       \
        if (recording() && launch_enters()) {                                                                          \
            model_loads(path);                                                                                         \
            long result = real(runtime, path, a, b, c, d);                                                             \
            launch_leaves();                                                                                           \
            return result;                                                                                             \
        }                                                                                                              \
        return real(runtime, path, a, b, c, d);                                                                        \
    }

LOAD_FILE(bmrt_load_bmodel)
LOAD_FILE(bmrt_load_bmodel_with_mem)
LOAD_FILE(bmrt_load_bmodel_with_decrypt)
LOAD_FILE(bmrt_load_bmodel_with_decrypt_lib)

#define LOAD_DATA(name)                                                                                                \
    INTERPOSED long name(void *runtime, const void *data, long a, long b, long c, long d) {                            \
        FIND_REAL(name, long (*)(void *, const void *, long, long, long, long));                                       \
        if (recording() && launch_enters()) {                                                                          \
            model_loads("");                                                                                           \
            long result = real(runtime, data, a, b, c, d);                                                             \
            launch_leaves();                                                                                           \
            return result;                                                                                             \
        }                                                                                                              \
        return real(runtime, data, a, b, c, d);                                                                        \
    }

LOAD_DATA(bmrt_load_bmodel_data)
LOAD_DATA(bmrt_load_bmodel_data_with_mem)

/* Copies: all forms of a family differ in where size and offset come from. */

#define COPY_IN_FORM(name, memory_type, parameters, arguments, types, bytes, offset)                                   \
    INTERPOSED int name(void *handle, memory_type memory, const void *host UNPACK parameters) {                        \
        FIND_REAL(name, int (*)(void *, memory_type, const void *UNPACK types));                                       \
        if (!recording() || !copy_enters())                                                                            \
            return real(handle, memory, host UNPACK arguments);                                                        \
        copy_in_begins(memory.address + (offset), (bytes));                                                            \
        int result = real(handle, memory, host UNPACK arguments);                                                      \
        copy_in_ends(memory.address + (offset), (bytes), 0, 0, result);                                                \
        return result;                                                                                                 \
    }

#define COPY_OUT_FORM(name, memory_type, parameters, arguments, types, bytes, offset)                                  \
    INTERPOSED int name(void *handle, void *host, memory_type memory UNPACK parameters) {                              \
        FIND_REAL(name, int (*)(void *, void *, memory_type UNPACK types));                                            \
        if (!recording() || !copy_enters())                                                                            \
            return real(handle, host, memory UNPACK arguments);                                                        \
        copy_out_begins();                                                                                             \
        int result = real(handle, host, memory UNPACK arguments);                                                      \
        copy_out_ends(memory.address + (offset), (bytes), host, result);                                               \
        return result;                                                                                                 \
    }

#define UNPACK(...) __VA_OPT__(, ) __VA_ARGS__

#define FORMS(M, prefix)                                                                                               \
    M(prefix, Memory, (), (), (), memory.size, 0)                                                                      \
    M(prefix##_poll, Memory, (), (), (), memory.size, 0)                                                               \
    M(prefix##_u64, LongMemory, (), (), (), memory.size, 0)                                                            \
    M(prefix##_poll_u64, LongMemory, (), (), (), memory.size, 0)                                                       \
    M(prefix##_partial, Memory, (uint32_t size), (size), (uint32_t), size, 0)                                          \
    M(prefix##_partial_u64, LongMemory, (uint64_t size), (size), (uint64_t), size, 0)                                  \
    M(prefix##_partial_offset, Memory, (uint32_t size, uint32_t at), (size, at), (uint32_t, uint32_t), size, at)       \
    M(prefix##_partial_offset_u64, LongMemory, (uint64_t size, uint64_t at), (size, at), (uint64_t, uint64_t), size, at)

FORMS(COPY_IN_FORM, bm_memcpy_s2d)
FORMS(COPY_OUT_FORM, bm_memcpy_d2s)

INTERPOSED int bm_memset_device(void *handle, int value, Memory memory) {
    FIND_REAL(bm_memset_device, int (*)(void *, int, Memory));
    if (!recording() || !copy_enters())
        return real(handle, value, memory);
    copy_in_begins(memory.address, memory.size);
    int result = real(handle, value, memory);
    copy_in_ends(memory.address, memory.size, COPY_SET, 0, result);
    return result;
}

#define SET_FORM(name, memory_type)                                                                                    \
    INTERPOSED int name(void *handle, void *value, int mode, memory_type memory) {                                     \
        FIND_REAL(name, int (*)(void *, void *, int, memory_type));                                                    \
        if (!recording() || !copy_enters())                                                                            \
            return real(handle, value, mode, memory);                                                                  \
        copy_in_begins(memory.address, memory.size);                                                                   \
        int result = real(handle, value, mode, memory);                                                                \
        copy_in_ends(memory.address, memory.size, COPY_SET, 0, result);                                                \
        return result;                                                                                                 \
    }

SET_FORM(bm_memset_device_ext, Memory)
SET_FORM(bm_memset_device_ext_u64, LongMemory)

/* Within the device: offsets and sizes in units of ``unit`` bytes. */
#define MOVE_FORM(name, memory_type, number, unit)                                                                     \
    INTERPOSED int name(void *handle, memory_type to, number to_offset, memory_type from, number from_offset,          \
                        number count, long core) {                                                                     \
        FIND_REAL(name, int (*)(void *, memory_type, number, memory_type, number, number, long));                      \
        if (!recording() || !copy_enters())                                                                            \
            return real(handle, to, to_offset, from, from_offset, count, core);                                        \
        uint64_t address = to.address + (uint64_t)to_offset * (unit), size = (uint64_t)count * (unit);                 \
        copy_in_begins(address, size);                                                                                 \
        int result = real(handle, to, to_offset, from, from_offset, count, core);                                      \
        copy_in_ends(address, size, COPY_DEVICE, from.address + (uint64_t)from_offset * (unit), result);               \
        return result;                                                                                                 \
    }

MOVE_FORM(bm_memcpy_d2d, Memory, int, 4)
MOVE_FORM(bm_memcpy_d2d_u64, LongMemory, int, 4)
MOVE_FORM(bm_memcpy_d2d_with_core, Memory, int, 4)
MOVE_FORM(bm_memcpy_d2d_byte, Memory, size_t, 1)
MOVE_FORM(bm_memcpy_d2d_byte_u64, LongMemory, size_t, 1)
MOVE_FORM(bm_memcpy_d2d_byte_with_core, Memory, size_t, 1)

/* Layers that run on the host: libbmrt asks the loader for the function that computes them. It must not find ours by
   itself: it looks whether the program has such a function before it loads the library that has it. */
#define CPU_FORM(name)                                                                                                 \
    static long (*real_##name)(void *, int, long, long, long, long, long, long);                                       \
    static long recorded_##name(void *handle, int operation, long a, long b, long c, long d, long e, long f) {         \
        bool is_recorded = recording();                                                                                \
        if (is_recorded)                                                                                               \
            cpu_layer((uint32_t)operation, false);                                                                     \
        long result = real_##name(handle, operation, a, b, c, d, e, f);                                                \
        if (is_recorded)                                                                                               \
            cpu_layer((uint32_t)operation, true);                                                                      \
        return result;                                                                                                 \
    }

CPU_FORM(bmcpu_process)
CPU_FORM(customcpu_process)

#define STANDS_FOR(function)                                                                                           \
    if (!strcmp(name, #function)) {                                                                                    \
        memcpy(&real_##function, &found, sizeof found);                                                                \
        long (*ours)(void *, int, long, long, long, long, long, long) = recorded_##function;                           \
        memcpy(&found, &ours, sizeof found);                                                                           \
    }

void *host_layer(const char *name, void *found) {
    STANDS_FOR(bmcpu_process)
    STANDS_FOR(customcpu_process)
    return found;
}
