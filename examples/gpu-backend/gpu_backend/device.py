"""A CUDA device through CuPy; what it computes is in ``products.cu``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpu_backend.product import Factors, Float32
from gpu_backend.proof import differs, has_product
from tdb_dap.api import Chip

SOURCE = Path(__file__).parent / "products.cu"

OPTIONS = ("--fmad=false", "--ftz=false")
"""For the compiler: no contraction, subnormals as they are. The intrinsics of the source do not leave it a choice."""

_BLOCK = 256
"""Threads of a block."""
_LONGEST = 200
"""Characters of an error that are shown."""


class Unusable(Exception):
    """There is no device that can be used; says what is missing."""


class Device:
    """The current device of CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._module = cupy.RawModule(code=SOURCE.read_text(encoding="ascii"), options=OPTIONS)
        runtime = cupy.cuda.runtime
        name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode("utf-8", "replace")
        self.name = f"{name}, CuPy {cupy.__version__}"

    def product(self, factors: Factors) -> Float32:
        """The matrix product (rows, columns), with the bits of the chip."""
        rows, inner = factors.left.shape
        columns = factors.right.shape[1]
        chains = self._cupy.empty((2, rows * columns), np.float32)
        result = self._cupy.empty((rows, columns), np.float32)
        left, right, bias, second = (
            self._cupy.asarray(part) for part in (factors.left, factors.right, factors.bias, factors.second)
        )
        blocks = -(-rows * columns // _BLOCK)
        sizes = (np.int64(rows), np.int64(inner), np.int64(columns))
        self._module.get_function("chain")(
            (blocks, 2), (_BLOCK,), (left, right, *sizes, bias, second, np.int64(factors.position), chains)
        )
        self._module.get_function("joined")((blocks,), (_BLOCK,), (chains, np.int64(rows * columns), result))
        return np.asarray(self._cupy.asnumpy(result))


def opened(chip: Chip) -> Device:
    """The device, after its products were compared with the built-in simulator's; Unusable says what is missing."""
    if not has_product(chip):
        raise Unusable(f"{chip.name} has no matrix product mm.normal")
    try:
        import cupy
    except ModuleNotFoundError as error:
        missing = "CuPy is not installed (pip install cupy-cuda12x)"
        raise Unusable(missing if error.name == "cupy" else f"CuPy cannot be loaded: {_line(error)}") from None
    except Exception as error:
        raise Unusable(f"CuPy cannot be loaded: {_line(error)}") from None
    try:
        if cupy.cuda.runtime.is_hip:
            raise Unusable("CuPy is built for ROCm; the source is written for CUDA")
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise Unusable("there is no CUDA device")
        device = Device(cupy)
        if differs(chip, device.product):
            raise Unusable(f"{device.name}: products have other bits than the built-in simulator's")
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"CuPy finds no CUDA device that works: {_line(error)}") from None
    return device


def _line(error: Exception) -> str:
    """An error of CuPy in one line that is not too long: some of them are pages."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"
