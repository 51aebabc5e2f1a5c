"""Write what the extension and the packages repeat of the project: the version, the changes, the license.

    python -m scripts.generate_release_files            rewrite them
    python -m scripts.generate_release_files --check    exit 1 if one is out of date

A release changes one line, ``__version__`` in tdb_dap/version.py, and gives CHANGELOG.md a heading of that name.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from scripts.generated import ROOT, write_or_check
from tdb_dap import __version__

EXTENSION = ROOT / "vscode-extension"
FEATURE = ROOT / "packaging" / "devcontainer" / "src" / "tdb-dap" / "devcontainer-feature.json"
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
EDITORS = ROOT / "packaging" / "editors"
MASON = ROOT / "packaging" / "registries" / "mason" / "tdb-dap" / "package.yaml"
VERSIONS = {
    RECIPE: r'(?m)^(  version: ").*(")$',
    EDITORS / "zed" / "extension.toml": r'(?m)^(version = ").*(")$',
    EDITORS / "zed" / "Cargo.toml": r'(?m)^(version = ").*(")$',
    MASON: r"(?m)^(  id: pkg:pypi/tdb-dap@).*()$",
}
"""What stands before and after the version, in files that are not JSON."""

COPIED = ("CHANGELOG.md", "LICENSE")


def with_version(path: Path) -> str:
    """The text of a manifest of npm, its lock file, or a dev-container feature, with the version of the project."""
    manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    manifest["version"] = __version__
    if "packages" in manifest:
        manifest["packages"][""]["version"] = __version__
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def texts() -> dict[Path, str]:
    """Every file, with its text."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if newest is None or newest[1] != __version__:
        sys.exit(f"CHANGELOG.md: the first heading must be of {__version__} (tdb_dap/version.py)")
    manifests = (EXTENSION / "package.json", EXTENSION / "package-lock.json", FEATURE)
    made = {path: with_version(path) for path in manifests}
    for path, around in VERSIONS.items():
        made[path] = re.sub(around, rf"\g<1>{__version__}\g<2>", path.read_text("utf-8"), count=1)
    return made | {EXTENSION / name: (ROOT / name).read_text("utf-8") for name in COPIED}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
