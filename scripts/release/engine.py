"""Make the engine for browsers: of shared pages (`tdb-dap share --engine FOLDER`), and of the extension on the web.

python -m scripts.release.engine PYODIDE WHEELS FOLDER
python -m scripts.release.engine PYODIDE WHEELS FOLDER --fetch [URL]

PYODIDE: folder of the npm package pyodide; WHEELS: folder with the wheels for it of the packages in NEEDED, ours by
scripts.release.cross for wasm32. What is not needed in a browser is left out of the wheels. With --fetch, what is
missing in WHEELS is downloaded first: from URL, the folder of that version of Pyodide with its packages (default: where
Pyodide publishes it), as far as Pyodide has them, else from the index of Python packages.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from scripts.release.archives import normalise
from scripts.release.steps import BadBuild, run
from tdb_dap.tools.share.sharing import ENGINE, PACKAGES

NEEDED = (*PACKAGES, "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection")
"""A shared page has PACKAGES; the adapter also checks launch configurations."""

LEFT_OUT = ("/tests/", "/doc/", "numpy/f2py/", "numpy/distutils/", "tdb_dap/sample/", "tdb_dap/tools/pages/report")
_EPOCH = 1_577_836_800
"""2020-01-01: every file of an engine is as old."""


def make(pyodide: Path, wheels: Path, into: Path) -> int:
    """Write the engine, and return its size in bytes; BadBuild where something is missing."""
    into.mkdir(parents=True, exist_ok=True)
    for name in ENGINE:
        if not (pyodide / name).is_file():
            raise BadBuild(f"{pyodide}: there is no {name}; is it the npm package pyodide, version 314 or newer?")
        shutil.copyfile(pyodide / name, into / name)
    for package in NEEDED:
        found = sorted(wheels.glob(f"{package}-*.whl"))
        if len(found) != 1:
            raise BadBuild(f"{wheels}: {len(found)} wheels of {package}; one is needed")
        _slim(found[0], into / found[0].name)
        normalise(into / found[0].name, _EPOCH)
    return sum(path.stat().st_size for path in into.iterdir())


def published(pyodide: Path) -> str:
    """Where Pyodide publishes the packages of this version."""
    version = json.loads((pyodide / "package.json").read_text("utf-8"))["version"]
    return f"https://cdn.jsdelivr.net/pyodide/v{version}/full"


def fetch(pyodide: Path, wheels: Path, url: str) -> None:
    """Download the wheels of NEEDED that are not there; BadBuild if one is not that of Pyodide's list of packages."""
    wheels.mkdir(parents=True, exist_ok=True)
    listed = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))["packages"]
    for package in NEEDED:
        if any(wheels.glob(f"{package}-*.whl")):
            continue
        entry = listed.get(package.replace("_", "-"))
        if entry is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", package]
            run(command, wheels, os.environ)
            continue
        name, checksum = str(entry["file_name"]), entry["sha256"]
        source = f"{url.rstrip('/')}/{name}"
        try:
            with urlopen(source) as response:
                data = response.read()
        except (URLError, OSError) as error:
            raise BadBuild(f"{source}: {error}") from error
        if hashlib.sha256(data).hexdigest() != checksum:
            raise BadBuild(f"{source}: another file than pyodide-lock.json of {pyodide} names (SHA-256)")
        (wheels / name).write_bytes(data)


def _slim(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for info in old.infolist():
            if not any(part in info.filename for part in LEFT_OUT):
                new.writestr(info, old.read(info))


def main() -> int:
    """Make it, and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("pyodide", "wheels", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--fetch", metavar="URL", nargs="?", const="", help="download what WHEELS lacks")
    arguments = parser.parse_args()
    try:
        if arguments.fetch is not None:
            fetch(arguments.pyodide, arguments.wheels, arguments.fetch or published(arguments.pyodide))
        size = make(arguments.pyodide, arguments.wheels, arguments.folder)
    except BadBuild as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{arguments.folder}: {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
