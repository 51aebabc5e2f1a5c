"""Sums of products on a CUDA device, through CuPy; their source is ``sums.cu``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.system.interruption import Interrupted, between_parts
from tdb_dap.system.remarks import remark
from tdb_dap.targets.kernel.products import Float32, Products

SOURCE = Path(__file__).parent / "sums.cu"

OPTIONS = ("--fmad=false", "--ftz=false")
"""For the compiler: no contraction, subnormals as they are. The intrinsics of the source do not leave it a choice."""

_BLOCK = 256
"""Threads of a block."""
_AT_ONCE = 1 << 34
"""Products of one launch, between two of which a command can be interrupted."""
_LONGEST = 200
"""Characters of an error that are shown."""

T = TypeVar("T")


class Unusable(Exception):
    """There is no device that can be used; says what is missing."""


class _Refused(Exception):
    """These sums are not for the device."""


class CudaSums:
    """Long sums on the current device of CuPy; an ``Accelerator``.

    Sums that the device does not form are left to the built-in way, counted by reason and remarked upon once for each.
    """

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._module = cupy.RawModule(code=SOURCE.read_text(encoding="ascii"), options=OPTIONS)
        runtime = cupy.cuda.runtime
        device = runtime.getDeviceProperties(runtime.getDevice())["name"].decode("utf-8", "replace")
        self.name = f"{device}, CuPy {cupy.__version__}"
        self.done = 0
        """Sums that were formed."""
        self.left: Counter[str] = Counter()
        """Reason -> sums that were left to the built-in way."""
        self.lost = ""
        """What made the device unusable; it is not asked again."""

    def describe(self) -> str:
        """One line: the device, and who has formed the long sums."""
        left = [
            f"left to the built-in simulator {counted(count, 'time')} ({reason})" for reason, count in self.left.items()
        ]
        return ", ".join([f"{self.name}: long sums formed {counted(self.done, 'time')}", *left])

    def interleaved(self, products: Products, starts: Sequence[Array], normal: bool, zero: float) -> Float32 | None:
        """As ``kernel.interleaved``; None where the device does not form them."""
        return self._formed(lambda: self._interleaved(products, starts, normal, zero))

    def grouped(self, products: Products, totals: Float32, size: int, rules: tuple[bool, bool]) -> bool:
        """As ``kernel.grouped``, for groups of any size; False where the device does not form them."""
        found = self._formed(lambda: self._grouped(products, totals, size, rules))
        if found is None:
            return False
        totals[...] = found
        return True

    def exact(self, products: Products) -> NDArray[np.int64] | None:
        """Exact sums of products of whole numbers; None where the device does not form them."""
        return self._formed(lambda: self._exact(products))

    def _formed(self, form: Callable[[], T]) -> T | None:
        reason = self.lost
        try:
            if not reason:
                found = form()
                self.done += 1
                return found
        except Interrupted:
            raise
        except _Refused as refused:
            reason = str(refused)
        except MemoryError:
            reason = "the memory of the device is too small"
        except Exception as error:  # of CUDA: most of its errors end the use of the device in this process
            reason = self.lost = _line(error)
        self.left[reason] += 1
        remark(f"gpu: long sums are left to the built-in simulator, with the same results: {reason}")
        return None

    def _interleaved(self, products: Products, starts: Sequence[Array], normal: bool, zero: float) -> Float32:
        rows, columns = products.shape
        begins = [*starts, *[np.full((1, 1), zero, np.float32)] * (2 - len(starts))]
        chains = self._cupy.empty((2, rows * columns), np.float32)
        result = self._cupy.empty((rows, columns), np.float32)
        spread = [part for begin in begins for part in self._spread(begin, products.shape)]
        how = (np.int64(len(starts)), np.int64(normal), np.int64(products.swapped))
        self._launch("chain", products, np.float32, (*spread, *how, chains, np.int64(rows * columns)), sides=2)
        self._module.get_function("joined")(
            _grid(rows * columns), (_BLOCK,), (chains, np.int64(rows * columns), result)
        )
        return np.asarray(self._cupy.asnumpy(result))

    def _spread(self, start: Array, shape: tuple[int, int]) -> tuple[Any, np.int64, np.int64]:
        """Starts of chains, without repetitions, and the elements between their rows and columns."""
        spread = np.broadcast_to(start, shape)
        rows, columns = (1 if stride == 0 else extent for stride, extent in zip(spread.strides, shape, strict=True))
        own = spread[:rows, :columns]
        return self._uploaded(own), np.int64(columns if rows > 1 else 0), np.int64(columns > 1)

    def _grouped(self, products: Products, totals: Float32, size: int, rules: tuple[bool, bool]) -> Float32:
        sums = self._uploaded(totals)
        self._launch("grouped", products, np.float32, (np.int64(size), *map(np.int64, rules), sums))
        return np.asarray(self._cupy.asnumpy(sums))

    def _exact(self, products: Products) -> NDArray[np.int64]:
        left, right = _magnitude(products.left), _magnitude(products.image)
        if max(left, right) >= 1 << 31 or left * right * products.taps.size >= 1 << 63:
            raise _Refused("whole numbers beyond 32 bits, or sums beyond 63")
        sums = self._cupy.empty(products.shape, np.int64)
        self._launch("exact", products, np.int32, (sums,))
        return np.asarray(self._cupy.asnumpy(sums))

    def _uploaded(self, numbers: Array) -> Any:
        """A copy in the device's memory, without gaps."""
        return self._cupy.asarray(np.ascontiguousarray(numbers))

    def _launch(
        self, name: str, products: Products, dtype: type[np.generic], rest: tuple[Any, ...], sides: int = 1
    ) -> None:
        """Call a function of the source for all outputs, in parts; every number that it takes has 64 bits."""
        count, (rows, columns) = products.taps.size, products.shape
        factors = [self._uploaded(part).astype(dtype, copy=False) for part in (products.left, products.image)]
        factors += [self._uploaded(part) for part in (products.taps, products.places)]
        sizes = np.int64(count), np.int64(columns)
        function, outputs = self._module.get_function(name), rows * columns
        step = max(_BLOCK, _AT_ONCE // max(1, count))
        for first in range(0, outputs, step):
            between_parts()
            last = min(outputs, first + step)
            part = np.int64(first), np.int64(last)
            function((*_grid(last - first), sides), (_BLOCK,), (*factors, *sizes, *part, *rest))
            self._cupy.cuda.get_current_stream().synchronize()


def _grid(outputs: int) -> tuple[int]:
    return (-(-outputs // _BLOCK),)


def _magnitude(numbers: Array) -> int:
    if numbers.dtype.itemsize <= 2:
        return 1 << 8 * numbers.dtype.itemsize
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def _line(error: Exception) -> str:
    """An error of CuPy's in one line that is not too long: some of them are pages."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"


def is_wanted() -> bool:
    """Whether CuPy is installed; it is not loaded."""
    return find_spec("cupy") is not None


def opened() -> CudaSums:
    """The device, when its sums have been compared with those of this processor; Unusable says what is missing."""
    try:
        import cupy
    except ModuleNotFoundError as error:
        missing = "CuPy is not installed (pip install 'tdb-dap[gpu]')"
        raise Unusable(missing if error.name == "cupy" else f"CuPy cannot be loaded: {_line(error)}") from None
    except Exception as error:
        raise Unusable(f"CuPy cannot be loaded: {_line(error)}") from None
    try:
        if cupy.cuda.runtime.is_hip:
            raise Unusable("CuPy is built for ROCm here; sums are written for CUDA")
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise Unusable("there is no CUDA device")
        sums = CudaSums(cupy)
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"CuPy finds no CUDA device that works: {_line(error)}") from None
    from tdb_dap.backends.gpu.proof import difference

    found = difference(sums)
    if found:
        raise Unusable(f"{sums.name}: {sums.lost or f'{found} have other bits than on this processor'}")
    sums.done = 0
    return sums


def status() -> str:
    """One line: the device that can be used, or what is missing."""
    try:
        return f"{opened().name}: the same bits as on this processor"
    except Unusable as missing:
        return f"none: {missing}"
