"""Tensors for clients that draw them: shape, tiles, statistics, single elements, other moments."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop
from tests.samples import case

Numbers = NDArray[Any]


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    lines = {toy.mlir: [toy.line_of('"tpu.Pool2D"')]}
    client.launch(toy.directory, stop_on_entry=False, breakpoints=lines, **toy.data)
    return client.expect_stopped("breakpoint")


@pytest.fixture
def relu(toy: Toy) -> Numbers:
    """What the operand of the pooling holds, (1, 16, 32, 32)."""
    with np.load(toy.reference) as reference:
        return np.asarray(reference["relu4_Relu"])


def numbers(answer: dict[str, Any]) -> Numbers:
    dtype = {"f32": "<f4", "f64": "<f8"}[answer["format"]]
    return np.frombuffer(base64.b64decode(answer["data"]), dtype).reshape(answer["shape"])


def tile(client: DapClient, **arguments: Any) -> Numbers:
    whole = {"rowAxis": 2, "columnAxis": 3, "index": [0, 3, 0, 0], "rows": [0, 32], "columns": [0, 32]}
    return numbers(client.request("tdb/tensorTile", **{**whole, **arguments}))


def test_what_a_tensor_is(pooling: Stop) -> None:
    answer = pooling.client.request("tdb/tensor", expression="in[0]", frameId=pooling.frame("op").id)
    assert answer["title"].endswith("relu4_Relu")
    assert (answer["shape"], answer["dtype"], answer["hasReference"]) == ([1, 16, 32, 32], "f32", True)
    assert answer["layout"] == "%R1 alignEU"
    assert answer["type"] == "memref<1x16x32x32xf32, strides: [1024, 1024, 32, 1]>"
    assert (answer["focus"], answer["level"]) == (pooling.ordinal, "op")
    assert (answer["ordinal"], answer["pending"]) == (pooling.ordinal, False)
    result = pooling.client.request("tdb/tensor", expression="out[0]", frameId=pooling.frame("op").id)
    assert result["pending"] is True


def test_tiles_of_any_two_axes(pooling: Stop, relu: Numbers) -> None:
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    assert np.allclose(tile(client, **operand), relu[0, 3], atol=1e-5)
    part = tile(client, **operand, rows=[4, 9], columns=[30, 32])
    assert np.allclose(part, relu[0, 3, 4:9, 30:], atol=1e-5)
    turned = tile(client, **operand, rowAxis=3, columnAxis=1, index=[0, 0, 7, 0], columns=[0, 16])
    assert np.allclose(turned, relu[0, :, 7, :].T, atol=1e-5)
    row = tile(client, **operand, rowAxis=None, rows=[0, 1], index=[0, 3, 5, 0])
    assert np.allclose(row, relu[0, 3, 5:6], atol=1e-5)


def test_channels_side_by_side(pooling: Stop, relu: Numbers) -> None:
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    mosaic = {"channelAxis": 1, "across": 4, "rows": [0, 128], "columns": [0, 128]}
    found = tile(client, **operand, **mosaic)
    expected = relu[0].reshape(4, 4, 32, 32).transpose(0, 2, 1, 3).reshape(128, 128)
    assert np.allclose(found, expected, atol=1e-5)
    part = tile(client, **operand, **{**mosaic, "rows": [30, 40], "columns": [60, 70]})
    assert np.array_equal(part, found[30:40, 60:70])
    assert not tile(client, **operand, **mosaic, of="error")[0, 0]


def test_numbers_as_the_words_in_memory(pooling: Stop) -> None:
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    client.console("set in[0][0,3,2,1] = nan")
    words = tile(client, **operand, of="bits")
    assert np.array_equal(words.astype(np.uint32), tile(client, **operand).view(np.uint32))
    element = client.request("tdb/tensorElement", **operand, index=[0, 3, 2, 1])
    assert int(element["bits"], 0) == words[2, 1]


def test_from_afar_a_block_shows_its_largest_magnitude_and_nan_before_all(pooling: Stop) -> None:
    client = pooling.client
    client.console("set in[0][0,3,9,17] = -1000")
    client.console("set in[0][0,3,20,20] = nan")
    operand = {"expression": "in[0]", "frameId": pooling.frame("op").id}
    near, far = tile(client, **operand), tile(client, **operand, step=5)
    assert far.shape == (7, 7)
    assert far[1, 3] == -1000
    assert np.argwhere(np.isnan(far)).tolist() == [[4, 4]]
    assert far[0, 0] == near[:5, :5].max()
    assert far[6, 6] == near[30:, 30:].max()


def test_reference_and_error(pooling: Stop, relu: Numbers) -> None:
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    client.console("set in[0][0,3,9,17] = 50")
    assert (tile(client, **operand, of="reference") == relu[0, 3]).all()
    off = tile(client, **operand, of="error")
    assert off[9, 17] == np.float32(50) - relu[0, 3, 9, 17]
    found = client.request("tdb/tensorStatistics", **operand, of="error", most=3)
    assert len(found["largest"]) == 3
    assert found["largest"][0]["index"] == [0, 3, 9, 17]
    element = client.request("tdb/tensorElement", **operand, index=[0, 3, 9, 17])
    assert (element["stored"], element["bits"]) == ("50.0", "0x42480000")
    assert element["binary"] == f"{0x42480000:032b}"
    assert np.float32(element["reference"]) == relu[0, 3, 9, 17]


def test_statistics_of_the_whole_tensor(pooling: Stop, relu: Numbers) -> None:
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    found = client.request("tdb/tensorStatistics", **operand, bins=16)
    assert found["minimum"] == 0
    assert found["maximum"] == pytest.approx(relu.max(), rel=1e-5)
    assert found["mean"] == pytest.approx(relu.mean(dtype=np.float64), rel=1e-5)
    assert found["deviation"] == pytest.approx(relu.std(dtype=np.float64), rel=1e-5)
    assert found["zeros"] == int((relu == 0).sum())
    assert sum(found["histogram"]) == relu.size
    assert len(found["histogram"]) == 16
    client.console("set in[0][0,0,0,:3] = nan")
    client.console("set in[0][0,0,1,:2] = inf")
    found = client.request("tdb/tensorStatistics", **operand)
    assert (found["nan"], found["inf"]) == (3, 2)
    assert sum(found["histogram"]) == relu.size - 5


def test_the_same_memory_after_a_step_and_at_another_moment(pooling: Stop) -> None:
    """The names of the first stop go on to mean what they meant, whatever frame comes after."""
    client = pooling.client
    first = client.request("tdb/tensor", expression="out[0]", frameId=pooling.frame("op").id)
    result = {"expression": "out[0]", "focus": first["focus"], "level": first["level"]}
    whole: dict[str, Any] = {"rows": [0, first["shape"][2]], "columns": [0, first["shape"][3]]}
    before = tile(client, **result, **whole)
    client.next()
    client.expect_stopped("step")
    after = tile(client, **result, **whole)
    assert not np.array_equal(before, after)
    assert client.request("tdb/tensor", **result)["pending"] is False
    assert np.array_equal(tile(client, **result, **whole, ordinal=first["ordinal"]), before)
    assert np.array_equal(tile(client, **result, **whole), after)
    client.step_back()
    client.expect_stopped("step")
    assert np.array_equal(tile(client, **result, **whole), before)


def test_without_a_moment_the_names_are_those_of_the_last_stop(pooling: Stop) -> None:
    client = pooling.client
    before = client.request("tdb/tensor", expression="in[0]", level="op")["title"]
    client.next()
    stop = client.expect_stopped("step")
    after = client.request("tdb/tensor", expression="in[0]", level="op")["title"]
    assert before.endswith("relu4_Relu")
    assert before != after.partition(" ")[0] == stop.scope("Operands")[0].name


def test_quantised_numbers_as_they_are_stored_and_what_they_stand_for(client: DapClient) -> None:
    model = case("toy_bm1684x_int8asym")
    lines = model.mlir.read_text().split("\n")
    pool = next(number for number, line in enumerate(lines, 1) if '"tpu.Pool2D"' in line)
    client.launch(model.path, stop_on_entry=False, inputs=str(model.inputs), breakpoints={model.mlir: [pool]})
    operand = {"expression": "in[0]", "frameId": client.expect_stopped("breakpoint").frame("op").id}
    about = client.request("tdb/tensor", **operand)
    scale, zero = np.float32(about["scale"]), about["zeroPoint"]
    assert (scale, zero) != (1, 0)
    raw = numbers(client.request("tdb/tensorData", **operand, of="stored", start=0, count=4096))
    real = numbers(client.request("tdb/tensorData", **operand, of="actual", start=0, count=4096))
    assert np.array_equal(raw, np.rint(raw))
    assert len(np.unique(raw)) > 10
    assert np.array_equal(real, (raw - np.float32(zero)) * scale)
    element = client.request("tdb/tensorElement", **operand, index=[0, 0, 0, 7])
    assert int(element["stored"]) == raw[7]
    assert element["bits"] == f"0x{int(raw[7]) & 255:02x}"
    assert np.float32(element["actual"]) == real[7]
    client.disconnect()


def test_the_data_of_a_tensor_in_order(pooling: Stop, relu: Numbers) -> None:
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    data = numbers(client.request("tdb/tensorData", **operand, start=1000, count=3000))
    assert np.allclose(data, relu.reshape(-1)[1000:4000], atol=1e-5)


def test_what_makes_no_sense_is_said(pooling: Stop) -> None:
    refusal, operand = pooling.client.refusal, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    rectangle = {"rowAxis": 2, "columnAxis": 3, "index": [0, 0, 0, 0], "rows": [0, 32], "columns": [0, 32]}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"columnAxis": 2}, "different axes"),
        ({"rowAxis": 4}, "different axes from 0 to 3"),
        ({"index": [0, 16, 0, 0]}, "index 16 of axis 1"),
        ({"index": [0]}, "needs 4 numbers"),
        ({"rows": [0, 33]}, "0 to 33 is not a part of 0 to 32"),
        ({"step": 0}, "at least 1"),
        ({"channelAxis": 2}, "besides rows and columns"),
        ({"channelAxis": 1, "rowAxis": None}, "need a rowAxis"),
        ({"ordinal": 1 << 30}, "not in this program"),
        ({"expression": "in[7]"}, "in"),
    ]
    for change, complaint in wrong:
        assert complaint in refusal("tdb/tensorTile", **{**operand, **rectangle, **change})
    assert "no reference" in refusal("tdb/tensorStatistics", expression="R0:f32[8]", of="error")
    assert "not a part" in refusal("tdb/tensorData", **operand, start=0, count=1 << 30)


def test_every_writer_of_a_tensors_memory_is_found_and_of_one_element_alone(
    pooling: Stop, toy: Toy, relu: Numbers
) -> None:
    index = [int(i) for i in np.unravel_index(relu.argmax(), relu.shape)]
    client, operand = pooling.client, {"expression": "in[0]", "frameId": pooling.frame("op").id}
    body = client.request("tdb/tensorWriters", **operand)
    assert body["isComplete"]
    writers = body["writers"]
    assert [w["first"] for w in writers] == sorted(w["first"] for w in writers)
    mine = next(w for w in writers if w["line"] == toy.line_of('"tpu.Conv2D"'))
    assert (mine["opcode"], mine["name"]) == ("tpu.Conv2D", "relu4_Relu")
    assert mine["last"] < pooling.ordinal
    focus = {"focus": pooling.ordinal, "level": "op"}
    of_one = client.request("tdb/tensorWriters", expression="in[0]", index=index, **focus)["writers"]
    assert {w["first"] for w in of_one} <= {w["first"] for w in writers}
    values = []
    for moment in [0, *(w["last"] + 1 for w in of_one)]:
        found = client.request("tdb/tensorElement", expression="in[0]", index=index, ordinal=moment, **focus)
        values.append(float(found["actual"]))
    after = next(i for i, w in enumerate(of_one) if w["line"] == mine["line"])
    assert values[after + 1] == pytest.approx(float(relu.max()), rel=1e-4) != values[after]
    assert "computed" in client.refusal("tdb/tensorWriters", expression="in[0] * 2", **focus)


@pytest.mark.parametrize("number", ["1" * 500, "1" * 5000, "-" + "9" * 500, f"[1,{'1' * 500}]", f"abs({'9' * 400})"])
def test_numbers_that_no_tensor_holds_are_refused(pooling: Stop, number: str) -> None:
    client = pooling.client
    for command in ("tdb/tensor", "tdb/tensorStatistics", "tdb/tensorElement", "tdb/tensorData"):
        answer = client.raw.response(client.raw.send(command, expression=number, index=[], start=0, count=1))
        assert "internal" not in answer["message"]
        assert re.search("64 bits at most|cannot understand|longer than 4000", answer["message"])
    assert "internal" not in str(client.raw.response(client.raw.send("evaluate", expression=number, context="watch")))


@pytest.mark.parametrize(
    "number", ["1" * 18, "1" * 19, "1e300", "[-1.7e308,1.7e308]", "[1e18,1e18+1024]", "[0,1e-320]", "1.7e308"]
)
def test_a_histogram_of_extreme_numbers_counts_them_all(pooling: Stop, number: str) -> None:
    answer = pooling.client.request("tdb/tensorStatistics", expression=number)
    assert sum(answer["histogram"]) == (2 if "[" in number else 1)
