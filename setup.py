"""The optional C kernel; everything else is in pyproject.toml.

With ``TDB_DAP_KERNEL=0`` in the environment it is not built, and the wheel is one for every system.
"""

from __future__ import annotations

import os

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "tdb_dap/targets/kernel"


class BuildKernel(build_ext):
    """Contraction of a * b + c into one rounding would change results: it is off for every compiler."""

    def build_extensions(self) -> None:
        is_msvc = self.compiler.compiler_type == "msvc"
        for extension in self.extensions:
            extension.extra_compile_args = (
                ["/O2", "/fp:precise"]
                if is_msvc
                else ["-O3", "-g0", "-std=c11", "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno", "-Wno-psabi"]
            )
        super().build_extensions()


KERNEL = Extension(
    "tdb_dap.targets.kernel._kernel",
    [f"{FOLDER}/module.c"],
    depends=[f"{FOLDER}/sums.h", f"{FOLDER}/scalar.h", f"{FOLDER}/windows.h"],
    py_limited_api=True,
    optional=True,
)

setup(
    ext_modules=[] if os.environ.get("TDB_DAP_KERNEL") == "0" else [KERNEL],
    cmdclass={"build_ext": BuildKernel},
)
