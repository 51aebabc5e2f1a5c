/* Blocks of memory that are kept between calls: their pages are there already. Each thread has places of its own, for the
 * operands and sums of a whole product and for what one of its parts packs; threads that come later share the places of
 * earlier ones, and a block is at one place at a time. */

#if defined(_MSC_VER)
#define OF_THREAD __declspec(thread)
#else
#define OF_THREAD _Thread_local
#endif

enum { FOR_PRODUCT, FOR_PART, USES };

#define LEAST_SCRATCH ((size_t)1 << 18)
static const size_t largest_scratch[USES] = {(size_t)1 << 26, (size_t)1 << 23}; /* larger blocks are not kept */
#define HEADING 64                        /* bytes before a block, where its size is */
#define PLACES 16

static volatile int64_t scratch_places[USES][PLACES], scratch_threads;
static OF_THREAD int scratch_number; /* of the thread, from 1 on */

/* Bytes of a block in a row of blocks: a multiple of 64. */
static size_t in_lines(int64_t bytes) { return ((size_t)bytes + 127) / 64 * 64; }

#if HAS_TEAM
static volatile int64_t *own_place(int use)
{
    if (!scratch_number)
        scratch_number = (int)(ADDED_TO(&scratch_threads, 1) % PLACES) + 1;
    return &scratch_places[use][scratch_number - 1];
}
#endif

static void *new_scratch(size_t size)
{
    char *found = malloc(size + HEADING);
    if (!found)
        return NULL;
    memcpy(found, &size, sizeof size);
    return found + HEADING;
}

static size_t size_of_scratch(const void *block)
{
    size_t size;
    memcpy(&size, (const char *)block - HEADING, sizeof size);
    return size;
}

static void free_scratch(void *block)
{
    if (block)
        free((char *)block - HEADING);
}

static void *taken_scratch(int use, size_t size)
{
#if HAS_TEAM
    void *found = (void *)(intptr_t)EXCHANGED(own_place(use), 0);
    if (found && size_of_scratch(found) >= size)
        return found;
    free_scratch(found);
#else
    (void)use;
#endif
    return new_scratch(size < LEAST_SCRATCH ? LEAST_SCRATCH : size);
}

static void give_back_scratch(int use, void *block)
{
#if HAS_TEAM
    if (block && size_of_scratch(block) <= largest_scratch[use])
        block = (void *)(intptr_t)EXCHANGED(own_place(use), (int64_t)(intptr_t)block);
#else
    (void)use;
#endif
    free_scratch(block);
}
