"""The way in which this program came onto this machine, and the commands that put it right in the same way."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from tdb_dap.system.shells import quoted
from tdb_dap.tools.doctor.findings import Check
from tdb_dap.version import __version__

NAME = "tdb-dap"

_ORIGIN = "direct_url.json"
"""The installer's note of where a package came from."""

Way = Literal["frozen", "pipx", "uv", "editable", "pip", "none"]

_TEXTS: dict[Way, str] = {
    "frozen": "a program with its own Python",
    "pipx": "with pipx, in a separate environment",
    "uv": "as a tool of uv, in a separate environment",
    "editable": "from a clone (pip install -e)",
    "pip": "in a Python environment (pip)",
    "none": "not installed: run from a clone",
}

_WHEEL = "WHEEL"
"""The wheel of a release, where nobody knows which file this was installed from: no index is told to have it."""

_SOURCES = "SOURCES.tar.gz"
"""The source distribution of a release, likewise."""


@dataclass(frozen=True)
class Installation:
    """One installation of this package."""

    prefix: Path
    """Root of the Python environment."""

    python: str
    """The interpreter."""

    frozen: bool
    """Whether interpreter and package are one program."""

    @classmethod
    def here(cls) -> Installation:
        """The one that runs."""
        return cls(Path(sys.prefix), sys.executable or "python", bool(getattr(sys, "frozen", False)))

    @cached_property
    def _distribution(self) -> metadata.Distribution | None:
        """The installed package, noted by an installer if possible: a clone may hold the notes of a build besides."""
        distributions = list(metadata.distributions(name=NAME))
        noted = [distribution for distribution in distributions if distribution.read_text(_ORIGIN)]
        return next(iter(noted or distributions), None)

    @cached_property
    def _origin(self) -> tuple[str, bool]:
        """File or directory it was installed from, empty if it was none; whether it can be edited."""
        try:
            text = self._distribution.read_text(_ORIGIN) if self._distribution else None
            origin = json.loads(text or "{}")
            url = urlsplit(str(origin.get("url", "")))
            editable = bool(origin.get("dir_info", {}).get("editable"))
        except (OSError, ValueError, AttributeError):
            return "", False
        return (url2pathname(unquote(url.path)) if url.scheme == "file" else ""), editable

    @cached_property
    def way(self) -> Way:
        """The way in which it was installed."""
        if self.frozen:
            return "frozen"
        if (self.prefix / "pipx_metadata.json").is_file():
            return "pipx"
        if (self.prefix / "uv-receipt.toml").is_file():
            return "uv"
        if self._distribution is None:
            return "none"
        return "editable" if self._origin[1] else "pip"

    @property
    def again(self) -> str:
        """Command that installs this package and its dependencies again."""
        origin = self._origin[0]
        if self.way == "frozen":
            return "download the program of this release again"
        if self.way == "pipx":
            return f"pipx reinstall {NAME}"
        if self.way == "uv":
            return f"uv tool upgrade --reinstall {NAME}"
        if self.way == "editable":
            return f"{self._pip} install --force-reinstall -e {quoted(origin)}"
        if self.way == "none":
            return f"{self._pip} install {quoted(str(Path(__file__).resolve().parents[3]))}"
        return f"{self._pip} install --force-reinstall {quoted(origin or _WHEEL)}"

    @property
    def from_sources(self) -> str:
        """Command that builds the C kernel on this machine; a wheel without one would only be installed again."""
        if self.way in ("frozen", "editable", "none"):
            return self.again
        origin = self._origin[0]
        sources = origin if origin and not origin.endswith(".whl") else _SOURCES
        if self.way == "pipx":
            return f"pipx install --force --pip-args='--no-binary {NAME}' {quoted(sources)}"
        if self.way == "uv":
            return f"uv tool install --reinstall --no-binary-package {NAME} {quoted(sources)}"
        return f"{self._pip} install --force-reinstall --no-binary {NAME} {quoted(sources)}"

    def with_python(self, version: str) -> str:
        """Command that installs this package into an environment with another Python."""
        return f"uv tool install --python {version} {quoted(self._origin[0] or _WHEEL)}"

    def getting(self, *requirements: str) -> str:
        """Command that installs other packages in addition to this one, again if they are there."""
        wanted = " ".join(map(quoted, requirements))
        if self.way == "frozen":
            return self.again
        if self.way == "pipx":
            return f"pipx inject --force {NAME} {wanted}"
        if self.way == "uv":
            return f"uv pip install --python {quoted(self.python)} --reinstall {wanted}"
        return f"{self._pip} install --force-reinstall {wanted}"

    def without(self, package: str) -> str:
        """Command that removes another package."""
        if self.way == "pipx":
            return f"pipx uninject {NAME} {quoted(package)}"
        if self.way == "uv":
            return f"uv pip uninstall --python {quoted(self.python)} {quoted(package)}"
        return self.again if self.way == "frozen" else f"{self._pip} uninstall {quoted(package)}"

    @property
    def _pip(self) -> str:
        return f"{quoted(self.python)} -m pip"

    def checks(self) -> Iterator[Check]:
        """Version and way, and whether the metadata is of another version than the code."""
        known = self._distribution.version if self._distribution else __version__
        if known != __version__:
            text = f"{__version__}, but installed as {known}: parts of two versions are mixed"
            yield Check("tdb-dap", "error", text, self.again)
        else:
            yield Check("tdb-dap", "ok", __version__)
        yield Check("installation", "ok", _TEXTS[self.way])
