"""Every form of breakpoint that users of the vendor's debugger write, on a model where each of them stops.

The model: pooling of an image larger than 33 MB, a convolution ``conv1_glow``, and a hundred small ones behind it.
"""

from __future__ import annotations

import pytest

from tests.dap_client import DapClient, Stop
from tests.samples import DATA, lines_of

MODEL = DATA / "contexts" / "breakpoint_examples"


def command(stop: Stop) -> str:
    return stop.frame("command").name


def listed(client: DapClient) -> str:
    """The line of the listing at which the program has stopped."""
    return next(line for line in client.console("info asm 1").split("\n") if line.startswith("=>"))


@pytest.fixture
def session(client: DapClient) -> DapClient:
    client.launch(MODEL)
    client.expect_stopped("entry")
    return client


def stop_at(session: DapClient, text: str) -> tuple[Stop, dict[str, object]]:
    """Where the program stops first with this breakpoint and no other."""
    [placed] = session.request("setFunctionBreakpoints", breakpoints=[{"name": text}])["breakpoints"]
    assert placed["verified"], placed
    session.console("start")
    session.expect_stopped("entry")
    session.resume()
    stop = session.expect_stopped("function breakpoint")
    assert stop.hit == [placed["id"]]
    return stop, placed


def test_each_example_stops_where_it_says(session: DapClient) -> None:
    mlir = lines_of(MODEL / "final.mlir.xz")
    text = session.request("loadedSources")["sources"][1]
    listing = session.request("source", source=text, sourceReference=text["sourceReference"])["content"].split("\n")

    assert command(stop_at(session, "conv.normal")[0]).startswith("conv.normal ")
    assert command(stop_at(session, "dma.tensor")[0]) == "dma.tensor D1"
    stop_at(session, "R0")
    assert any(f"%R0{end}" in listed(session) for end in (".", ":", " ", ",", ")"))
    stop, _ = stop_at(session, "G33386496")
    slice_of_x = stop.variable("Operands", "x").raw["memoryReference"]
    first = int(slice_of_x, 0) & ((1 << 44) - 1)
    assert first <= 33386496 < first + 33 * 1024 * 1024
    assert command(stop_at(session, "B23")[0]).endswith(" B23")
    assert command(stop_at(session, "D465")[0]).endswith(" D465")

    stop, placed = stop_at(session, "%173")
    assert "%173 has no commands; stops where it is used" in str(placed["message"])
    assert stop.frame("op").name.startswith("tpu.Load")
    assert "(%173)" in mlir[stop.frame("op").line - 1]
    stop, _ = stop_at(session, '#loc("conv1_glow")')
    assert stop.frame("op").name == "tpu.Conv2D conv1_glow"
    stop, _ = stop_at(session, "#loc(3)")
    assert "#loc3 = " in "\n".join(mlir)
    assert stop.frame("op").name == "tpu.Load load_conv1w"
    stop, _ = stop_at(session, "tpu.Load")
    assert stop.frame("op").name.startswith("tpu.Load ")
    stop, _ = stop_at(session, "mlir:312")
    assert stop.frame("op").line == 312
    stop, _ = stop_at(session, "asm:168")
    assert listing[167].strip() in listed(session)
    session.disconnect()


def test_the_same_in_the_console(session: DapClient) -> None:
    for text in ("conv.normal", "B23", '#loc("conv1_glow")', "mlir:312", "asm:168"):
        session.console("start")
        session.expect_stopped("entry")
        assert "breakpoint" in session.console(f"tb {text}")
        session.console("c")
        session.expect_stopped("breakpoint")
    session.disconnect()
