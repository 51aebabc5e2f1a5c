"""The issue forms: each is what the host of the project reads, and asks for the installation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.generated import ROOT
from tdb_dap.cli.main import COMMANDS

FOLDER = ROOT / ".github"
FORMS = [path for path in sorted((FOLDER / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
KINDS = {"checkboxes", "dropdown", "input", "markdown", "textarea"}
WANTED = "`tdb-dap doctor`, or, if your version has none, of `tdb-dap --version` and `tdb-dap info CONTEXT`"


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text("utf-8"))


def test_there_is_a_form_for_each_kind_of_report() -> None:
    assert [path.stem for path in FORMS] == ["bug", "idea", "unsupported", "wrong-result"]
    assert read(FOLDER / "ISSUE_TEMPLATE" / "config.yml") == {"blank_issues_enabled": True}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_its_schema_asks_for(path: Path) -> None:
    form = read(path)
    assert set(form) == {"name", "description", "title", "labels", "body"}
    questions = [item for item in form["body"] if item["type"] != "markdown"]
    assert all(item["type"] in KINDS for item in form["body"])
    assert len({item["id"] for item in questions}) == len(questions)
    for item in form["body"]:
        assert set(item) <= {"type", "id", "attributes", "validations"}
        if item["type"] == "markdown":
            assert set(item["attributes"]) == {"value"}
            continue
        assert re.fullmatch(r"[\w-]+", item["id"])
        assert item["attributes"]["label"]
        assert set(item["attributes"]) <= {"label", "description", "placeholder", "render", "options", "multiple"}
        assert item.get("validations", {}) in ({}, {"required": True})
        if item["type"] == "dropdown":
            assert all(isinstance(option, str) for option in item["attributes"]["options"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_the_installation(path: Path) -> None:
    (question,) = [item for item in read(path)["body"] if item.get("id") == "doctor"]
    assert WANTED in question["attributes"]["description"]


def test_the_commands_that_forms_name_exist() -> None:
    names = {name for path in FORMS for name in re.findall(r"`tdb-dap (\w+)", path.read_text("utf-8"))}
    assert names <= set(COMMANDS)


def test_the_project_names_no_address_of_its_own() -> None:
    texts = [*FOLDER.rglob("*.yml"), *FOLDER.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    assert [path.name for path in texts if re.search(r"https?://", path.read_text("utf-8"))] == []


def test_the_template_of_pull_requests_is_short() -> None:
    assert len((FOLDER / "PULL_REQUEST_TEMPLATE.md").read_text("utf-8").splitlines()) == 10
