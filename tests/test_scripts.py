"""The tasks of the project: every script and every target of the Makefile is listed, and says how to run it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import generate
from scripts.generated import ROOT

README = (ROOT / "scripts" / "README.md").read_text("utf-8")
TARGETS = sorted(
    (
        *[
            "setup",
            "test",
            "lint",
            "format",
            "docs",
            "extension",
            "bench",
            "fuzz",
            "clients",
            "release",
            "clean",
            "demo",
        ],
        "help",
    )
)


def commands() -> dict[str, Path]:
    """What can be run below scripts/, by its command."""
    found = {}
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        if '\nif __name__ == "__main__":\n' in path.read_text("utf-8"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[f"python -m {'.'.join(part for part in parts if part != '__main__')}"] = path
    for process in ("robustness.fuzz_parsers.one", "structure.traced"):  # started by others
        del found[f"python -m scripts.{process}"]
    return found


COMMANDS = commands()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_script_is_in_the_table_and_its_docstring_says_how_to_run_it(command: str) -> None:
    assert re.search(rf"`{re.escape(command)}[ `]", README), f"scripts/README.md does not list {command}"
    docstring = ast.get_docstring(ast.parse(COMMANDS[command].read_text("utf-8"))) or ""
    assert re.search(rf"^ *{re.escape(command)}( .*)?$", docstring, re.MULTILINE)


def test_the_table_lists_no_script_that_does_not_exist() -> None:
    listed = set(re.findall(r"`(python -m scripts[\w.]*)", README))
    assert listed == set(COMMANDS)


def test_every_benchmark_is_in_the_table() -> None:
    scripts = {path.name for path in (ROOT / "benchmarks").glob("*.py")} - {"wire.py"}
    scripts -= {"vendor_models.py", "vendor_graph.py", "vendor_networks.py"}
    assert [name for name in sorted(scripts) if f"benchmarks/{name}`" not in README and f"`{name}`" not in README] == []


def test_generate_knows_every_generator_and_refuses_others() -> None:
    assert generate.generators()[0] == "protocol"
    assert sorted(generate.generators()) == sorted(
        path.stem.removeprefix("generate_") for path in (ROOT / "scripts").glob("generate_*.py")
    )
    command = [sys.executable, "-m", "scripts.generate", "--check"]
    done = subprocess.run([*command, "nothing"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no generator nothing; there are: protocol, capabilities, " in done.stderr
    assert subprocess.run([*command, "platforms", "release_files"], cwd=ROOT).returncode == 0


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_make_lists_its_targets_with_one_line_each(arguments: list[str]) -> None:
    # As typed by a person: a make that runs the tests would have this one print which directory it enters.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    lines = subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert sorted(re.fullmatch(r"  make (\w+) +(\S.*)", line)[1] for line in lines) == TARGETS  # type: ignore[index]
    assert max(map(len, lines)) <= 120


def test_the_makefile_has_the_targets_that_it_lists() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    assert sorted(re.findall(r"^([a-z-]+):", text, re.MULTILINE)) == TARGETS
    assert sorted(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split()) == TARGETS


TEXTS = [
    path
    for pattern in (
        "*.md",
        "*.py",
        "Makefile",
        ".ci/run",
        "docs/*.md",
        "scripts/**/*",
        "tests/**/*",
        "benchmarks/**/*",
        "examples/**/*",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.suffix in (".md", ".py", "") and path.is_file() and "node_modules" not in path.parts
]
_MAKE = re.compile(r"(?:`|&& |section '[^']*' )make ([a-z][a-z-]*)|^make ([a-z-]+)(?= *(?:#|ARGS|$))", re.MULTILINE)


def test_every_target_that_a_text_names_exists() -> None:
    assert len(TEXTS) > 100
    wrong = [
        f"{path.relative_to(ROOT)}: make {name}"
        for path in TEXTS
        for name in map("".join, _MAKE.findall(path.read_text("utf-8")))
        if name not in TARGETS and path.name != "CHANGELOG.md"
    ]
    assert wrong == []


def test_every_script_that_a_text_names_exists() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {command}"
        for path in TEXTS
        for command in re.findall(r"\bpython -m (scripts(?:\.[a-z_]+)*)(?!\.?[A-Z])", path.read_text("utf-8"))
        if not (ROOT / f"{command.replace('.', '/')}.py").exists()
        and not (ROOT / command.replace(".", "/") / "__main__.py").exists()
        and command not in ("scripts", "scripts.robustness")
    ]
    assert wrong == []
