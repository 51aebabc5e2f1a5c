/* The emulator libraries are opened by the runtime, each for itself: the next definition of an interposed function is
   asked of the library that calls it. */
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* Our own definition of dlsym is in loader.c; this is the loader's. */
static void *(*real_dlsym)(void *, const char *);
static void *own_handle;

static void find_real_dlsym(void) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
    Dl_info info;
    for (int i = 0; i < 2 && !real_dlsym; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&real_dlsym, &found, sizeof found);
    }
    if (dladdr(&own_handle, &info))
        own_handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

void *(*loaded_dlsym(void))(void *, const char *) {
    if (!real_dlsym)
        find_real_dlsym();
    return real_dlsym;
}

void *loaded_symbol(void *handle, const char *name) { return loaded_dlsym()(handle, name); }

void *own_function(const char *name) {
    void *(*find)(void *, const char *) = loaded_dlsym();
    return own_handle ? find(own_handle, name) : NULL;
}

#define MOST 64
static Library libraries[MOST];
static unsigned count, devices;

struct search {
    const char *address, *base, *end;
    const char *name;
};

static int covers(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *base = (const char *)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_LOAD && search->address >= base && search->address < base + header->p_memsz) {
            search->base = base;
            search->end = base + header->p_memsz;
            search->name = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

void *function_of(Library *library, const char *name) { return library->handle ? loaded_symbol(library->handle, name) : NULL; }

static Library *library_of(const void *caller) {
    for (unsigned i = 0; i < count; i++)
        if ((const char *)caller >= libraries[i].base && (const char *)caller < libraries[i].end)
            return &libraries[i];
    struct search search = {.address = caller};
    if (count == MOST || !dl_iterate_phdr(covers, &search))
        return NULL;
    Library *found = &libraries[count];
    memset(found, 0, sizeof *found);
    found->base = search.base;
    found->end = search.end;
    bool is_program = !search.name || !*search.name;
    found->handle = dlopen(is_program ? NULL : search.name, RTLD_NOW | RTLD_NOLOAD);
    const char *last = is_program ? "the program" : strrchr(search.name, '/');
    strncpy(found->name, last && *last == '/' ? last + 1 : is_program ? last : search.name, sizeof found->name - 1);
    found->chooses_function = function_of(found, "get_atomic_function") && !function_of(found, "execute_command");
    if (found->chooses_function || function_of(found, "execute_command"))
        found->device = devices++ % MOST_DEVICES;
    found->has_system_dma = function_of(found, "sdma_general_gen_cmd");
    found->global = function_of(found, "get_global_memaddr");
    found->global_size = function_of(found, "cmodel_get_global_mem_size");
    found->global_start = function_of(found, "cmodel_get_gmem_start_addr");
    found->l2 = function_of(found, "get_l2_sram");
    found->l2_size = function_of(found, "tpu_l2_sram_size");
    found->l2_start = function_of(found, "tpu_l2_sram_get_start_addr");
    found->fixed = function_of(found, "get_static_memaddr_by_node");
    found->processor = function_of(found, "get_dtcm_memaddr_by_node");
    found->processor_size = function_of(found, "cmodel_get_dtcm_mem_size");
    found->local = function_of(found, "get_local_mem");
    found->command_size = function_of(found, "get_cmd_bytesize");
    found->core = function_of(found, "get_cur_nodechip_idx");
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    count++;
    return found;
}

struct names {
    const char *name[1024];
    unsigned count;
};

static int collect(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct names *names = data;
    if (info->dlpi_name && *info->dlpi_name && names->count < sizeof names->name / sizeof *names->name)
        names->name[names->count++] = info->dlpi_name;
    return 0;
}

void *next_function(const char *name, const void *own) {
    struct names names = {.count = 0};
    dl_iterate_phdr(collect, &names); /* the loader's lock is held inside: nothing is opened there */
    for (unsigned i = 0; i < names.count; i++) {
        void *handle = dlopen(names.name[i], RTLD_NOW | RTLD_NOLOAD);
        void *function = handle ? loaded_symbol(handle, name) : NULL;
        if (handle)
            dlclose(handle);
        if (function && function != own)
            return function;
    }
    return NULL;
}

void *real_function(Library **library, const void *caller, const char *name, const void *own) {
    lock();
    *library = library_of(caller);
    unlock();
    void *function = *library ? function_of(*library, name) : NULL;
    return function && function != own ? function : next_function(name, own);
}
