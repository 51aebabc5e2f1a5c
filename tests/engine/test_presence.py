"""A tensor whose memory was used again is never shown by another tensor's bytes, nor one that is not there yet."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.expressions.scope import Scope
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadExpression, NotFinished
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import DATA

GROUPS = [
    DATA / "bm1684x" / "toy_bm1684x_f32",
    DATA / "bm1684x" / "toy_bm1684x_int8",
    DATA / "bm1684" / "toy_bm1684_int8",
    DATA / "bm1690" / "toy_bm1690_f16c8",
    DATA / "contexts" / "neck_bm1684x_int8",
]
"""Models with layer groups, in which local memory is used again and again."""


def opened(path: Path) -> Debugger:
    inputs = path / "input.npz"
    return tdb_dap.open(path, inputs=inputs if inputs.exists() else None)


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: path.name)
def test_what_is_shown_as_the_value_of_a_result_is_what_its_op_left(path: Path) -> None:
    """At each end of an op, every result of the program: the words of then, or the sentence that they are gone."""
    with closing(opened(path)) as debugger:
        machine, source = debugger.machine, debugger.program.source
        left: dict[tuple[int, int], bytes] = {}
        gone = 0
        records = sorted((r for r in source.records if r.ordinals), key=lambda r: r.last)
        for moment in sorted({record.last + 1 for record in records}):
            machine.travel(moment)
            for record in records:
                scope = Scope(machine, None, record.first, "op")
                for index, value in enumerate(scope.results()):
                    if not isinstance(value.view, View) or value.pending:
                        is_shared = isinstance(value.view, View) and value.view.space.is_shared
                        assert value.view is None or is_shared or record.last + 1 > moment
                        continue
                    assert record.last + 1 <= moment
                    words = machine.memory.read(value.view).tobytes()
                    left.setdefault((record.index, index), words)
                    if not value.absence:
                        assert words == left[record.index, index], f"{value.title} of line {record.line} at {moment}"
                    elif words != left[record.index, index]:
                        gone += 1
        assert gone > 5, "memory is used again"


def test_an_overwritten_tensor_names_the_command_and_gives_no_numbers(toy: Toy) -> None:
    with closing(tdb_dap.open(toy.directory, inputs=toy.inputs)) as debugger:
        debugger.travel(5)
        right = np.array(debugger.read("%16"))
        debugger.run()
        value = debugger.evaluate("%16")
        assert value.text() == "f32[1,16,32,32] (overwritten by B4 (line 24))"
        for expression in ("%16", "%16 + 1", "max(%16)", "real(%16)", "relu4_Relu"):
            with pytest.raises(BadExpression, match=r"overwritten by B4 \(line 24\)"):
                debugger.read(expression)
        with pytest.raises(BadExpression, match="writing there would change another tensor"):
            debugger.write("%16[0,0]", 1)
        debugger.travel(5)
        assert np.array_equal(debugger.read("%16"), right)
        debugger.write("%16[0,0]", 1)  # it is there now


def test_a_tensor_that_is_not_computed_gives_no_numbers_to_compute_with(toy: Toy) -> None:
    with closing(tdb_dap.open(toy.directory, inputs=toy.inputs)) as debugger:
        array = debugger.read("%16")
        assert array.shape == (1, 16, 32, 32)
        with pytest.raises(NotFinished, match="%16 relu4_Relu is not yet computed"):
            array + 1


def test_a_session_shows_it_everywhere(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, breakpoints={toy.mlir: [toy.line_of('"tpu.Softmax"')]}, **toy.data)
    client.expect_stopped("entry")
    pending = client.request("evaluate", expression="%16", context="clipboard", frameId=frame(client))
    assert pending["result"] == "%16 relu4_Relu (not yet computed)"
    client.resume()
    client.expect_stopped("breakpoint")
    sentence = "(overwritten by B4 (line 24))"
    for context in ("watch", "hover", "variables", "clipboard"):
        answer = client.request("evaluate", expression="relu4_Relu", context=context, frameId=frame(client))
        assert sentence in answer["result"]
        assert "✗" not in answer["result"]
        assert "indexedVariables" not in answer
    assert client.console("p relu4_Relu") == f"f32[1,16,32,32] {sentence}"
    assert client.console("who relu4_Relu").startswith(f"relu4_Relu {sentence}; who wrote what is there now:")
    tensor = {"expression": "relu4_Relu", "frameId": frame(client)}
    tile = {"rowAxis": 2, "columnAxis": 3, "index": [0, 0, 0, 0], "rows": [0, 2], "columns": [0, 2], "step": 1}
    message = client.refusal("tdb/tensorTile", **tensor, **tile, of="stored")
    assert message.endswith(f"relu4_Relu {sentence}")
    assert client.request("tdb/tensorTile", **tensor, **tile, of="reference")["shape"] == [2, 2]
    at = {**tensor, "ordinal": 5}
    assert client.request("tdb/tensorTile", **at, **tile, of="stored")["shape"] == [2, 2]  # it was there then
    message = client.refusal("setExpression", expression="relu4_Relu", value="0", frameId=frame(client))
    assert "writing there would change another tensor" in message
    client.disconnect()


def frame(client: DapClient) -> int:
    frames = client.request("stackTrace", threadId=client.thread)["stackFrames"]
    return int(next(each["id"] for each in frames if each["name"].startswith("tpu.")))


@pytest.mark.parametrize(
    "expression",
    [
        "out[0] + 1",
        "max(abs(out[0]))",
        "max(abs(real(out[0]) - ref(out[0])))",
        "out[0][0, 0, 0, 0]",
        "out[0] > 3",
        "%16 * 0",
        "-%16",
        "not max(%16)",
        "cosine(%16, ref(%16))",
        "1 if max(%16) > 0 else 2",
        "where(%16 > 0)",
        "sort(ravel(real(%16)))[0]",
    ],
)
def test_what_is_computed_from_what_is_not_yet_computed_is_not_yet_computed(expression: str, toy: Toy) -> None:
    with closing(tdb_dap.open(toy.directory, inputs=toy.inputs, reference=toy.reference)) as debugger:
        debugger.breakpoints.add(f"mlir:{toy.line_of('%16 = ')}")
        debugger.run()
        value = debugger.evaluate(expression)
        assert value.pending
        assert value.text().endswith("(not yet computed)")
        assert debugger.evaluate(f"0 * ({expression})").pending
        with pytest.raises(BadExpression, match="is not yet computed"):
            debugger.inspector.holds(expression, debugger.scope())
        debugger.step(1, "op")
        value = debugger.evaluate(expression.replace("out[0]", "%16"))
        assert "not yet computed" not in value.text()


@pytest.mark.parametrize(
    "expression", ["shape(out[0])", "len(out[0])", "size(%16)", "ndim(%16)", "ref(out[0])", "max(in[0])", "in[0] + 1"]
)
def test_what_needs_no_numbers_of_a_result_is_known_before(expression: str, toy: Toy) -> None:
    with closing(tdb_dap.open(toy.directory, inputs=toy.inputs, reference=toy.reference)) as debugger:
        debugger.breakpoints.add(f"mlir:{toy.line_of('%16 = ')}")
        debugger.run()
        assert not debugger.evaluate(expression).pending


def test_what_is_not_yet_computed_is_neither_written_nor_formatted(client: DapClient, toy: Toy) -> None:
    line = toy.line_of("%16 = ")
    client.launch(toy.directory, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    client.console(f"until {line}")
    client.expect_stopped("breakpoint")
    assert "is not yet computed" in client.refusal("evaluate", expression="set in[0] = out[0]", context="repl")
    client.request(
        "setBreakpoints",
        source={"path": str(toy.mlir)},
        breakpoints=[{"line": line + 1, "logMessage": "first {max(out[0]):.2f}"}],
    )
    client.console("until tpu.Softmax")
    client.expect_stopped("breakpoint")
    assert "first (not yet computed)" in client.printed()
    client.disconnect()
