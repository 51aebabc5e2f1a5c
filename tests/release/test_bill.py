"""The bill of materials names what a release carries of others, and nothing that it does not."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from scripts.generated import ROOT
from scripts.release import bill as module
from scripts.release.bill import bill, check_frozen, pins
from scripts.release.steps import BadBuild
from tdb_dap.version import __version__

REQUIREMENTS = ROOT / "packaging" / "frozen" / "requirements.txt"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A frozen program with a library of the system and a module of Python's; the tools are not installed for tests."""
    monkeypatch.setattr(module, "version", lambda name: "1.0")
    library = tmp_path / "program" / "lib"
    (library / "numpy").mkdir(parents=True)
    (library / "libssl.so.3").write_bytes(b"TLS")
    (library / "numpy" / "core.so").write_bytes(b"numbers")
    return tmp_path / "program"


def test_every_part_has_a_version_and_is_named_once(program: Path) -> None:
    parts = bill(ROOT, program, 1_700_000_000, "c0ffee")
    assert (parts["bomFormat"], parts["metadata"]["timestamp"]) == ("CycloneDX", "2023-11-14T22:13:20Z")
    own = parts["metadata"]["component"]
    assert (own["purl"], own["properties"]) == (
        f"pkg:pypi/tdb-dap@{__version__}",
        [{"name": "commit", "value": "c0ffee"}],
    )
    named = [part["bom-ref"] for part in parts["components"]]
    assert len(named) == len(set(named))
    assert parts["dependencies"] == [{"ref": own["bom-ref"], "dependsOn": named}]
    assert {f"pkg:pypi/{name}@{number}" for name, number in pins(REQUIREMENTS)[0]} <= set(named)
    [file] = [part for part in parts["components"] if part["type"] == "file"]
    assert (file["name"], file["hashes"][0]["content"]) == ("libssl.so.3", hashlib.sha256(b"TLS").hexdigest())
    assert bill(ROOT, program, 1_700_000_000, "c0ffee") == parts


def test_the_extension_carries_what_its_sources_import_and_what_that_needs(program: Path) -> None:
    named = {part["name"]: part for part in bill(ROOT, program, 0, "")["components"] if "npm" in part.get("purl", "")}
    assert set(named) >= {"vscode-languageclient", "vscode-jsonrpc", "semver"}
    assert not set(named) & {"typescript", "esbuild", "eslint", "prettier", "@vscode/vsce"}
    lock = json.loads((ROOT / "vscode-extension" / "package-lock.json").read_text("utf-8"))["packages"]
    inner = lock["node_modules/vscode-languageclient/node_modules/minimatch"]
    assert named["minimatch"]["version"] == inner["version"] != lock["node_modules/minimatch"]["version"]
    assert len(named["semver"]["hashes"][0]["content"]) == 128


def test_an_import_that_no_lock_file_knows_is_refused(program: Path, tmp_path: Path) -> None:
    extension = tmp_path / "tree" / "vscode-extension"
    (extension / "src").mkdir(parents=True)
    (extension / "package.json").write_text('{"version": "1.0"}')
    (extension / "package-lock.json").write_text('{"packages": {}}')
    (extension / "src" / "a.ts").write_text('import { x } from "@scope/pad/left";\nimport * as fs from "node:fs";\n')
    recipe = tmp_path / "tree" / "packaging" / "frozen"
    recipe.mkdir(parents=True)
    (recipe / "requirements.txt").write_bytes(REQUIREMENTS.read_bytes())
    with pytest.raises(BadBuild, match="there is no @scope/pad, which the extension imports"):
        bill(tmp_path / "tree", program, 0, "")


def test_what_is_frozen_must_be_named_exactly(tmp_path: Path) -> None:
    """A Python whose pip lists two packages, one of them not as the requirements have it."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho Typing_Extensions==4.1\necho numpy==2.0\necho 'tdb-dap @ file:///a.whl'\n")
    python.chmod(0o755)
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("typing-extensions==4.1\n# What freezes it.\nnumpy==2.0\n")
    if sys.platform != "win32":
        check_frozen(python, requirements, {})
        requirements.write_text("typing-extensions==4.1\n# What freezes it.\nnumpy==2.1\n")
        with pytest.raises(BadBuild, match=r"requirements.txt does not name numpy==2.0; add them"):
            check_frozen(python, requirements, {})
