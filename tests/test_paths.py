"""Names from a model, and the directory in which one happens to be, decide neither what is written nor what is run."""

from __future__ import annotations

import ast
import lzma
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.backends import fetch
from tdb_dap.backends.discovery import supported
from tdb_dap.cli.main import main
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.system.child_processes import command
from tdb_dap.tools.export.names import identifier
from tests.samples import SAMPLE
from tests.test_escaping import OLD, renamed


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "a/../../b", "file", "x" * 5000, "\x00", ""])
def test_arrays_may_have_any_name(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    write_npz(folder / "x.npz", {name: np.arange(3)})
    assert everything(tmp_path) == {"a", "a/b", "a/b/x.npz"}
    (array,) = read_npz(folder / "x.npz").values()
    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "x" * 300, "²", "con conv; import os", "\u2028"])
def test_an_exported_op_lies_in_its_folder(name: str, tmp_path: Path) -> None:
    context, out = tmp_path / "context", tmp_path / "a" / "out"
    context.mkdir()
    renamed(context, name)
    before = everything(tmp_path)
    line = next(n for n, text in enumerate((SAMPLE / "final.mlir").read_text().split("\n"), 1) if "loc(#loc12)" in text)
    data = ["--inputs", str(SAMPLE / "input.npz")]
    assert main(["export", str(context), "--op", str(line), *data, "-o", str(out)]) == 0
    assert all(path.startswith("a") for path in everything(tmp_path) - before)
    for script in out.rglob("*.py"):
        ast.parse(script.read_text("utf-8"))


@pytest.mark.parametrize("name", ['"""; open("evil", "w"); """', "\ropen('evil', 'w')\r", '\\"""', "\\"])
def test_an_exported_script_runs_nothing_of_a_name(name: str, tmp_path: Path) -> None:
    context, out = tmp_path / "context", tmp_path / "out"
    context.mkdir()
    if '"' in name or name == "\\":  # MLIR cannot hold it, the directory can
        context = context / name.replace("/", "")
        context.mkdir()
        name = OLD
    renamed(context, name)
    data = ["--inputs", str(SAMPLE / "input.npz")]
    assert main(["export", str(context), "--op", "22", *data, "-o", str(out)]) == 0
    (test,) = out.glob("test_*.py")
    subprocess.run([sys.executable, str(test)], cwd=tmp_path, check=True, capture_output=True)
    assert not list(tmp_path.rglob("evil"))


def test_identifiers_are_what_python_takes() -> None:
    assert identifier("a.b/c") == "a_b_c"
    assert identifier("²").isidentifier()
    assert len(identifier("x" * 500)) == 80


TRAP = "import os, pathlib\npathlib.Path({!r}).touch()\nraise SystemExit('trapped')\n"


@pytest.mark.parametrize("module", ["json", "numpy", "contextlib", "tdb_dap", "ctypes", "tpu_mlir"])
def test_modules_in_the_directory_of_a_model_are_not_imported(module: str, tmp_path: Path) -> None:
    """``tdb-dap debug .`` in a directory that somebody else has made."""
    (tmp_path / f"{module}.py").write_text(TRAP.format(str(tmp_path / "trapped")))
    for name in ("compilation.bmodel.xz", "final.mlir"):
        (tmp_path / name).write_bytes((SAMPLE / name).read_bytes())
    program = [sys.executable, "-c", "import sys; del sys.path[0]; from tdb_dap.cli.main import main; sys.exit(main())"]
    for arguments in (["debug", ".", "-e", "q"], ["backends"]):
        done = subprocess.run([*program, *arguments], cwd=tmp_path, capture_output=True, text=True, input="")
        assert "trapped" not in done.stdout + done.stderr
        assert not (tmp_path / "trapped").exists()
    child = subprocess.run([*command("tdb_dap.backends.child"), "99"], cwd=tmp_path, capture_output=True)
    assert b"trapped" not in child.stderr
    assert not (tmp_path / "trapped").exists()


def test_a_wheel_cannot_write_beside_the_cache(tmp_path: Path) -> None:
    wheel = tmp_path / "tpu_mlir-0-py3-none-any.whl"
    wanted = [chip.vendor_library.file for chip in supported() if chip.vendor_library]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in wanted:
            archive.writestr(f"tpu_mlir/lib/{name}", b"\x7fELF")
            archive.writestr(f"tpu_mlir/lib/../../../evil/{name}", b"\x7fELF")
    fetch.unpack(wheel, tmp_path / "cache" / "vendor")
    assert not (tmp_path / "evil").exists()
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.skipif(sys.platform == "win32", reason="no modes")
def test_scratch_directories_are_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the vendor's runtime is given is where no other user can put something in its place."""
    from tdb_dap.backends.runtime import VendorRuntime
    from tdb_dap.tools.programs import open_program

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[int] = []

    def execute(self: VendorRuntime, command: list[str], folder: Path) -> str:
        seen.append(os.stat(folder).st_mode & 0o777)
        return "nothing is executed here"

    monkeypatch.setattr(VendorRuntime, "_execute", execute)
    program = open_program(SAMPLE)
    runtime = VendorRuntime(tmp_path / "model_runner", program, dict, "")
    runtime._run({})
    assert seen == [0o700]
    assert everything(tmp_path) == set()


def test_a_patched_model_does_not_go_where_a_link_leads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = tmp_path / "model.bmodel"
    plain.write_bytes(lzma.decompress((SAMPLE / "compilation.bmodel.xz").read_bytes()))
    before = plain.read_bytes()
    link = tmp_path / "out.bmodel"
    link.symlink_to(plain)
    assert main(["patch", str(plain), "-o", str(link), "--set", "B1.opd0_h=1"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert plain.read_bytes() == before
