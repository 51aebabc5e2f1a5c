/* Micro-kernels of 8 lanes: AVX2. */

#include "../scalar/compiler.h"

#if IS_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define LANES 8
#define NAME(x) x##_8
#include "width.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
