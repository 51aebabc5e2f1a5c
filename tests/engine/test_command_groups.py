"""A subnet whose commands come in several groups, each with ids of its own."""

from __future__ import annotations

from pathlib import Path

import tdb_dap
from tdb_dap.engine.bmodel.writing import Model, Stream
from tests.samples import case


def test_commands_of_a_later_group_follow_those_of_the_first(tmp_path: Path) -> None:
    commands = tdb_dap.open(case("toy_bm1684_f32").path).program.commands
    tiu, dma = (
        Stream(b"".join(c.descriptor for c in own), len(own))
        for own in ([c for c in commands if c.engine == engine] for engine in ("tiu", "dma"))
    )
    whole = Model("BM1684", tiu, dma, further=[(tiu, dma)]).write(tmp_path / "two.bmodel")
    written = tdb_dap.open(whole).program.commands
    assert [c.descriptor for c in written] == 2 * [c.descriptor for c in commands]
