"""The optional C kernel; everything else is in pyproject.toml."""

from __future__ import annotations

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
                else ["-O3", "-std=c11", "-ffp-contract=off", "-fno-fast-math", "-fno-math-errno", "-Wno-psabi"]
            )
        super().build_extensions()


setup(
    ext_modules=[
        Extension(
            "tdb_dap.targets.kernel._kernel",
            [f"{FOLDER}/module.c"],
            depends=[f"{FOLDER}/sums.h", f"{FOLDER}/scalar.h", f"{FOLDER}/windows.h"],
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernel},
)
