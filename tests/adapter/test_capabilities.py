"""What initialize answers, and the code that is made from the protocol's schema."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import EVERYTHING, DapClient, Stop
from tests.samples import case

ROOT = Path(__file__).resolve().parents[2]


def test_the_answer_is_the_set_of_what_exists(client: DapClient) -> None:
    capabilities = client.raw.initialize(**client.traits)
    for name in (
        "supportsConfigurationDoneRequest",
        "supportsStepBack",
        "supportsSteppingGranularity",
        "supportsReadMemoryRequest",
        "supportsDisassembleRequest",
        "supportsConditionalBreakpoints",
        "supportsDataBreakpoints",
        "supportsDataBreakpointBytes",
        "supportsGotoTargetsRequest",
        "supportsRestartFrame",
        "supportsSetVariable",
        "supportsSetExpression",
        "supportsWriteMemoryRequest",
    ):
        assert capabilities[name] is True
    filters = {known["filter"]: known for known in capabilities["exceptionBreakpointFilters"]}
    assert list(filters) == ["mismatch", "divergence", "sanitizers"]
    assert [mode["mode"] for mode in capabilities["breakpointModes"]] == ["before", "after", "change", "lives"]
    client.disconnect()


def test_the_protocol_types_are_what_the_generator_writes() -> None:
    subprocess.run([sys.executable, "-m", "scripts.generate_protocol", "--check"], check=True, cwd=ROOT)


def test_every_capability_has_a_test_that_uses_it(client: DapClient) -> None:
    announced = client.raw.initialize(**client.traits)
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
    used = {name for text in texts for name in re.findall(r'mark\.capability\("(\w+)"\)', text)}
    assert {name for name, value in announced.items() if value} == used
    assert len(announced) >= 33
    client.disconnect()


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


@pytest.mark.capability("supportsStepInTargetsRequest")
def test_step_in_targets_are_the_commands_of_the_op(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Softmax"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    targets = client.request("stepInTargets", frameId=stop.frame("op").id)["targets"]
    assert len(targets) > 3
    wanted = targets[2]
    client.request("stepIn", threadId=stop.thread, targetId=wanted["id"])
    inside = client.expect_stopped("step")
    assert inside.ordinal == stop.ordinal + 3
    assert wanted["label"].split()[0] in inside.frame("command").name
    assert "no target" in client.refusal("stepIn", threadId=stop.thread, targetId=1)
    ops = client.request("stepInTargets", frameId=inside.frame("subnet").id)["targets"]
    assert len(ops) < len(targets)
    client.disconnect()


@pytest.mark.capability("supportsCompletionsRequest")
@pytest.mark.capability("completionTriggerCharacters")
def test_the_console_completes_verbs_places_and_names(pooling: Stop) -> None:
    client = pooling.client

    def completed(text: str) -> list[str]:
        body = client.request("completions", text=text, column=len(text) + 1, frameId=pooling.top.id)
        return [text[: t["start"]] + t["label"] + text[t["start"] + t["length"] :] for t in body["targets"]]

    assert "continue" in completed("con")
    assert completed("b tpu.Po") == ["b tpu.Pool2D"]
    assert "b pord.maxpooling" in completed("b pord")
    assert 'p max(#loc("relu4_Relu")' in completed('p max(#loc("relu4')
    assert "%16" in completed("%1")
    assert "p in[0]" in completed("p in")
    assert completed("info ml") == ["info mlir"]
    assert "max" in completed("p 1 + ma")[0]
    assert set(client.raw.capabilities["completionTriggerCharacters"]) >= {"%", "#"}


@pytest.mark.capability("supportsModulesRequest")
@pytest.mark.capability("additionalModuleColumns")
def test_modules_are_the_model_and_its_subnets(pooling: Stop) -> None:
    client = pooling.client
    columns = [column["attributeName"] for column in client.raw.capabilities["additionalModuleColumns"]]
    body = client.request("modules")
    model, subnet = body["modules"]
    assert body["totalModules"] == 2
    assert model["name"] == "compilation.bmodel.xz"
    assert {name: subnet[name] for name in columns} == {
        "runMode": "TPU_STATIC",
        "function": "subfunc_0",
        "commands": 58,
        "inputs": "x",
        "outputs": "softmax16_Softmax",
    }
    assert pooling.frame("command").raw["moduleId"] == subnet["id"]
    assert client.request("modules", startModule=1, moduleCount=1)["modules"] == [subnet]


@pytest.mark.capability("supportsValueFormattingOptions")
def test_hexadecimal_shows_the_stored_bits(pooling: Stop) -> None:
    client = pooling.client

    def shown(expression: str) -> str:
        answer = client.request(
            "evaluate", expression=expression, context="watch", frameId=pooling.top.id, format={"hex": True}
        )
        return str(answer["result"])

    number = np.float32(pooling.evaluate("max(in[0])"))
    assert shown("max(in[0])") == f"0x{number.view(np.uint32):08x}"
    operand = pooling.variable("Operands", "relu4_Relu")
    row = operand.children(filter="indexed")[3].children(filter="indexed")[0]
    plain = [np.float32(v.value) for v in row.children(filter="indexed")]
    bits = [v.value for v in row.children(filter="indexed", format={"hex": True})]
    assert bits == [f"0x{n.view(np.uint32):08x}" for n in plain]
    registers = next(s["variablesReference"] for s in pooling._scopes("command") if s["name"] == "Registers")
    assert {v.value for v in client.variables(registers, format={"hex": True}) if v.name == "res0_c"} == {"0x10"}
    frames = client.request("stackTrace", threadId=1, format={"line": True, "module": True, "parameters": True})
    op = next(f for f in frames["stackFrames"] if "tpu.Pool2D" in f["name"])
    assert op["name"] == f"subnet:0!tpu.Pool2D maxpool5_MaxPool(%16 relu4_Relu) line {op['line']}"


@pytest.mark.capability("supportsSingleThreadExecutionRequests")
def test_a_single_core_runs_past_the_stops_of_the_others(client: DapClient) -> None:
    model = case("toy_bm1688_f16c2")
    client.launch(model.path, inputs=str(model.inputs))
    client.expect_stopped("entry")
    assert len(client.request("threads")["threads"]) == 2
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "dma.matrix"}])
    threads = []
    for single in (False, True):
        client.request("restart")
        client.expect_stopped("entry")
        for _ in range(2):
            client.request("continue", threadId=2, singleThread=single)
            threads.append(client.expect_stopped("function breakpoint").thread)
    assert threads[:2] == [1, 1]
    assert threads[2:] == [2, 2]
    client.disconnect()


@pytest.mark.capability("supportsANSIStyling")
def test_colours_only_for_clients_that_show_them(new_client: Callable[..., DapClient], toy: Toy) -> None:
    lines = {toy.mlir: [{"line": toy.line_of('"tpu.Pool2D"'), "mode": "after"}]}
    values = []
    for traits in (EVERYTHING, {**EVERYTHING, "supportsANSIStyling": True}):
        client = new_client(traits)
        client.launch(toy.directory, stop_on_entry=False, breakpoints=lines, **toy.data)
        stop = client.expect_stopped("breakpoint")
        values.append((stop.variable("Compare", "maxpool5_MaxPool").value, client.console("info asm 1")))
        client.disconnect()
    (plain, window), (coloured, coloured_window) = values
    assert plain.startswith("pass: ")
    assert coloured == plain.replace("pass", "\033[32mpass\033[0m")
    assert "\033" not in window
    assert "\033[33;1m=> " in coloured_window


@pytest.mark.capability("supportedChecksumAlgorithms")
def test_the_source_comes_with_its_checksum(pooling: Stop, toy: Toy) -> None:
    source = pooling.frame("op").raw["source"]
    assert pooling.client.raw.capabilities["supportedChecksumAlgorithms"] == ["SHA256"]
    digest = hashlib.sha256(toy.mlir.read_bytes()).hexdigest()
    assert source["checksums"] == [{"algorithm": "SHA256", "checksum": digest}]


@pytest.mark.capability("supportsDisassembleRequest")
def test_the_disassembly_has_exactly_the_rows_that_are_asked_for(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    here = pooling.frame("command").raw["instructionPointerReference"]
    rows = client.request("disassemble", memoryReference=here, instructionOffset=-50, instructionCount=300)[
        "instructions"
    ]
    assert len(rows) == 300
    addresses = [int(row["address"], 0) for row in rows]
    assert [b - a for a, b in pairwise(addresses)] == [16] * 299
    assert addresses[50] == int(here, 0)
    count = len(client.console("info asm 500").split("\n"))
    assert [row.get("presentationHint") for row in rows].count("invalid") == 300 - count
    assert rows[50]["line"] == toy.line_of('"tpu.Pool2D"')
    assert rows[50]["symbol"] == "tpu.Pool2D maxpool5_MaxPool"
    assert rows[50]["location"]["path"] == str(toy.mlir)
    before = client.request("disassemble", memoryReference=rows[0]["address"], instructionCount=51)["instructions"]
    assert [row["address"] for row in before] == [row["address"] for row in rows[:51]]
    assert client.request("disassemble", memoryReference=here, instructionCount=0)["instructions"] == []
    assert "at most" in client.refusal("disassemble", memoryReference=here, instructionCount=1 << 30)


@pytest.mark.capability("supportsCancelRequest")
def test_what_waits_in_the_queue_is_cancelled(client: DapClient, toy: Toy) -> None:
    """Pages of a tensor that is scrolled past: the client withdraws all but the last."""
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    reference = stop.variable("Inputs", "x", "main").raw["variablesReference"]
    slow = client.raw.send("evaluate", expression="sum(sort(R0:f32[1,64,256,128]))", context="repl")
    pages = [client.raw.send("variables", variablesReference=reference, start=i, count=1) for i in range(3)]
    for page in pages[:2]:
        client.raw.send("cancel", requestId=page)
    assert client.raw.response(slow)["success"]
    answers = [client.raw.response(page) for page in pages]
    assert [answer["success"] for answer in answers] == [False, False, True]
    assert answers[0]["message"] == "cancelled"
    later = client.raw.send("cancel", requestId=pages[-1] + 5) + 1
    for seq in range(later, pages[-1] + 10):  # what has not been sent yet is none of its business
        assert client.raw.response(client.raw.send("threads"))["success"], seq
    client.disconnect()
