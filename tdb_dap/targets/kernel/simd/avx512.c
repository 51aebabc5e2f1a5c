/* Micro-kernels of 16 lanes: AVX-512 with VNNI. */

#include "../scalar/compiler.h"

#if IS_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni")
#endif
#define LANES 16
#define NAME(x) x##_16
#include "width.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
