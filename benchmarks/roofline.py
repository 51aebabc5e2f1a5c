"""How near the C kernel comes to what this order of summation allows: one core, one class of operations after another.

    python benchmarks/roofline.py [--clock GHZ] [--pairs N] [--json FILE]

Products: billions a second, beside the limit. Every output has a chain of additions of its own, one after the other, so
that vectors run over outputs: with LANES of them at once, float32 needs one multiplication and one addition for each
vector of products, and a core that starts one of each per cycle forms LANES products per cycle. Groups of 16-bit floats
need six instructions (product, largest magnitude; product, scaling, conversion, addition), two a cycle: 2/6 of LANES.
Bytes are multiplied in quads where the processor can, 4 LANES per cycle, else in pairs as words are: 2 LANES.
``--clock``: of the core under load; default: what /proc/cpuinfo says. ``--pairs``: how many times as many vectors
it starts per cycle; 2 for a core with four units for vectors, two of which multiply.

Windows of bytes: 3 x 3 taps over planes of one channel each, three of four bytes of a quad used; what is done for each
plane counts, too.

Elements: billions a second, and gigabytes a second read and written, beside NumPy's copy of an array of the same size.
Shapes are those of layers of ResNet-18, MobileNetV2 and a transformer; the best of some runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, SI32, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import dot, elements
from tdb_dap.targets.arithmetic.elements import Stored
from tdb_dap.targets.arithmetic.products import of_matrices
from tdb_dap.targets.arithmetic.requantisation import Steps, window_sums
from tdb_dap.targets.arithmetic.windows import Windows

SHAPES = [(64, 576, 3136), (512, 4608, 49), (32, 27, 12544), (96, 384, 3136), (1, 512, 1000)]
"""Rows, products per output, columns."""

PLANE = (1, 64, 80, 80)


def best(work: Callable[[], Any]) -> float:
    """Seconds of processor time."""
    found = []
    while sum(found) < 0.3 or len(found) < 5:
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def products(clock: float) -> list[dict[str, Any]]:
    lanes = kernel.widths()[-1]
    random = np.random.default_rng(0)
    rows = []
    for shape in SHAPES:
        m, k, n = shape
        left, right = random.standard_normal((m, k)), random.standard_normal((k, n))
        plain = of_matrices(left.astype(np.float32), right.astype(np.float32))
        halves = of_matrices(*(F16.widen(F16.encode(part.astype(np.float32))) for part in (left, right)))
        bytes_ = of_matrices(*((20 * part).clip(-128, 127).astype(np.int8) for part in (left, right)))
        steps = Steps(5, 1 << 20, -30, 3, True, False, (-128, 127))
        start = np.zeros((m, n), np.float32)
        for name, limit, work in (
            ("f32", lanes, lambda p=plain: dot.interleaved(None, None, p, True)),
            ("f16, bf16", lanes / 3, lambda p=halves, s=start: dot.grouped(s, p, 16)),
            (
                "int8",
                (4 if kernel.widths()[-1] == 16 else 2) * lanes,
                lambda p=bytes_, s=steps: dot.summed(p, None, s, SI8),
            ),
        ):
            rate = m * k * n / best(work) / 1e9
            rows.append({"class": name, "shape": shape, "rate": rate, "limit": limit * clock})
    return rows


PLANES = [(480, 7, 7), (288, 14, 14), (72, 56, 56)]
"""Channels, rows and columns of results of windows."""


def windows(clock: float) -> list[dict[str, Any]]:
    """Sums over windows of bytes, beside the limit of products of bytes."""
    random = np.random.default_rng(0)
    limit = clock * kernel.widths()[-1] * (4 if kernel.widths()[-1] == 16 else 2)
    found = []
    for planes, rows, columns in PLANES:
        line = columns + 2
        image = random.integers(-128, 128, (planes, (rows + 2) * line)).astype(np.int8)
        offsets = (np.arange(3)[:, None] * line + np.arange(3)).reshape(-1)
        over = Windows(image, offsets, (rows, columns), (line, 1))
        weights, starts = random.integers(-128, 128, (planes, 9)), random.integers(-999, 999, planes)
        seconds = best(partial(window_sums, over, weights, starts, Steps(0), 4))
        rate = 9 * planes * rows * columns / seconds / 1e9
        found.append({"class": "int8, windows", "shape": (planes, rows, columns), "rate": rate, "limit": limit})
    return found


def element_wise() -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    numbers = random.standard_normal(PLANE).astype(np.float32)
    bytes_ = Stored(random.integers(0, 256, PLANE).astype(np.uint8), SI8)
    table, index = random.integers(0, 256, (64, 256)).astype(np.uint8), bytes_.bits.reshape(1, 64, -1)
    words = Stored(random.integers(0, 1 << 32, PLANE).astype(np.uint32), SI32)
    steps, scaled = Steps(5, amount=-1, limits=(-128, 127)), Steps(1, 1 << 20, -30, limits=(-128, 127))

    def stored(dtype: DType) -> Stored:
        return Stored(dtype.encode(numbers), dtype)

    cases: list[tuple[str, int, Callable[[], Any]]] = []
    for dtype in (F32, F16, BF16):
        x, terms = stored(dtype), Stored(dtype.encode(np.full((1, 64, 1, 6), 0.3, np.float32)), dtype)
        size = dtype.itemsize
        cases.append((f"{dtype} add", 3 * size, lambda x=x, d=dtype: elements.floats(elements.ADD, x, x, d)))
        cases.append((f"{dtype} multiply", 3 * size, lambda x=x, d=dtype: elements.floats(elements.MULTIPLY, x, x, d)))
        cases.append((f"{dtype} series of 6", 2 * size, lambda x=x, t=terms: elements.series(x, t)))
    cases.append(("int32 times, shift, limit", 5, lambda: elements.whole(elements.FIRST, words, words, scaled, 1)))
    cases.append(("int8 add, shift, limit", 3, lambda: elements.whole(elements.ADD, bytes_, bytes_, steps, 1)))
    cases.append(("f32 to f16", 6, lambda: elements.converted(stored_f32, F16, 0)))
    cases.append(("f32 to int8", 5, lambda: elements.converted(stored_f32, SI8, 0)))
    cases.append(("look-up of bytes", 2, lambda: elements.looked_up(table, index, None)))
    cases.append(("copy of f32 (NumPy)", 8, lambda: numbers.copy()))
    stored_f32 = stored(F32)
    return [
        {
            "class": name,
            "rate": numbers.size / (seconds := best(work)) / 1e9,
            "bytes": size * numbers.size / seconds / 1e9,
        }
        for name, size, work in cases
    ]


def clock_of_this_machine() -> float:
    """GHz, as the system says; 0 where it does not."""
    try:
        found = re.search(r"cpu MHz\s*:\s*([\d.]+)", Path("/proc/cpuinfo").read_text("ascii", "replace"))
    except OSError:
        return 0
    return float(found[1]) / 1000 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clock", type=float, default=clock_of_this_machine(), help="GHz")
    parser.add_argument("--pairs", type=int, default=1, help="vectors multiplied, and as many added, per cycle")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    if not kernel.is_active():
        print(kernel.describe())
        return 1
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"{kernel.widths()[-1]} lanes, {options.clock:.2f} GHz, one core")
    print(f"{'products':13} {'shape':>17} {'10^9/s':>8} {'limit':>8} {'of it':>7}")
    made = products(options.clock * options.pairs) + windows(options.clock * options.pairs)
    for row in made:
        share = f"{row['rate'] / row['limit']:7.0%}" if row["limit"] else f"{'-':>7}"
        text = " x ".join(map(str, row["shape"]))
        print(f"{row['class']:13} {text:>17} {row['rate']:8.1f} {row['limit']:8.1f} {share}")
    print(f"{'elements':24} {'10^9/s':>8} {'GB/s':>8}")
    others = element_wise()
    for row in others:
        print(f"{row['class']:24} {row['rate']:8.2f} {row['bytes']:8.1f}")
    if options.json:
        options.json.write_text(json.dumps({"products": made, "elements": others}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
