"""The machine: Python, platform, memory, cores, ports, the command, and the cache directory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tdb_dap.system.shells import quoted, setting
from tdb_dap.tools.doctor.findings import Check
from tdb_dap.tools.doctor.installation import Installation

OLDEST_PYTHON = (3, 10)

_LITTLE = 1 << 30
"""Bytes of memory below which few models can be opened."""

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with what a container may use."""

_PATIENCE = 5


def python(installation: Installation, version: tuple[int, ...] = sys.version_info[:3]) -> Iterator[Check]:
    """The interpreter, its version and its place."""
    text = (
        f"{platform.python_implementation()} {'.'.join(map(str, version))}, {8 * ctypes.sizeof(ctypes.c_void_p)} bits"
    )
    text += "" if installation.frozen else f", {installation.python}"
    if version < OLDEST_PYTHON:
        least = ".".join(map(str, OLDEST_PYTHON))
        yield Check("python", "error", f"{text}; needs {least}", installation.with_python(least))
    else:
        yield Check("python", "ok", text)


def system() -> Iterator[Check]:
    """Operating system and processor; no name of the machine."""
    text = f"{platform.system()} {platform.release()}, {platform.machine()}"
    with contextlib.suppress(OSError, AttributeError):  # not a Linux, or one that does not say
        text += f", {platform.freedesktop_os_release().get('PRETTY_NAME', '')}".rstrip(", ")
    yield Check("platform", "ok", text)


def memory(most: int | None = None) -> Iterator[Check]:
    """Memory and processors that this process may use. ``most``: bytes, default: what the system says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    size = most if most is not None else _memory()
    text = f"{cores} cores" if cores != 1 else "1 core"
    if not size:
        yield Check("machine", "ok", f"{text}, an unknown amount of memory")
    elif size < _LITTLE:
        text = f"{size >> 20:,} MiB of memory, {text}; a model may need more; close other programs"
        yield Check("machine", "note", text)
    else:
        yield Check("machine", "ok", f"{size / (1 << 30):.1f} GiB of memory, {text}")


def _memory() -> int:
    """Bytes that this process may use in all; 0 if nobody says."""
    sizes = []
    if sys.platform == "win32":
        sizes.append(_windows_memory())
    elif "SC_PHYS_PAGES" in os.sysconf_names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for file in _LIMITS:
        try:
            sizes.append(int(Path(file).read_text("ascii")))
        except (OSError, ValueError):
            continue  # no container, or one without a limit
    return min((size for size in sizes if size > 0), default=0)


def _windows_memory() -> int:
    """Bytes of memory, as GlobalMemoryStatusEx has them: a length, a load, then seven sizes, the first the total."""
    status = (ctypes.c_uint64 * 8)()
    ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0] = ctypes.sizeof(status)
    kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009 - the types of other systems do not know it
    return int(status[1]) if kernel32.GlobalMemoryStatusEx(ctypes.byref(status)) else 0


def port() -> Iterator[Check]:
    """Whether programs on this machine can reach each other through a port, as ``--listen`` needs it."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            socket.create_connection(listening.getsockname(), timeout=_PATIENCE) as near,
        ):
            listening.settimeout(_PATIENCE)
            far, _ = listening.accept()
            far.close()
            near.close()
    except OSError as error:
        mend = {"linux": "sudo ip link set lo up", "darwin": "sudo ifconfig lo0 up"}.get(
            sys.platform, "netsh int ip reset"
        )
        what = f"cannot open a port of 127.0.0.1 ({error.strerror or error}); sessions over standard streams work"
        yield Check("port", "error", what, mend)
    else:
        yield Check("port", "ok", "a port of 127.0.0.1 can be opened and reached")


def command(installation: Installation) -> Iterator[Check]:
    """Whether the command that editors start is this installation's."""
    path = shutil.which("tdb-dap")
    own = Path(installation.python).parent
    if path is None:
        text = "tdb-dap is not on the PATH; editors need its full path"
        mend = f"export PATH={quoted(str(own))}:$PATH" if sys.platform != "win32" else f'setx PATH "{own};%PATH%"'
        yield Check("command", "note", text, mend)
    elif installation.frozen or _same(Path(path).resolve().parent, own) or _same(Path(path).parent, own):
        yield Check("command", "ok", path)
    else:
        text = f"{path} on the PATH may belong to another installation than this one, {own}"
        yield Check("command", "note", text, f"{quoted(path)} doctor")


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def cache(directory: Path, is_default: bool) -> Iterator[Check]:
    """Whether ``tdb-dap backends fetch`` can write to its directory. ``is_default``: no variable names another."""
    shown = str(directory) if is_default else "the directory that the environment names"
    existing = next((path for path in (directory, *directory.parents) if path.exists()), directory)
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"tdb-dap")
    except OSError as error:
        what = f"{shown} cannot be written ({error.strerror or error}); only `tdb-dap backends fetch` needs it"
        yield Check("cache", "note", what, setting("TDB_DAP_CACHE", os.path.join(tempfile.gettempdir(), "tdb-dap")))
    else:
        yield Check("cache", "ok", f"{shown} can be written")
