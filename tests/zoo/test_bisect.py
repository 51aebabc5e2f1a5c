"""The build that broke a case, found by halving."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.command_line import tdb_dap
from tests.triage_case import Compiled
from tests.zoo.zoos import break_model, model, spoil_reference, zoo


def builds(tmp_path: Path, bad_from: int, count: int = 5) -> list[Path]:
    """Folders with what builds of a compiler have made of a model; wrong from one of them on."""
    found = []
    for number in range(count):
        folder = zoo(tmp_path / f"build{number}", "toy")
        if number >= bad_from:
            spoil_reference(folder / "toy")
        found.append(folder)
    return found


@pytest.mark.parametrize("bad_from", [1, 2, 3, 4])
def test_the_first_wrong_build_of_five(bad_from: int, tmp_path: Path) -> None:
    words = ("zoo", "bisect", "--case", "toy", "--builds", *builds(tmp_path, bad_from), "--keep", tmp_path / "kept")
    done = tdb_dap(*words)
    assert done.returncode == 1, done.stderr
    first, good = (tmp_path / f"build{number}" for number in (bad_from, bad_from - 1))
    assert done.stdout.splitlines()[0] == f"{first} is the first build that is wrong; {good} was right"
    assert "first op: tpu." in done.stdout
    assert done.stderr.count("\n") <= 4, "of five builds at most four are tried"


def test_builds_that_made_nothing_are_passed_over(tmp_path: Path) -> None:
    folders = builds(tmp_path, 3)
    for number in (1, 2):
        (folders[number] / "toy" / "compilation.bmodel.xz").unlink()
    done = tdb_dap("zoo", "bisect", "--case", "toy", "--builds", *folders, "--keep", tmp_path / "kept")
    assert done.returncode == 1
    assert f"{folders[3]} is the first build that is wrong; {folders[0]} was right" in done.stdout
    assert f"between them {folders[1]} made nothing" in done.stdout


def test_ends_that_are_not_one_right_and_one_wrong(tmp_path: Path) -> None:
    folders = builds(tmp_path, 3)
    keep = ("--keep", tmp_path / "kept")
    for given, said in (
        (folders[:2], "the last build is right"),
        (folders[3:], "the first build is wrong already"),
        (folders[:1], "needs two builds"),
        ([tmp_path / "no.whl", folders[0]], "no such wheel"),
    ):
        done = tdb_dap("zoo", "bisect", "--case", "toy", "--builds", *given, *keep)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr.splitlines()[-1]
    done = tdb_dap("zoo", "bisect", "--case", "none", "--builds", *folders, *keep)
    assert (done.returncode, "made nothing of none" in done.stderr) == (2, True)


def test_commits_of_a_repository_are_built_once(tmp_path: Path) -> None:
    """Each commit of the compiler here holds one word: whether it makes a right model."""
    repository = tmp_path / "compiler"
    repository.mkdir()
    right, wrong = model("toy", tmp_path), tmp_path / "wrong"
    subprocess.run(["cp", "-r", right, wrong], check=True)
    spoil_reference(wrong)
    broken = tmp_path / "broken"
    subprocess.run(["cp", "-r", right, broken], check=True)
    break_model(broken)

    def git(*words: str) -> str:
        identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *words], cwd=repository, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    made = []
    for word in ("toy", "toy", "none", "wrong", "wrong"):
        (repository / "word").write_text(word)
        git("add", "word")
        git("commit", "--quiet", "--allow-empty", "--message", word)
        made.append(git("rev-parse", "HEAD"))
    line = f"cp -r {tmp_path}/$(git -C {repository} show {{build}}:word)/. {{out}}"
    words = ("zoo", "bisect", "--case", "toy", "--commits", f"{made[0]}..{made[-1]}", "--repository", repository)
    done = tdb_dap(*words, "--build-command", line, "--keep", tmp_path / "kept")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(f"{made[3]} is the first build that is wrong; {made[1]} was right")
    contexts = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept" / "contexts").rglob("final.mlir")}
    assert contexts
    again = tdb_dap(*words, "--build-command", line, "--keep", tmp_path / "kept")
    assert again.stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in contexts} == contexts
    done = tdb_dap(*words)
    assert (done.returncode, "--commits needs --build-command" in done.stderr) == (2, True)


def test_it_ends_with_the_smallest_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds that leave all that the compiler makes; the second one spoils the bmodel."""
    monkeypatch.setenv("PATH", "/usr/bin")
    folders = []
    for number in range(3):
        toy = Compiled.into(tmp_path / f"build{number}" / "toy")
        if number:
            toy.spoil_bmodel()
        folders.append(toy.folder.parent)
    case = toy.context.relative_to(folders[-1])
    words = ("zoo", "bisect", "--case", case, "--builds", *folders, "--do", "sanitize", "check")
    done = tdb_dap(*words, "--keep", tmp_path / "kept", "--reduce", tmp_path / "smallest")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(f"{folders[1]} is the first build that is wrong")
    assert (tmp_path / "smallest" / "reproduce.sh").exists()


def wheel(folder: Path, version: int, makes: Path) -> Path:
    """A compiler of that version: a program ``fakecc`` that copies what it would have made."""
    path = folder / f"fakecc-{version}-py3-none-any.whl"
    information = f"fakecc-{version}.dist-info"
    program = (
        f"import shutil, sys\n\ndef main():\n    shutil.copytree({str(makes)!r}, sys.argv[1], dirs_exist_ok=True)\n"
    )
    files = {
        "fakecc.py": program,
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: fakecc\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/entry_points.txt": "[console_scripts]\nfakecc = fakecc:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{information}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{information}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("tool", ["uv", pytest.param("pip", marks=pytest.mark.install)])
def test_wheels_of_a_compiler_are_installed_and_run(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if tool == "uv" and shutil.which("uv") is None:
        pytest.skip("uv is not on PATH")
    if tool == "pip":
        monkeypatch.setattr("tdb_dap.tools.zoo.bisect.shutil.which", lambda name: None)
    right, wrong = (model("toy", zoo(tmp_path / name, "pool")) for name in ("right", "wrong"))
    spoil_reference(wrong)
    wheels = [wheel(tmp_path, version, right if version < 3 else wrong) for version in (1, 2, 3, 4)]
    case = {"name": "toy", "compile": {"command": "fakecc {out}"}}
    (tmp_path / "it.json").write_text(json.dumps({"cases": [case]}))
    words = ("zoo", "bisect", tmp_path / "it.json", "--case", "toy", "--keep", tmp_path / "kept")
    done = tdb_dap(*words, "--builds", *wheels)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(f"{wheels[2]} is the first build that is wrong; {wheels[1]} was right")
    (tmp_path / "broken.whl").write_bytes(b"no wheel")
    done = tdb_dap(*words, "--builds", wheels[0], tmp_path / "broken.whl")
    assert (done.returncode, "cannot be installed" in done.stderr) == (2, True)
    done = tdb_dap("zoo", "bisect", "--case", "toy", "--builds", *wheels, "--keep", tmp_path / "kept")
    assert (done.returncode, "has no recipe to compile it" in done.stderr) == (2, True)
