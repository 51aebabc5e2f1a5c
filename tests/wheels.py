"""A wheel of this checkout, for tests of what installs the package."""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path

import tdb_dap
from tdb_dap.version import __version__


def wheel_of_here(folder: Path) -> Path:
    """A wheel that brings the command; code and dependencies stay where they are, so that nothing is downloaded."""
    path = folder / f"tdb_dap-{__version__}-py3-none-any.whl"
    notes = f"tdb_dap-{__version__}.dist-info"
    places = [Path(tdb_dap.__file__).parent.parent, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    files = {
        "tdb_dap_here.pth": "".join(f"{place}\n" for place in places),
        f"{notes}/METADATA": f"Metadata-Version: 2.1\nName: tdb-dap\nVersion: {__version__}\n",
        f"{notes}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{notes}/entry_points.txt": "[console_scripts]\ntdb-dap = tdb_dap.cli.main:main\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{notes}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{notes}/RECORD"]))
    return path
