"""Files that are written under a session, as every loop of compiling and debugging does: nothing is mixed or ends."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.files import file_bytes
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.programs import open_program
from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import SAMPLE

OTHERS = "was written since it was opened, so its numbers would be of two files"


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """The sample, with a bmodel that is not packed."""
    folder = tmp_path / "toy"
    shutil.copytree(SAMPLE, folder)
    packed = folder / "compilation.bmodel.xz"
    (folder / "compilation.bmodel").write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    return folder


def write_other_weights(bmodel: Path) -> None:
    """In place, as ``cp`` does it."""
    program = open_program(bmodel)
    weights = program.stage.weights
    with bmodel.open("r+b") as file:
        file.seek(program.bmodel.payload_start + weights.start)
        file.write(bytes(weights.size))


def cut_off(bmodel: Path) -> None:
    """What a compiler has written so far."""
    with bmodel.open("r+b") as file:
        file.truncate(2000)


def replace_by_another(bmodel: Path) -> None:
    """As a careful program does it: a new file under the old name."""
    other = bmodel.with_name("new")
    other.write_bytes(bmodel.read_bytes()[:2000])
    other.replace(bmodel)


CHANGES = (write_other_weights, cut_off, replace_by_another, Path.unlink)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_small_model_is_read_and_stays_what_it_was(context: Path, change: Callable[[Path], None]) -> None:
    with tdb_dap.open(context, inputs=context / "input.npz") as debugger:
        debugger.run()
        expected = debugger.outputs()
    with tdb_dap.open(context, inputs=context / "input.npz") as debugger:
        debugger.step(5)
        change(context / "compilation.bmodel")
        debugger.run()
        for name, array in debugger.outputs().items():
            assert np.array_equal(array, expected[name])
        debugger.restart()
        debugger.run()
        for name, array in debugger.outputs().items():
            assert np.array_equal(array, expected[name])
        assert debugger.program.content is not None
        assert debugger.program.content.has_changed


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_large_model_is_mapped_and_its_numbers_are_of_one_file(
    context: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_bytes, "READ", 0)
    monkeypatch.setattr(file_bytes, "_SELDOM", 0.0)
    is_in_place = change in (write_other_weights, cut_off)
    with tdb_dap.open(context, inputs=context / "input.npz") as debugger:
        debugger.step(5)
        change(context / "compilation.bmodel")
        if not is_in_place:  # the old file is there as long as somebody holds it
            assert debugger.run().reason == "end"
            return
        for use in (
            debugger.run,
            lambda: debugger.memory,
            lambda: debugger.machine.step(),
            lambda: np.array(debugger.read("in[0]")),
        ):
            with pytest.raises(BadInput, match=OTHERS):
                use()


def test_a_user_hears_of_it_once_and_loads_the_new_one(client: DapClient, context: Path, toy: Toy) -> None:
    client.launch(context, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    client.next()
    client.expect_stopped("step")
    assert "has changed since" not in client.printed()
    write_other_weights(context / "compilation.bmodel")
    for _ in range(2):
        client.next()
        client.expect_stopped("step")
    assert client.printed().count("compilation.bmodel has changed since it was opened") == 1
    client.console("reload")
    client.expect_stopped("entry")
    client.next()
    client.expect_stopped("step")
    assert "has changed since it was opened" not in client.printed()
    client.disconnect()


def test_an_adapter_survives_a_mapped_file_that_is_cut_off(client: DapClient, context: Path, toy: Toy) -> None:
    with (context / "compilation.bmodel").open("r+b") as file:
        file.truncate(file_bytes.READ + (1 << 20))  # so large that it is mapped
    client.launch(context, inputs=str(toy.inputs))
    client.expect_stopped("entry")
    cut_off(context / "compilation.bmodel")
    client.resume()
    client.expect_stopped("exception")
    assert OTHERS in client.request("exceptionInfo", threadId=1)["description"]
    assert "load it again" in client.refusal("evaluate", expression="in[0]", context="watch")
    client.disconnect()


@pytest.mark.parametrize("name", ["final.mlir", "tensor_location.json.xz", "input.npz", "ref.npz"])
def test_what_is_read_when_a_model_is_opened_may_go(client: DapClient, context: Path, name: str) -> None:
    client.launch(context, inputs=str(context / "input.npz"), reference=str(context / "ref.npz"))
    client.expect_stopped("entry")
    with (context / name).open("r+b") as file:
        file.truncate(10)
    client.next()
    stop = client.expect_stopped("step")
    assert stop.frames
    client.disconnect()


def test_a_file_that_shrinks_while_it_is_opened_is_refused(context: Path) -> None:
    cut_off(context / "compilation.bmodel")
    with pytest.raises(TdbError, match=r"truncated bmodel|copy or compile"):
        tdb_dap.open(context)
