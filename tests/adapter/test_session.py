"""A user's first session, from launch to the end, as an editor carries it out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient


@pytest.mark.capability("supportsConfigurationDoneRequest")
def test_launch_stops_on_entry_before_the_first_command(client: DapClient, toy: Toy):
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    assert stop.ordinal == 0
    assert stop.top.source == "final.mlir"
    assert stop.top.line == toy.line_of('"tpu.Load"')
    client.disconnect()


def test_breakpoint_in_final_mlir_stops_before_the_pooling(client: DapClient, toy: Toy):
    line = toy.line_of('"tpu.Pool2D"')
    placed = client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert placed[0]["verified"]
    assert stop.hit == [placed[0]["id"]]
    assert stop.frame("op").line == line
    assert stop.variable("Operands", "relu4_Relu").value.startswith("f32[1,16,32,32] min 0 max")
    client.step_back("instruction")
    assert client.expect_stopped("step").ordinal == stop.ordinal - 1
    client.disconnect()


@pytest.mark.capability("supportsSteppingGranularity")
def test_editors_go_to_the_op_and_to_the_listing_when_stepping_by_instruction(client: DapClient, toy: Toy):
    client.launch(toy.directory, **toy.data)
    assert client.expect_stopped("entry").top.source == "final.mlir"
    client.step_in()
    assert client.expect_stopped("step").top.source == "toy.tdbasm"
    client.next()
    assert client.expect_stopped("step").top.source == "final.mlir"
    client.disconnect()


def test_call_stack_shows_every_level_of_the_compiler(client: DapClient, toy: Toy):
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert stop.frame("command").name == "pord.maxpooling B3"
    assert stop.frame("op").name == "tpu.Pool2D maxpool5_MaxPool"
    assert stop.frame("group").line == toy.line_of('"tpu.Group"')
    assert stop.frame("subnet").line == toy.line_of("func.func @subfunc_0")
    assert stop.frame("main").line == toy.line_of("call @subfunc_0")
    assert stop.frame("layer").name == "layer maxpool5_MaxPool"
    client.disconnect()


def test_running_to_the_end_prints_the_outputs_and_ends_the_session(client: DapClient, toy: Toy):
    client.launch(toy.directory, stop_on_entry=False, **toy.data)
    client.expect_end()
    assert "softmax16_Softmax = f32[1,10] min 0.032428 max 0.16387" in client.printed()
    client.disconnect()


def test_stepping_over_the_last_op_stops_once_more_with_the_outputs(client: DapClient, toy: Toy):
    line = toy.line_of('"tpu.Softmax"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    client.expect_stopped("breakpoint")
    client.next()
    stop = client.expect_stopped("step")
    assert stop.top.name == "main (finished)"
    output = stop.variable("Outputs", "softmax16_Softmax", level="main")
    with np.load(toy.reference) as reference:
        expected = reference["softmax16_Softmax"][0]
    row = output.children(filter="indexed")[0].children(filter="indexed")
    assert np.allclose([float(v.value) for v in row], expected, rtol=1e-5)
    client.next()
    client.expect_end()
    client.disconnect()


@pytest.mark.capability("supportsRestartRequest")
def test_restart_goes_back_to_the_first_command(client: DapClient, toy: Toy):
    line = toy.line_of('"tpu.MatMul"')
    client.launch(toy.directory, breakpoints={toy.mlir: [line]}, **toy.data)
    client.expect_stopped("entry")
    client.resume()
    client.expect_stopped("breakpoint")
    client.request("restart")
    assert client.expect_stopped("entry").ordinal == 0
    client.resume()
    client.expect_stopped("breakpoint")
    client.request("terminate")
    client.expect_end()
    client.disconnect()


def test_without_final_mlir_the_listing_takes_its_place(client: DapClient, toy: Toy, tmp_path):
    model = tmp_path / "lonely" / "compilation.bmodel.xz"
    model.parent.mkdir()
    model.write_bytes((toy.directory / model.name).read_bytes())
    client.launch(model, inputs=str(toy.inputs))
    stop = client.expect_stopped("entry")
    assert next(frame.source for frame in stop.frames) == "toy.tdbasm"
    assert stop.variable("Operands", "%G0", level="command").value.startswith("f32[1,16,1,1]")
    client.next()
    assert client.expect_stopped("step").ordinal == 1
    client.disconnect()


def test_a_dynamic_model_says_so_and_ends_in_order(client: DapClient):
    from tests.samples import case

    client.launch(case("toy_bm1684x_f32dyn").path)
    client.expect_stopped("entry")
    assert "Subnet 0 is dynamic, its commands are made while it runs: the run will stop there" in client.printed()
    client.resume()
    client.expect_end(exit_code=1)
    assert "is dynamic" in client.printed()
    client.disconnect()
