"""What the description of the sample says, field by field; and the container around it."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.bmodel import Bmodel, Span
from tdb_dap.engine.bmodel.metadata import RunMode
from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.errors import BadInput
from tests.samples import SAMPLE, case

MODEL = lzma.decompress((SAMPLE / "compilation.bmodel.xz").read_bytes())


@pytest.fixture(scope="module")
def bmodel() -> Bmodel:
    return Bmodel(SAMPLE / "compilation.bmodel.xz")


def test_the_sample_as_a_whole(bmodel: Bmodel) -> None:
    metadata = bmodel.metadata
    assert metadata.chip == "BM1684X"
    (net,) = metadata.nets
    (stage,) = net.stages
    assert net.name == "toy"
    assert stage.core_count == 1
    assert bmodel.payload_start == 64 + int.from_bytes(MODEL[8:12], "little")
    assert bmodel.payload.size == int.from_bytes(MODEL[12:20], "little")
    assert bmodel.payload.tobytes() == MODEL[bmodel.payload_start : bmodel.payload_start + bmodel.payload.size]


def test_borders_weights_and_memory(bmodel: Bmodel) -> None:
    stage = bmodel.metadata.nets[0].stages[0]
    (given,), (found,) = stage.inputs, stage.outputs
    assert (given.dtype, given.shape, given.scale, given.zero_point) == (F32, (1, 3, 32, 32), 1.0, 0)
    assert given.size == 4 * 3 * 32 * 32
    assert not given.is_packed
    assert (found.dtype, found.shape) == (F32, (1, 10))
    assert given.address != found.address
    assert stage.weights.size > 0
    assert stage.weights_address < stage.activations_address
    assert stage.activations_size > 0


def test_subnets_and_their_streams(bmodel: Bmodel) -> None:
    subnets = bmodel.metadata.nets[0].stages[0].subnets
    assert [subnet.run_mode for subnet in subnets] == [RunMode.TPU_STATIC] * len(subnets)
    for subnet in subnets:
        for group in (group for groups in subnet.groups for group in groups):
            assert group.tiu_count > 1
            assert group.dma_count > 1
            assert bmodel.bytes_of(group.tiu, "x").size == group.tiu.size > 0
            assert bmodel.bytes_of(group.dma, "x").size == group.dma.size > 0


def test_subnets_on_the_host_and_on_two_cores() -> None:
    modes = {
        subnet.run_mode
        for name in ("nonzero_bm1684x_f32",)
        for subnet in Bmodel(case(name).path / "compilation.bmodel.xz").metadata.nets[0].stages[0].subnets
    }
    assert modes - {RunMode.TPU_STATIC}


def test_spans_end_with_the_payload(bmodel: Bmodel) -> None:
    size = bmodel.payload.size
    assert bmodel.bytes_of(Span(size - 1, 1), "x").size == 1
    assert bmodel.bytes_of(Span(0, size), "x").size == size
    for span in (Span(size, 1), Span(0, size + 1), Span(size - 1, 2), Span(1 << 63, 1)):
        with pytest.raises(
            BadInput, match=f"the weights should be {span.size:,} bytes at {span.start:,} of the payload"
        ):
            bmodel.bytes_of(span, "the weights")


@pytest.mark.parametrize("packed", [True, False])
def test_private_bytes_are_ones_own(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("x.bmodel.xz" if packed else "x.bmodel")
    path.write_bytes(lzma.compress(MODEL, preset=0) if packed else MODEL)
    bmodel = Bmodel(path)
    span = Span(100, 50)
    before = bmodel.bytes_of(span, "x").copy()
    mine, other = bmodel.private_bytes_of(span, "x"), bmodel.private_bytes_of(span, "x")
    assert np.array_equal(mine, before)
    mine[...] = 255 - mine
    assert np.array_equal(bmodel.bytes_of(span, "x"), before)
    assert np.array_equal(other, before)
    assert bmodel.private_bytes_of(Span(100, 0), "x").size == 0
    bmodel.copy_to(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == MODEL


def test_headers_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "x.bmodel"
    for data, why in (
        (b"", "0 bytes are less than its 64-byte header"),
        (MODEL[:63], "63 bytes are less than its 64-byte header"),
        (bytes(64), "it starts with 0x00000000 instead of 0xff55aaee"),
        (MODEL[:4] + b"\x41" + MODEL[5:], "truncated bmodel"),
        (MODEL[:-1], "truncated bmodel"),
    ):
        path.write_bytes(data)
        with pytest.raises(BadInput, match=why):
            Bmodel(path)
    path.write_bytes(MODEL + b"more")
    assert Bmodel(path).payload.size == int.from_bytes(MODEL[12:20], "little")
