/* The width that this processor can run. */

#include "simd.h"

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

int simd_count(void)
{
#if IS_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2"))
        return 1;
    return 2 + (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"));
#else
    return 1;
#endif
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
