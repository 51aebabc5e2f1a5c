"""What the pages on editors tell people to paste: well-formed, and every field and command in it exists."""

from __future__ import annotations

import argparse
import importlib
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli
import yaml

from scripts.generate_extension_schema import ZED, schema_for_zed
from scripts.generate_release_files import VERSIONS
from scripts.generated import ROOT
from tdb_dap import __version__
from tdb_dap.adapter.session.launch_configuration import AttachArguments, LaunchArguments, validated
from tdb_dap.cli.main import MODULES
from tdb_dap.errors import BadInput
from tests.docs.snippets import READERS, Snippet, command_lines, configurations, of_file, of_page

INDEX = ROOT / "docs" / "editors.md"
PAGES = {page.stem: page for page in sorted((ROOT / "docs" / "editors").glob("*.md"))}
PACKAGES = [ROOT / "packaging" / "editors", ROOT / "packaging" / "registries"]
FILES = [path for folder in PACKAGES for path in sorted(folder.rglob("*")) if path.suffix[1:] in READERS]
SNIPPETS = [
    *(snippet for page in (INDEX, *PAGES.values()) for snippet in of_page(page)),
    *(of_file(path) for path in FILES if path != ZED),
]

STARTED = {
    "emacs": {"adapter", "lsp"},
    "helix": {"adapter", "lsp"},
    "kate": {"adapter", "lsp"},
    "neovim": {"adapter", "lsp"},
    "eclipse": set(),  # its commands are typed into a form: `named`
    "jetbrains": set(),
    "theia": set(),
    "zed": set(),  # its extension starts them: `src/lib.rs`
}
"""Page -> the subcommands that its snippets start."""


def check_configuration(fields: dict[str, Any]) -> None:
    """Refuses what the adapter refuses, and what it would only warn of."""
    model = AttachArguments if fields["request"] == "attach" else LaunchArguments
    warnings: list[str] = []
    validated(model, fields, warnings.append)
    assert warnings == []


def check_command(words: list[str]) -> None:
    """Parses a command line as the program does, without running it."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(MODULES[words[0]]).arguments(parser)
    try:
        parser.parse_args(words[1:])
    except (argparse.ArgumentError, SystemExit) as end:
        raise AssertionError(f"tdb-dap does not take: {words}") from end


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.where)
def test_a_snippet_is_well_formed_and_what_it_says_exists(snippet: Snippet) -> None:
    values = snippet.values()
    assert values
    for fields in configurations(values):
        check_configuration(fields)
    for words in command_lines(values):
        check_command(words)


def test_each_page_shows_how_to_start_and_names_its_commands() -> None:
    assert set(PAGES) == set(STARTED)
    for name, page in PAGES.items():
        values = [value for snippet in of_page(page) for value in snippet.values()]
        assert configurations(values), name
        assert {words[0] for words in command_lines(values)} == STARTED[name], name


@pytest.mark.parametrize("page", [INDEX, *PAGES.values()], ids=lambda page: page.stem)
def test_commands_in_the_text_exist(page: Path) -> None:
    for command in re.findall(r"`tdb-dap ([^`\n]+)`", page.read_text("utf-8")):
        words = [word for word in command.split() if word != "CONTEXT"]
        check_command([words[0], *(["CONTEXT"] if words[0] == "debug" else []), *words[1:]])


def test_a_field_that_was_renamed_is_seen_in_every_language() -> None:
    renamed = {
        "lua": '{ { type = "tdb", request = "launch", program = "x", stopAtEntry = true } }',
        "elisp": '(list :type "tdb" :request "launch" :program "x" :stopAtEntry t)',
        "json": '{"a": [{"request": "attach", "program": "x", "stopAtEntry": true}]}',
        "toml": '[[t]]\nrequest = "launch"\ncompletion = []\nargs = { program = "x", stopAtEntry = true }',
        "yaml": "a: {command: launch, program: x, stopAtEntry: true}",
    }
    for language, text in renamed.items():
        values = Snippet("", language, f"x = {text}" if language == "lua" else text).values()
        [fields] = configurations(values)
        with pytest.raises(AssertionError, match="stopAtEntry"):
            check_configuration(fields)
        with pytest.raises(BadInput, match="stopOnEntry"):
            check_configuration({"request": "launch", "program": "x", "stopOnEntry": "perhaps"})


def test_a_command_that_was_renamed_is_seen_in_every_language() -> None:
    renamed = {
        "lua": 'x = { cmd = { "tdb-dap", "adaptor" } }',
        "elisp": '(x command "tdb-dap" command-args ("adaptor"))',
        "json": '{"run": "tdb-dap adaptor"}',
        "toml": 'command = "tdb-dap"\nargs = ["adaptor"]',
        "sh": "tdb-dap adaptor # a remark",
    }
    for language, text in renamed.items():
        [words] = command_lines(Snippet("", language, text).values())
        with pytest.raises(KeyError, match="adaptor"):
            check_command(words)
    with pytest.raises(AssertionError, match="--listn"):
        check_command(["adapter", "--listn", "127.0.0.1:4711"])


def test_a_snippet_that_is_cut_off_is_refused() -> None:
    cut = {"lua": "x = { a = 1", "elisp": "(a (b)", "json": '{"a": 1', "toml": "[a", "yaml": "a: [1", "sh": "a 'b"}
    assert set(cut) == set(READERS)
    for language, text in cut.items():
        with pytest.raises(Exception, match=r"."):
            Snippet("", language, text).values()


def test_zed_s_schema_takes_the_page_s_configurations_and_no_wrong_ones() -> None:
    schema = json.loads(ZED.read_text("utf-8"))
    assert schema == schema_for_zed()
    jsonschema.Draft7Validator.check_schema(schema)
    [entries] = [value for snippet in of_page(PAGES["zed"]) for value in snippet.values() if isinstance(value, list)]
    assert {entry["request"] for entry in entries} == {"launch", "attach"}
    for entry in entries:
        jsonschema.validate(entry, schema)
        for wrong in ({**entry, "program": 1}, {**entry, "request": "run"}, {**entry, "stopOnEntry": "no"}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(wrong, schema)


def test_zed_s_extension_registers_what_its_files_provide() -> None:
    folder = ZED.parent.parent
    manifest = tomli.loads((folder / "extension.toml").read_text("utf-8"))
    [adapter] = manifest["debug_adapters"].values()
    assert folder / adapter["schema_path"] == ZED
    languages = {tomli.loads(path.read_text("utf-8"))["name"] for path in folder.glob("languages/*/config.toml")}
    [server] = manifest["language_servers"].values()
    assert set(server["languages"]) == languages == set(server["language_ids"])
    source = (folder / "src" / "lib.rs").read_text("utf-8")
    started = set(re.findall(r'(?:vec!\[|push\()"(\w+)"', source))
    assert started == {"adapter", "lsp"} <= set(MODULES)
    sent = dict.fromkeys(re.findall(r'^ +"(\w+)": ', source, re.MULTILINE))
    assert set(sent) - {"request"} <= set(LaunchArguments.model_fields)


def test_the_languages_are_those_of_the_extension_of_vs_code() -> None:
    manifest = json.loads((ROOT / "vscode-extension" / "package.json").read_text("utf-8"))
    contributes = manifest["contributes"]
    [debugger] = contributes["debuggers"]
    # Recordings are no text: there they are a language only for their icon.
    texts = (item for item in contributes["languages"] if item["id"] in debugger["languages"])
    known = {item["id"]: item["extensions"] for item in texts}
    for template in (ROOT / "packaging" / "editors" / "lsp4ij").glob("*/template.json"):
        mappings = json.loads(template.read_text("utf-8"))["fileTypeMappings"]
        told = {item["languageId"]: item["fileType"]["patterns"] for item in mappings}
        assert told == {name: [f"*{ending}" for ending in endings] for name, endings in known.items()}


def test_the_templates_of_lsp4ij_are_those_of_the_page() -> None:
    folder = ROOT / "packaging" / "editors" / "lsp4ij"
    shown = [value for snippet in of_page(PAGES["jetbrains"]) for value in snippet.values()]
    assert shown == [json.loads((folder / "dap" / f"{name}.json").read_text("utf-8")) for name in ("launch", "attach")]
    for path in folder.glob("*/template.json"):
        template = json.loads(path.read_text("utf-8"))
        [words] = command_lines([template])
        assert words == ["adapter" if path.parent.name == "dap" else "lsp"]
        assert {"id", "name", "fileTypeMappings"} <= set(template)
    attach = json.loads((folder / "dap" / "template.json").read_text("utf-8"))["attach"]
    assert all(shown[1][value.removeprefix("$")] for value in attach.values())  # LSP4IJ reads them from attach.json


def test_entries_for_registries_have_the_version_and_the_program_of_this_project() -> None:
    for path, around in VERSIONS.items():
        found = re.search(around, path.read_text("utf-8"))
        assert found, path
        assert found[0] == f"{found[1]}{__version__}{found[2]}"
    mason = yaml.safe_load((ROOT / "packaging/registries/mason/tdb-dap/package.yaml").read_text("utf-8"))
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert mason["name"] == project["name"]
    assert mason["licenses"] == [project["license"]]
    assert mason["bin"] == {name: f"pypi:{name}" for name in project["scripts"]}
    row = (ROOT / "packaging/registries/debug-adapter-protocol/adapters.md").read_text("utf-8")
    assert len(row.splitlines()) == 1
    assert row.count("|") == 2
    assert len(re.findall(r"\[[^]]+\]\(https://github\.com/\S+?\)", row)) == 3
