/* A program that uses the runtime of vendor.c: each argument is one thing to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define START 0x100000000ull

typedef struct {
    uint64_t address, reserved;
    uint32_t flags, size;
} Memory;

typedef struct {
    int32_t dtype, rank, shape[8];
    Memory memory;
    int32_t mode;
} Tensor;

static void *vendor;

static void *function(const char *name) {
    void *found = dlsym(vendor, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(99);
    }
    return found;
}

static void caught(int number) {
    (void)number;
    write(1, "caught\n", 7);
    _exit(7);
}

static uint8_t *memory(void) { return ((uint8_t * (*)(int)) function("get_global_memaddr"))(0); }
static void wait_for_commands(void) { ((void (*)(void))function("fake_wait"))(); }

static void queue(int core, unsigned kind, unsigned long from, unsigned long to, unsigned long size) {
    ((void (*)(int, int, uint32_t, uint64_t, uint64_t, uint64_t))function("fake_queue"))(core, 1, kind, from, to, size);
}

static void perform(const char *step) {
    char verb[32];
    unsigned long a = 0, b = 0, c = 0, d = 0, e = 0;
    sscanf(step, "%31s %lu %lu %lu %lu %lu", verb, &a, &b, &c, &d, &e);
    if (!strcmp(verb, "write")) { /* the host writes, and nobody is told: address, byte, size */
        memset(memory() + a, (int)b, c);
    } else if (!strcmp(verb, "copy")) { /* from, to, size, core */
        queue((int)d, 1, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "fill")) { /* byte, to, size */
        queue(0, 2, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "meet")) { /* two cores at once: from, to, size; the other core does it 1 MiB further on */
        queue(0, 3, a, b, c);
        queue(1, 3, a + (1 << 20), b + (1 << 20), c);
        wait_for_commands();
    } else if (!strcmp(verb, "helper")) {
        queue(0, 4, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "crash_in_command")) {
        queue(0, 5, 0, 0, 0);
        wait_for_commands();
    } else if (!strcmp(verb, "local")) {
        queue(0, 6, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "to_l2")) {
        queue(0, 7, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "scattered")) {
        queue(0, 9, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "from_l2")) {
        queue(0, 8, a, b, c);
        wait_for_commands();
    } else if (!strcmp(verb, "write_l2")) { /* address, byte, size */
        memset(((uint8_t * (*)(int)) function("get_l2_sram"))(0) + a, (int)b, c);
    } else if (!strcmp(verb, "maps")) { /* as many pieces of memory as the system allows, less some */
        static char *pages[70000];
        int count = 0;
        while (count < 70000) {
            char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (page == MAP_FAILED)
                break;
            pages[count++] = page;
            if (mprotect(page, 4096, PROT_NONE))
                break;
        }
        for (int i = 0; i < 10; i++)
            munmap(pages[--count], 8192);
    } else if (!strcmp(verb, "during")) { /* while a command is in flight the host writes: address, byte, size; child? */
        queue(0, 10, 0, 2 << 20, 64);
        ((void (*)(void))function("fake_wait_until_held"))();
        if (d) {
            int status;
            if (!fork()) {
                memset(memory(), 1, 8 << 20);
                _exit(0);
            }
            wait(&status);
            printf("child %d\n", status);
        }
        memset(memory() + a, (int)b, c);
        ((void (*)(void))function("fake_release"))();
        wait_for_commands();
    } else if (!strcmp(verb, "stream")) {
        ((void (*)(int, int, uint32_t, uint64_t, uint64_t, uint64_t))function("fake_stream"))(0, 0, 1, a, b, c);
    } else if (!strcmp(verb, "op")) { /* from, to, size, id */
        long sum = ((long (*)(uint64_t, uint64_t, uint64_t, int))function("fake_op"))(a, b, c, (int)d);
        wait_for_commands();
        printf("sum %ld\n", sum);
    } else if (!strcmp(verb, "bases")) {
        ((void (*)(void))function("fake_bases"))();
    } else if (!strcmp(verb, "s2d")) { /* address, byte, size */
        void *host = malloc(c);
        memset(host, (int)b, c);
        ((int (*)(void *, Memory, const void *))function("bm_memcpy_s2d"))(NULL, (Memory){START + a, 0, 0, (uint32_t)c},
                                                                           host);
        free(host);
    } else if (!strcmp(verb, "d2s")) { /* address, size */
        uint8_t *host = malloc(b);
        ((int (*)(void *, void *, Memory))function("bm_memcpy_d2s"))(NULL, host, (Memory){START + a, 0, 0, (uint32_t)b});
        printf("first %d\n", host[0]);
        free(host);
    } else if (!strcmp(verb, "load")) {
        ((_Bool (*)(void *, const char *))function("bmrt_load_bmodel"))(NULL, step + 5);
    } else if (!strcmp(verb, "launch")) { /* from, to, size, how often more (each further on), whether local memory changes */
        Tensor in = {.dtype = 2, .rank = 2, .shape = {4, (int)(c / 4)}, .memory = {START + a, d, (uint32_t)e, (uint32_t)c}};
        Tensor out = {.dtype = 2, .memory = {START + b, 0, 0, (uint32_t)c}};
        ((_Bool (*)(void *, const char *, const Tensor *, int, Tensor *, int))function("bmrt_launch_tensor"))(
            NULL, "net", &in, 1, &out, 1);
        wait_for_commands();
    } else if (!strcmp(verb, "firmware")) { /* writes into what a command of a launch has read; 2: and a child is made there */
        ((void (*)(int))function("fake_firmware_writes"))((int)a);
    } else if (!strcmp(verb, "print")) { /* address */
        printf("byte %d\n", memory()[a]);
    } else if (!strcmp(verb, "file")) { /* the system writes into the memory: address, size */
        int noise = open("/dev/urandom", O_RDONLY);
        printf("read %ld\n", (long)read(noise, memory() + a, b));
        close(noise);
    } else if (!strcmp(verb, "close")) {
        ((void (*)(void))function("fake_close"))();
        ((void (*)(void))function("fake_open"))();
    } else if (!strcmp(verb, "fork")) { /* the child does the next things too, and leaves */
        pid_t child = fork();
        if (!child) {
            memset(memory(), 1, 1 << 20);
            ((void (*)(int, int, uint32_t, uint64_t, uint64_t, uint64_t))function("fake_stream"))(0, 0, 1, 0, 4096, 64);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        printf("child %d\n", status);
    } else if (!strcmp(verb, "handler")) {
        signal(SIGSEGV, caught);
    } else if (!strcmp(verb, "asked")) { /* what the program is told that it had set */
        struct sigaction now;
        sigaction(SIGSEGV, NULL, &now);
        printf("handler %s\n", now.sa_handler == caught ? "own" : now.sa_handler == SIG_DFL ? "default" : "other");
    } else if (!strcmp(verb, "crash")) {
        *(volatile int *)8 = 1;
    } else if (!strcmp(verb, "abort")) {
        abort();
    } else if (!strcmp(verb, "exit")) {
        exit((int)a);
    } else if (!strcmp(verb, "kill")) {
        kill(getpid(), SIGKILL);
    } else if (!strcmp(verb, "next")) {
        void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
        printf("next %s\n", next ? "found" : "lost");
    } else if (!strcmp(verb, "blocked")) {
        sigset_t set;
        sigfillset(&set);
        sigprocmask(SIG_BLOCK, &set, NULL);
    } else if (!strcmp(verb, "again")) { /* the same program once more, as a process of its own */
        char *arguments[] = {"/proc/self/exe", getenv("FAKE_VENDOR"), "copy 0 4096 64", NULL};
        pid_t child = fork();
        if (!child) {
            execv(arguments[0], arguments);
            _exit(98);
        }
        waitpid(child, NULL, 0);
    } else if (!strcmp(verb, "pause")) { /* says so, and waits for a line */
        char line[16];
        printf("paused\n");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            exit(97);
    } else {
        fprintf(stderr, "what is %s?\n", verb);
        exit(99);
    }
    fflush(stdout);
}

int main(int count, char **arguments) {
    vendor = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!vendor) {
        fprintf(stderr, "%s\n", dlerror());
        return 99;
    }
    ((void (*)(void))function("fake_open"))();
    for (int i = 2; i < count; i++)
        perform(arguments[i]);
    return 0;
}
