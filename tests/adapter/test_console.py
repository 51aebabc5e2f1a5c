"""The console's verbs, as users of any client type them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.adapter.console.verbs import verbs
from tests.conftest import Toy
from tests.dap_client import DapClient, Stop
from tests.samples import case


@pytest.fixture
def pooling(client: DapClient, toy: Toy) -> Stop:
    """Stopped before the max pooling."""
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, stop_on_entry=False, breakpoints={toy.mlir: [line]}, **toy.data)
    return client.expect_stopped("breakpoint")


def refused(client: DapClient, text: str) -> str:
    return client.refusal("evaluate", expression=text, context="repl")


def test_check_compares_all_ops_so_far(pooling: Stop, toy: Toy) -> None:
    client = pooling.client
    before = pooling.ordinal
    assert "0 differ (x)" in client.console("check")
    assert client.console("check failed") == "nothing differs"
    client.console("set in[0] = in[0] * (in[0] < 1)")
    client.console("n")
    stop = client.expect_stopped("step")
    line = toy.line_of('"tpu.Pool2D"')
    assert f"({line}:x|x)" in client.console("check summary")
    rows = client.console("check failed").split("\n")
    assert [row.split()[1] for row in rows[1:]] == ["tpu.Pool2D", "tpu.Pool2D"]  # all that see the edit
    assert "maxpool5_MaxPool" in client.console(f"check data {line}")
    assert len(client.console("check table").split("\n")) > len(rows)
    assert Stop(client, {"reason": "step", "threadId": 1}).ordinal == stop.ordinal > before
    assert "has not been compared" in refused(client, "check data 9999")
    assert "write check summary" in refused(client, "check the weather")


def test_check_without_a_reference_says_what_is_missing(client: DapClient, bare: Path, toy: Toy) -> None:
    client.launch(bare, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    assert "nothing to compare with; reload reference FILE gives it" in refused(client, "check")


def test_displays_are_shown_after_each_stop(pooling: Stop) -> None:
    client = pooling.client
    client.printed()
    assert client.console("display max(in[0])").startswith("1: max(in[0]) = 3.9")
    assert "=> " in client.console("display info asm 1")
    client.console("display %17")
    client.next()
    client.expect_stopped("step")
    client.request("threads")
    shown = client.printed()
    assert "1: max(in[0]) = 0.238" in shown  # of the next op, as it is by now
    assert "2: info asm 1 = \n" in shown
    assert "3: %17 = f32[1,16,16,16]" in shown
    assert client.console("info display").split("\n")[2] == "  3  %17"
    assert client.console("undisplay 2 3") == "  1  max(in[0])"
    assert "there is no display 9" in refused(client, "undisplay 9")
    assert client.console("undisplay") == "no displays"
    client.next()
    client.expect_stopped("step")
    client.request("threads")
    assert client.printed() == ""


def test_dump_writes_what_is_named_or_what_the_op_has(pooling: Stop, tmp_path: Path) -> None:
    client = pooling.client
    assert client.console(f"dump {tmp_path}/named.npz %16 in[0][0,3]") == f"2 tensors written to {tmp_path}/named.npz"
    assert client.console(f"dump {tmp_path}/op.npz").endswith(f"written to {tmp_path}/op.npz")
    with np.load(tmp_path / "named.npz") as named, np.load(tmp_path / "op.npz") as op:
        assert named["%16"].shape == (1, 16, 32, 32)
        np.testing.assert_array_equal(named["in[0][0,3]"], named["%16"][0, 3])
        np.testing.assert_array_equal(next(v for n, v in op.items() if n.startswith("in[0]")), named["%16"])
    assert "cannot be written" in refused(client, "dump /nonexistent/x.npz")
    assert "FILE.npz" in refused(client, "dump somewhere")


def test_reload_takes_other_data_and_keeps_the_breakpoints(pooling: Stop, toy: Toy, tmp_path: Path) -> None:
    client = pooling.client
    with np.load(toy.inputs) as inputs:
        np.savez(tmp_path / "zero.npz", **{name: np.zeros_like(value) for name, value in inputs.items()})
    client.console("b tpu.MatMul if max(in[0]) >= 0")
    client.console(f"reload input {tmp_path}/zero.npz")
    stop = client.expect_stopped("entry")
    assert stop.evaluate("max(x)", level="main") == "0.0"
    client.resume()
    client.expect_stopped("breakpoint")
    client.resume()
    assert client.expect_stopped("breakpoint").frame("op").name.startswith("tpu.MatMul")
    assert "absent.npz" in refused(client, "reload input absent.npz")
    assert client.console("info progress").split("\n")[1].startswith("2 breakpoints")


def test_python_only_where_it_is_allowed(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, allowPython=True, **toy.data)
    client.expect_stopped("entry")
    assert client.console("py dbg.ordinal + 1") == "1"
    assert client.console("py total = sum(range(5))") == ""
    assert client.console("py print(total)") == "10"
    assert "ZeroDivisionError: division by zero" in refused(client, "py 1 / 0")
    assert "SyntaxError" in refused(client, "py what is")
    client.disconnect()


def test_python_is_refused_by_default(pooling: Stop) -> None:
    assert '"allowPython": true' in refused(pooling.client, "py 1 + 1")


PLUGIN = '''
def weather(debugger, text):
    """What the weather is like in the chip."""
    return f"{text} at command {debugger.ordinal}"


def broken(debugger, text):
    return [][5]
'''


def test_verbs_of_plugins_appear(
    new_client: Callable[..., DapClient], toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weather_plugin.py").write_text(PLUGIN)
    information = tmp_path / "weather_plugin-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: weather-plugin\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[tdb_dap.console_commands]\nweather = weather_plugin:weather\nbroken = weather_plugin:broken\n"
        "continue = weather_plugin:weather\nabsent = no_such_module:verb\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    client = new_client(process=True)
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    assert client.console("weather hot") == "hot at command 0"
    assert "What the weather is like in the chip. (plugin weather_plugin:weather)" in client.console("help weather")
    assert "IndexError" in refused(client, "broken")
    problems = client.console("plugin")
    assert "'continue' (weather_plugin:weather, weather-plugin 1.0): there is such a verb already" in problems
    assert "'absent' (no_such_module:verb, weather-plugin 1.0) cannot be loaded: ModuleNotFoundError" in problems
    targets = client.request("completions", text="wea", column=4)["targets"]
    assert [target["label"] for target in targets] == ["weather"]
    client.disconnect()


def test_words_that_users_of_the_vendor_s_debugger_know(pooling: Stop) -> None:
    client = pooling.client
    assert client.console("p in 0") == client.console("p in[0]")
    assert client.console("p [1, 2, 3]") == "si64[3] [1, 2, 3]"
    assert client.console("p in").startswith("in[0] %16 relu4_Relu = f32[1,16,32,32]")
    assert "pord.maxpooling" in client.console("p next")
    assert "conv.normal" not in client.console("p pre")
    assert client.console("info 1") == client.console("info asm 1")
    assert client.console("l") == client.console("info asm")
    assert len(client.console("info asm 3 6").split("\n")) == 3
    assert "res0_c = 16 (0x10)" in client.console("info reg")
    assert len(client.console("info buf").replace(" ", "")) % 16 == 0
    assert "commands executed" in client.console("status")
    assert client.console("w out 0").startswith("breakpoint ")
    assert client.console("w") == client.console("info watch")
    assert client.console("b :23").startswith("breakpoint ")
    assert client.console("b ::8").startswith("breakpoint ")


def test_a_number_is_a_line_of_what_the_user_looks_at(client: DapClient, toy: Toy) -> None:
    line = toy.line_of('"tpu.Pool2D"')
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    assert client.console(f"b {line} if max(in[0]) > 0") == f"breakpoint 1: mlir:{line} if max(in[0]) > 0 (1 place)"
    client.resume()
    assert client.expect_stopped("breakpoint").top.line == line
    client.step_in()
    listing = client.expect_stopped("step").top
    assert client.console(f"tb {listing.line + 3}") == f"breakpoint 2: asm:{listing.line + 3} (1 place)"
    client.resume()
    assert client.expect_stopped("breakpoint").top.line == listing.line + 3
    assert client.console("b 9999") == "no line from 9999 on is a command"
    client.disconnect()


def test_help_groups_the_verbs_and_fits_into_a_pane(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    lines = client.console("help").split("\n")
    titles = [line for line in lines if line and not line.startswith(" ") and not line.startswith("Anything")]
    assert titles[:3] == ["Run and step", "Breakpoints", "Look at values"]
    assert max(map(len, lines)) <= 120
    listed = {word for line in lines if line.startswith("  ") for word in line.split()[:1]}
    assert {known.usage.split()[0] for known in verbs()} <= listed
    client.disconnect()


@pytest.mark.parametrize("name", sorted({known.names[0] for known in verbs() if known.needs_text}))
def test_a_verb_that_needs_more_says_what(client: DapClient, toy: Toy, name: str) -> None:
    client.launch(toy.directory)
    client.expect_stopped("entry")
    refused = client.refusal("evaluate", expression=name, context="repl")
    assert f"{name} needs more: " in refused
    client.disconnect()


@pytest.mark.parametrize(("client_id", "category"), [("vscode", "stdout"), ("nvim-dap", "console"), (None, "console")])
def test_plain_lines_are_plain_in_every_client(
    new_client: Callable[..., DapClient], toy: Toy, client_id: str | None, category: str
) -> None:
    client = new_client({"clientID": client_id})
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    assert [body["category"] for body in client.raw.events("output")] == [category]
    client.disconnect()


@pytest.mark.parametrize(
    ("text", "label"), [("p in[", "in[0]"), ("p ref[0", "ref[0]"), ('p input("', 'input("x")'), ("p in", "in[0]")]
)
def test_a_completion_replaces_the_name_with_its_opened_bracket(pooling: Stop, text: str, label: str) -> None:
    targets = pooling.client.request("completions", text=text, column=len(text) + 1)["targets"]
    [target] = [target for target in targets if target["label"] == label]
    applied = text[: target["start"]] + target["label"] + text[target["start"] + target["length"] :]
    assert applied == f"p {label}"


@pytest.mark.parametrize("index", ["[0,99]", "[0,0,0,0,0]", "[[0,1],[0,1],[5,5]]"])
@pytest.mark.parametrize("verb", ["who {}", "watch {}", "set {} = 1"])
def test_an_index_that_selects_nothing_is_an_error_of_the_expression(pooling: Stop, verb: str, index: str) -> None:
    message = refused(pooling.client, verb.format(f"in[0]{index}"))
    assert "has no such part" in message or "overlap" in message
    assert "internal" not in message


def test_commands_of_several_cores_have_names_of_their_own(client: DapClient) -> None:
    client.launch(case("toy_bm1688_f16c2").path)
    client.expect_stopped("entry")
    assert "B2 names a command of 2 cores; it stops at each: c0.B2, c1.B2" in client.console("b B2")
    assert refused(client, "goto B2").endswith("B2 names 2 commands: c0.B2 (command 4), c1.B2 (command 90)")
    client.console("goto c1.B2")
    assert client.expect_stopped("goto").ordinal == 90
    assert client.console("explain").startswith("c1.B2, command 90 of 101, TIU, core 1")
    client.console("c")
    assert client.expect_stopped("step").frames[0].name == "main (finished)"
    client.console("rc")
    assert client.expect_stopped("breakpoint").frame("command").name == "system.wait_msg c1.B2"


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [("gather_elem_bm1688_f16c2", 6), ("toy_bm1688_f16c2", 0), ("scatter_nd_bm1690_f16c8", 18)],
)
def test_a_session_on_several_cores_begins_at_the_first_op(client: DapClient, name: str, ordinal: int) -> None:
    client.launch(case(name).path)
    stop = client.expect_stopped("entry")
    assert stop.ordinal == ordinal
    assert stop.frame("op").name.startswith("tpu.")
    client.console("s")
    assert client.expect_stopped("entry").ordinal == 0


def test_what_comes_before_the_first_op_can_be_stopped_at(client: DapClient) -> None:
    client.launch(case("gather_elem_bm1688_f16c2").path, commands=["b c1.B1"])
    assert client.expect_stopped("breakpoint").frame("command").name.endswith("c1.B1")
