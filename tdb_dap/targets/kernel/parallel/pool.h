/* A pool of threads that share the parts of one piece of work. */

#ifndef TDB_DAP_PARALLEL_POOL_H
#define TDB_DAP_PARALLEL_POOL_H

#include <stdint.h>

/* One of ``parts`` parts of some work. */
typedef void (*ParallelTask)(void *of, int64_t part, int64_t parts);

#define MOST_WORKERS 8 /* threads, the caller's included */
#define MOST_PARTS 32  /* parts of one piece of work */

/* Use ``workers`` threads from now on; ``worth``: multiplications, or what takes as long, that pay for a part. */
void pool_configure(int workers, int64_t worth);

/* Take the pool for the caller until pool_release; 0: another thread has it, and the caller works alone. The caller holds the
 * GIL, because threads are started here. */
int pool_acquire(void);
void pool_release(int has_pool);

/* The same, but only for work that is worth two parts. */
int pool_acquire_for(int64_t amount);

/* After fork the child has no workers. */
void pool_forget(void);

/* Threads that share the work of a caller. */
int64_t pool_threads(int has_pool);

/* Parts that work of this ``amount`` is cut into, at most ``most``. */
int64_t pool_parts(int has_pool, int64_t amount, int64_t most);

/* Run all parts of some work, in any order; callers that have the pool share it. */
void parallel_for(int has_pool, int64_t parts, ParallelTask task, void *of);

#endif
