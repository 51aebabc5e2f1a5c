"""Build the VS Code extension: vscode-extension/tdb-dap.vsix for every system, and on demand one for this system.

python -m scripts.extension               the universal package: it carries the wheel, and installs it where asked to
python -m scripts.extension --platform    also tdb-dap-TARGET.vsix, which carries the frozen program
python -m scripts.extension --web ENGINE  also tdb-dap-web.vsix for browsers, which carries the engine of ENGINE alone
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.generated import ROOT
from scripts.release.engine import NEEDED
from scripts.release.freezing import freeze
from scripts.release.steps import BadBuild, run

FOLDER = ROOT / "vscode-extension"

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def target() -> str:
    """The name that VS Code gives to this system, e.g. linux-x64."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_MACHINES.get(machine, machine)}"


def install_packages(folder: Path, environment: Mapping[str, str]) -> None:
    """Install what builds the extension, and build it, in the extension's folder."""
    _npm(["ci", "--no-fund", "--no-audit"], folder, environment)
    _npm(["run", "--silent", "build"], folder, environment)


def package(folder: Path, wheel: Path, program: Path | None, output: Path, environment: Mapping[str, str]) -> None:
    """Pack the extension with the pure wheel and, for this system alone, the frozen program."""
    bundled = folder / "bundled"
    shutil.rmtree(bundled, ignore_errors=True)
    (bundled / "wheel").mkdir(parents=True)
    shutil.copy(wheel, bundled / "wheel")
    options = ["-o", str(output)]
    if program is not None:
        shutil.copytree(program, bundled / "tdb-dap", symlinks=True)
        options += ["--target", target()]
    try:
        _npm(["run", "--silent", "package", "--", *options], folder, environment)
    finally:
        shutil.rmtree(bundled)


def package_web(folder: Path, engine: Path, output: Path, environment: Mapping[str, str]) -> None:
    """Pack the extension for browsers with the engine; BadBuild if the adapter's packages are missing in it."""
    missing = [package for package in NEEDED if not any(engine.glob(f"{package}-*.whl"))]
    if missing:
        raise BadBuild(f"{engine}: lacks {', '.join(missing)}; `python -m scripts.release.engine` makes an engine")
    options = ["-o", str(output), "--target", "web"]
    environment = {**environment, "TDB_DAP_WEB_ENGINE": str(engine.absolute())}
    try:
        _npm(["run", "--silent", "package", "--", *options], folder, environment)
    finally:
        shutil.rmtree(folder / "dist" / "engine", ignore_errors=True)


def _npm(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise BadBuild("npm was not found; install Node.js 20 or newer")
    said = run([npm, *arguments], folder, environment)
    if "WARN" in said:
        raise BadBuild(f"npm {' '.join(arguments)} warns:\n{said}")


def build_wheel(into: Path, kernel: bool) -> Path:
    """A wheel of the working tree, with the C kernel or for every system."""
    environment = {**os.environ, "TDB_DAP_KERNEL": str(int(kernel))}
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    run([*command, "-w", str(into), str(ROOT)], ROOT, environment)
    [wheel] = into.glob("*.whl")
    return wheel


def main() -> int:
    """Build, and print what was built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", action="store_true", help="also a package for this system, with its own Python")
    parser.add_argument("--web", metavar="ENGINE", type=Path, help="also a package for browsers, with this engine")
    arguments = parser.parse_args()
    built = []
    try:
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            for folder in ("pure", "kernel", "frozen"):
                (scratch / folder).mkdir()
            install_packages(FOLDER, os.environ)
            pure = build_wheel(scratch / "pure", kernel=False)
            built.append(FOLDER / "tdb-dap.vsix")
            package(FOLDER, pure, None, built[-1], os.environ)
            if arguments.platform:
                kernel = build_wheel(scratch / "kernel", kernel=True)
                recipe = ROOT / "packaging" / "frozen"
                program = freeze(kernel, recipe, scratch / "frozen", os.environ)
                built.append(FOLDER / f"tdb-dap-{target()}.vsix")
                package(FOLDER, pure, program, built[-1], os.environ)
            if arguments.web is not None:
                built.append(FOLDER / "tdb-dap-web.vsix")
                package_web(FOLDER, arguments.web, built[-1], os.environ)
    except BadBuild as error:
        print(f"extension: error: {error}", file=sys.stderr)
        return 2
    for path in built:
        version = json.loads((FOLDER / "package.json").read_text("utf-8"))["version"]
        print(f"{path.relative_to(ROOT)}  {version}  {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
