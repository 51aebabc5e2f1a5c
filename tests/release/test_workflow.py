"""The workflow that builds a release: every system, from the one recipe, with commands that exist."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import yaml

from scripts.generated import ROOT

WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
JOBS = WORKFLOW["jobs"]


def commands(job: str) -> list[str]:
    """What a job runs, step by step."""
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_the_extension_is_built_for_every_system_that_its_front_page_names() -> None:
    targets = [entry["target"] for entry in JOBS["extension"]["strategy"]["matrix"]["include"]]
    assert targets == ["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64", "win32-x64"]
    page = (ROOT / "vscode-extension" / "README.md").read_text("utf-8")
    named = re.search(r"Packages for one system \(([^)]*)\)", page)
    assert named is not None
    assert re.findall(r"`([^`]+)`", named[1]) == targets


def test_each_package_is_built_by_the_same_recipe_and_then_checked() -> None:
    build, check = commands("extension")[-2:]
    assert build == "python -m scripts.extension --platform"
    assert check.startswith("python -m scripts.check_extension ")


def test_the_engine_for_browsers_is_made_of_the_packages_of_one_version_of_pyodide() -> None:
    done = "\n".join(commands("browsers"))
    assert "pyodide@$PYODIDE" in done
    assert "scripts.release.engine build/npm/node_modules/pyodide build/wheels build/tdb-dap-engine --fetch" in done
    assert "python -m scripts.extension --web build/tdb-dap-engine" in done


def test_every_script_that_is_run_exists() -> None:
    for job in JOBS:
        for name in re.findall(r"python -m (scripts[\w.]*)", "\n".join(commands(job))):
            assert find_spec(name), f"{job}: {name}"


def test_what_is_published_was_built_by_the_jobs_before() -> None:
    assert JOBS["publish"]["needs"] == ["extension", "packages", "browsers"]
    assert "ovsx" in "\n".join(commands("publish"))
    assert JOBS["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
