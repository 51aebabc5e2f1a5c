"""``tdb-dap info`` on files with several nets and several kinds of subnets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.cli.main import main
from tdb_dap.tools.programs import open_program
from tests.samples import DATA, SAMPLE, case

CONTEXTS = DATA / "contexts"
MORE = ("toy_bm1684_f32", "softmax_bm1688_f16c2")


def nets_of(model: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["info", str(model), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.removeprefix("nets       ") for line in lines if line.startswith("nets ")]


def test_every_net_and_stage_has_a_line_whichever_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = nets_of(CONTEXTS / "nets_and_stages", capsys)
    assert [line.split(":")[0] for line in lines] == ["pool2d 0", "pool2d 1", "act_relu"]
    assert nets_of(CONTEXTS / "nets_and_stages", capsys, "--net", "act_relu") == lines


@pytest.mark.parametrize("name", ["nets_and_stages", "cpu_subnet", "dynamic_subnet", "sliced_int8", *MORE])
def test_counts_and_sizes_are_those_of_the_program(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = case(name).path if name in MORE else CONTEXTS / name
    metadata = open_program(model).bmodel.metadata
    stages = [(net.name, number) for net in metadata.nets for number in range(len(net.stages))]
    for (net, stage), line in zip(stages, nets_of(model, capsys), strict=True):
        program = open_program(model, net, stage)
        counts = program.commands.count_engines(0, len(program.commands))
        for engine in ("tiu", "dma"):
            shown = f"{counts[engine]:,} {engine.upper()}" if engine in counts else engine.upper()
            assert (shown in line) == (engine in counts), line
        for region in program.ddr_regions():
            assert (
                region.title not in ("weights", "activations") or f"{region.title} {region.data.size:,} bytes" in line
            )
        kinds = {"TPU_STATIC": "static", "TPU_DYNAMIC": "dynamic", "CPU": "cpu"}
        assert all(f"{kinds[subnet.run_mode]} (" in line for subnet in program.subnets)


def test_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    [line] = nets_of(SAMPLE, capsys)
    assert line.startswith("toy: static (12 DMA, 46 TIU); commands ")
