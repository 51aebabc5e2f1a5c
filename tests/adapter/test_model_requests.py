"""What an editor's own views ask for."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.hardware.target import Cost
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.tools.profile import profiling
from tdb_dap.tools.profile.schedule import Span
from tdb_dap.tools.programs import open_program
from tests.conftest import Toy
from tests.dap_client import DapClient, Stop
from tests.measuring import microseconds, write_run
from tests.samples import DATA


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


def test_the_profile_and_its_trace(pooling: Stop) -> None:
    body = pooling.client.request("tdb/profile", trace=True)
    assert body["report"]["cycles"] == 4911
    assert {event["ph"] for event in body["trace"]["traceEvents"]} == {"M", "X", "C"}
    assert "trace" not in pooling.client.request("tdb/profile")


def test_the_timeline_shows_the_order_at_once_and_the_times_as_they_come(pooling: Stop) -> None:
    client = pooling.client
    order = client.request("tdb/timeline")
    first = client.request("tdb/times")
    assert (first["estimated"], first["commands"]) == (0, 58)
    assert "memories" not in first
    last = client.request("tdb/times", milliseconds=60_000)
    assert last["estimated"] == len(order["track"]) == len(last["start"]) == len(last["bytes"]) == 58
    assert {memory["title"] for memory in last["memories"]} == {"DDR, activations", "local memory of a lane"}
    trace = client.request("tdb/profile", trace=True)["trace"]["traceEvents"]
    begin = {event["args"]["ordinal"]: event["ts"] for event in trace if event.get("cat") == "command"}
    assert last["start"] == [begin[ordinal] for ordinal in range(58)]
    assert order["waits"], "the convolution waits for its operand"
    for before, after in order["waits"]:
        assert last["start"][before] + last["duration"][before] <= last["start"][after] + 1e-5
        assert order["track"][before] != order["track"][after]


def test_the_graph_knows_the_op_that_runs_next(pooling: Stop, toy: Toy) -> None:
    body = pooling.client.request("tdb/graph", color="time")
    line = toy.line_of('"tpu.Pool2D"')
    assert body["currentLines"] == [line]
    node = next(node for node in body["nodes"] if node["line"] == line)
    assert (node["opcode"], node["shape"], node["dtype"]) == ("tpu.Pool2D", [1, 16, 16, 16], "f32")
    assert "cycles" in node["note"]
    before = toy.line_of('"tpu.Conv2D"')
    assert {"tail": f"L{before}", "head": f"L{line}", "value": "%16"} in body["edges"]


def test_an_op_has_its_attributes_and_tensors_with_addresses(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    line = toy.line_of('"tpu.Pool2D"')
    body = client.request("tdb/op", line=line)
    assert (body["opcode"], body["name"], body["instances"]) == ("tpu.Pool2D", "maxpool5_MaxPool", 1)
    assert dict(body["attributes"])["kernel_shape"] == "[2, 2]"
    assert body["first"] == pooling.ordinal
    operand, result = body["tensors"]
    assert (operand["role"], operand["name"], operand["address"]) == ("operand", "relu4_Relu", "R1")
    assert operand["line"] == toy.line_of('"tpu.Conv2D"'), "the op that computes it"
    assert (result["role"], result["name"], result["line"]) == ("result", "maxpool5_MaxPool", line)
    shown = client.request("tdb/tensor", expression=operand["expression"])
    assert shown["shape"] == [1, 16, 32, 32]
    assert "no op" in client.refusal("tdb/op", line=1)


def test_the_memory_map_shows_what_is_alive_now(pooling: Stop) -> None:
    body = pooling.client.request("tdb/memoryMap")
    assert body["ordinal"] == pooling.ordinal
    assert (body["lanes"], body["laneBytes"]) == (64, 256 << 10)
    local = next(memory for memory in body["memories"] if memory["space"] == "R")
    alive = {resident["name"] for resident in local["residents"] if resident["alive"]}
    assert "relu4_Relu" in alive, "the operand of the op that runs next"
    assert "mul10_Mul" not in alive
    later = pooling.client.request("tdb/memoryMap", ordinal=body["commands"] - 1)
    assert later["ordinal"] == body["commands"] - 1
    assert "command -1 is not in this program" in pooling.client.refusal("tdb/memoryMap", ordinal=-1)


def test_the_memory_map_tells_who_wrote_a_tensor_and_who_reads_it(pooling: Stop, toy: Toy) -> None:
    body = pooling.client.request("tdb/memoryMap")
    local = next(memory for memory in body["memories"] if memory["space"] == "R")
    operand = next(resident for resident in local["residents"] if resident["name"] == "relu4_Relu")
    assert (operand["opcode"], operand["line"]) == ("tpu.Conv2D", toy.line_of('"tpu.Conv2D"'))
    assert (operand["shape"], operand["dtype"]) == ([1, 16, 32, 32], "f32")
    pool = {"ordinal": pooling.ordinal, "line": toy.line_of('"tpu.Pool2D"'), "opcode": "tpu.Pool2D"}
    assert operand["readers"] == [pool]
    assert operand["lanes"] == [[0, 16]], "one for each of its 16 channels"
    elsewhere = next(memory for memory in body["memories"] if memory["space"] == "G")
    assert elsewhere["residents"][0]["lanes"] == []


def test_the_present_moment(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    body = client.request("tdb/moment")
    assert (body["ordinal"], body["lines"]) == (pooling.ordinal, [toy.line_of('"tpu.Pool2D"')])
    assert body["source"]["path"] == str(toy.mlir)
    client.console("goto 0")
    assert client.expect_stopped("goto").ordinal == 0
    assert client.request("tdb/moment")["lines"] == [toy.line_of('"tpu.Load"')]


def test_commands_and_ops_in_words(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    assert client.request("tdb/explain")["lines"][0].startswith("B3, command 5")
    convolution = client.request("tdb/explain", line=toy.line_of('"tpu.Conv2D"'))
    assert any("relu4_Relu" in line for line in convolution["lines"])
    assert "there is no command 99999" in client.refusal("tdb/explain", ordinal=99999)
    assert client.console("explain").startswith("B3, command 5")
    assert "conv.normal" in client.console("explain B1")
    assert "commands     2" in client.console("explain relu4_Relu")
    assert "near are relu4_Relu" in client.refusal("evaluate", expression="explain relu4", context="repl")
    assert "4,911 cycles" in client.console("profile")


def test_the_results_up_to_now(pooling: Stop) -> None:
    client = pooling.client
    body = client.request("tdb/results")
    assert body["first"] is None
    assert {row["verdict"] for row in body["rows"]} <= {"pass", "unknown"}
    assert body["path"] == str(Toy.mlir)
    client.console("set in[0] = in[0] * 0")
    client.next()
    client.expect_stopped("step")
    body = client.request("tdb/results")
    assert body["first"]["name"] == "maxpool5_MaxPool", "the convolution before the edit is not accused"
    verdicts = {(row["opcode"], row["role"]): row["verdict"] for row in body["rows"] if row["name"] == "relu4_Relu"}
    assert verdicts == {("tpu.Conv2D", "result"): "pass", ("tpu.Pool2D", "operand"): "fail"}


def test_what_has_been_compared_is_not_compared_again(pooling: Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pooling.client
    runs: list[int] = []
    replay = Debugger.replay

    def counted(debugger: Debugger, observer: Observer) -> None:
        runs.append(debugger.ordinal)
        replay(debugger, observer)

    monkeypatch.setattr(Debugger, "replay", counted)
    early = client.request("tdb/results")["rows"]
    client.console("goto 20")
    client.expect_stopped("goto")
    late = client.request("tdb/results")["rows"]
    assert client.request("tdb/results")["rows"] == late
    client.console(f"goto {pooling.ordinal}")
    client.expect_stopped("goto")
    assert client.request("tdb/results")["rows"] == early
    assert runs == [pooling.ordinal, 20], "going back compares nothing"
    client.console("set in[0] = in[0] * 0")
    assert client.request("tdb/results")["rows"] == early, "what the ops have left was not edited yet"
    client.console("goto 20")
    client.expect_stopped("goto")
    assert client.request("tdb/results")["rows"] != late
    assert runs == [pooling.ordinal, 20, pooling.ordinal, 20], "after an edit all is compared anew"


def test_views_that_ask_at_the_same_time_hear_the_same(pooling: Stop) -> None:
    raw = pooling.client.raw
    first, moment, second = raw.send("tdb/results"), raw.send("tdb/moment"), raw.send("tdb/results")
    told = [raw.response(seq)["body"] for seq in (first, moment, second)]
    assert told[0]["rows"]
    assert told[0] == told[2]
    assert told[1]["ordinal"] == pooling.ordinal, "not that of a moment on the way"


def test_a_model_without_a_reference_has_no_results(client: DapClient, bare: Path, toy: Toy) -> None:
    client.launch(bare, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    assert "nothing to compare with; reload reference FILE gives it" in client.refusal("tdb/results")


def test_another_reference_is_compared_with_after_a_reload_wherever_its_file_lies(
    pooling: Stop, toy: Toy, tmp_path: Path
) -> None:
    client = pooling.client
    wrong, other = tmp_path / "of another model.npz", tmp_path / "with a space.npz"
    np.savez(wrong, nothing=np.zeros(3, np.float32))
    assert "is a tensor of this model" in client.refusal(
        "evaluate", expression=f'reload reference "{wrong}"', context="repl"
    )
    with np.load(toy.reference) as right:
        np.savez(other, **{name: right[name] + (name != "x") for name in right})
    client.console(f'reload reference "{other}"')
    client.expect_stopped("entry")
    client.request("tdb/travel", ordinal=pooling.ordinal)
    client.expect_stopped("goto")
    verdicts = {row["name"]: row["verdict"] for row in client.request("tdb/results")["rows"]}
    assert verdicts["relu4_Relu"] == "fail", "one more than before"


def test_what_a_model_consists_of(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    body = client.request("tdb/model")
    assert (body["chip"], body["net"], body["stage"], body["hasSource"]) == ("BM1684X", "toy", 0, True)
    (stage,) = body["nets"][0]["stages"]
    assert [(t["name"], t["dtype"], t["shape"]) for t in stage["inputs"]] == [("x", "f32", [1, 3, 32, 32])]
    (subnet,) = body["subnets"]
    assert subnet["engines"] == [["dma", 12], ["tiu", 46]]
    assert sum(op["commands"] for op in body["ops"]) <= body["commands"] == sum(count for _, count in subnet["engines"])
    pool = next(op for op in body["ops"] if op["line"] == toy.line_of('"tpu.Pool2D"'))
    assert (pool["first"], pool["dtype"], pool["shape"]) == (pooling.ordinal, "f32", [1, 16, 16, 16])
    listing = client.request("source", sourceReference=1)["content"].splitlines()
    assert "maxpool" in listing[pool["listingLine"] - 1] or "pool" in listing[pool["listingLine"] - 1]
    for weight in body["weights"]:
        assert toy.mlir.read_text().splitlines()[weight["line"] - 1].lstrip().startswith("%")
        found = client.request("tdb/tensor", expression=f'weight("{weight["name"]}")')
        assert (found["shape"], found["dtype"]) == (weight["shape"], weight["dtype"])
    sizes = sum(weight["size"] for weight in body["weights"])
    assert 0 < sizes <= stage["weightBytes"]


def test_a_model_whose_file_is_gone_is_still_known(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    """It is compiled anew while it is looked at."""
    shutil.copytree(toy.directory, tmp_path / "toy")
    (model,) = (tmp_path / "toy").glob("*.bmodel*")
    size = model.stat().st_size
    client.launch(tmp_path / "toy")
    client.expect_stopped("entry")
    model.unlink()
    body = client.request("tdb/model")
    assert (Path(body["file"]).name, body["size"]) == (model.name, size)


def test_estimating_times_lets_other_requests_through(
    client: DapClient, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step waits for no timeline: what is known up to then is the answer, and the timeline asks again."""
    began, arrived = threading.Event(), threading.Event()
    estimate = profiling.Costs._cost

    def slow(costs: profiling.Costs, ordinal: int) -> Cost:
        began.set()
        assert arrived.wait(60)
        return estimate(costs, ordinal)

    monkeypatch.setattr(profiling, "_EVERY", 1)
    monkeypatch.setattr(profiling.Costs, "_cost", slow)
    client.launch(toy.directory)
    client.expect_stopped("entry")
    times = client.raw.send("tdb/times", milliseconds=60_000)
    assert began.wait(60)
    step = client.raw.send("next", threadId=client.thread)
    client.raw.response(client.raw.send(""))  # refused as it arrives, so what was sent before has arrived as well
    arrived.set()
    assert client.raw.response(times)["body"]["estimated"] == 1
    assert client.raw.response(step)["success"]
    client.expect_stopped("step")
    assert client.request("tdb/times", milliseconds=60_000)["estimated"] == 58
    client.disconnect()


def test_times_that_nobody_waits_for_are_not_estimated_to_the_end(
    client: DapClient, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile begins, is withdrawn, and ends there; what it has estimated is not estimated again."""
    began, withdrawn = threading.Event(), threading.Event()
    estimate = profiling.Costs._cost

    def slow(costs: profiling.Costs, ordinal: int) -> Cost:
        began.set()
        assert withdrawn.wait(60)
        return estimate(costs, ordinal)

    monkeypatch.setattr(profiling, "_EVERY", 1)
    monkeypatch.setattr(profiling.Costs, "_cost", slow)
    client.launch(toy.directory)
    client.expect_stopped("entry")
    for asked in ("tdb/profile", "tdb/times"):
        began.clear()
        withdrawn.clear()
        seq = client.raw.send(asked, **({"milliseconds": 60_000} if asked == "tdb/times" else {}))
        assert began.wait(60)
        cancel = client.raw.send("cancel", requestId=seq)
        client.raw.response(client.raw.send(""))  # refused as it arrives, so what was sent before has arrived as well
        withdrawn.set()
        answer = client.raw.response(seq)
        assert (answer["success"], answer.get("message")) == (False, "cancelled"), asked
        assert client.raw.response(cancel)["success"]
    assert client.request("tdb/times")["estimated"] == 2
    client.disconnect()


def test_a_model_of_several_nets_tells_all_of_them(client: DapClient) -> None:
    client.launch(DATA / "contexts" / "nets_and_stages", net="pool2d", stage=1)
    client.expect_stopped("entry")
    body = client.request("tdb/model")
    assert (body["net"], body["stage"], body["hasSource"]) == ("pool2d", 1, False)
    assert [(net["name"], len(net["stages"])) for net in body["nets"]] == [("pool2d", 2), ("act_relu", 1)]
    assert body["nets"][0]["stages"][1]["inputs"][0]["shape"] == [1, 18, 12, 14]
    assert (body["ops"], body["weights"]) == ([], [])
    assert body["subnets"][0]["commands"] == body["commands"] == 5


def test_a_recording_tells_its_program_its_models_and_its_launches(client: DapClient) -> None:
    file = DATA / "recordings" / "pipeline_bm1684x.tdbrec"
    client.launch(file)
    client.expect_stopped("entry")
    body = client.request("tdb/model")
    assert (body["size"], body["chip"], body["hasSource"]) == (file.stat().st_size, "BM1684X", True)
    recording = body["recording"]
    assert recording["arguments"] == ["python", "pipeline.py"]
    assert (recording["exit"], recording["remark"], len(recording["models"])) == (255, "", 2)
    assert [net["name"] for net in body["nets"]] == ["enc", "dec"]
    launches = body["launches"]
    assert [launch["number"] for launch in launches] == list(range(10))
    assert [(launch["net"], launch["shapes"]) for launch in launches[6:8]] == [("enc", "2×16"), ("dec", "2×12")]
    assert sum(launch["commands"] for launch in launches) == body["commands"]
    listing = client.request("source", sourceReference=1)["content"].splitlines()
    for launch in launches:
        heading = listing[launch["listingLine"] - 2]
        assert f"launch {launch['number']} of {launch['net']} ({launch['shapes']})" in heading
    client.console("goto launch 7")
    assert client.expect_stopped("goto").ordinal == launches[7]["first"]
    assert (launches[2]["first"], launches[2]["entry"]) == (72, 73), "past what the host writes"


def test_the_timeline_of_a_recording_has_a_track_of_the_host(client: DapClient) -> None:
    client.launch(DATA / "recordings" / "pipeline_bm1684x.tdbrec")
    client.expect_stopped("entry")
    order = client.request("tdb/timeline")
    assert [track["engine"] for track in order["tracks"]] == ["TIU", "DMA", "host"]
    assert order["track"][0] == 2
    assert len(client.request("tdb/times")["start"]) == len(order["track"]) == 344


def test_a_recording_that_is_gone_is_still_known(client: DapClient, tmp_path: Path) -> None:
    file = tmp_path / "toy.tdbrec"
    shutil.copy(DATA / "recordings" / "toy_bm1684x.tdbrec", file)
    client.launch(file)
    client.expect_stopped("entry")
    file.unlink()
    body = client.request("tdb/model")
    assert (body["size"], len(body["launches"])) == (0, 1)


def test_a_compiled_model_has_no_launches(pooling: Stop) -> None:
    body = pooling.client.request("tdb/model")
    assert (body["launches"], body["recording"]) == ([], None)


def test_times_of_a_board_stand_beside_those_expected(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    program = open_program(toy.directory)
    assert isinstance(program, CompiledProgram)
    spans = [Span(10.0 * o, 10.0 * o + 7) for o in range(len(program.commands))]
    folder = write_run(tmp_path / "bmprofile_data-1", program, microseconds(program, spans))
    client.launch(toy.directory, measured=str(folder))
    client.expect_stopped("entry")
    times = client.request("tdb/times", milliseconds=60_000)
    assert times["duration"] == pytest.approx([7e-3] * 58, abs=2e-3)
    assert len(times["expected"]) == 58
    report = client.request("tdb/profile")["report"]
    assert (report["measured"], report["measured_in"]) == (58, str(folder))
    client.disconnect()


def test_a_measurement_of_another_model_is_refused_at_the_start(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    assert "global.profile" in client.failed_launch(program=str(toy.directory), measured=str(tmp_path))
