/* The width that this processor can run. */

#include "simd.h"

#if IS_X86
#include <cpuid.h>
#endif

extern const Simd simd_4;
#if IS_X86
extern const Simd simd_8, simd_16;
#endif

const Simd *const simd_widths[] = {
    &simd_4,
#if IS_X86
    &simd_8,
    &simd_16,
#endif
};

const Simd *simd = &simd_4;

#if IS_X86
/* Registers that the operating system keeps when it switches tasks: bits 1, 2 are those of AVX, 5 to 7 of AVX-512. */
static unsigned kept_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Asked here and not by __builtin_cpu_supports: in the runtime library of some compilers that is a stub, which knows no
   processor. Bits: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID. */
static int simd_known(void)
{
    const unsigned avx = 3u << 27 /* OSXSAVE, AVX */, avx2 = 1u << 5;
    const unsigned avx512 = 1u << 16 /* F */ | 1u << 17 /* DQ */ | 1u << 30 /* BW */ | 1u << 31 /* VL */, vnni = 1u << 11;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & avx) != avx || (kept_registers() & 6) != 6)
        return 1;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & avx2))
        return 1;
    return 2 + ((b & avx512) == avx512 && (c & vnni) && (kept_registers() & 0xe6) == 0xe6);
}
#endif

int simd_count(void)
{
#if IS_X86
    static int known;
    if (!known)
        known = simd_known();
    return known;
#else
    return 1;
#endif
}

int32_t log_fractions[1 << LOG_BITS];

void simd_fill_tables(void)
{
    for (int i = 0; i < 1 << LOG_BITS; i++) {
        double number = 1 + (double)i / (1 << LOG_BITS);
        for (int bit = 0; bit < LOG_BITS; bit++) {
            number *= number;
            log_fractions[i] = 2 * log_fractions[i] + (number >= 2);
            number = number >= 2 ? number / 2 : number;
        }
    }
}

int simd_choose(int lanes)
{
    for (int i = 0; i < simd_count(); i++)
        if (simd_widths[i]->lanes == lanes) {
            simd = simd_widths[i];
            return 1;
        }
    return 0;
}
