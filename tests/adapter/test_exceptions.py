"""The exception filter that compares with the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.generated import ROOT
from tdb_dap.engine.machine import npz
from tests.conftest import Toy
from tests.dap_client import DapClient, Stop

BIRTH = {"filterId": "mismatch", "condition": "birth"}


def spoiled(toy: Toy, path: Path, *names: str) -> str:
    """A copy of the reference with tensors that the program does not compute."""
    with np.load(toy.reference) as archive:
        arrays = {key: archive[key] for key in archive.files}
    for name in names:
        arrays[name] = 1 - 2 * arrays[name]
    np.savez(path, **arrays)
    return str(path)


@pytest.mark.capability("exceptionBreakpointFilters")
@pytest.mark.capability("supportsExceptionInfoRequest")
def test_the_first_wrong_op_stops_the_run(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    reference = spoiled(toy, tmp_path / "bad.npz", "conv8_Conv")
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], inputs=str(toy.inputs), reference=reference)
    stop = client.expect_stopped("exception")
    line = next(n for n, text in enumerate(toy.mlir.read_text().split("\n"), 1) if "%18 =" in text)
    assert stop.frame("op").line == line
    assert stop.description == "conv8_Conv differs from the reference"
    assert client.request("tdb/moment")["lines"] == client.request("tdb/graph")["currentLines"] == [line], "one here"
    assert client.request("tdb/time")["line"] == line
    assert stop.variable("Compare", "conv8_Conv").value.startswith("fail: cosine")
    assert "not yet computed" not in stop.variable("Results", "conv8_Conv").value
    info = client.request("exceptionInfo", threadId=stop.thread)
    assert info["exceptionId"] == "mismatch"
    assert f"(tpu.Conv2D at line {line}): fail: cosine" in info["description"]
    client.next()
    after = client.expect_stopped("step")
    assert after.frame("op").line == toy.line_of('"tpu.Active"')
    client.resume()
    client.expect_end()
    client.disconnect()


def test_the_reference_is_compared_with_unless_the_user_says_otherwise(client: DapClient) -> None:
    filters = {one["filter"]: one["default"] for one in client.raw.initialize()["exceptionBreakpointFilters"]}
    assert filters == {"mismatch": True, "divergence": True, "sanitizers": False}
    client.disconnect()


def test_a_launch_can_go_past_differences_until_the_user_asks_for_them(
    client: DapClient, toy: Toy, tmp_path: Path
) -> None:
    reference = spoiled(toy, tmp_path / "bad.npz", "conv8_Conv")
    data: dict[str, Any] = {"inputs": str(toy.inputs), "reference": reference, "stopOnExit": True}
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], stopOnDifference=False, **data)
    client.expect_stopped("step")
    assert client.request("tdb/moment")["ordinal"] == 58
    client.request("setExceptionBreakpoints", filters=["mismatch"])
    client.reverse()
    assert client.expect_stopped("exception").description == "conv8_Conv differs from the reference"
    client.disconnect()


def test_a_large_reference_that_changes_is_told_and_the_session_goes_on(
    client: DapClient, toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read where it is needed, and the next compilation writes another one in its place."""
    monkeypatch.setattr(npz, "AT_ONCE", 0)
    monkeypatch.setattr(npz, "_KEPT", 0)
    reference = tmp_path / "r.npz"
    reference.write_bytes(toy.reference.read_bytes())
    client.launch(toy.directory, filters=["mismatch"], inputs=str(toy.inputs), reference=str(reference))
    client.expect_stopped("entry")
    reference.write_bytes(b"another one")
    client.resume()
    stop = client.expect_stopped("exception")
    info = client.request("exceptionInfo", threadId=stop.thread)
    assert info["description"].endswith(f"{reference}: has been changed while it was in use; begin again")
    assert "internal" not in client.printed()
    client.request("setExceptionBreakpoints", filters=[])
    client.resume()
    client.expect_end()
    client.disconnect()


def test_excepted_tensors_are_not_compared(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    reference = spoiled(toy, tmp_path / "bad.npz", "conv8_Conv")
    data: dict[str, Any] = {"inputs": str(toy.inputs), "reference": reference, "except": ["conv8_Conv"]}
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], **data)
    client.expect_end()
    client.disconnect()


@pytest.mark.capability("supportsExceptionFilterOptions")
@pytest.mark.parametrize("filters", [{"filters": ["mismatch"]}, {"filterOptions": [BIRTH]}], ids=["default", "birth"])
def test_it_stops_only_where_the_operands_are_right(client: DapClient, toy: Toy, filters: dict[str, Any]) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.request("setExceptionBreakpoints", **{"filters": [], **filters})
    client.request("evaluate", expression="si 3", context="repl")
    client.expect_stopped("step")
    client.request("evaluate", expression="set in[1] = 0", context="repl")  # the weights of the first convolution
    client.resume()
    stop = client.expect_stopped("exception")
    assert stop.description == "relu4_Relu differs from the reference (edited run)"
    details = client.request("exceptionInfo", threadId=stop.thread)["details"]["stackTrace"]
    assert "elements differ" in details
    client.resume()  # all that follows inherits the error
    client.expect_end()
    client.disconnect()


def test_with_all_it_stops_at_each_result_that_differs(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    options = [{"filterId": "mismatch", "condition": "all, gemm15_Gemm"}]
    client.request("setExceptionBreakpoints", filters=[], filterOptions=options)
    client.console("si 3")
    client.expect_stopped("step")
    client.console("set in[1] = 0")
    for name in ("relu4_Relu", "maxpool5_MaxPool", "conv8_Conv", "mul10_Mul", "globalaveragepool11_GlobalAveragePool"):
        client.resume()
        assert client.expect_stopped("exception").description.startswith(f"{name} differs from the reference")
    client.disconnect()


def test_going_on_leads_to_the_next_fault_and_back_to_the_one_before(
    client: DapClient, toy: Toy, tmp_path: Path
) -> None:
    """The operand of the second is right again; that of the third is the wrong result of the second."""
    reference = spoiled(toy, tmp_path / "bad.npz", "relu4_Relu", "conv8_Conv", "mul10_Mul")
    data: dict[str, Any] = {"inputs": str(toy.inputs), "reference": reference, "stopOnExit": True}
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], **data)
    first = client.expect_stopped("exception")
    assert first.description.startswith("relu4_Relu differs")
    client.resume()
    second = client.expect_stopped("exception")
    assert second.description.startswith("conv8_Conv differs")
    client.resume()
    client.expect_stopped("step")
    for stop in (second, first):
        client.reverse()
        assert client.expect_stopped("exception").description == stop.description
    client.disconnect()


def test_a_tolerance_decides_what_differs(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], tolerance={"maxAbs": 0}, **toy.data)
    assert "max difference" in client.expect_stopped("exception").text
    client.disconnect()


def test_a_tolerance_in_steps_of_the_stored_format(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], tolerance={"ulp": 1}, **toy.data)
    stop = client.expect_stopped("exception")
    details = client.request("exceptionInfo", threadId=stop.thread)["details"]["stackTrace"]
    assert any(line.startswith("ULP ") and line.endswith("(limit 1)") for line in details.splitlines())
    client.disconnect()


def test_a_good_model_runs_through(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stop_on_entry=False, filters=["mismatch"], **toy.data)
    client.expect_end()
    client.disconnect()


def test_without_a_reference_the_filter_says_what_it_needs(client: DapClient, bare: Path, toy: Toy) -> None:
    client.launch(bare, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    [answer] = client.request("setExceptionBreakpoints", filters=["mismatch"])["breakpoints"]
    assert not answer["verified"]
    assert "reload reference FILE gives it" in answer["message"]
    client.disconnect()


def told(client: DapClient, stop: Stop) -> list[str]:
    return str(client.request("exceptionInfo", threadId=stop.thread)["details"]["stackTrace"]).splitlines()


def test_a_wrong_result_says_which_element_what_it_should_be_and_who_wrote_it(client: DapClient) -> None:
    """A load lands on the operand of a convolution that another op has computed."""
    model = ROOT / "examples" / "overlap"
    data: dict[str, Any] = {"inputs": str(model / "input.npz"), "reference": str(model / "ref.npz")}
    client.launch(model, stop_on_entry=False, filters=["mismatch"], **data)
    result, operand, cause = told(client, client.expect_stopped("exception"))[:3]
    assert result == (
        "%18[0,0,4,0] is -0.449757, expected -0.175443; written by command 8, B4 conv.normal, "
        "for tpu.Conv2D conv8_Conv (line 24)"
    )
    assert operand == (
        "%17[0,0,8,0] is 0.238211, expected 0.320747; overwritten by command 6, D4 dma.tensor, "
        "for tpu.Load load_w7 (line 20): it is the result of line 23"
    )
    assert cause == (
        "D4 dma.tensor writes 64 bytes from R0.4608 on which B3 pord.maxpooling writes, and nothing orders them: "
        "D4 waits for nothing and not for B3, B3 for D3 [hazard]"
    )
    client.disconnect()


def test_an_edit_is_named_as_the_writer(client: DapClient, toy: Toy) -> None:
    lines = [toy.line_of('"tpu.Pool2D"')]
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: lines}, filters=["mismatch"], **toy.data)
    client.expect_stopped("breakpoint")
    client.console("set in[0][0,3,5,7] = 1000")
    client.resume()
    texts = told(client, client.expect_stopped("exception"))
    assert any("%16[0,3,5,7] is 1000, expected " in text and "edited at command 5: " in text for text in texts)
    client.disconnect()
