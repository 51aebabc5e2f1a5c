"""The systems that proofs are run on: how each is reached from this machine, and what it needs to be there.

A place that a variable of the environment names is made by hand once: scripts/platforms/README.md has the recipes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

from scripts.generated import ROOT

PROOF = "scripts/platforms/proof.py"
KERNEL = "tdb_dap/targets/kernel"


class Missing(Exception):
    """What this machine lacks for a proof."""


@dataclass(frozen=True)
class Run:
    """A command that prints the proof as JSON."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def _place(variable: str) -> Path:
    given = os.environ.get(variable)
    if not given or not Path(given).exists():
        raise Missing(f"{variable} names no place: see scripts/platforms/README.md")
    return Path(given)


def _own(python: str, environment: Mapping[str, str] | None = None, before: tuple[str, ...] = ()) -> Run:
    command = (*before, python, str(ROOT / PROOF), str(ROOT / "tests" / "data"))
    return Run(command, {"PYTHONPATH": str(ROOT), **(environment or {})})


def here() -> Run:
    """This machine, with the kernel that pip has built."""
    return _own(sys.executable)


def processor(model: str) -> Run:
    """This machine's programs on an emulated processor."""
    emulator = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if emulator is None:
        raise Missing("qemu-x86_64 is not installed (Debian: qemu-user-static)")
    return _own(os.path.realpath(sys.executable), _packages(), (emulator, "-cpu", model))


def _packages() -> dict[str, str]:
    """The packages of this environment for its interpreter under its real path, which an emulator starts."""
    folders = [folder for folder in sys.path if folder.endswith("site-packages")]
    return {"PYTHONPATH": os.pathsep.join([str(ROOT), *folders])}


def python(version: str) -> Run:
    """Another Python of this machine: an environment with the package's dependencies."""
    folder = _place("TDB_DAP_PYTHONS") / f"py{version}"
    if not folder.is_dir():
        raise Missing(f"{folder} is no environment of Python {version}")
    return _own(str(folder / "bin" / "python"))


def cross_built() -> Run:
    """The package as the wheel of the cross compiler holds it, unpacked."""
    folder = _place("TDB_DAP_CROSS_BUILT")
    return _own(sys.executable, {"PYTHONPATH": str(folder)})


def arm64() -> Run:
    """A Debian root for aarch64 with an environment /opt/venv and a copy of the repository in /opt/src."""
    root = _place("TDB_DAP_ARM64_ROOT")
    inside = f"cd /opt/src && HOME=/root PYTHONPATH=/opt/src /opt/venv/bin/python {PROOF} tests/data"
    return Run(("chroot", str(root), "sh", "-c", inside))


def browser() -> Run:
    """Python compiled to WebAssembly, under Node."""
    if shutil.which("node") is None:
        raise Missing("node is not installed")
    script = str(ROOT / "scripts" / "platforms" / "pyodide.mjs")
    return Run(("node", script, str(_place("TDB_DAP_PYODIDE")), str(_place("TDB_DAP_PYODIDE_WHEELS")), str(ROOT)))


def musl() -> Run:
    """CPython built for musl, with the packages, ours among them, in a folder."""
    folder = _place("TDB_DAP_MUSL")
    return _own(str(folder / "bin" / "python3"), {"PYTHONPATH": str(folder / "packages")})


def windows() -> Run:
    """Windows' CPython under Wine, with the packages, ours among them, in a folder."""
    wine = shutil.which("wine")
    if wine is None:
        raise Missing("wine is not installed")
    folder = _place("TDB_DAP_WINDOWS")
    environment = {"WINEDEBUG": "-all", "PYTHONPATH": _in_wine(folder / "packages")}
    environment["WINEPREFIX"] = os.environ.get("WINEPREFIX", str(folder / "prefix"))
    paths = (_in_wine(ROOT / PROOF), _in_wine(ROOT / "tests" / "data"))
    return Run((wine, str(folder / "python" / "python.exe"), *paths), environment)


def _in_wine(path: Path) -> str:
    """A path as programs under Wine see it."""
    return "Z:" + str(path).replace("/", "\\")


def sanitized() -> Run:
    """This machine, with a kernel that clang has built with its sanitizers of addresses and undefined behaviour.

    The first finding ends the process.
    """
    clang = next(filter(None, map(shutil.which, ("clang", "clang-19", "clang-16", "clang-14"))), None)
    if clang is None:
        raise Missing("clang is not installed")
    runtime = Path(_printed(clang, "-print-file-name=libclang_rt.asan-x86_64.so"))
    if not runtime.is_absolute():
        raise Missing("clang has no runtime of its sanitizers (Debian: libclang-rt-dev)")
    folder = ROOT / "build" / "sanitized"
    shutil.copytree(
        ROOT / "tdb_dap", folder / "tdb_dap", ignore=shutil.ignore_patterns("*.so", "__pycache__"), dirs_exist_ok=True
    )
    _build_sanitized(clang, folder / KERNEL / "_kernel.abi3.so")
    options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    return _own(sys.executable, {"PYTHONPATH": str(folder), "LD_PRELOAD": str(runtime), **options})


def _build_sanitized(clang: str, library: Path) -> None:
    own = SimpleNamespace(**run_path(str(ROOT / "setup.py"), run_name="setup"))
    options = [option for option in own.FLAGS if option not in ("-MMD", "-g0", "-fvisibility=hidden", "-O3")]
    options += ["-O1", "-g", "-fPIC", "-fno-sanitize=alignment", f"-I{sysconfig.get_paths()['include']}"]
    options.append(f"-DSOURCES={own.checksum(ROOT / KERNEL)}u")
    objects: list[str] = []
    for path in sorted((ROOT / KERNEL).rglob("*.c")):
        # In the widest unit clang 14 fails on its own checks of undefined behaviour ("Cannot emit physreg copy").
        checks = "address" if path.stem == "avx512" else "address,undefined"
        objects.append(str(library.with_name(f"{path.stem}.o")))
        command = [clang, "-c", *options, f"-fsanitize={checks}", str(path), "-o", objects[-1]]
        subprocess.run(command, check=True, cwd=ROOT)
    link = [clang, "-shared", "-fsanitize=address,undefined", "-shared-libasan", *objects, "-o", str(library)]
    subprocess.run(link, check=True, cwd=ROOT)


def _printed(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


SYSTEMS = {
    "linux-x64": ("Linux x86-64, kernel built by pip", here),
    "linux-x64-cross": ("Linux x86-64, kernel of the released wheel", cross_built),
    "linux-x64-sse2": ("Linux x86-64 without AVX (emulated Nehalem)", lambda: processor("Nehalem")),
    "linux-x64-sanitized": ("Linux x86-64, kernel of clang with its sanitizers", sanitized),
    "musl-x64": ("Linux x86-64 with musl", musl),
    "linux-arm64": ("Linux aarch64 (emulated)", arm64),
    "windows-x64": ("Windows x86-64: CPython of python.org under Wine", windows),
    "wasm32": ("WebAssembly: Pyodide under Node", browser),
    "python-3.10": ("CPython 3.10", lambda: python("3.10")),
    "python-3.12": ("CPython 3.12", lambda: python("3.12")),
    "python-3.13": ("CPython 3.13", lambda: python("3.13")),
    "python-3.14t": ("CPython 3.14, free-threaded", lambda: python("3.14t")),
}
"""Name -> title, and how its proof is run; Missing where this machine cannot."""

ONLY_BUILT = {
    "musl-arm64": "Linux aarch64 with musl",
    "macos-x64": "macOS 11 or newer, x86-64",
    "macos-arm64": "macOS 11 or newer, arm64",
    "windows-arm64": "Windows, arm64",
}
"""Wheels that are built and run nowhere here: name -> title."""
