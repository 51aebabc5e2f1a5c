"""Ops and commands in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.cli.main import main
from tests.samples import DATA, case


def explained(capsys: pytest.CaptureFixture[str], path: Path, *what: str) -> list[str]:
    assert main(["explain", str(path), *what]) == 0
    return capsys.readouterr().out.splitlines()


def starting(lines: list[str], word: str) -> list[str]:
    return [line for line in lines if line.startswith(word)]


def test_a_command_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(capsys, case("toy_bm1684x_f32").path, "B1")
    assert lines[0] == "B1, command 3 of 58, TIU"
    assert "belongs to tpu.Conv2D relu4_Relu, line 22 of final.mlir: command 1 of 2" in lines
    reads = starting(lines, "reads")
    assert "input: f32[1, 3, 32, 32] at R0 (local memory, bank 0, alignEU), written by D3 dma.tensor" in reads[0]
    assert "pad_value: the number 0.0 (f32) in the command itself" in reads[3]
    assert starting(lines, "writes")[0].endswith("read by B2 arith.max")
    assert starting(lines, "waits") == ["waits      for D3 dma.tensor (command 2): reads what that writes"]
    assert starting(lines, "takes")[0].startswith("takes      about 1,728 cycles")


def test_what_nobody_has_written_is_there_from_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(capsys, case("toy_bm1684x_f32").path, "D1")
    assert "there from the start" in starting(lines, "reads")[0]
    assert starting(lines, "waits") == ["waits      for nothing but its own engine, DMA"]


@pytest.mark.parametrize("name", ["c1.B2", "B2@core1", "B2C1"])
def test_messages_between_cores(capsys: pytest.CaptureFixture[str], name: str) -> None:
    lines = explained(capsys, case("toy_bm1688_f16c2").path, name)
    assert lines[:2] == ["c1.B2, command 90 of 101, TIU, core 1", "  c1.B2: system.wait_msg  wait c1.D1"]
    assert starting(lines, "waits for  message")[0].endswith("which has to be sent 4 times")


def test_a_name_of_several_cores_is_each_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(capsys, case("toy_bm1688_f16c2").path, "B2")
    assert [line.split(",")[0] for line in lines if ", command " in line] == ["c0.B2", "c1.B2"]


def test_an_op_through_all_levels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import shutil

    for name in ("ref_files.json", "toy.mlir", "toy_origin.mlir"):
        shutil.copy(DATA / "stages" / name, tmp_path / name)
    context = tmp_path / "toy_bm1684x_f32"
    shutil.copytree(case("toy_bm1684x_f32").path, context)
    shutil.move(tmp_path / "ref_files.json", context / "ref_files.json")
    lines = explained(capsys, context, "relu4_Relu")
    assert starting(lines, "node") == ["node         conv3 (Conv)", "node         relu4 (Relu)"]
    assert any(line.startswith("top") and "toy.mlir" in line for line in lines)
    assert any('"tpu.Conv2D"' in line for line in lines)
    assert "commands     2, 3 to 4" in lines
    assert any("B1: %R1 f32[1,16,32,32] = conv.normal" in line for line in lines)


def test_a_copy_of_the_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(capsys, DATA / "memory" / "host_between_bm1684_f32", "H1")
    assert lines[0].startswith("H1, command 3 of 36, HOST")
    assert starting(lines, "does") == ["does       The runtime copies a_Relu to its own memory."]
    assert "written by D2" in starting(lines, "reads")[0]


def test_a_command_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(case("toy_bm1684x_f32").path), "B99"]) == 2
    assert "B99" in capsys.readouterr().err
