"""CUDA C on this processor: the source of the plugin from the host's C++ compiler, behind CuPy's interface.

The source is compiled as it is, after a header that gives the names of CUDA a meaning here. ``float`` is a class there
that has no arithmetic, so that a sum or product that is not written as an intrinsic does not compile.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)

HEADER = r"""
#include <cstring>
#include <tuple>
#include <utility>

struct Dimensions { unsigned x, y, z; };
static thread_local Dimensions blockIdx, threadIdx, blockDim;
#define __global__
#define __device__

template <typename To, typename From> static To as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "words of one size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

/* A float that can be copied, stored and widened, and nothing else. */
class Number {
    float value;
public:
    Number() = default;
    static Number of(float value) { Number number; number.value = value; return number; }
    float get() const { return value; }
    explicit operator double() const { return value; }
};

static Number __fadd_rn(Number a, Number b) { return Number::of(a.get() + b.get()); }
static Number __fmul_rn(Number a, Number b) { return Number::of(a.get() * b.get()); }
static double __dmul_rn(double a, double b) { return a * b; }
static Number __double2float_rn(double a) { return Number::of((float)a); }
static double __ll2double_rn(long long a) { return (double)a; }
static Number __uint2float_rn(unsigned a) { return Number::of((float)a); }
static unsigned __float_as_uint(Number a) { return as<unsigned>(a.get()); }
static Number __uint_as_float(unsigned a) { return Number::of(as<float>(a)); }
static long long __double_as_longlong(double a) { return as<long long>(a); }
static double __longlong_as_double(long long a) { return as<double>(a); }
#define float Number
"""

FOOTER = r"""
#undef float

/* All blocks and threads of a launch, one after the other. */
template <typename... A, std::size_t... I>
static void run(void (*function)(A...), const unsigned *sizes, void **arguments, std::index_sequence<I...>)
{
    blockDim = {sizes[2], 1, 1};
    for (blockIdx.y = 0; blockIdx.y < sizes[1]; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < sizes[0]; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < sizes[2]; threadIdx.x++)
                function(*(A *)arguments[I]...);
}

template <typename... A> static int run_all(void (*function)(A...), const unsigned *sizes, void **arguments, int count)
{
    if (count != sizeof...(A))
        return -1;
    run(function, sizes, arguments, std::index_sequence_for<A...>{});
    return 0;
}
"""

FLAGS = ("-x", "c++", "-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC")
_ENTRY = """
extern "C" int run_{0}(const unsigned *sizes, void **arguments, int count)
{{
    return run_all({0}, sizes, arguments, count);
}}
"""


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    """The source as a library of this machine; CalledProcessError where it does not compile."""
    names = re.findall(r"__global__ void (\w+)\(", source)
    text = HEADER + source + FOOTER + "".join(_ENTRY.format(name) for name in names)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sums.cpp").write_text(text)
    assert COMPILER is not None
    command = [COMPILER, *FLAGS, str(folder / "sums.cpp"), "-o", str(folder / "sums.so")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(folder / "sums.so"))


class Cupy:
    """What the plugin uses of CuPy, in memory of this processor. ``fails``: raised by the next launch."""

    __name__ = "cupy"
    __version__ = "host"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.launches: list[str] = []
        self.fails: Exception | None = None
        properties = {"name": b"this processor"}
        runtime = SimpleNamespace(is_hip=False, getDeviceCount=lambda: 1, getDevice=lambda: 0)
        runtime.getDeviceProperties = lambda number: properties
        stream = SimpleNamespace(synchronize=lambda: None)
        self.cuda = SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream)
        self.asnumpy = np.array
        self.empty = np.empty

    def asarray(self, numbers: np.ndarray) -> np.ndarray:
        """A copy, as in the device's memory, with its elements in the order that they had."""
        return np.array(numbers, order="K")

    def RawModule(self, code: str, options: tuple[str, ...]) -> SimpleNamespace:
        assert "--fmad=false" in options
        library = compiled(code, self._folder)
        return SimpleNamespace(get_function=lambda name: lambda *launch: self._run(library, name, *launch))

    def _run(
        self, library: Any, name: str, grid: tuple[int, ...], block: tuple[int], arguments: tuple[Any, ...]
    ) -> None:
        if self.fails is not None:
            raise self.fails
        self.launches.append(name)
        kept: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                assert argument.flags.c_contiguous
                kept.append(ctypes.c_void_p(argument.ctypes.data))
            else:
                assert isinstance(argument, np.int64), "the source takes numbers of 64 bits only"
                kept.append(ctypes.c_longlong(int(argument)))
        sizes = (ctypes.c_uint * 3)(grid[0], grid[1] if len(grid) > 1 else 1, block[0])
        pointers = (ctypes.c_void_p * len(kept))(*[ctypes.addressof(each) for each in kept])
        assert getattr(library, f"run_{name}")(sizes, pointers, len(kept)) == 0, "as many arguments as the source has"
