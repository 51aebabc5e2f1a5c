"""From a wrong output back to what was spoiled."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import tdb_dap
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.byte_ranges import ByteRanges, parse
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.provenance import provenance_of, sources_of
from tests.conftest import Toy


def spoiled(toy: Toy, directory: Path) -> tuple[Path, int]:
    """A copy of the sample with one weight of the second convolution changed, and where it is in DDR."""
    good = tdb_dap.open(toy.directory)
    load = next(c for c in good.program.commands if c.engine == "dma" and _reads_weights(good, c.ordinal, after=5))
    view = next(v for v in load.operands if isinstance(v, View) and v.space is Space.GLOBAL)
    place = ByteRanges.of(view)
    file = directory / "compilation.bmodel"
    good.program.bmodel.copy_to(file)
    data = bytearray(file.read_bytes())
    weights = good.program.stage.weights
    (region,) = [r for r in good.memory.regions(Space.GLOBAL) if r.title == "weights"]
    assert weights.size == region.data.size
    start = data.find(region.data.tobytes()) + place.start - region.start
    data[start : start + 4] = np.float32(1e3).tobytes()
    file.write_bytes(data)
    for name in ("final.mlir", "tensor_location.json.xz"):
        shutil.copy(toy.directory / name, directory)
    return directory, place.start


def _reads_weights(debugger: Debugger, ordinal: int, after: int) -> bool:
    (region,) = [r for r in debugger.machine.memory.regions(Space.GLOBAL) if r.title == "weights"]
    weights = ByteRanges.range(Space.GLOBAL, 0, region.start, region.data.size)
    return ordinal > after and any(
        ByteRanges.of(view).overlaps(weights) for _, view in sources_of(debugger.machine, ordinal)
    )


def wrong_place(debugger: Debugger, right: Debugger, views: list[View]) -> ByteRanges | None:
    """A wrong element of one of the views; None if there is none."""
    for view in views:
        wrong = np.argwhere(debugger.machine.memory.read(view) != right.machine.memory.read(view))
        if len(wrong):
            return ByteRanges.of(view, (tuple(wrong[0]),))
    return None


def test_who_leads_from_the_wrong_output_to_the_spoiled_weight(toy: Toy, tmp_path: Path) -> None:
    directory, address = spoiled(toy, tmp_path)
    debugger = tdb_dap.open(directory, inputs=toy.inputs, reference=toy.reference)
    right = tdb_dap.open(toy.directory, inputs=toy.inputs)
    for one in (debugger, right):
        one.run()
    (name,) = debugger.outputs()
    assert not np.array_equal(debugger.outputs()[name], right.outputs()[name])
    # What a user does with `who`: to the writer, then on to whichever of its operands is not what it should be.
    output, before = debugger.program.outputs[0].view, debugger.ordinal
    place = wrong_place(debugger, right, [output])
    assert place is not None
    path: list[int] = []
    while (origin := provenance_of(debugger.machine, place, before)) is not None:
        path.append(origin.ordinal)
        before = origin.ordinal
        debugger.travel(before)
        right.travel(before)
        place = wrong_place(debugger, right, [view for _, view in sources_of(debugger.machine, before)])
        assert place is not None, f"nothing that command {before} read is wrong, so the command is"
    load = debugger.program.commands[path[-1]]
    assert load.engine == "dma"
    assert place.overlaps(ByteRanges.range(Space.GLOBAL, 0, address, 4))
    assert len(path) > 4


def test_a_place_is_named_by_its_bytes(toy: Toy) -> None:
    debugger = tdb_dap.open(toy.directory, inputs=toy.inputs)
    for command in debugger.program.commands:
        for view in () if command.is_system else command.results:
            if isinstance(view, View):
                place = ByteRanges.of(view)
                assert np.array_equal(parse(place.text).runs, place.runs)
                ranges = view.byte_ranges()
                assert place.start == ranges[0][0]
                assert place.runs[-1, 1] == ranges[-1][1]
                assert place.size >= view.size * view.dtype.itemsize or 0 in (view.strides or ())
                assert np.array_equal(ByteRanges.of(view, (...,)).runs, place.runs)
