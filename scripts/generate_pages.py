"""Bundle the program of the reports from the pages of the VS Code extension; it needs Node.js 20 with npm.

    python -m scripts.generate_pages            rewrite tdb_dap/tools/pages/report.js and report.css
    python -m scripts.generate_pages --check    exit 1 if they are not what a fresh build gives

The package carries them, so that reports can be written where there is no Node.js. Where npm is missing, nothing is
checked, and a line says so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.generated import ROOT, write_or_check

EXTENSION = ROOT / "vscode-extension"
TARGET = ROOT / "tdb_dap" / "tools" / "pages"
NAMES = ("report.js", "report.css", "share.js", "share.css", "shareWorker.js")
_UNSAFE = ("</script", "</style", "<!--")
"""What would end the element around a program in the middle."""


def texts() -> dict[Path, str]:
    """The files as a fresh build gives them, by the versions of the lock file."""
    npm = shutil.which("npm")
    if npm is None:
        print("scripts.generate_pages: skipped, npm was not found (Node.js 20 or newer)", file=sys.stderr)
        return {}
    if not (EXTENSION / "node_modules" / "esbuild").exists():
        subprocess.run([npm, "ci", "--no-fund", "--no-audit", "--silent"], cwd=EXTENSION, check=True)
    with tempfile.TemporaryDirectory() as folder:
        command = ["node", "esbuild.mjs", "--report", folder]
        subprocess.run(command, cwd=EXTENSION, check=True)
        made = {TARGET / name: (Path(folder) / name).read_text("utf-8") for name in NAMES}
    for path, text in made.items():
        if any(mark in text for mark in _UNSAFE):
            raise SystemExit(f"{path.name} holds one of {', '.join(_UNSAFE)}")
    return made


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
