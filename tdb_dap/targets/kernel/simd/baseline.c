/* Micro-kernels of 4 lanes: SSE2, NEON, or whatever 128 bits the compiler makes of vector extensions. */

#define LANES 4
#define NAME(x) x##_4
#include "width.h"
