"""Sanitizers in a session: as exception filters, from the launch configuration, and in the console."""

from __future__ import annotations

from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import DATA

RACE = DATA / "findings" / "toy_bm1690_f16c4"
"""The compiler loads a bias twice, and nothing keeps the second load until the first has been used."""

UNWRITTEN = DATA / "findings" / "deconv_bm1684_int8"
"""The compiler loads a bias into one lane, and the convolution reads it from eight."""


def test_a_race_is_known_before_the_program_runs_and_stops_it_in_both_directions(client: DapClient) -> None:
    client.launch(RACE, sanitizers=["hazard"])
    stop = client.expect_stopped("entry")
    [found] = client.request("tdb/findings")["findings"]
    assert (found["sanitizer"], found["severity"], found["command"]["token"]) == ("hazard", "error", "c3.D6")
    assert [(other["token"], other["core"]) for other in found["related"]] == [("c3.B4", 3)]
    assert found["path"] == str(RACE / "final.mlir")
    told = next(body for body in client.raw.events("output") if "nothing orders them" in body["output"])
    assert (told["source"]["name"], told["line"]) == ("final.mlir", found["command"]["line"])
    client.resume()
    stop = client.expect_stopped("exception")
    assert stop.description == "Two engines touch the same bytes in no certain order"
    assert "c3.D6 waits for c3.B2 and not for c3.B4" in stop.text
    assert stop.frame("op").line == found["command"]["line"]
    client.reverse()
    client.expect_stopped("entry")
    client.console("goto 100")
    client.expect_stopped("goto")
    client.reverse()
    assert client.expect_stopped("exception").text == stop.text
    client.disconnect()


def test_unwritten_bytes_are_told_with_their_origin(client: DapClient) -> None:
    client.launch(UNWRITTEN, stop_on_entry=False, filters=["uninitialized"], inputs=str(UNWRITTEN / "input.npz"))
    stop = client.expect_stopped("exception")
    assert "B11 conv takes 14 of 16 bytes from R4 that are uninitialised as bias" in stop.text
    assert stop.frame("op").name.startswith("tpu.Store")
    client.reverse()
    client.expect_stopped("entry")
    client.resume()
    assert client.expect_stopped("exception").text == stop.text
    assert [row["sanitizer"] for row in client.request("tdb/findings")["findings"]] == ["uninitialized"]
    client.disconnect()


def test_what_is_written_by_hand_is_defined(client: DapClient) -> None:
    client.launch(UNWRITTEN, filters=["uninitialized"], inputs=str(UNWRITTEN / "input.npz"))
    client.expect_stopped("entry")
    client.console("tb B11")
    client.resume()
    client.expect_stopped("breakpoint")
    client.console("set in[2] = 0")
    client.resume()
    client.expect_end()
    client.disconnect()


def test_a_condition_suppresses_a_place(client: DapClient) -> None:
    client.launch(RACE, stop_on_entry=False, sanitizers=["hazard: gemm15*"])
    client.expect_end()
    client.disconnect()


def test_filters_are_added_to_the_sanitizers_of_the_launch_configuration(client: DapClient) -> None:
    client.launch(RACE, filters=["nan"], sanitizers=["hazard"])
    client.expect_stopped("entry")
    client.request("setExceptionBreakpoints", filters=["inf"])
    client.resume()
    client.expect_stopped("exception")
    client.request("setExceptionBreakpoints", filters=[], filterOptions=[{"filterId": "hazard", "condition": "D6"}])
    client.console("goto 0")
    client.expect_stopped("goto")
    client.resume()
    client.expect_end()
    client.disconnect()


def test_an_unknown_sanitizer_is_refused(client: DapClient, toy: Toy) -> None:
    message = client.failed_launch(program=str(toy.directory), sanitizers=["address"])
    assert "sanitizers: there is no sanitizer 'address'; there are all, bounds, " in message


def test_the_console_surveys_the_whole_program_and_comes_back(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    client.console("si 7")
    before = client.expect_stopped("step").ordinal
    assert (
        client.console("sanitize")
        == "no findings in 58 commands (bounds, uninitialized, hazard, decode, legal, unused, nan)"
    )
    client.console("si")
    assert client.expect_stopped("step").ordinal == before + 1
    client.disconnect()


def test_one_filter_stands_for_all_sanitizers_or_for_those_that_its_condition_names(client: DapClient) -> None:
    client.launch(RACE, filters=["sanitizers"], stopOnExit=True)
    client.expect_stopped("entry")
    client.resume()
    assert client.expect_stopped("exception").description == "A result is not used"

    def only(condition: str) -> dict[str, object]:
        options = [{"filterId": "sanitizers", "condition": condition}]
        [answer] = client.request("setExceptionBreakpoints", filters=[], filterOptions=options)["breakpoints"]
        return dict(answer)

    for condition in ("hazard", "nan; hazard: gemm99*"):
        assert only(condition)["verified"]
        client.console("goto 0")
        client.expect_stopped("goto")
        client.resume()
        found = client.expect_stopped("exception").description
        assert found == "Two engines touch the same bytes in no certain order"
    for condition in ("nan, inf", "hazard: gemm15*; nan", "decode ;bounds"):
        assert only(condition)["verified"]
        client.console("goto 0")
        client.expect_stopped("goto")
        client.resume()
        assert client.expect_stopped("step").description.startswith("At the end"), condition
    refused = only("race")
    assert not refused["verified"]
    assert "there is no sanitizer 'race'; there are all, bounds, " in str(refused["message"])
    client.disconnect()
