"""Check a platform package of the extension: size, target, texts, and that the debugger in it works by itself.

python -m scripts.check_extension vscode-extension/tdb-dap-linux-x64.vsix

Exit code 1 if something is wrong; every finding is one line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from scripts.extension import target
from scripts.generated import ROOT
from scripts.release.freezing import PROGRAM
from tdb_dap.system.sample import SAMPLE

LARGEST = 60_000_000
"""Bytes that a package may have: it is carried into closed networks by hand."""

NEWEST_GLIBC = (2, 35)
"""The C library that the program may need: that of Ubuntu 22.04 and of the vendor's image."""


def findings(package: Path, scratch: Path) -> Iterator[str]:
    """What is wrong with a package, a line each; ``scratch``: an empty folder to unpack into."""
    if (size := package.stat().st_size) > LARGEST:
        yield f"{package.name}: {size:,} bytes, more than {LARGEST:,}"
    with zipfile.ZipFile(package) as archive:
        manifest = archive.read("extension.vsixmanifest").decode()
        for info in archive.infolist():
            path = Path(archive.extract(info, scratch))
            if mode := info.external_attr >> 16 & 0o777:
                path.chmod(mode)
    platform = re.search(r'TargetPlatform="([^"]*)"', manifest)
    if platform is None or platform[1] != target():
        yield f"{package.name}: made for {platform[1] if platform else 'every system'}, not for {target()}"
    bundled = scratch / "extension" / "bundled"
    if len(list((bundled / "wheel").glob("*-none-any.whl"))) != 1:
        yield f"{package.name}: the wheel for every system is not in it"
    program = bundled / "tdb-dap" / PROGRAM
    yield from _program(program, scratch)
    if sys.platform == "linux":
        yield from _libraries(program.parent)
    if target() == "linux-x64" and not list(program.parent.rglob("librecorder.so")):
        yield f"{package.name}: the recorder is not in it"


def _program(program: Path, scratch: Path) -> Iterator[str]:
    """Run it as on a machine that has nothing: no PATH, an empty home."""
    environment = {"HOME": str(scratch), "PATH": ""}
    if os.name == "nt":
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    version = json.loads((ROOT / "vscode-extension" / "package.json").read_text("utf-8"))["version"]
    reference = ["--inputs", SAMPLE / "input.npz", "--reference", SAMPLE / "ref.npz"]
    workers = ["--mode", "standalone", "--jobs", "2"]
    for arguments, wanted in (
        (["--version"], f"tdb-dap {version}"),
        (["info", SAMPLE], "BM1684X"),
        (["check", SAMPLE, *reference, *workers], "0 differ"),
        (["backends"], "C kernel"),
    ):
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, text=True)
        if done.returncode or wanted not in done.stdout:
            said = (done.stderr.strip() or done.stdout.strip()).split("\n")[-1]
            yield f"{' '.join(command[1:2])}: exit code {done.returncode}, without {wanted!r}: {said}"


def _libraries(folder: Path) -> Iterator[str]:
    """Libraries that need a newer C library than promised."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            needed = {(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes())}
            if newer := [version for version in needed if version > NEWEST_GLIBC]:
                yield f"{path.name}: needs glibc {max(newer)[0]}.{max(newer)[1]}"


def main() -> int:
    """Check one package; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    package = parser.parse_args().package
    with tempfile.TemporaryDirectory() as scratch:
        found = list(findings(package, Path(scratch)))
    print("\n".join(found) or f"{package.name}: {package.stat().st_size / 1e6:.1f} MB, works by itself")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
