/* Memory of each thread that sums are formed in, used again and again: its pages are there already, and no thread waits for
 * another one to get it. One block at a time. */

#if defined(_MSC_VER)
#define OF_THREAD __declspec(thread)
#else
#define OF_THREAD _Thread_local
#endif

#define LEAST_SCRATCH ((size_t)1 << 18)
#define LARGEST_SCRATCH ((size_t)1 << 23) /* larger blocks are not kept */

static OF_THREAD struct {
    void *block;
    size_t size;
} scratch;

/* Bytes of a block in a row of blocks: a multiple of 64. */
static size_t in_lines(int64_t bytes) { return ((size_t)bytes + 127) / 64 * 64; }

static void *taken_scratch(size_t size)
{
    if (size > LARGEST_SCRATCH)
        return malloc(size);
    if (size > scratch.size) {
        free(scratch.block);
        scratch.size = size < LEAST_SCRATCH ? LEAST_SCRATCH : size;
        scratch.block = malloc(scratch.size);
        if (!scratch.block)
            scratch.size = 0;
    }
    return scratch.block;
}

static void give_back_scratch(void *block)
{
    if (block != scratch.block)
        free(block);
}
