/* What a program gets that asks the loader for a function. */
#include "recorder.h"

#include <dlfcn.h>
#include <string.h>

static bool is_host_function(const char *name) {
    return !strncmp(name, "bmrt_", 5) || !strncmp(name, "bm_mem", 6) || !strncmp(name, "tpuRt", 5);
}

/* Whoever asks the loader for a function of the runtime, as ctypes does, gets ours. All other questions go on to the
   loader as a jump: whom RTLD_NEXT is meant for, it sees by where the call returns to. */
INTERPOSED void *dlsym(void *restrict handle, const char *restrict name) {
    if (handle != RTLD_NEXT && is_host_function(name) && loaded_symbol(handle, name)) {
        void *ours = own_function(name);
        if (ours)
            return ours;
    }
    if (handle != RTLD_NEXT && strstr(name, "cpu_process")) {
        void *found = loaded_symbol(handle, name);
        return found ? host_layer(name, found) : NULL;
    }
    return loaded_dlsym()(handle, name); /* a jump */
}
