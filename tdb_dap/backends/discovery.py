"""Search for the vendor's libraries."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tdb_dap.errors import BadInput
from tdb_dap.system.user_directories import cache_directory
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips


class LibraryPath(Struct, frozen=True):
    """A directory to look into, and in words where it comes from."""

    directory: Path
    found_by: str


def library_paths(given: Path | None = None) -> Iterator[LibraryPath]:
    """Every directory that is looked into, the first that counts first. ``given``: as in ``--cmodel-path``."""
    if given is not None:
        yield LibraryPath(given, "--cmodel-path")
        yield LibraryPath(given / "lib", "--cmodel-path")
        return
    root = os.environ.get("TPUC_ROOT")
    if root:
        yield LibraryPath(Path(root) / "lib", "TPUC_ROOT")
    package = _package_directory()
    if package is not None:
        yield LibraryPath(package / "lib", "the installed package tpu_mlir")
    yield LibraryPath(library_directory() / "lib", "tdb-dap backends fetch")


def _package_directory() -> Path | None:
    """The installed package, found without importing it."""
    try:
        spec = importlib.util.find_spec("tpu_mlir")
    except (ImportError, ValueError):
        return None
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return Path(locations[0]) if locations else None


def library_directory() -> Path:
    """Directory of the user in which ``tdb-dap backends fetch`` puts libraries."""
    return cache_directory() / "vendor"


def find(file: str, given: Path | None = None) -> tuple[Path, str] | None:
    """The first library of that name, and where it comes from. ``given`` may be the file itself."""
    if given is not None and given.name == file and given.is_file():
        return given, "--cmodel-path"
    for candidate in library_paths(given):
        path = candidate.directory / file
        if path.is_file():
            return path, candidate.found_by
    return None


def require_platform(instead: str = "use the backend 'numpy'") -> None:
    """BadInput where the vendor's libraries cannot be loaded; ``instead``: what there is to do."""
    if not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "AMD64"):
        raise BadInput(f"the vendor's simulators exist for Linux on x86-64 only; {instead}")


def library_of(chip: Chip, given: Path | None = None) -> Path:
    """The vendor's simulator of a chip; BadInput says where it was looked for and how to get it."""
    require_platform()
    if chip.vendor_library is None:
        raise BadInput(
            f"how to drive the vendor's simulator of {chip.name} is not known; use the backend 'numpy' "
            f"(with the simulator: {', '.join(c.name for c in supported())})"
        )
    file = chip.vendor_library.file
    path = find(file, given)
    if path is None:
        looked = ", ".join(f"{candidate.directory} ({candidate.found_by})" for candidate in library_paths(given))
        advice = "give another --cmodel-path" if given is not None else "run: tdb-dap backends fetch"
        raise BadInput(f"{file}, the vendor's simulator of {chip.name}, is in none of: {looked}; {advice}")
    return path[0]


def supported() -> list[Chip]:
    """The chips whose simulator can be driven, each once."""
    return [chip for name, chip in chips().items() if chip.vendor_library is not None and chip.name == name]
