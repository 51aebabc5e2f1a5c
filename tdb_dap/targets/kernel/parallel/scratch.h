/* Blocks of memory that are kept between calls, because their pages are mapped already. */

#ifndef TDB_DAP_PARALLEL_SCRATCH_H
#define TDB_DAP_PARALLEL_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Operands and sums of a whole product, or the packed panels, or the rows of left factors, of one of its parts. */
enum { SCRATCH_PRODUCT, SCRATCH_PART, SCRATCH_ROWS, SCRATCH_USES };

/* Bytes of a block in a row of blocks: a multiple of 64. */
static inline size_t scratch_aligned(int64_t bytes) { return ((size_t)bytes + 127) / 64 * 64; }

/* A block of at least ``size`` bytes for the calling thread; NULL without memory. */
void *scratch_acquire(int use, size_t size);

/* Give back a block, or NULL. */
void scratch_release(int use, void *block);

#endif
