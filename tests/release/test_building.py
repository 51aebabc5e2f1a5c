"""A release is made of a commit, and holds all of it."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from scripts.release import building
from scripts.release.building import Commit
from scripts.release.steps import BadBuild


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two files, with one commit of 2023-11-14."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(building, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1700000000 +0000")
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("")
    identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "First"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return tmp_path


def test_what_is_built_is_as_old_as_the_commit_and_only_what_is_in_it(checkout: Path, tmp_path: Path) -> None:
    commit = Commit.head()
    assert commit.epoch == 1_700_000_000
    copied = commit.copy(tmp_path / "copy")
    assert {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()} == commit.files
    assert commit.files == {"setup.py", "tests/test_it.py"}


def test_what_is_not_committed_is_not_released(checkout: Path) -> None:
    (checkout / "setup.py").write_text("print()")
    (checkout / "notes.txt").write_text("")
    with pytest.raises(BadBuild, match=r"not committed: setup.py, notes.txt; commit or remove it first"):
        Commit.head()


def test_without_version_control_there_is_nothing_to_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "ROOT", tmp_path)
    with pytest.raises(BadBuild, match="no git checkout"):
        Commit.head()


@pytest.mark.parametrize(
    ("packed", "complaint"),
    [
        (("setup.py",), r"leaves out \['tests/test_it.py'\] and takes in \[\]"),
        (("setup.py", "tests/test_it.py", "core.1234"), r"leaves out \[\] and takes in \['core.1234'\]"),
    ],
)
def test_the_source_distribution_is_compared_with_the_commit(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, packed: tuple[str, ...], complaint: str
) -> None:
    commit, sources = Commit.head(), tmp_path_factory.mktemp("dist") / "tdb_dap-0.1.0.tar.gz"
    with tarfile.open(sources, "w:gz") as tar:
        for name in packed:
            tar.add(checkout / "setup.py", f"tdb_dap-0.1.0/{name}")
    with pytest.raises(BadBuild, match=complaint):
        building._examine(commit, [sources])
