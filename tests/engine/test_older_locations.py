"""Records of releases that say neither which ops are in a layer group nor what scratch space they have."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import pytest

from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_records import complete
from tdb_dap.engine.source.tensor_location import read_records
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap
from tests.samples import DATA, case

GROUPED = ("toy_bm1684_int8", "toy_bm1684x_f16", "toy_bm1688_f16c2", "toy_bm1690_f16c8")


def older(name: str, folder: Path, **keys: bool) -> Path:
    """A context with the records of an older release. ``keys``: what each record says in place of ``is_local``."""
    context = folder / name
    shutil.copytree(case(name).path, context)
    packed = context / "tensor_location.json.xz"
    records = json.loads(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    for record in records:
        del record["is_local"], record["buffers"]
        record.update(keys)
    (context / "tensor_location.json").write_text(json.dumps(records), "utf-8")
    return context


@pytest.mark.parametrize("name", GROUPED)
def test_the_text_says_what_newer_records_say(name: str) -> None:
    path = case(name).path
    records = read_records(path / "tensor_location.json.xz")
    wanted = [(record.is_local, record.list_of("buffers")) for record in records]
    assert any(is_local for is_local, _ in wanted)
    for record in records:
        record.is_local = None
    complete(MlirFile.read(path / "final.mlir"), records)
    said = [(record.is_local, record.list_of("buffers") if record.is_local else []) for record in records]
    assert said == [(is_local, buffers if is_local else []) for is_local, buffers in wanted]


@pytest.mark.parametrize("name", GROUPED)
def test_ops_of_a_group_hand_over_local_memory(name: str, tmp_path: Path) -> None:
    done = tdb_dap("sanitize", older(name, tmp_path), "--quiet")
    assert (done.returncode, done.stdout.startswith("no findings")) == (0, True), done.stdout


def test_what_an_op_outside_of_groups_leaves_is_left_over(tmp_path: Path) -> None:
    """The near miss: the same commands, if the records deny that their ops are in one group."""
    done = tdb_dap("sanitize", older("toy_bm1684x_f16", tmp_path, is_local=False), "--quiet")
    assert done.returncode == 1
    assert "stale, written by an op that has ended" in done.stdout


def bare(name: str, folder: Path) -> Path:
    path = folder / "model.bmodel"
    context = DATA / "contexts" / name
    model = (context if context.is_dir() else case(name).path) / "compilation.bmodel.xz"
    path.write_bytes(lzma.decompress(model.read_bytes()))
    return path


@pytest.mark.parametrize("name", ["toy_bm1684_int8", "neck_bm1684_int8", "rows_bm1684_int8", "gate_bm1684_int8"])
def test_padding_of_a_bare_model_is_no_tensor(name: str, tmp_path: Path) -> None:
    done = tdb_dap("sanitize", bare(name, tmp_path), "--quiet")
    assert (done.returncode, "uninitialized:" in done.stdout) == (0, False), done.stdout


def test_an_output_that_nobody_wrote_is_found_in_a_bare_model(tmp_path: Path) -> None:
    """The near miss: a load from which an output is computed takes bytes of
    the activations that are not written yet."""
    path = bare("toy_bm1684x_f32", tmp_path)
    program = open_program(path)
    start = program.inputs[0].view.address
    load = next(c for c in program.commands if any(getattr(o, "address", None) == start for o in c.operands))
    spoiled = tmp_path / "spoiled.bmodel"
    with Editor(program, spoiled) as editor:
        editor.set_field(load.token, "src_start_addr_l32", load.fields["src_start_addr_l32"] + 8192)
    done = tdb_dap("sanitize", spoiled, "--quiet")
    assert done.returncode == 1
    assert "output" in done.stdout
