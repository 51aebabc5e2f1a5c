"""Values beside the lines of final.mlir and of the listing."""

from __future__ import annotations

import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient, Frame, Stop
from tests.samples import case


def shown(stop: Stop, first: int = 1, last: int = 1 << 20, frame: Frame | None = None) -> dict[tuple[int, str], str]:
    """Text by line and name, beside the text of a frame, the first one by default."""
    frame = frame or stop.top
    asked = {"frameId": frame.id, "source": dict(frame.raw["source"]), "line": first, "endLine": last}
    values = stop.client.request("tdb/inlineValues", **asked)["values"]
    return {(value["line"], value["name"]): value["text"] for value in values}


def test_operands_stand_beside_the_line_about_to_run_and_results_beside_those_before(
    client: DapClient, toy: Toy
) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    values = shown(stop)
    assert values[line, "%16"] == "✓ min 0 max 3.936"
    assert values[line - 1, "%16"] == "✓ min 0 max 3.936"
    assert (line, "%17") not in values
    client.next()
    after = shown(client.expect_stopped("step"))
    assert after[line, "%17"] == "✓ min 0 max 3.936"
    client.console("set %17 = 0")
    assert shown(stop_again(client))[line, "%17"].startswith("✗ min ")
    client.disconnect()


def stop_again(client: DapClient) -> Stop:
    """The same stop, after an edit."""
    return Stop(client, {"reason": "step", "threadId": client.thread})


def jump(stop: Stop, frame: Frame, line: int, how: str) -> Stop:
    """The stop after "travel" to a line of a frame's text, or "skip" to it."""
    client, source = stop.client, frame.raw["source"]
    targets = client.request("gotoTargets", source=source, line=line)["targets"]
    target = next(target for target in targets if target["label"].startswith(how))
    client.request("goto", threadId=client.thread, targetId=target["id"])
    return client.expect_stopped("goto")


@pytest.mark.parametrize(("level", "opcode"), [("op", '"tpu.Pool2D"'), ("command", "")])
def test_what_was_skipped_has_no_results(client: DapClient, toy: Toy, level: str, opcode: str) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    skipped = stop.frame(level).line
    target = toy.line_of(opcode) if opcode else skipped + 3
    stop = jump(stop, stop.frame(level), target, "skip")
    assert stop.frame(level).line == target
    values = shown(stop, frame=stop.frame(level))
    assert not {at for at, _ in values if skipped <= at < target}, "nothing has computed them"
    client.next("instruction" if level == "command" else "statement")
    stop = client.expect_stopped("step")
    assert target in {at for at, _ in shown(stop, frame=stop.frame(level))}
    client.disconnect()


def test_after_a_skip_back_results_that_were_overwritten_are_gone(client: DapClient) -> None:
    """Commands that are to be executed again have already written to memory."""
    model = case("toy_bm1688_int8c2")
    client.launch(model.path, inputs=str(model.inputs))
    stop = client.expect_stopped("entry")
    computed: dict[tuple[int, str], str] = {}

    def steps(count: int) -> Stop:
        here = stop
        for _ in range(count):
            client.next("instruction")
            here = client.expect_stopped("step")
            done = shown(here, last=here.top.line - 1)
            computed.update({key: text for key, text in done.items() if key not in computed})
        return here

    stop = steps(30)
    middle = stop.frame("command").line
    stop = steps(30)
    stop = jump(stop, stop.frame("command"), middle, "skip")
    there = shown(stop, last=middle - 1, frame=stop.frame("command"))
    assert there
    assert {key: computed[key] for key in there} == there
    client.disconnect()


def test_only_what_is_visible_is_looked_at(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    stop = client.expect_stopped("breakpoint")
    assert {at for at, _ in shown(stop, line, line)} == {line}
    assert shown(stop, line + 1, line + 5) == {}
    client.disconnect()


@pytest.mark.parametrize("name", ["toy_bm1684x_f32", "toy_bm1684_int8", "toy_bm1688_int8c2", "toy_bm1690_f16c8"])
@pytest.mark.parametrize("looks_at", ["final.mlir", "listing"])
def test_a_result_is_shown_as_it_was_computed_or_not_at_all(client: DapClient, name: str, looks_at: str) -> None:
    """Whatever was overwritten since is gone, as is what another core or slice has put there."""
    model = case(name)
    client.launch(model.path, inputs=str(model.inputs))
    stop = client.expect_stopped("entry")
    if looks_at == "listing":
        client.next("instruction")
        stop = client.expect_stopped("step")
    computed: dict[tuple[int, str], str] = {}
    own = 0
    for _ in range(60):
        if stop.top.name.startswith("main"):
            break
        here = stop.top.line
        values = {key: text for key, text in shown(stop).items() if key[0] != here}
        for key, text in values.items():
            assert computed.setdefault(key, text) == text, key
        own += bool(values)
        computed = {key: text for key, text in computed.items() if key in values}
        client.next()
        stop = client.expect_stopped("step")
    assert own > 10
    client.disconnect()


def test_other_texts_have_none(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    stop = client.expect_stopped("entry")
    asked = {"frameId": stop.top.id, "line": 1, "endLine": 99}
    assert client.request("tdb/inlineValues", **asked, source={"path": "/elsewhere/x.mlir"}) == {"values": []}
    main = {**asked, "frameId": stop.frame("main").id, "source": {"path": str(toy.mlir)}}
    assert client.request("tdb/inlineValues", **main) == {"values": []}
    client.disconnect()
