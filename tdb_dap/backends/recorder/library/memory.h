/* What the recording knows of the device's memories, block by block. */
#ifndef MEMORY_H
#define MEMORY_H

#include "recorder.h"

#define PAGE 4096u
#define BLOCK_BYTES (16u << 10)
#define MOST_SPACES 256
#define MOST_FLYING 256

enum { READABLE = 1, WRITABLE = 2, BY_HOST = 4, UNKNOWN = 8 };

typedef struct {
    char space;
    bool is_closed;   /* while commands are in flight */
    bool has_edges;   /* its first and last block are never closed */
    unsigned device, core;
    uint8_t *base;    /* of the memory; blocks are those of host pages, so the first and the last may be shorter */
    uint64_t size, start;
    uint8_t *first;   /* page that base is in */
    uint8_t *closed_first, *closed_end; /* whole pages that may be closed */
    uint32_t blocks, touched_count;
    uint64_t *known;  /* hash of what the recording says of a block; zeros have the hash 0 */
    uint8_t *state;
    uint32_t *touched;
} Space;

extern Space spaces[MOST_SPACES];
extern unsigned space_count;
extern unsigned in_flight;      /* commands that have begun and not ended */
extern uint32_t flying[];       /* their numbers, at most MOST_FLYING */
extern bool closed;             /* DDR and L2 are, except blocks that were touched */
extern bool unprotectable;      /* the system has refused to close something */
extern _Thread_local uint32_t own_command;

uint8_t *block_bytes(const Space *space, uint32_t block, size_t *size);
void ensure_known(Space *space, uint32_t block);
void range_event(const Space *space, uint64_t offset, const uint8_t *bytes, uint64_t size);
void ensure_edges_known(Space *space);
void protect(Space *space, int protection);

#endif
