/* All micro-kernels of one width, as ``NAME(simd)``. A unit per width includes this after it has said what its compiler may use. */

#ifndef TDB_DAP_SIMD_WIDTH_H
#define TDB_DAP_SIMD_WIDTH_H

#include "conversions.h"
#include "gemm_f16.h"
#include "gemm_f32.h"
#include "select.h"
#include "window_f32.h"
#include "window_int.h"

#if LANES == 16
#define INT_ROWS int_rows
#else
#define INT_ROWS NULL
#endif

const Simd NAME(simd) = {
    .lanes = LANES,
    .gemm_f32 = NAME(gemm_f32),
    .gemm_f16 = NAME(gemm_f16),
    .panel_f16_size = NAME(panel_size),
    .pack_panel_f16 = NAME(pack_panel),
    .gemm_int = NAME(gemm_int),
    .window_int = NAME(window_int),
    .window_f32 = NAME(window_f32),
    .window_max = NAME(window_max),
    .elementwise = NAME(elementwise),
    .float_elements = NAME(float_elements),
    .reciprocal_roots = NAME(reciprocal_roots),
    .divided = NAME(divided),
    .series = NAME(series),
    .int_rows = INT_ROWS,
    .int_elements = NAME(int_elements),
    .ints_of_floats = NAME(ints_of_floats),
    .floats_of_floats = NAME(floats_of_floats),
    .floats_of_ints = NAME(floats_of_ints),
    .widen_range = NAME(widen_range),
    .read_normal = NAME(read_normal),
    .write_floats = NAME(write_floats),
    .integral_floats = NAME(integral_floats),
    .integral_halves = NAME(integral_halves),
    .magnitudes = NAME(magnitudes),
    .selected = NAME(selected),
    .halves_by_mode = NAME(halves_by_mode),
    .unpack_halves = NAME(unpack_halves),
    .truncating_elements = NAME(truncating_elements),
    .truncating_bytes = NAME(truncating_bytes),
};

#endif
