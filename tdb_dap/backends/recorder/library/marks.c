/* What the firmware of dynamic subnets says of its ops on the way: calls between two functions of the emulator. */
#include "recorder.h"

#include <string.h>

_Thread_local uint32_t current_mark = NO_MARK;
static uint32_t marks;

#define NAMES(M)                                                                                                       \
    M(dynamic_context_group_begin)                                                                                     \
    M(dynamic_context_group_end)                                                                                       \
    M(dynamic_context_next_group)                                                                                      \
    M(dynamic_context_local_set_output_info)                                                                           \
    M(dynamic_context_global_set_output_info)                                                                          \
    M(dynamic_context_tensor_set_info)                                                                                 \
    M(dynamic_context_tensor_try_set_info)                                                                             \
    M(dynamic_context_get_input_addr)                                                                                  \
    M(dynamic_context_get_output_addr)                                                                                 \
    M(dynamic_context_try_get_input_addr)                                                                              \
    M(dynamic_context_try_get_output_addr)                                                                             \
    M(dynamic_context_set_io_tensors)                                                                                  \
    M(dynamic_context_assign_final_outputs)                                                                            \
    M(dynamic_context_unpack_group_info)                                                                               \
    M(dynamic_fullnet_compile)                                                                                         \
    M(nodechip_dynamic_fullnet_compile)                                                                                \
    M(nodechip_dynamic_fullnet_compile_v2)                                                                             \
    M(nodechip_multi_fullnet)                                                                                          \
    M(sg_api_dynamic_fullnet)                                                                                          \
    M(sg_api_multi_fullnet)                                                                                            \
    M(bm_api_dynamic_fullnet)

struct tensor {
    int32_t id, rank, shape[8];
};

/* Where the calls that end an op say which tensor it made: offsets found by looking at what they are given.
   id, rank and shape lie in a record of the emulator. */
static bool tensor_of(const Library *library, uint32_t name, const long *arguments, struct tensor *tensor);

static void mark(Library *library, uint32_t name, const char *text, bool *is_named, const long *arguments, long result) {
    int core = library->core ? library->core() : 0;
    is_host_thread = true;
    struct tensor tensor;
    bool has_tensor = tensor_of(library, name, arguments, &tensor);
    lock();
    if (is_recording()) {
        if (!library->cores_seen && core >= 0) /* a subnet may have no command at all */
            regions_of_core(library, core);
        if (!*is_named) {
            size_t length = strlen(text);
            uint8_t *at = event_begin(NAME, 0, 0, 4 + length);
            memcpy(at, &name, 4);
            memcpy(at + 4, text, length);
            event_end();
            *is_named = true;
        }
        uint32_t head[2] = {name, thread_number()};
        int64_t numbers[5] = {arguments[0], arguments[1], arguments[2], arguments[3], result};
        size_t extra = has_tensor ? 8 + 4 * (size_t)tensor.rank : 0;
        uint8_t *at = event_begin(MARK, library->device << 4, (unsigned)core, sizeof head + sizeof numbers + extra);
        memcpy(at, head, sizeof head);
        memcpy(at + sizeof head, numbers, sizeof numbers);
        memcpy(at + sizeof head + sizeof numbers, &tensor, extra);
        event_end();
        current_mark = marks++;
    }
    unlock();
}

/* The functions have up to twenty arguments: those beyond a function's own are whatever is on the stack. */
#define STACK(M) M(g), M(h), M(i), M(j), M(k), M(l), M(m), M(n), M(o), M(p), M(q), M(r), M(s), M(t), M(u), M(v)
#define DECLARED(name) long name
#define USED(name) name
#define INTERPOSE(name)                                                                                                \
    INTERPOSED long name(long a, long b, long c, long d, long e, long f, STACK(DECLARED)) {                            \
        FIND_REAL(name, long (*)(long, long, long, long, long, long, STACK(DECLARED)));                                \
        static bool is_named;                                                                                          \
        long arguments[4] = {a, b, c, d}, result = real(a, b, c, d, e, f, STACK(USED));                                \
        if (library && recording())                                                                                    \
            mark(library, number_##name, #name, &is_named, arguments, result);                                         \
        return result;                                                                                                 \
    }

#define NUMBER(name) number_##name,
enum { NAMES(NUMBER) };
NAMES(INTERPOSE)

static bool fill(struct tensor *tensor, const uint8_t *id, const uint8_t *rank, const void *shape) {
    memcpy(&tensor->id, id, 4);
    memcpy(&tensor->rank, rank, 4);
    if (tensor->rank < 0 || tensor->rank > 8)
        return false;
    memcpy(tensor->shape, shape, 4 * (size_t)tensor->rank);
    return true;
}

static bool tensor_of(const Library *library, uint32_t name, const long *arguments, struct tensor *tensor) {
    const uint8_t *given, *inner;
    switch (name) {
    case number_dynamic_context_global_set_output_info:
    case number_dynamic_context_tensor_set_info:
    case number_dynamic_context_tensor_try_set_info:
        given = (const uint8_t *)arguments[1];
        memcpy(&inner, given + 0x18, sizeof inner);
        return fill(tensor, given, given + 0x14, inner);
    case number_dynamic_context_local_set_output_info:
        given = (const uint8_t *)arguments[2];
        if (!library->chooses_function)
            return fill(tensor, given + 0x10, given + 0x2c, given + 0x30);
        memcpy(&inner, given + 0x10, sizeof inner);
        return fill(tensor, inner, inner + 0x10, inner + 0x14);
    default:
        return false;
    }
}
