"""Packages for places where people work: a feature of dev containers, an image, a recipe of conda."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from packaging.requirements import Requirement

from scripts.generated import ROOT
from tdb_dap.version import __version__
from tests.wheels import wheel_of_here

PACKAGING = ROOT / "packaging"
FEATURE = PACKAGING / "devcontainer" / "src" / "tdb-dap"
INSTALL = FEATURE / "install.sh"
DOCKERFILE = PACKAGING / "docker" / "Dockerfile"
RECIPE: dict[str, Any] = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text("utf-8"))
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
TOOLS = ("cat", "chmod", "find", "id", "ln", "ls", "mkdir", "mktemp", "mv", "readlink", "rm", "sh", "touch")

T = TypeVar("T", bound=Callable[..., object])

without_sh = pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason="for Debian and Ubuntu")


def needs_sh(test: T) -> T:
    """A test that installs the package, with the system's own tools."""
    return without_sh(pytest.mark.install(test))


@dataclass
class Image:
    """A machine with a few tools, on which a command is a shell script; ``log``: what apt-get was asked for."""

    folder: Path

    def has(self, name: str, script: str) -> None:
        file = self.folder / "bin" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def has_python(self, name: str = "python3", before: str = ":") -> None:
        """This Python; ``before``: what its script does first."""
        self.has(name, f'{before}\nexec {shlex.quote(sys.executable)} "$@"')

    @property
    def wheel(self) -> Path:
        return self.folder / "wheels" / f"tdb_dap-{__version__}-py3-none-any.whl"

    @property
    def log(self) -> list[str]:
        file = self.folder / "log"
        return file.read_text().splitlines() if file.exists() else []

    def install(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Install the wheel of this checkout with a prefix of its own, without a package registry."""
        environment = {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder),
            "IMAGE": str(self.folder),
            "TDB_DAP_PREFIX": str(self.folder / "prefix"),
            "SPEC": str(self.wheel),
            "FINDLINKS": str(self.folder / "wheels"),
            "PIP_NO_DEPS": "1",
            "PIP_CONFIG_FILE": os.devnull,
            **variables,
        }
        return subprocess.run(
            ["sh", str(INSTALL)], env=environment, capture_output=True, text=True, timeout=300, cwd=self.folder
        )

    def version(self) -> str:
        command = [str(self.folder / "prefix" / "bin" / "tdb-dap"), "--version"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


APT_GET = """echo "$*" >> "$IMAGE/log"
case "$*" in install*)
  cat "$IMAGE/bin/python-of-the-distribution" > "$IMAGE/bin/python3"
  chmod 755 "$IMAGE/bin/python3";;
esac"""


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """Without a Python; its apt-get installs one."""
    made = Image(tmp_path)
    for name in ("bin", "wheels"):
        (tmp_path / name).mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    wheel_of_here(tmp_path / "wheels")
    made.has_python("python-of-the-distribution")
    made.has("apt-get", APT_GET)
    return made


@needs_sh
def test_a_python_that_is_new_enough_is_taken_and_again_brings_it_up_to_date(image: Image) -> None:
    image.has_python("python3", before='case "$*" in *version_info*) exit 1;; esac')  # an old one comes first
    image.has_python("python3.12")
    for _ in range(2):
        done = image.install()
        assert (done.returncode, done.stdout) == (0, f"tdb-dap {__version__}\n"), done.stderr
        assert image.version() == f"tdb-dap {__version__}\n"
    assert image.log == []
    (image.folder / "prefix" / "lib" / "tdb-dap" / "bin" / "python").unlink()
    assert image.install().returncode == 0
    assert image.version() == f"tdb-dap {__version__}\n"


@needs_sh
def test_without_a_python_the_distribution_s_is_installed(image: Image) -> None:
    done = image.install()
    assert (done.returncode, done.stdout) == (0, f"tdb-dap {__version__}\n"), done.stderr
    assert image.log == ["update -qq", "install -qq -y --no-install-recommends python3 python3-venv"]
    assert image.install().returncode == 0
    assert len(image.log) == 2


@needs_sh
def test_a_python_without_venv_gets_it(image: Image) -> None:
    lacking = 'case "$*" in *ensurepip,*) [ -f "$IMAGE/log" ] || exit 1;; esac'
    image.has_python("python3.11", before=lacking)
    done = image.install()
    assert done.returncode == 0, done.stderr
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert image.log[1].split()[-1] in (f"python{version}-venv", "python3-venv")


@needs_sh
def test_where_the_distribution_s_python_is_too_old_a_private_one_is_taken(image: Image) -> None:
    real = shlex.quote(sys.executable)
    uv = f"""#!/bin/sh
echo "uv $* to $UV_PYTHON_INSTALL_DIR" >> "$IMAGE/log"
for last; do :; done
exec {real} -m venv "$last" """
    (image.folder / "uv").write_text(uv)
    image.has(
        "python-of-the-distribution",
        """case "$*" in
*version_info*) exit 1;;
*" venv "*) mkdir -p "$3/bin"; ln -s "$0" "$3/bin/python";;
*"install -q uv") cat "$IMAGE/uv" > "${0%/*}/uv"; chmod 755 "${0%/*}/uv";;
esac""",
    )
    done = image.install()
    assert (done.returncode, done.stdout) == (0, f"tdb-dap {__version__}\n"), done.stderr
    prefix = image.folder / "prefix"
    assert image.log[2:] == [
        f"uv venv -q --seed --python 3.13 --python-preference only-managed {prefix}/lib/tdb-dap "
        f"to {prefix}/lib/tdb-dap-python"
    ]
    assert image.version() == f"tdb-dap {__version__}\n"


@needs_sh
@pytest.mark.parametrize(
    ("commands", "variables", "message"),
    [
        ({"apt-get": ""}, {}, "Python 3.10 or newer with venv is needed, and there is no apt-get to get python3 "),
        ({"apt-get": "exit 1"}, {}, "apt-get update fails; is there a network?"),
        ({"apt-get": 'case "$1" in install) exit 1;; esac'}, {}, "apt-get cannot install python3 python3-venv"),
        ({"apt-get": ":"}, {}, "apt-get has installed no python3"),
        ({"id": "echo 1000"}, {"TDB_DAP_PREFIX": "/usr/local"}, "run this as root, or set TDB_DAP_PREFIX"),
        ({}, {"SPEC": "no-such-package"}, "pip cannot install no-such-package"),
        (
            {},
            {"SPEC": ""},
            "spec: name the wheel of a release, as its path in the container or its address with #sha256=HASH",
        ),
        ({}, {"SPEC": "bin"}, "spec: bin has no wheel of tdb-dap for this machine"),
    ],
)
def test_what_cannot_be_installed_is_one_line(
    commands: dict[str, str], variables: dict[str, str], message: str, image: Image
) -> None:
    for name, script in commands.items():
        (image.folder / "bin" / name).unlink()
        if script:
            image.has(name, script)
    done = image.install(**variables)
    assert done.returncode == 2
    [error] = [line for line in done.stderr.splitlines() if line.startswith("tdb-dap: error: ")]
    assert message in error
    assert not (image.folder / "prefix" / "bin" / "tdb-dap").exists()


@needs_sh
def test_of_a_release_the_wheel_for_the_machine_is_taken_whatever_the_registry_has(image: Image) -> None:
    """A directory with wheels for other systems; a registry with a newer tdb-dap of somebody else's."""
    image.has_python()
    foreign, registry = image.folder / "wheels", image.folder / "registry"
    for tags in ("cp310-abi3-win_amd64", "cp310-abi3-macosx_11_0_arm64"):
        (foreign / f"tdb_dap-{__version__}-{tags}.whl").write_text("for another system")
    registry.mkdir()
    wheel_of_here(registry).rename(registry / "tdb_dap-99.0-py3-none-any.whl")
    done = image.install(SPEC=str(foreign), FINDLINKS="", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(registry))
    assert (done.returncode, done.stdout) == (0, f"tdb-dap {__version__}\n"), done.stderr


def test_the_feature_is_what_tools_of_dev_containers_read() -> None:
    feature = json.loads((FEATURE / "devcontainer-feature.json").read_text("utf-8"))
    assert set(feature) == {"id", "version", "name", "description", "options"}  # no extension by a name on an index
    assert (feature["id"], feature["version"]) == (FEATURE.name, __version__)
    script = INSTALL.read_text("utf-8")
    for name, option in feature["options"].items():
        assert re.fullmatch("[a-z]+", name)
        assert set(option) == {"type", "default", "description"}
        assert f'{name.upper()}="${{{name.upper()}:-{option["default"]}}}"' in script
    assert os.access(INSTALL, os.X_OK)


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile and what follows each."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", DOCKERFILE.read_text("utf-8")))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


@needs_sh
def test_the_layer_of_the_image_installs_the_debugger_and_keeps_the_extension(image: Image) -> None:
    """Its COPY and RUN are executed with another directory in the place of /usr/local."""
    share, inside = image.folder / "prefix" / "share" / "tdb-dap", "/usr/local/share/tdb-dap"
    image.has_python()
    image.has("code-server", 'echo "code-server $*" >> "$IMAGE/log"')
    dist = image.folder / "dist"
    (image.folder / "wheels").rename(dist)
    (dist / f"tdb_dap-{__version__}-cp310-abi3-win_amd64.whl").write_text("for another system")
    (dist / f"tdb-dap-{__version__}.vsix").write_text("an extension")
    (dist / f"tdb-dap-linux-x64-{__version__}.vsix").write_text("with its own Python")
    (dist / "SHA256SUMS").write_text("checksums")
    variables = {"FINDLINKS": str(share), "TDB_DAP_PREFIX": str(image.folder / "prefix"), "IMAGE": str(image.folder)}
    variables |= {"PATH": str(image.folder / "bin"), "PIP_NO_DEPS": "1", "PIP_CONFIG_FILE": os.devnull}
    assert [name for name, _ in instructions()] == ["ARG", "FROM", "ARG", "COPY", "RUN", "LABEL"]
    for name, rest in instructions():
        if name == "COPY":
            *sources, target = rest.split()
            assert (target, sources[-1]) == (f"{inside}/", "dist/")
            share.mkdir(parents=True)
            for file in [*(ROOT / source for source in sources[:-1]), *dist.iterdir()]:
                shutil.copy(file, share)
        elif name == "RUN":
            script = rest.replace("/usr/local", str(image.folder / "prefix"))
            done = subprocess.run(["sh", "-c", script], env=variables, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
    assert {path.name for path in share.iterdir()} == {"install.sh", "tdb-dap.vsix"}
    assert (share / "tdb-dap.vsix").read_text() == "an extension"
    assert image.log == [f"code-server --install-extension {share}/tdb-dap.vsix"]
    assert image.version() == f"tdb-dap {__version__}\n"
    (label,) = (rest for name, rest in instructions() if name == "LABEL")
    [metadata] = json.loads(shlex.split(label)[0].partition("=")[2])
    assert metadata["customizations"]["vscode"]["extensions"] == [f"{inside}/tdb-dap.vsix"]


OF_CONDA = {"flatbuffers": "python-flatbuffers", "prompt_toolkit": "prompt-toolkit"}
"""Packages with another name there."""


def of_recipe(python: tuple[int, int]) -> set[str]:
    """What the recipe needs at run time with a version of Python."""
    found = set()
    for entry in RECIPE["requirements"]["run"]:
        if isinstance(entry, str):
            found.add(entry)
            continue
        least = re.fullmatch(r'match\(python, ">=3\.(\d+)"\)', entry["if"])
        assert least is not None
        if python >= (3, int(least[1])):
            found.add(entry["then"])
    return found


def test_the_recipe_of_conda_needs_what_the_project_needs() -> None:
    declared = re.search(r"^dependencies = \[\n(.*?)^\]", PROJECT, re.M | re.S)
    assert declared is not None
    wanted = [Requirement(line.strip(' ",')) for line in declared[1].splitlines() if line.strip().startswith('"')]
    least = re.search(r'^requires-python = "(.*)"$', PROJECT, re.M)
    assert least is not None
    for minor in range(10, 15):
        applying = [
            one for one in wanted if one.marker is None or one.marker.evaluate({"python_version": f"3.{minor}"})
        ]
        expected = {f"{OF_CONDA.get(one.name, one.name)} {one.specifier}" for one in applying} | {f"python {least[1]}"}
        assert of_recipe((3, minor)) == expected


def test_the_recipe_of_conda_says_what_the_project_says() -> None:
    def of_project(name: str) -> str:
        found = re.search(rf'^"?{name}"? = "(.*)"$', PROJECT, re.M)
        assert found is not None
        return found[1]

    assert RECIPE["context"]["version"] == __version__
    assert RECIPE["package"]["name"] == of_project("name")
    assert RECIPE["about"] == {
        "summary": of_project("description"),
        "license": of_project("license"),
        "license_file": "LICENSE",
    }
    assert RECIPE["build"]["python"]["entry_points"] == [f"tdb-dap = {of_project('tdb-dap')}"]
    build = re.search(r'^requires = \["setuptools>=(.*)"\]$', PROJECT, re.M)
    assert build is not None
    assert f"setuptools >={build[1]}" in RECIPE["requirements"]["host"]
    assert (PACKAGING / "conda" / RECIPE["source"]["path"] / "pyproject.toml").exists()


def test_the_page_names_what_is_there() -> None:
    page = (ROOT / "docs" / "containers.md").read_text("utf-8")
    for path in (FEATURE, DOCKERFILE, PACKAGING / "conda" / "recipe.yaml"):
        assert path.relative_to(ROOT).as_posix() in page
