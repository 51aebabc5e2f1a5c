"""Watching memory: tensors, slices, elements and addresses; reads, writes and changes; in both directions of time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Stop


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    client.set_breakpoints(toy.mlir, [])
    return stop


def watch(client: DapClient, data_id: str, access: str = "write", **more: Any) -> dict[str, Any]:
    wanted = {"dataId": data_id, "accessType": access, **more}
    [placed] = client.request("setDataBreakpoints", breakpoints=[wanted])["breakpoints"]
    return placed


@pytest.mark.capability("supportsDataBreakpoints")
def test_a_write_watch_on_a_tensor_with_reverse_stops_at_its_producer(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    reference = next(s["variablesReference"] for s in pooling._scopes("op") if s["name"] == "Operands")
    name = pooling.variable("Operands", "relu4_Relu").name
    info = client.request("dataBreakpointInfo", variablesReference=reference, name=name)
    assert info["canPersist"]
    assert info["accessTypes"] == ["write", "read", "readWrite"]
    assert "65,536 bytes" in info["description"]
    assert watch(client, info["dataId"])["verified"]
    client.reverse()
    stop = client.expect_stopped("data breakpoint")
    assert stop.ordinal == pooling.ordinal - 2  # between the convolution and the maximum with 0, which is in place
    assert stop.frame("op").line == toy.line_of('"tpu.Conv2D"')
    client.resume()
    assert client.expect_stopped("data breakpoint").frame("command").name.startswith("arith.max")
    client.resume()
    assert client.expect_stopped("data breakpoint").ordinal > pooling.ordinal
    client.disconnect()


def test_reads_find_the_consumers(pooling: Stop) -> None:
    client = pooling.client
    info = client.request("dataBreakpointInfo", name="in[0]", frameId=pooling.frame("op").id)
    watch(client, info["dataId"], "read")
    client.resume()
    assert client.expect_stopped("data breakpoint").ordinal == pooling.ordinal
    client.reverse()
    assert client.expect_stopped("data breakpoint").frame("command").name.startswith("arith.max")
    client.disconnect()


def test_an_element_and_a_slice_are_watched_to_the_byte(pooling: Stop) -> None:
    client, frame = pooling.client, pooling.frame("op").id
    for expression, size in (("in[0][0,3,5,7]", "4 bytes"), ("in[0][0,3:5,0]", "256 bytes")):
        info = client.request("dataBreakpointInfo", name=expression, frameId=frame)
        assert info["description"].endswith(f"{size})")
        assert watch(client, info["dataId"])["verified"]
    none = client.request("dataBreakpointInfo", name="in[0] + 1", frameId=frame)
    assert "dataId" not in none or none["dataId"] is None
    assert "not a place in memory" in none["description"]
    client.disconnect()


@pytest.mark.capability("supportsDataBreakpointBytes")
def test_bytes_at_an_address_and_the_id_outlives_the_session(
    pooling: Stop, toy: Toy, new_client: Callable[..., DapClient]
) -> None:
    client = pooling.client
    info = client.request("dataBreakpointInfo", name="G53248", asAddress=True, bytes=64)
    client.disconnect()
    assert info["dataId"] == "G0xd000+64"
    other = new_client()
    other.launch(toy.directory, **toy.data)
    other.expect_stopped("entry")
    assert watch(other, info["dataId"])["verified"]
    other.resume()
    stop = other.expect_stopped("data breakpoint")
    assert stop.ordinal == 28
    nothing = other.request("dataBreakpointInfo", name="G999999999", asAddress=True, bytes=64)
    assert nothing.get("dataId") is None
    other.disconnect()


def test_only_changes(pooling: Stop, toy: Toy) -> None:
    """The maximum with 0 writes every element; it changes none that the convolution left positive."""
    client, frame = pooling.client, pooling.frame("op").id
    values = [float(pooling.evaluate(f"in[0][0,0,0,{i}]")) for i in range(16)]
    positive = next(i for i, value in enumerate(values) if value > 0)
    zero = next(i for i, value in enumerate(values) if value == 0)
    found = {}
    for i in (positive, zero):
        info = client.request("dataBreakpointInfo", name=f"in[0][0,0,0,{i}]", frameId=frame, mode="change")
        assert info["accessTypes"] == ["write"]
        watch(client, info["dataId"])
        client.console("goto 0")
        client.expect_stopped("goto")
        stops = []
        for _ in range(2):
            client.resume()
            stops.append(client.expect_stopped("data breakpoint").ordinal)
        found[i] = [ordinal for ordinal in stops if ordinal < pooling.ordinal]
        client.console(f"goto {pooling.ordinal}")
        frame = client.expect_stopped("goto").frame("op").id
    assert found == {positive: [3], zero: [3, 4]}
    client.disconnect()


def test_conditions_and_hits_are_points_in_time(pooling: Stop) -> None:
    client, frame = pooling.client, pooling.frame("op").id
    info = client.request("dataBreakpointInfo", name="in[0]", frameId=frame)
    watch(client, info["dataId"], hitCondition="2")
    client.reverse()
    # We are behind the second write already: the way back passes the first one, which is hit 1.
    assert client.expect_stopped("entry").ordinal == 0
    client.resume()
    assert client.expect_stopped("data breakpoint").ordinal == 4
    client.resume()
    client.expect_end()
    client.disconnect()


def test_the_console_watches_as_well(pooling: Stop) -> None:
    client = pooling.client
    assert client.console("watch in[0] : read").startswith("breakpoint ")
    client.resume()
    assert client.expect_stopped("breakpoint").ordinal == pooling.ordinal
    client.disconnect()


def test_a_stop_shows_old_and_new_numbers(pooling: Stop) -> None:
    client, frame = pooling.client, pooling.frame("op").id
    values = [float(pooling.evaluate(f"in[0][0,0,0,{i}]")) for i in range(16)]
    zero = next(i for i, value in enumerate(values) if value == 0)
    all_of_it = client.request("dataBreakpointInfo", name="in[0]", frameId=frame)["dataId"]
    watch(client, client.request("dataBreakpointInfo", name=f"in[0][0,0,0,{zero}]", frameId=frame)["dataId"])
    client.reverse()
    made = client.expect_stopped("data breakpoint")
    assert made.frame("command").name.startswith("conv.normal")
    number = made.text.partition(" → ")[2]
    assert float(number) < 0
    client.resume()
    stop = client.expect_stopped("data breakpoint")
    assert stop.frame("command").name.startswith("arith.max")
    assert (stop.text, stop.description) == (f"Written: {number} → 0.0",) * 2
    watch(client, all_of_it)
    client.reverse()
    client.expect_stopped("data breakpoint")
    client.resume()
    whole = client.expect_stopped("data breakpoint").text
    pattern = r"Written: [\d,]+ of 16,384 elements, first -[\d.e-]+ → 0; min -.* max (.*) → min 0 max \1$"
    assert re.match(pattern, whole), whole
    client.disconnect()


def test_while_it_lives_later_tenants_of_its_bytes_do_not_stop(pooling: Stop, toy: Toy) -> None:
    client, frame = pooling.client, pooling.frame("op").id
    counts = {}
    client.set_breakpoints(toy.mlir, [toy.line_of('"tpu.Softmax"')])
    for mode in (None, "lives"):
        info = client.request("dataBreakpointInfo", name="in[0]", frameId=frame, mode=mode)
        watch(client, info["dataId"], "readWrite")
        client.console("goto 0")
        client.expect_stopped("goto")
        stops = []
        client.resume()
        while (reached := Stop(client, client.raw.event("stopped")["body"])).reason == "data breakpoint":
            stops.append(reached.ordinal)
            client.resume()
        counts[mode] = stops
        client.console(f"goto {pooling.ordinal}")
        frame = client.expect_stopped("goto").frame("op").id
    assert counts["lives"] == [3, 4, 5], "the convolution, the maximum with 0, the pooling"
    assert len(counts[None]) > 3
    client.disconnect()
