"""Watches, hovers and the console."""

from __future__ import annotations

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


def test_names_mean_what_the_frame_shows(pooling: Stop) -> None:
    whole = "f32 1×16×32×32  [0.2818 0 1.966 …]  min 0 max 3.936"
    for expression in ("%16", "in[0]", '#loc("relu4_Relu")', "#loc12", "relu4_Relu"):
        assert pooling.evaluate(expression) == whole.replace("  [", "  ✓  [")
    assert pooling.evaluate("in[1]", level="command") == "-3.4028235e+38"
    assert pooling.evaluate("R1:f32[1,16,32,32]", level="command") == whole
    assert pooling.evaluate("%R1", level="command") == whole


def test_arithmetic_with_the_reference(pooling: Stop) -> None:
    assert float(pooling.evaluate('max(abs(in[0] - #loc("relu4_Relu")))')) == 0
    assert pooling.evaluate("shape(ref[0])") == "si64 4  [1 16 16 16]"
    assert float(pooling.evaluate("max(abs(in[0] - ref(in[0])))")) < 1e-5
    assert pooling.evaluate("shape(ref(%16) - %16)") == "si64 4  [1 16 32 32]"
    assert "ref(in[0])" in pooling.client.refusal("evaluate", expression="ref(R0:f32[3])", frameId=pooling.top.id)
    assert pooling.evaluate("min(ref[0]) >= 0 and 7 %3 == 1") == "True"


def test_a_hover_over_nothing_is_refused(pooling: Stop) -> None:
    assert "no tensor named" in pooling.client.refusal(
        "evaluate", expression="ginfo", context="hover", frameId=pooling.top.id
    )


@pytest.mark.capability("supportsEvaluateForHovers")
def test_an_address_in_the_listing_means_the_tensor_of_the_line_under_the_mouse(pooling: Stop) -> None:
    """%R1 is the pooling's input here, and the result of a convolution three lines below."""
    listing = pooling.frame("command")
    hover = {"expression": "%R1", "context": "hover", "frameId": pooling.top.id}
    source = {"name": listing.source, "sourceReference": 1, "path": "vscode-remote://host/toy.tdbasm"}
    here = pooling.client.request("evaluate", **hover, source=source, line=listing.line)
    below = pooling.client.request("evaluate", **hover, source=source, line=listing.line + 3)
    assert here["result"].startswith("f32 1×16×32×32  [")
    assert below["result"].startswith("f32 1×32×8×8  ")


def test_a_watched_tensor_opens_like_a_variable(pooling: Stop) -> None:
    answer = pooling.client.request("evaluate", expression="%16", context="watch", frameId=pooling.top.id)
    assert (answer["indexedVariables"], answer["namedVariables"]) == (16, 1)
    assert pooling.client.variables(answer["variablesReference"], filter="named")[0].name == "about"


def test_the_console_lists_its_verbs(pooling: Stop) -> None:
    text = pooling.client.console("help")
    for verb in ("c/continue", "b/break", "info", "p/print", "who", "set"):
        assert verb in text


def test_info_asm_has_an_arrow_at_the_command(pooling: Stop) -> None:
    arrows = [line for line in pooling.client.console("info asm 2").split("\n") if line.startswith("=>")]
    assert len(arrows) == 1
    assert "pord.maxpooling" in arrows[0]
    assert pooling.client.console("info mlir").startswith("23: %17 = ")


def test_console_verbs_move_in_time(pooling: Stop) -> None:
    client = pooling.client
    assert client.console("si 2") == ""
    assert client.raw.event("continued")
    assert client.expect_stopped("step").ordinal == pooling.ordinal + 2
    client.console("rn")
    assert client.expect_stopped("step").ordinal == pooling.ordinal + 1  # pooling is one command; this is the op after
    client.console("goto 0")
    assert client.expect_stopped("goto").ordinal == 0
    client.console("delete 1")
    client.console("tb dma.matrix")
    client.console("c")
    assert client.expect_stopped("breakpoint").frame("command").name == "dma.matrix D7"


def test_numbers_that_no_command_has_made_yet_say_so(pooling: Stop) -> None:
    for expression in ("%17", "out[0]", "maxpool5_MaxPool"):
        assert pooling.evaluate(expression) == "f32 1×16×16×16  (not yet computed)"
    assert "(not yet computed)" not in pooling.evaluate("%16")
    assert "(not yet computed)" in pooling.evaluate("out[0]", level="command")
    pooling.client.next()
    assert "(not yet computed)" not in pooling.client.expect_stopped("step").evaluate("%17")


def test_print_who_and_set(pooling: Stop) -> None:
    client = pooling.client
    assert client.console("p %16[0,0,0,:3]").count(",") >= 2
    assert "arith.max" in client.console("who in[0]")
    assert client.console("set in[0] = 1.5") == "f32[1,16,32,32] min 1.5 max 1.5 mean 1.5"
    assert client.raw.event("invalidated")["body"] == {"areas": ["variables"]}
    client.next()
    after = client.expect_stopped("step")
    assert after.evaluate("%17") == "f32 1×16×16×16  ✗  [1.5 1.5 1.5 …]  min 1.5 max 1.5"
    client.step_back()
    client.expect_stopped("step")


def test_wrong_console_lines_are_one_clear_line(pooling: Stop) -> None:
    for text, message in (
        ("n many", "'many' is not a number of steps"),
        ("delete 77", "there is no breakpoint 77"),
        ("info weather", "info knows asm, mlir, loc, reg, buf, mem, b"),
        ("p __import__('os')", "'__import__' is not a function here"),
        ("b R99.4", "banks R0 to R15"),
        ("p in[0].shape", "attributes"),
        ("backwards", "there is no tensor named 'backwards'; nor is 'backwards' a verb: help lists them"),
    ):
        refusal = pooling.client.refusal("evaluate", expression=text, context="repl")
        assert message in refusal
        assert "\n" not in refusal
