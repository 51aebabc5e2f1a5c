/* A mode of this thread in which float32 is rounded toward zero, and subnormal numbers count as zeros, operands and results. */

#ifndef TDB_DAP_SCALAR_TOWARD_ZERO_H
#define TDB_DAP_SCALAR_TOWARD_ZERO_H

#include "compiler.h"

#if IS_X86 && defined(__x86_64__)
/* The mode before. Forgets what was beyond the range so far. */
static inline uint64_t round_toward_zero(void)
{
    const uint32_t before = _mm_getcsr();
    _mm_setcsr(0x1f80 | _MM_ROUND_TOWARD_ZERO | _MM_FLUSH_ZERO_ON | 0x40);
    return before;
}

/* Back to the mode before; whether a number was beyond the range meanwhile. */
static inline int round_as_before(uint64_t before)
{
    const uint32_t state = _mm_getcsr();
    _mm_setcsr((uint32_t)before);
    return (state & _MM_EXCEPT_OVERFLOW) != 0;
}
#elif defined(__aarch64__)
static inline uint64_t round_toward_zero(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 7ull << 22) : "memory"); /* the rounding mode, 3, and FZ */
    __asm__ volatile("msr fpsr, %0" : : "r"(0ull) : "memory");
    return before;
}

static inline int round_as_before(uint64_t before)
{
    uint64_t state;
    __asm__ volatile("mrs %0, fpsr" : "=r"(state) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
    return (state & 4) != 0;
}
#else /* such sums are not known here */
static inline uint64_t round_toward_zero(void)
{
    return 0;
}

static inline int round_as_before(uint64_t before)
{
    (void)before;
    return 1;
}
#endif

#endif
