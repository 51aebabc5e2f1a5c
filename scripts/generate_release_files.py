"""Write what the extension and the packages repeat of the project: the version, the changes, the license.

    python -m scripts.generate_release_files            rewrite them
    python -m scripts.generate_release_files --check    exit 1 if one is out of date

A release changes one line, ``__version__`` in tdb_dap/version.py, and gives CHANGELOG.md a heading of that name below
*Unreleased*.
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


def wrong_headings(changelog: str) -> str:
    """What is wrong with the headings of a change log; empty if nothing is.

    *Unreleased* comes first, then released versions, the newest of which is ``__version__``; before the first release
    there are none.
    """
    headings = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    if headings[:1] != ["Unreleased"]:
        return "the first heading must be `## Unreleased`"
    if any(re.fullmatch(r"\S+ - \d{4}-\d\d-\d\d", heading) is None for heading in headings[1:]):
        return "headings of released versions must be `## VERSION - YYYY-MM-DD`"
    if headings[1:] and not headings[1].startswith(f"{__version__} "):
        return f"the newest released version must be {__version__} (tdb_dap/version.py)"
    return ""


def texts() -> dict[Path, str]:
    """Every file, with its text."""
    if problem := wrong_headings((ROOT / "CHANGELOG.md").read_text("utf-8")):
        sys.exit(f"CHANGELOG.md: {problem}")
    manifests = (EXTENSION / "package.json", EXTENSION / "package-lock.json", FEATURE)
    made = {path: with_version(path) for path in manifests}
    for path, around in VERSIONS.items():
        made[path] = re.sub(around, rf"\g<1>{__version__}\g<2>", path.read_text("utf-8"), count=1)
    return made | {EXTENSION / name: (ROOT / name).read_text("utf-8") for name in COPIED}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
