"""What is in dist/, installed into clean environments: every Python, oldest and newest dependencies.

    python -m scripts.check_installed

Nothing of this directory is on the path: the tests are those of the source distribution, without the package in it.
Interpreters that are not there are skipped and named.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path

import nox
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
QUICK = (
    "tests/adapter/test_session.py",
    "tests/engine/test_expressions.py",
    "tests/engine/test_machine.py",
    "tests/test_python_interface.py",
)
"""Tests that touch every dependency, in seconds."""

KERNEL = (
    "tests/targets/test_sums.py",
    "--deselect=tests/targets/test_sums.py::test_a_group_is_what_its_definition_says",  # slow, and not the kernel's
)
"""Tests of the C kernel, for which dependencies do not matter."""

nox.options.envdir = str(ROOT / "build" / "nox")
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False

# The tools beside nox; and pyenv puts only those interpreters on the path that were chosen for a directory.
for folder in (Path(sys.executable).parent, *Path("~/.pyenv/versions").expanduser().glob("3.*/bin")):
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def built(session: nox.Session, pattern: str) -> Path:
    """The one file of dist/ that is meant."""
    found = list((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        session.error(f"dist/{pattern}: {len(found)} files; run make release first")
    return found[0]


def built_for_here(session: nox.Session) -> Path | None:
    """The wheel with the C kernel for this system; None where a release has none."""
    own = set(sys_tags())
    wheels = [path for path in (ROOT / "dist").glob("*-abi3-*.whl") if own & parse_wheel_filename(path.name)[3]]
    if len(wheels) > 1:
        session.error(f"dist: {', '.join(path.name for path in wheels)} are all for this system")
    return next(iter(wheels), None)


def oldest(session: nox.Session) -> Path:
    """The lower bounds of pyproject.toml as constraints; what they in turn depend on may be new."""
    path = Path(session.create_tmp()) / "oldest.txt"
    options = ("--resolution", "lowest-direct", "--python-version", str(session.python), "--quiet")
    session.run("uv", "pip", "compile", str(ROOT / "pyproject.toml"), *options, "-o", str(path))
    return path


def unpack_tests(session: nox.Session) -> Path:
    """The source distribution without the package."""
    folder = Path(session.create_tmp()) / "sources"
    with tarfile.open(built(session, "*.tar.gz")) as tar:
        members = [member for member in tar if not member.name.partition("/")[2].startswith("tdb_dap/")]
        tar.extractall(folder, members)
    return next(folder.iterdir())


@nox.session(python=PYTHONS)
@nox.parametrize("dependencies", ["oldest", "newest"])
def install(session: nox.Session, dependencies: str) -> None:
    """Without the C kernel and with it: the demo, a check, and the quick tests."""
    limits = ("--constraint", str(oldest(session))) if dependencies == "oldest" else ()
    wheel = str(built(session, "*-none-any.whl"))
    session.install("--only-binary", ":all:", *limits, wheel, "hypothesis", "pytest", "pytest-xdist")
    tests = unpack_tests(session)
    session.chdir(tests)
    overlap = tests / "examples" / "overlap"
    data = (f"--inputs={overlap / 'input.npz'}", f"--reference={overlap / 'ref.npz'}")
    session.run("tdb-dap", "demo", silent=True)
    session.run("tdb-dap", "backends", silent=True)
    session.run("python", "-c", "import tdb_dap.language.server")
    session.run("tdb-dap", "check", str(overlap), *data, success_codes=[1], silent=True)  # has a fault, on purpose
    if with_kernel := built_for_here(session):
        session.install("--no-deps", "--reinstall-package", "tdb-dap", str(with_kernel))
        session.run("python", "-c", "from tdb_dap.targets import kernel; assert kernel.is_active()")
    chosen = (*QUICK, *KERNEL) if dependencies == "newest" else QUICK
    session.run("python", "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *chosen)


@nox.session(python=False)
def without_installing(session: nox.Session) -> None:
    """pipx and uv, run once and installed, for somebody who has nothing else: an empty home directory."""
    home = Path(session.create_tmp()) / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    wheel = str(built_for_here(session) or built(session, "*-none-any.whl"))
    session.chdir(home)  # nothing of this directory is on the path
    alone = {"HOME": str(home), "USERPROFILE": str(home), **dict.fromkeys(("XDG_CACHE_HOME", "XDG_DATA_HOME"))}
    session.run("pipx", "run", "--spec", wheel, "tdb-dap", "demo", env=alone, silent=True)
    session.run("uvx", "--from", wheel, "tdb-dap", "info", str(ROOT / "examples" / "overlap"), env=alone)
    for tool, command in (("uv", ("uv", "tool", "install", wheel)), ("pipx", ("pipx", "install", wheel))):
        programs = home / f"{tool}-programs"
        there = {"UV_TOOL_BIN_DIR": str(programs), "PIPX_BIN_DIR": str(programs)}
        session.run(*command, env=alone | there, silent=True)
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        report = session.run(str(programs / "tdb-dap"), "doctor", env=alone | path, silent=True)
        if f"{tool}" not in next(line for line in str(report).splitlines() if "installation" in line):
            session.error(f"doctor does not see that {tool} has installed it:\n{report}")
