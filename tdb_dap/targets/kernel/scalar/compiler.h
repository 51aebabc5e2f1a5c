/* What all units need of the compiler, GCC or Clang. Included first. */

#ifndef TDB_DAP_SCALAR_COMPILER_H
#define TDB_DAP_SCALAR_COMPILER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
/* Where GCC knows which registers a function leaves alone, it does not clear the upper halves of vectors before it is called;
 * then the first instruction that has no such halves costs hundreds of cycles on some processors. */
#pragma GCC optimize("no-ipa-ra")
#endif

#if (defined(__x86_64__) || defined(__i386__)) && !defined(TDB_DAP_PORTABLE)
#define IS_X86 1
#include <immintrin.h>
#else
#define IS_X86 0
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline)) /* where arguments are constants of the caller */

#endif
