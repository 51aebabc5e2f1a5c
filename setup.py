"""The optional C kernel and the recorder; everything else is in pyproject.toml.

With ``TDB_DAP_KERNEL=0`` in the environment neither is built, and the wheel is one for every system.
"""

from __future__ import annotations

import os
import platform
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNEL = Path("tdb_dap/targets/kernel")
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
    "-fvisibility=hidden",
    "-Wno-psabi",
    "-MMD",
]


class BuildC(build_ext):
    """Options of the compilers, and the plain library's name."""

    def get_ext_filename(self, fullname: str) -> str:
        folder, _, name = fullname.rpartition(".")
        if name == "librecorder":
            return os.path.join(*folder.split("."), f"{name}.so")
        return super().get_ext_filename(fullname)

    def build_extensions(self) -> None:
        for extension in self.extensions:
            if not isinstance(extension, PlainLibrary):
                extension.extra_compile_args = FLAGS
        self.compiler.compile = partial(_compile_changed, self.compiler.compile)
        super().build_extensions()


def _compile_changed(compile_: Callable[..., list[str]], sources: list[str], output_dir: str, **how: Any) -> list[str]:
    """Compile, side by side, the sources that are newer than their objects, or include a newer header; all objects."""

    def compiled(source: str) -> str:
        target = Path(output_dir, source).with_suffix(".o")
        listing = target.with_suffix(".d")  # of the compiler's option -MMD
        if target.exists() and listing.exists() and "SOURCES" not in Path(source).read_text():  # that macro changes
            needed = listing.read_text().replace("\\\n", " ").split()[1:]
            if all(Path(each).exists() and Path(each).stat().st_mtime < target.stat().st_mtime for each in needed):
                return str(target)
        return compile_([source], output_dir=output_dir, **how)[0]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compiled, sources))


def checksum(folder: Path) -> int:
    """Checksum of the C sources of a folder: the kernel holds it, and the package compares it with its own."""
    total = 0
    for source in sorted(folder.rglob("*.[ch]")):
        total = zlib.crc32(source.read_bytes(), total)
    return total


MODULE = Extension(
    "tdb_dap.targets.kernel._kernel",
    sorted(map(str, KERNEL.rglob("*.c"))),
    depends=sorted(map(str, KERNEL.rglob("*.h"))),
    define_macros=[("SOURCES", f"{checksum(KERNEL)}u")],
    py_limited_api=True,
    optional=True,
)

# In a folder that is no package: nobody who looks for modules finds it.
LIBRARY = PlainLibrary(
    "tdb_dap.backends.recorder.library.librecorder",
    sorted(map(str, RECORDER.glob("*.c"))),
    depends=sorted(map(str, RECORDER.glob("*.h"))),
    extra_compile_args=[
        "-O3",
        "-g0",
        "-std=gnu11",
        "-fvisibility=hidden",
        "-ftls-model=initial-exec",
        "-pthread",
        "-MMD",
    ],
    extra_link_args=["-pthread", "-ldl"],
    py_limited_api=True,
    optional=True,
)

BUILT = [MODULE]
if sys.platform.startswith("linux") and platform.machine() == "x86_64":
    BUILT.append(LIBRARY)

if __name__ == "__main__":  # scripts/release/cross.py reads what is above
    setup(
        ext_modules=[] if os.environ.get("TDB_DAP_KERNEL") == "0" else BUILT,
        cmdclass={"build_ext": BuildC},
    )
