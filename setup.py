"""The optional C kernel and the recorder; everything else is in pyproject.toml.

With ``TDB_DAP_KERNEL=0`` in the environment neither is built, and the wheel is one for every system.
"""

from __future__ import annotations

import os
import platform
import sys
import zlib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "tdb_dap/targets/kernel"
RECORDER = Path("tdb_dap/backends/recorder/library")


class PlainLibrary(Extension):
    """A shared library of the system's, no module of Python's: it is loaded into programs that have no Python."""


# Contraction of a * b + c into one rounding would change results. Nobody looks at the processor's flags of exceptions:
# loops may round and compare numbers that no element needs. Sums of whole numbers that nobody uses may overflow.
FLAGS = [
    "-O3",
    "-g0",
    "-std=c11",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fno-math-errno",
    "-fno-trapping-math",
]


class BuildC(build_ext):
    """What every compiler is told."""

    def get_ext_filename(self, fullname: str) -> str:
        folder, _, name = fullname.rpartition(".")
        if name == "librecorder":
            return os.path.join(*folder.split("."), f"{name}.so")
        return super().get_ext_filename(fullname)

    def build_extensions(self) -> None:
        is_msvc = self.compiler.compiler_type == "msvc"
        for extension in self.extensions:
            if isinstance(extension, PlainLibrary):
                continue
            extension.extra_compile_args = ["/O2", "/fp:precise"] if is_msvc else [*FLAGS, "-Wno-psabi"]
        super().build_extensions()


def checksum(folder: str) -> int:
    """What tells the C sources of a folder from any others; the kernel holds it, and the package looks at it."""
    total = 0
    for source in sorted(Path(folder).glob("*.[ch]")):
        total = zlib.crc32(source.read_bytes(), total)
    return total


KERNEL = Extension(
    "tdb_dap.targets.kernel._kernel",
    [f"{FOLDER}/module.c"],
    depends=sorted(map(str, Path(FOLDER).glob("*.h"))),
    define_macros=[("SOURCES", f"{checksum(FOLDER)}u")],
    py_limited_api=True,
    optional=True,
)

# In a folder that is no package: nobody who looks for modules finds it.
LIBRARY = PlainLibrary(
    "tdb_dap.backends.recorder.library.librecorder",
    sorted(map(str, RECORDER.glob("*.c"))),
    depends=sorted(map(str, RECORDER.glob("*.h"))),
    extra_compile_args=["-O3", "-g0", "-std=gnu11", "-fvisibility=hidden", "-ftls-model=initial-exec", "-pthread"],
    extra_link_args=["-pthread", "-ldl"],
    py_limited_api=True,
    optional=True,
)

BUILT = [KERNEL]
if sys.platform.startswith("linux") and platform.machine() == "x86_64":
    BUILT.append(LIBRARY)

setup(
    ext_modules=[] if os.environ.get("TDB_DAP_KERNEL") == "0" else BUILT,
    cmdclass={"build_ext": BuildC},
)
