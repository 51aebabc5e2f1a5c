/* Events of models, launches and copies. */
#include "launches.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static uint32_t launches, models;
static _Thread_local bool in_launch, in_copy;
static _Thread_local uint32_t commands_before;

bool launch_enters(void) {
    if (in_launch)
        return false;
    is_host_thread = true;
    return in_launch = true;
}

void launch_leaves(void) { in_launch = false; }

static bool is_whole(const Tensor *tensor) { return tensor->rank >= 0 && tensor->rank <= 8; }

static size_t tensors_size(const Tensor *tensors, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += 28 + (is_whole(&tensors[i]) ? 4 * (size_t)tensors[i].rank : 0);
    return size;
}

static uint8_t *put_tensors(uint8_t *at, const Tensor *tensors, int count) {
    for (int i = 0; i < count; i++) {
        const Tensor *tensor = &tensors[i];
        int32_t rank = is_whole(tensor) ? tensor->rank : 0;
        memcpy(at, &tensor->dtype, 4);
        memcpy(at + 4, &tensor->mode, 4);
        memcpy(at + 8, &tensor->address, 8);
        memcpy(at + 16, &tensor->size, 8);
        memcpy(at + 24, &rank, 4);
        memcpy(at + 28, tensor->shape, 4 * (size_t)rank);
        at += 28 + 4 * rank;
    }
    return at;
}

uint32_t launch_begins(const char *net, uint32_t stage, const Tensor *in, int inputs, const Tensor *out, int outputs) {
    size_t length = net ? strnlen(net, 4096) : 0;
    wait_until_quiet();
    lock();
    uint32_t number = launches++;
    launch_runs(1);
    if (is_recording()) {
        compare_private_memories();
        uint8_t *at = event_begin(LAUNCH_BEGIN, 0, 0,
                                  14 + length + tensors_size(in, inputs) + tensors_size(out, outputs));
        uint32_t head[2] = {number, stage};
        uint16_t counts[3] = {(uint16_t)inputs, (uint16_t)outputs, (uint16_t)length};
        memcpy(at, head, 8);
        memcpy(at + 8, counts, 6);
        memcpy(at + 14, net ? net : "", length);
        put_tensors(put_tensors(at + 14 + length, in, inputs), out, outputs);
        event_end();
    }
    unlock();
    return number;
}

void launch_ends(uint32_t number, int result, const Tensor *out, int outputs) {
    wait_until_quiet();
    lock();
    launch_runs(-1);
    if (is_recording()) {
        learn_private_memories();
        uint8_t *at = event_begin(LAUNCH_END, 0, 0, 10 + tensors_size(out, outputs));
        int32_t code = result;
        uint16_t count = (uint16_t)outputs;
        memcpy(at, &number, 4);
        memcpy(at + 4, &code, 4);
        memcpy(at + 8, &count, 2);
        put_tensors(at + 10, out, outputs);
        event_end();
    }
    unlock();
    launch_leaves();
}

void model_loads(const char *path) {
    char whole[PATH_MAX];
    if (!path || !*path || !realpath(path, whole))
        whole[0] = 0;
    size_t length = strlen(whole);
    lock();
    uint32_t number = models++;
    if (is_recording()) {
        uint8_t *at = event_begin(MODEL, 0, 0, 4 + length);
        memcpy(at, &number, 4);
        memcpy(at + 4, whole, length);
        event_end();
    }
    unlock();
}

void cpu_layer(uint32_t operation, bool is_end) {
    uint32_t value[2] = {operation, is_end};
    lock();
    if (is_recording()) {
        memcpy(event_begin(CPU_LAYER, 0, 0, sizeof value), value, sizeof value);
        event_end();
    }
    unlock();
}

bool copy_enters(void) {
    if (in_copy)
        return false;
    is_host_thread = true;
    return in_copy = true;
}

void copy_in_begins(uint64_t address, uint64_t size) {
    wait_until_quiet();
    lock();
    commands_before = command_count();
    host_comes();
    if (is_recording())
        copy_in_before(address, size);
    unlock();
}

/* What the device did with commands of its own is in the recording already. */
void copy_in_ends(uint64_t address, uint64_t size, unsigned flags, uint64_t source, int result) {
    lock();
    bool by_commands = command_count() != commands_before && flags;
    if (is_recording() && !result && !by_commands)
        copy_in_after(address, size, flags, source);
    unlock();
    in_copy = false;
}

void copy_out_begins(void) {
    wait_until_quiet();
    lock();
    host_comes();
    unlock();
}

void copy_out_ends(uint64_t address, uint64_t size, const void *host, int result) {
    lock();
    host_comes(); /* the copy may have been made of commands, which close the memories again */
    if (is_recording() && !result)
        copy_out(address, size, host);
    unlock();
    in_copy = false;
}

uint64_t bytes_of(const Tensor *tensor) {
    static const uint8_t sizes[] = {4, 2, 1, 1, 2, 2, 4, 4, 2};
    uint64_t bytes = tensor->dtype < sizeof sizes ? sizes[tensor->dtype] : 1;
    for (int i = 0; i < tensor->rank && i < 8; i++)
        bytes *= (uint64_t)tensor->shape[i];
    return bytes;
}
