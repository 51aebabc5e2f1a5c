/* Events go into a buffer that the keeping process maps too, so that nothing is lost when this one is killed; a full
   buffer goes through a socket. */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CAPACITY (1u << 20)

struct shared {
    _Atomic uint32_t owner; /* process id of the recorded process, 0: none yet */
    _Atomic uint32_t others; /* processes that wanted to be it, too */
    _Atomic uint64_t start; /* bytes of the stream before the buffer */
    _Atomic uint64_t used;
    uint8_t data[];
};

static struct shared *shared;
static int connection = -1;
static _Atomic int state; /* 0 not asked, 1 recording, -1 not */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool holds;
static uint64_t pending;
static _Atomic uint32_t threads;
static _Thread_local uint32_t thread = UINT32_MAX;

void lock(void) { pthread_mutex_lock(&mutex); holds = true; }
void unlock(void) { holds = false; pthread_mutex_unlock(&mutex); }
bool locked_here(void) { return holds; }
bool is_recording(void) { return atomic_load(&state) == 1; }

uint32_t thread_number(void) {
    if (thread == UINT32_MAX)
        thread = atomic_fetch_add(&threads, 1);
    return thread;
}

void stop_recording(void) {
    atomic_store(&state, -1);
    if (connection >= 0)
        close(connection);
    connection = -1;
}

static void (*on_fork)(void);

static void child_after_fork(void) {
    if (atomic_load(&state) == 1) {
        stop_recording();
        on_fork();
    }
    pthread_mutex_init(&mutex, NULL);
    holds = false;
}

static bool open_stream(void) {
    const char *folder = getenv("TDB_DAP_RECORDING");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char path[sizeof name.sun_path];
    if (!folder || snprintf(path, sizeof path, "%s/buffer", folder) >= (int)sizeof path)
        return false;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return false;
    void *map = mmap(NULL, sizeof *shared + CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED)
        return false;
    shared = map;
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&shared->owner, &none, (uint32_t)getpid())) {
        atomic_fetch_add(&shared->others, 1);
        return false;
    }
    snprintf(name.sun_path, sizeof name.sun_path, "%s/socket", folder);
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&name, sizeof name)) {
        stop_recording();
        return false;
    }
    pthread_atfork(NULL, NULL, child_after_fork);
    return true;
}

bool stream_is_asked(void) { return atomic_load(&state) != 0; }

void stream_open(void (*forked)(void)) {
    on_fork = forked;
    atomic_store(&state, open_stream() ? 1 : -1);
}

static void send_all(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) { /* nobody keeps it any more: the program goes on without */
            stop_recording();
            return;
        }
        at += sent;
        size -= (size_t)sent;
    }
}

static void flush(void) {
    uint64_t used = atomic_load(&shared->used);
    uint32_t size = (uint32_t)used;
    if (!used)
        return;
    send_all(&size, sizeof size);
    if (is_recording())
        send_all(shared->data, used);
    atomic_store(&shared->used, 0); /* in this order: between the two the keeper takes nothing twice */
    atomic_fetch_add(&shared->start, used);
}

uint8_t *event_begin(enum event type, unsigned flags, unsigned core, size_t payload) {
    size_t size = 8 + ((payload + 7) & ~(size_t)7);
    if (atomic_load(&shared->used) + size > CAPACITY)
        flush();
    uint8_t *at = shared->data + atomic_load(&shared->used);
    uint32_t bytes = (uint32_t)payload;
    memset(at + size - 8, 0, 8); /* padding; of an empty event the header, written next */
    at[0] = (uint8_t)type;
    at[1] = (uint8_t)flags;
    at[2] = (uint8_t)core;
    at[3] = (uint8_t)(core >> 8);
    memcpy(at + 4, &bytes, 4);
    pending = size;
    return at + 8;
}

void event_end(void) { atomic_fetch_add(&shared->used, pending); }
