/* The host's side on BM1690: models, launches and copies, as libtpuv7_modelrt and libtpuv7_rt are asked for them. */
#include "launches.h"

#include <string.h>

typedef struct {
    int32_t dtype, rank, shape[8];
    uint64_t address;
    uint8_t reserved[64];
} RuntimeTensor;

typedef struct {
    int32_t count;
    const char **names;
    const int32_t *dtypes;
    const float *scales;
    const int32_t *zero_points;
} Tensors;

typedef struct {
    uint64_t head[2];
    Tensors inputs, outputs;
    uint64_t rest[32]; /* more than any version has */
} NetInfo;

static void wait_for(void *stream) {
    static int (*wait)(void *);
    if (!wait)
        wait = (int (*)(void *))next_function("tpuRtStreamSynchronize", NULL);
    if (wait)
        wait(stream);
}

static void describe(Tensor *to, const RuntimeTensor *from) {
    *to = (Tensor){.dtype = (uint32_t)from->dtype, .address = from->address, .rank = from->rank};
    memcpy(to->shape, from->shape, sizeof to->shape);
    to->size = bytes_of(to);
}

static int counts(void *net, const char *name, int *outputs) {
    static NetInfo (*info)(void *, const char *);
    if (!info)
        info = (NetInfo (*)(void *, const char *))next_function("tpuRtGetNetInfo", NULL);
    *outputs = 0;
    if (!info)
        return 0;
    NetInfo found = info(net, name);
    bool sane = found.inputs.count >= 0 && found.inputs.count <= MOST_TENSORS && found.outputs.count >= 0 &&
                found.outputs.count <= MOST_TENSORS;
    *outputs = sane ? found.outputs.count : 0;
    return sane ? found.inputs.count : 0;
}

#define LAUNCH(name)                                                                                                   \
    INTERPOSED int name(void *net, const RuntimeTensor *inputs, RuntimeTensor *outputs, const char *text,              \
                        void *stream) {                                                                                \
        FIND_REAL(name, int (*)(void *, const RuntimeTensor *, RuntimeTensor *, const char *, void *));                \
        if (!recording() || !launch_enters())                                                                          \
            return real(net, inputs, outputs, text, stream);                                                           \
        Tensor given[MOST_TENSORS], made[MOST_TENSORS];                                                                \
        int out, in = counts(net, text, &out);                                                                         \
        for (int i = 0; i < in; i++)                                                                                   \
            describe(&given[i], &inputs[i]);                                                                           \
        for (int i = 0; i < out; i++)                                                                                  \
            describe(&made[i], &outputs[i]);                                                                           \
        uint32_t number = launch_begins(text, NO_STAGE, given, in, made, out);                                         \
        int result = real(net, inputs, outputs, text, stream);                                                         \
        wait_for(stream);                                                                                              \
        for (int i = 0; i < out; i++)                                                                                  \
            describe(&made[i], &outputs[i]);                                                                           \
        launch_ends(number, result, made, out);                                                                        \
        return result;                                                                                                 \
    }

LAUNCH(tpuRtLaunchNet)
LAUNCH(tpuRtLaunchNetAsync)

INTERPOSED int tpuRtLoadNet(const char *path, void *context, void *net) {
    FIND_REAL(tpuRtLoadNet, int (*)(const char *, void *, void *));
    if (!recording() || !launch_enters())
        return real(path, context, net);
    model_loads(path);
    int result = real(path, context, net);
    launch_leaves();
    return result;
}

INTERPOSED int tpuRtLoadNetFromMem(const void *data, uint64_t size, void *context, void *net) {
    FIND_REAL(tpuRtLoadNetFromMem, int (*)(const void *, uint64_t, void *, void *));
    if (!recording() || !launch_enters())
        return real(data, size, context, net);
    model_loads("");
    int result = real(data, size, context, net);
    launch_leaves();
    return result;
}

/* Copies without waiting are waited for: only then is it certain what was copied. */
#define COPIES(in, out, inside, parameter, argument, type, after)                                                      \
    INTERPOSED int in(uint64_t to, const void *from, uint64_t size parameter) {                                        \
        FIND_REAL(in, int (*)(uint64_t, const void *, uint64_t type));                                                 \
        if (!recording() || !copy_enters())                                                                            \
            return real(to, from, size argument);                                                                      \
        copy_in_begins(to, size);                                                                                      \
        int result = real(to, from, size argument);                                                                    \
        after;                                                                                                         \
        copy_in_ends(to, size, 0, 0, result);                                                                          \
        return result;                                                                                                 \
    }                                                                                                                  \
    INTERPOSED int out(void *to, uint64_t from, uint64_t size parameter) {                                             \
        FIND_REAL(out, int (*)(void *, uint64_t, uint64_t type));                                                      \
        if (!recording() || !copy_enters())                                                                            \
            return real(to, from, size argument);                                                                      \
        copy_out_begins();                                                                                             \
        int result = real(to, from, size argument);                                                                    \
        after;                                                                                                         \
        copy_out_ends(from, size, to, result);                                                                         \
        return result;                                                                                                 \
    }                                                                                                                  \
    INTERPOSED int inside(uint64_t to, uint64_t from, uint64_t size parameter) {                                       \
        FIND_REAL(inside, int (*)(uint64_t, uint64_t, uint64_t type));                                                 \
        if (!recording() || !copy_enters())                                                                            \
            return real(to, from, size argument);                                                                      \
        copy_in_begins(to, size);                                                                                      \
        int result = real(to, from, size argument);                                                                    \
        after;                                                                                                         \
        copy_in_ends(to, size, COPY_DEVICE, from, result);                                                             \
        return result;                                                                                                 \
    }

#define NOTHING
#define STREAM_PARAMETER , void *stream
#define STREAM_ARGUMENT , stream
#define STREAM_TYPE , void *

COPIES(tpuRtMemcpyS2D, tpuRtMemcpyD2S, tpuRtMemcpyD2D, NOTHING, NOTHING, NOTHING, (void)0)
COPIES(tpuRtMemcpyS2DAsync, tpuRtMemcpyD2SAsync, tpuRtMemcpyD2DAsync, STREAM_PARAMETER, STREAM_ARGUMENT, STREAM_TYPE,
       wait_for(stream))
