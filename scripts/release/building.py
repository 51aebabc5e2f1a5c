"""The steps of a build, each from a clean copy of one commit."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.extension import install_packages, package, target
from scripts.generated import ROOT
from scripts.release import cross
from scripts.release.archives import contents, normalise
from scripts.release.bill import bill, check_frozen
from scripts.release.freezing import freeze
from scripts.release.steps import BadBuild, run

CHECKSUMS = "SHA256SUMS"

LIBRARIES = (".so", ".pyd")

MADE_FOR_SOURCES = ("PKG-INFO", "setup.cfg", "tdb_dap.egg-info/")
"""What a source distribution has beyond the files of the commit."""


@dataclass(frozen=True)
class Commit:
    """What is built. ``epoch``: seconds since 1970, the time of every file in what is built."""

    name: str
    epoch: int
    files: frozenset[str]

    @classmethod
    def head(cls) -> Commit:
        """The commit that is checked out; BadBuild if something is not committed."""
        if not (ROOT / ".git").exists():
            raise BadBuild(f"{ROOT} is no git checkout: a release is made of a commit")
        if changed := _git("status", "--porcelain").splitlines():
            raise BadBuild(f"not committed: {', '.join(line[3:] for line in changed)}; commit or remove it first")
        name, epoch = _git("log", "-1", "--format=%H %ct").split()
        return cls(name, int(epoch), frozenset(_git("ls-files").splitlines()))

    def copy(self, into: Path) -> Path:
        """The files of the commit, alone."""
        packed = subprocess.run(["git", "archive", self.name], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            _unpack(tar, into)
        return into


def _unpack(tar: tarfile.TarFile, into: Path) -> None:
    # Python 3.10 before .12 and 3.11 before .4 have no filters: https://docs.python.org/3/library/tarfile.html
    tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
    tar.extractall(into)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.rstrip()


def build(
    commit: Commit,
    scratch: Path,
    into: Path,
    environment: Mapping[str, str] | None = None,
    systems: Sequence[str] = tuple(cross.SYSTEMS),
) -> list[Path]:
    """Build everything into ``into``, which is emptied first, and return the files; ``environment``: more variables.

    ``systems``: those of the wheels with a kernel, in the order in which they are compiled.
    """
    given = {**os.environ, "SOURCE_DATE_EPOCH": str(commit.epoch), **(environment or {})}
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    tree = commit.copy(scratch / "tree")
    sources = _sources(tree, into, given)
    unpacked = scratch / "unpacked"
    wheels: dict[str, Path] = {}
    for kernel in ("1", "0"):  # from the source distribution, which is complete only if this works
        with tarfile.open(sources) as tar:
            _unpack(tar, unpacked / kernel)
        [folder] = (unpacked / kernel).iterdir()
        wheels[kernel] = _wheel(folder, {**given, "TDB_DAP_KERNEL": kernel})
    pure = shutil.copy(wheels["0"], into)
    for wheel in cross.build(Path(pure), into, systems):
        audit(wheel)
    for wheel in into.glob("*.whl"):  # before it becomes a part of the extension
        normalise(wheel, commit.epoch)
    program = _extensions(tree, scratch / "frozen", into, given)
    version = json.loads((tree / "vscode-extension" / "package.json").read_text("utf-8"))["version"]
    parts = bill(tree, program, commit.epoch, commit.name)
    (into / f"tdb-dap-{version}.cdx.json").write_text(json.dumps(parts, indent=1) + "\n", "utf-8")
    built = sorted(into.iterdir())
    for path in built:
        if path.suffix != ".json":
            normalise(path, commit.epoch)
    _examine(commit, built)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in built]
    (into / CHECKSUMS).write_text("".join(lines), "utf-8")
    return [*built, into / CHECKSUMS]


def _sources(tree: Path, into: Path, environment: Mapping[str, str]) -> Path:
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "-o", str(into), "."], tree, environment)
    [sources] = into.glob("*.tar.gz")
    return sources


def _wheel(folder: Path, environment: Mapping[str, str]) -> Path:
    """A wheel for this machine; that with a kernel is not released, it shows that others can build one."""
    made = folder / "dist"
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o", str(made), "."], folder, environment)
    [wheel] = made.iterdir()
    if not wheel.name.endswith("-none-any.whl") and not any(name.endswith(LIBRARIES) for name in contents(wheel)):
        raise BadBuild("the C kernel was not built: a compiler is needed, such as gcc")
    return wheel


def audit(wheel: Path) -> None:
    """BadBuild if a wheel for Linux needs more of the C library than its name says."""
    if "linux" not in wheel.name:
        return
    with tempfile.TemporaryDirectory() as nothing:  # where it looks for libraries: those of this machine are not meant
        command = [sys.executable, "-m", "auditwheel", "show", "--ldpaths", nothing, str(wheel)]
        shown = run(command, wheel.parent, os.environ)
    wanted = wheel.name.removesuffix(".whl").rpartition("-")[2].split(".")
    if not any(f'"{tag}"' in shown for tag in wanted):
        raise BadBuild(f"{wheel.name}: needs another C library than its name says:\n{shown}")


def _runs_here(wheel: Path) -> bool:
    """Whether a wheel is for every system or for this one."""
    own = next((system for system in cross.SYSTEMS.values() if cross.is_here(system)), None)
    return wheel.name.endswith("-none-any.whl") or (own is not None and own.tags in wheel.name)


def _extensions(tree: Path, scratch: Path, into: Path, environment: Mapping[str, str]) -> Path:
    """Pack the extension for every system, and for this one with the frozen program, whose folder is returned."""
    folder = tree / "vscode-extension"
    manifest = json.loads((folder / "package.json").read_text("utf-8"))
    name, version = manifest["name"], manifest["version"]
    wheels = {path.name.endswith("-none-any.whl"): path for path in into.glob("*.whl") if _runs_here(path)}
    scratch.mkdir()
    recipe = tree / "packaging" / "frozen"
    program = freeze(wheels[False], recipe, scratch, environment)
    check_frozen(scratch / "venv" / "bin" / "python", recipe / "requirements.txt", environment)
    install_packages(folder, environment)
    package(folder, wheels[True], None, into / f"{name}-{version}.vsix", environment)
    package(folder, wheels[True], program, into / f"{name}-{target()}-{version}.vsix", environment)
    return program


def _examine(commit: Commit, built: list[Path]) -> None:
    """BadBuild if the source distribution is not what is committed, or a registry would refuse a description."""
    [sources] = [path for path in built if path.name.endswith(".tar.gz")]
    packed = {name.split("/", 1)[1] for name in contents(sources)}
    lacking = commit.files - packed
    extra = {name for name in packed - commit.files if not name.startswith(MADE_FOR_SOURCES)}
    if lacking or extra:
        raise BadBuild(
            f"{sources.name}: MANIFEST.in leaves out {sorted(lacking)[:5]} and takes in {sorted(extra)[:5]}, "
            f"{len(lacking)} and {len(extra)} files"
        )
    registry = [str(path) for path in built if path.suffix in (".gz", ".whl")]
    run([sys.executable, "-m", "twine", "check", "--strict", *registry], sources.parent, os.environ)
