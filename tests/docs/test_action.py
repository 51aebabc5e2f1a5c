"""The action for continuous integration: what is declared, and its shell steps as a runner runs them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from scripts.generated import ROOT
from tests.cli.sarif_rules import violations
from tests.samples import DATA, SAMPLE
from tests.wheels import wheel_of_here

FOLDER = ROOT / ".github" / "actions" / "tdb-dap"
T = TypeVar("T", bound=Callable[..., object])
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
RACE = DATA / "findings" / "toy_bm1690_f16c4"
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")

without_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="a runner has bash")


def needs_bash(test: T) -> T:
    """A test that installs the package, and runs it in a shell."""
    return without_bash(pytest.mark.install(test))


def test_the_action_is_declared_as_its_host_reads_it() -> None:
    assert set(ACTION) == {"name", "description", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    for declared in ACTION["inputs"].values():
        assert set(declared) in ({"description", "default"}, {"description", "required"})
        assert isinstance(declared.get("default", ""), str)  # the host takes texts only
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        assert ("shell" in step) == ("run" in step)
        assert set(step) <= {"name", "id", "if", "shell", "env", "run", "uses", "with"}
        assert not EXPRESSION.search(step.get("run", "")), "an input that is pasted into a script is a script"
        assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step.get("uses", "a/b@v1"))


def test_inputs_and_outputs_are_used_and_declared() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS)))
    assert used == set(ACTION["inputs"])
    written = set(re.findall(r'echo "([\w-]+)=', (FOLDER / "run.sh").read_text()))
    asked = set(re.findall(r"steps\.run\.outputs\.([\w-]+)", json.dumps(ACTION)))
    assert written == asked
    scripts = {name: (FOLDER / name).read_text() for name in ("install.sh", "run.sh")}
    for step in STEPS:
        text = step.get("run", "") + "".join(body for name, body in scripts.items() if name in step.get("run", ""))
        for variable in step.get("env", {}):
            assert f"${variable}" in text or f"${{{variable}" in text


@dataclass
class Runner:
    """The machine that runs the steps: the files and variables that it gives them, and what the steps leave."""

    folder: Path
    inputs: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: str = ""
    log: str = ""

    def run(self) -> int:
        """All steps with a script, in order; the exit code of the first that fails. What is installed stays so."""
        for step in STEPS:
            if "install.sh" in step.get("run", "") and "TDB_BIN" in self.environment:
                continue
            if "run" in step and (code := self._step(step)):
                return code
        return 0

    def _step(self, step: dict[str, Any]) -> int:
        files = {name: self.folder / name.lower() for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        given = {name: EXPRESSION.sub(self._value, value) for name, value in step.get("env", {}).items()}
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_ACTION_PATH": str(FOLDER),
            "GITHUB_WORKSPACE": str(self.folder / "work"),
            **{name: str(file) for name, file in files.items()},
            **self.environment,
            **given,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(
            command, env=environment, cwd=self.folder / "work", capture_output=True, text=True, timeout=300
        )
        self.log += done.stdout + done.stderr
        self.environment |= _assignments(files["GITHUB_ENV"])
        if "id" in step:
            self.outputs[step["id"]] = _assignments(files["GITHUB_OUTPUT"])
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        return done.returncode

    def _value(self, match: re.Match[str]) -> str:
        kind, *path = match[1].split(".")
        if kind == "inputs":
            return self.inputs.get(path[0], ACTION["inputs"][path[0]].get("default", ""))
        assert (kind, path[1]) == ("steps", "outputs")
        return self.outputs[path[0]].get(path[2], "")


def _assignments(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of_here(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of programs that the first step makes, once for all tests of a worker."""
    folder = tmp_path_factory.mktemp("installed")
    for name in ("work", "temp"):
        (folder / name).mkdir()
    runner = Runner(folder, {"spec": str(wheel), "python": sys.executable, "contexts": ""})
    runner.run()
    return runner.environment["TDB_BIN"]


@pytest.fixture
def runner(tmp_path: Path, wheel: Path, installed: str) -> Runner:
    """A workspace with the sample as ``models/toy``, and a model with a race as ``models/race``."""
    models = tmp_path / "work" / "models"
    shutil.copytree(SAMPLE, models / "toy")
    shutil.copytree(RACE, models / "race")
    (tmp_path / "temp").mkdir()
    inputs = {"spec": str(wheel), "python": sys.executable, "contexts": "models/toy", "inputs": "{context}/input.npz"}
    return Runner(tmp_path, inputs | {"reference": "{context}/ref.npz"}, {"TDB_BIN": installed})


def spoil(runner: Runner) -> None:
    """Make the reference of the sample another one."""
    file = runner.folder / "work" / "models" / "toy" / "ref.npz"
    with np.load(file) as archive:
        arrays = {name: array + (name == "maxpool5_MaxPool") for name, array in archive.items()}
    np.savez(file, **arrays)


@needs_bash
def test_a_sound_model_gives_reports_and_a_summary(runner: Runner) -> None:
    assert runner.run() == 0, runner.log
    assert runner.outputs["run"] == {
        "exit-code": "0",
        "reports": "tdb-dap-reports",
        "sarif": "tdb-dap-reports/sarif",
    }
    reports = runner.folder / "work" / "tdb-dap-reports"
    found = {path.relative_to(reports).as_posix() for path in reports.rglob("*") if path.is_file()}
    names = ("models-toy.check", "models-toy.sanitize")
    assert found == {f"{name}.{end}" for name in names for end in ("xml", "json", "md")} | {
        f"sarif/{name}.sarif" for name in names
    }
    for name in names:
        assert violations(json.loads((reports / "sarif" / f"{name}.sarif").read_text())) == []
        assert ElementTree.parse(reports / f"{name}.xml").getroot().get("failures") == "0"
    assert "| models/toy | check | nothing new | pass: 16 tensors compared, 0 differ" in runner.summary
    assert "###" not in runner.summary


@needs_bash
def test_a_path_may_hold_what_a_shell_obeys(runner: Runner) -> None:
    folder = runner.folder / "work" / "models"
    (folder / "toy").rename(folder / "a & b $(x) 'c'")
    runner.inputs["contexts"] = "models/a & b $(x) 'c'"
    assert runner.run() == 0, runner.log
    (report,) = (runner.folder / "work" / "tdb-dap-reports").glob("models-a---b---x---c-+*.check.xml")
    assert re.fullmatch(r".*\+[0-9a-f]{16}\.check", report.stem)


@needs_bash
def test_what_is_wrong_fails_the_job_until_it_is_known(runner: Runner) -> None:
    spoil(runner)
    runner.inputs |= {"contexts": "\n  models/toy/  \n\n", "write-baselines": "true"}
    assert runner.run() == 1
    assert runner.outputs["run"]["exit-code"] == "1"
    assert (
        "| models/toy/ | check | **something is wrong** | fail: first at fault is maxpool5\\_MaxPool" in runner.summary
    )
    assert "\n### check models/toy/\n\n    fail: first at fault is maxpool5_MaxPool" in runner.summary
    known = runner.folder / "work" / ".tdb-dap"
    assert {path.name for path in known.iterdir()} == {"models-toy.check.json", "models-toy.sanitize.json"}
    runner.inputs["write-baselines"] = "false"
    assert runner.run() == 0
    assert "| models/toy/ | check | nothing new | baseline: 0 new, 2 known, 0 gone |" in runner.summary


@needs_bash
def test_options_are_words_and_several_models_give_the_worst_code(runner: Runner) -> None:
    spoil(runner)
    runner.inputs |= {
        "contexts": "models/race\nmodels/toy\nmodels/absent",
        "commands": "sanitize",
        "inputs": "",
        "reference": "",
        "sanitize-options": "--sanitizers hazard --except no* [a]",
    }
    assert runner.run() == 2
    rows = [line.split(" | ")[:3] for line in runner.summary.splitlines() if line.startswith("| models")]
    assert [row[2] for row in rows] == ["**something is wrong**", "nothing new", "**could not be run**"]
    assert "tdb-dap: error: models/absent" in runner.log


@needs_bash
def test_what_names_hold_is_no_command_to_the_runner(runner: Runner) -> None:
    runner.inputs["contexts"] = "::error::x $(touch hacked) `touch hacked` | <b>"
    assert runner.run() == 2
    assert not (runner.folder / "work" / "hacked").exists()
    commands = [line for line in runner.log.splitlines() if line.startswith("::")]
    assert {line.split("::")[1] for line in commands} == {"group", "endgroup"}
    (row,) = {line for line in runner.summary.splitlines() if line.startswith("| ::error") and "| check |" in line}
    assert row.count(" | ") == 3
    assert "<b>" not in row


@pytest.fixture
def printing(tmp_path: Path) -> Callable[..., tuple[str, Path]]:
    """The log of a run and its reports, whose program prints a text and names its context in a report."""

    def run(text: str, *contexts: str) -> tuple[str, Path]:
        for name in ("work", "temp", "bin"):
            (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "text").write_text(text)
        program = tmp_path / "bin" / "tdb-dap"
        program.write_text(
            "#!/usr/bin/env bash\n"
            'context="$2"; while [ "$1" != --report ]; do shift; done; printf "%s" "$context" >"$2"\n'
            f"cat '{tmp_path / 'text'}'\n"
        )
        program.chmod(0o755)
        runner = Runner(
            tmp_path, {"contexts": "\n".join(contexts), "commands": "check"}, {"TDB_BIN": str(program.parent)}
        )
        assert runner.run() == 0, runner.log
        return runner.log, tmp_path / "work" / "tdb-dap-reports" / "sarif"

    return run


@without_bash
@pytest.mark.parametrize(
    "text",
    [
        "::error::x",
        "  ::add-mask::a",
        "\t::error::x",
        "op x ##[add-mask]a",
        "##[error file=a]b",
        "a\r::error::x",
        "\u00a0::x",
    ],
)
def test_nothing_that_is_printed_is_a_command_to_the_runner(
    text: str, printing: Callable[..., tuple[str, Path]]
) -> None:
    log, _ = printing(f"before\n{text}\nafter\n", "models/toy")
    commands = [line for line in re.split(r"[\r\n]", log) if line.strip().startswith("::") or "##[" in line]
    assert commands == ["::group::tdb-dap check models-toy", "::endgroup::"]
    assert "before" in log
    assert "after" in log


@without_bash
def test_contexts_with_like_names_keep_their_own_reports(printing: Callable[..., tuple[str, Path]]) -> None:
    contexts = ["a/b", "a-b", "a b", "a/b/c", "a-b/c", "a/b-c", "./a/d/", "ä/b", "a/b+c"]
    _, reports = printing("", *contexts)
    written = {file.name: file.read_text() for file in reports.iterdir()}
    assert sorted(written.values()) == sorted(contexts)
    assert written["a-b.check.sarif"] == "a/b"
    assert written["a-d.check.sarif"] == "./a/d/"


@needs_bash
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"contexts": " \n"}, "contexts: name at least one context directory"),
        ({"commands": "check lint"}, "commands: lint is neither check nor sanitize"),
    ],
)
def test_inputs_that_make_no_sense_are_named(inputs: dict[str, str], message: str, runner: Runner) -> None:
    runner.inputs |= inputs
    assert runner.run() == 2
    assert f"tdb-dap: error: {message}" in runner.log


def test_the_page_names_every_input() -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert [name for name in ACTION["inputs"] if f"`{name}`" not in page] == []
