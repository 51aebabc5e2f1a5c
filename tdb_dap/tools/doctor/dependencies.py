"""The packages that this one needs: whether they are there, new enough, and can be loaded."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType

from tdb_dap.tools.doctor.findings import Check
from tdb_dap.tools.doctor.installation import Installation

Version = tuple[int, ...]


@dataclass(frozen=True)
class Dependency:
    """One package."""

    package: str
    """Its name in the registry."""

    module: str
    """Module that is imported."""

    least: str
    """The lowest version."""

    python: Version = (3, 10)
    """Python from which on that version is the lowest; the last entry of a package that applies counts."""

    @property
    def requirement(self) -> str:
        """As pip takes it."""
        return f"{self.package}>={self.least}"


DEPENDENCIES = (
    Dependency("flatbuffers", "flatbuffers", "23.5.26"),
    Dependency("msgspec", "msgspec", "0.19"),
    Dependency("numpy", "numpy", "1.24"),
    Dependency("numpy", "numpy", "1.26", (3, 12)),
    Dependency("numpy", "numpy", "2.1", (3, 13)),
    Dependency("prompt_toolkit", "prompt_toolkit", "3.0.36"),
    Dependency("pydantic", "pydantic", "2.8"),
    Dependency("pygls", "pygls", "2"),
    Dependency("rich", "rich", "13"),
    Dependency("zstandard", "zstandard", "0.23"),
)
"""What pyproject.toml lists; here so that a program without metadata can be looked at, too."""


def needed(python: Version = sys.version_info[:2]) -> list[Dependency]:
    """The dependencies for a version of Python, each once."""
    return list({entry.package: entry for entry in DEPENDENCIES if entry.python <= python}.values())


def checks(installation: Installation, dependencies: Sequence[Dependency]) -> Iterator[Check]:
    """One check per dependency, in order."""
    for dependency in dependencies:
        yield _check(installation, dependency)


def _check(installation: Installation, dependency: Dependency) -> Check:
    name, mend = f"dependency:{dependency.package}", installation.getting(dependency.requirement)
    version = _version(dependency.package)
    try:
        module = importlib.import_module(dependency.module)
    except ModuleNotFoundError as error:
        if version is None and error.name == dependency.module:
            return Check(name, "error", f"missing; needs {dependency.requirement}", mend)
        return Check(name, "error", f"{version or 'some version'} cannot be loaded: {error}", mend)
    except Exception as error:
        what = f"{version or 'some version'} cannot be loaded: {type(error).__name__}: {error}"
        return Check(name, "error", what, mend)
    version = version or _own_version(module)
    if not version:
        return Check(name, "ok", f"installed, version unknown; needs {dependency.least}")
    if _numbers(version) < _numbers(dependency.least):
        return Check(name, "error", f"{version} is too old; needs {dependency.least}", mend)
    return Check(name, "ok", f"{version} (needs {dependency.least})")


def _version(package: str) -> str | None:
    """Version of an installed package, None if nothing says it."""
    try:
        return metadata.version(package) or None
    except Exception:  # a folder of metadata that is damaged
        return None


def _own_version(module: ModuleType) -> str:
    """Version that a module says it has, empty if it says none; some ask metadata for it, which are missing here."""
    try:
        return str(getattr(module, "__version__", ""))
    except Exception:
        return ""


def _numbers(version: str) -> Version:
    """The numbers that a version begins with, without zeros at the end: ``2.1.0rc1`` -> (2, 1)."""
    match = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
