"""The examples as they are when they are installed, without installing them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest


@pytest.fixture
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment in which the example of the test counts as installed, with its entry points."""
    folder = next(parent for parent in request.path.parents if (parent / "pyproject.toml").exists())
    project = _project((folder / "pyproject.toml").read_text())
    information = tmp_path / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    information.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (information / "METADATA").write_text(metadata)
    (information / "entry_points.txt").write_text(project["entry_points"])
    paths = [str(tmp_path / "site"), str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _project(text: str) -> dict[str, str]:
    """Name, version and entry points (as in an installed package) of a pyproject.toml; Python 3.10 reads no TOML."""
    name, version = (re.search(rf'^{key} = "(.*)"', text, re.MULTILINE) for key in ("name", "version"))
    group = re.search(r'\[project\.entry-points\."(.*)"\]\n(.*?)\n\n', text, re.DOTALL)
    assert name
    assert version
    assert group
    entries = group[2].replace('"', "")
    return {"name": name[1], "version": version[1], "entry_points": f"[{group[1]}]\n{entries}\n"}
