/* Models, launches and copies, whatever runtime is asked for them. */
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include "recorder.h"

#define MOST_TENSORS 256

typedef struct {
    uint32_t dtype, mode;
    uint64_t address, size;
    int32_t rank, shape[8];
} Tensor;

/* Calls nest: only the outermost of a thread is recorded. Those that enter leave, with one of the functions below. */
bool launch_enters(void);
uint32_t launch_begins(const char *net, uint32_t stage, const Tensor *in, int inputs, const Tensor *out, int outputs);
void launch_ends(uint32_t number, int result, const Tensor *out, int outputs);
void launch_leaves(void);
void cpu_layer(uint32_t operation, bool is_end);
void model_loads(const char *path);

bool copy_enters(void);
void copy_in_begins(uint64_t address, uint64_t size);
void copy_in_ends(uint64_t address, uint64_t size, unsigned flags, uint64_t source, int result);
void copy_out_begins(void);
void copy_out_ends(uint64_t address, uint64_t size, const void *host, int result);

uint64_t bytes_of(const Tensor *tensor);

#endif
