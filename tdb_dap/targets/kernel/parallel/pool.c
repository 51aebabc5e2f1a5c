/* Workers are started once, stay until the process ends, and touch neither Python objects nor the GIL. Between two pieces of
 * work they spin for some microseconds, so that short commands can be shared, too; then they sleep on a lock, as does the thread
 * that waits for their last part: the system may have stopped a worker in the middle of it. Threads and
 * locks are CPython's, which has them on every system. docs/decisions/thread-pool.md says why this is no library. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include "pool.h"

#include <string.h>

#if !defined(__STDC_NO_ATOMICS__) && UINTPTR_MAX > UINT32_MAX
#define HAS_THREADS 1
#include <stdatomic.h>
#else
#define HAS_THREADS 0
#endif

#define PARTS_PER_WORKER 3 /* of long work, so that no worker waits long for one that the system holds up */
#define LONG_WORK 32       /* times what is worth a part */

static struct {
    int workers;
    int64_t worth;
} configuration = {1, (int64_t)1 << 18};

#if HAS_THREADS
#if defined(__x86_64__) || defined(__i386__)
#define CPU_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define CPU_PAUSE() __asm__ volatile("yield")
#else
#define CPU_PAUSE() ((void)0)
#endif

#define SPIN_ROUNDS 4000 /* about 50 us */

typedef struct {
    PyThread_type_lock lock;
    _Atomic int64_t sleeps;
} Sleeper;

/* ``shares``: of each thread (number of the work, part after its last one, its next one), 32 and twice 16 bits: who takes a part
 * compares all of it, so that no part of a work that is over can be taken. Threads begin with their own share, so that what
 * one of them has written is read by the same one again, and then help the others. */
static struct {
    _Atomic int64_t shares[MOST_WORKERS], done, is_taken, is_open;
    int64_t parts;
    uint64_t number;
    ParallelTask task;
    void *of;
    int started;
    Sleeper workers[MOST_WORKERS], caller;
} pool;

/* Sleep until woken, unless ``is_over``. Whoever clears ``sleeps`` decides whether the lock is released. */
static void sleep_unless(Sleeper *sleeper, int (*is_over)(int), int number)
{
    atomic_store(&sleeper->sleeps, 1);
    if (!is_over(number) || !atomic_exchange(&sleeper->sleeps, 0))
        PyThread_acquire_lock(sleeper->lock, WAIT_LOCK);
}

static void wake(Sleeper *sleeper)
{
    if (atomic_load(&sleeper->sleeps) && atomic_exchange(&sleeper->sleeps, 0))
        PyThread_release_lock(sleeper->lock);
}

/* A lock that is held; 0: there is none. */
static int prepare_sleeper(Sleeper *sleeper)
{
    if (!sleeper->lock && (sleeper->lock = PyThread_allocate_lock()))
        PyThread_acquire_lock(sleeper->lock, WAIT_LOCK);
    atomic_store(&sleeper->sleeps, 0);
    return sleeper->lock != NULL;
}

static int64_t end_in(int64_t share) { return share >> 16 & 0xffff; }
static int64_t next_in(int64_t share) { return share & 0xffff; }

/* Works on parts until all are taken. */
static void run_parts(int own)
{
    for (int i = 0; i < MOST_WORKERS; i++) {
        _Atomic int64_t *share = &pool.shares[(own + i) % MOST_WORKERS];
        for (int64_t seen = atomic_load(share); next_in(seen) < end_in(seen); seen = atomic_load(share))
            if (atomic_compare_exchange_strong(share, &seen, seen + 1)) {
                const int64_t parts = pool.parts; /* those of the next work, as soon as this part is done */
                pool.task(pool.of, next_in(seen), parts);
                if (atomic_fetch_add(&pool.done, 1) + 1 == parts)
                    wake(&pool.caller);
            }
    }
}

static int is_done(int number)
{
    (void)number;
    return atomic_load(&pool.done) >= pool.parts;
}

static int has_work(int own)
{
    for (int i = 0; i < MOST_WORKERS; i++) {
        const int64_t seen = atomic_load(&pool.shares[(own + i) % MOST_WORKERS]);
        if (next_in(seen) < end_in(seen))
            return 1;
    }
    return 0;
}

static void worker_main(void *number)
{
    const int own = (int)(intptr_t)number;
    for (;;) {
        run_parts(own + 1);
        for (int round = 0; round < SPIN_ROUNDS && atomic_load(&pool.is_open) && !has_work(own + 1); round++)
            CPU_PAUSE();
        if (!has_work(own + 1))
            sleep_unless(&pool.workers[own], has_work, own + 1);
    }
}

/* Starts the workers that are missing. */
static void start_workers(void)
{
    while (pool.started + 1 < configuration.workers && pool.started + 1 < MOST_WORKERS) {
        const int own = pool.started;
        if (!prepare_sleeper(&pool.caller) || !prepare_sleeper(&pool.workers[own]) ||
            PyThread_start_new_thread(worker_main, (void *)(intptr_t)own) == (unsigned long)-1)
            return;
        pool.started++;
    }
}
#endif

void pool_configure(int workers, int64_t worth)
{
    configuration.workers = workers < MOST_WORKERS ? workers : MOST_WORKERS;
    configuration.worth = worth;
}

int pool_acquire(void)
{
#if HAS_THREADS
    if (configuration.workers < 2 || atomic_exchange(&pool.is_taken, 1))
        return 0;
    start_workers();
    atomic_store(&pool.is_open, 1);
    return 1;
#else
    return 0;
#endif
}

int pool_acquire_for(int64_t amount) { return amount >= 2 * configuration.worth && pool_acquire(); }

void pool_release(int has_pool)
{
#if HAS_THREADS
    if (has_pool) {
        atomic_store(&pool.is_open, 0);
        atomic_store(&pool.is_taken, 0);
    }
#else
    (void)has_pool;
#endif
}

void pool_forget(void)
{
#if HAS_THREADS
    memset((void *)&pool, 0, sizeof pool); /* locks that a thread may have held are not used again */
#endif
}

int64_t pool_parts(int has_pool, int64_t amount, int64_t most)
{
    int64_t parts = has_pool ? amount / configuration.worth : 1;
    const int64_t wanted = configuration.workers * (parts >= LONG_WORK * configuration.workers ? PARTS_PER_WORKER : 1);
    parts = parts < most ? parts : most;
    parts = parts < wanted ? parts : wanted;
    return parts < 1 ? 1 : parts < MOST_PARTS ? parts : MOST_PARTS;
}

int64_t pool_threads(int has_pool)
{
#if HAS_THREADS
    return has_pool ? pool.started + 1 : 1;
#else
    (void)has_pool;
    return 1;
#endif
}

void parallel_for(int has_pool, int64_t parts, ParallelTask task, void *of)
{
#if HAS_THREADS
    if (has_pool && parts > 1 && pool.started) {
        const int64_t threads = pool.started + 1 < parts ? pool.started + 1 : parts;
        pool.number++;
        pool.task = task;
        pool.of = of;
        pool.parts = parts;
        atomic_store(&pool.done, 0);
        for (int64_t i = threads - 1; i >= 0; i--) {
            const uint64_t first = (uint64_t)(parts * i / threads), end = (uint64_t)(parts * (i + 1) / threads);
            atomic_store(&pool.shares[i], (int64_t)(pool.number << 32 | end << 16 | first));
        }
        for (int i = 0; i < threads - 1; i++)
            wake(&pool.workers[i]);
        run_parts(0);
        for (int round = 0; !is_done(0); round++)
            if (round < SPIN_ROUNDS)
                CPU_PAUSE();
            else
                sleep_unless(&pool.caller, is_done, 0);
        return;
    }
#endif
    (void)has_pool;
    for (int64_t part = 0; part < parts; part++)
        task(of, part, parts);
}
