"""Show in which order a chip adds the products of a convolution, by what gets lost.

    python -m scripts.robustness.sum_order --chip BM1684X2 [--channels N] [--models DIR ...] [--cmodel-path DIR]

All products are 1, but product 0 is huge and product j its opposite: what is added to the huge one before the two meet
is lost. For each j the number of ones that are left is printed; equal numbers in a row are products that are added at
once. The method is that of FPRev, https://arxiv.org/abs/2411.00442.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from scripts.robustness.fuzz_simulator.__main__ import MODELS
from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.seeds import Case, seeds_of
from tdb_dap.backends.discovery import library_of
from tdb_dap.engine.hardware.dtypes import BF16, F16
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips

_HUGE = 2.0**15
"""Its square is beyond 2^24, so that float32 loses a one added to it, and f16 holds it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chip", required=True)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--models", type=Path, nargs="*", default=[], help="further models to take a convolution from")
    parser.add_argument("--cmodel-path", type=Path, help="where the vendor's libraries are")
    arguments = parser.parse_args()
    chip = chips()[arguments.chip.upper()]
    try:
        bench = Bench(chip, library_of(chip, arguments.cmodel_path))
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    found = False
    for case in _convolutions(chip, [*MODELS, *arguments.models], arguments.channels):
        left = [_left(bench, case, j, arguments.channels) for j in range(1, arguments.channels)]
        runs = ", ".join(f"{value} x {len(list(run))}" for value, run in itertools.groupby(left))
        print(f"{chip.name} {case.description.operands[0].dtype}: {runs}")
        found = True
    bench.close()
    if not found:
        print(f"error: no convolution of 16-bit floats of {chip.name} in the models; give --models", file=sys.stderr)
    return 0 if found else 2


def _convolutions(chip: Chip, models: list[Path], channels: int) -> list[Case]:
    """One case for each of the formats: one result, all channels, a window of one."""
    cases: dict[str, Case] = {}
    for seed in seeds_of(chip, models).get("conv.normal", []):
        dtype = seed.description.operands[0].dtype
        if dtype not in (F16, BF16) or dtype.name in cases:
            continue
        names = {shared: name for name, shared, _ in chip.named_fields(seed.kind)}
        sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_c": channels, "opd0_h": 1, "opd0_w": 1}
        window = {"opd1_h": 1, "opd1_w": 1, "opd0_x_ins0": 0, "opd0_y_ins0": 0, "opd1_x_ins0": 0, "opd1_y_ins0": 0}
        pads = {f"opd0_{side}_pad": 0 for side in ("up", "dn", "lf", "rt")}
        quarter = chip.geometry.lane_bytes // 4
        places = {"opd0_addr": 0, "opd1_addr": quarter, "res0_addr": 2 * quarter, "opd0_str": 0}
        plain = {"res0_prec": 2, "res0_sign": 1, "opd2_const": 1, "opd2_addr": 0, "res_add": 0, "relu": 0, "rq": 0}
        values = {**sizes, **window, **pads, **places, **plain}
        fields = {names[name]: value for name, value in values.items() if name in names}
        cases[dtype.name] = replace(seed, descriptor=seed.instruction.encode(seed.descriptor, **fields))
    return list(cases.values())


def _left(bench: Bench, case: Case, opposite: int, channels: int) -> int:
    """How many ones are left of the sum in which product 0 is huge and another one its opposite."""
    image, weights = np.ones(channels, np.float32), np.ones(channels, np.float32)
    image[[0, opposite]] = _HUGE
    weights[[0, opposite]] = _HUGE, -_HUGE
    total = bench.vendor_numbers(case, {"input": image, "weight": weights})
    return round(float(total.reshape(-1)[0]))


if __name__ == "__main__":
    sys.exit(main())
