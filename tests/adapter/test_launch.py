"""Launch configurations: what is wrong with one is said in one clear message, and the session ends in order."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Toy
from tests.dap_client import DapClient
from tests.samples import case


@pytest.fixture
def context(toy: Toy, tmp_path: Path) -> Path:
    """A copy of the sample with plain files, to be damaged."""
    folder = tmp_path / "context"
    folder.mkdir()
    for file in toy.directory.iterdir():
        if file.suffix == ".xz":
            (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
        else:
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def npz(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


def not_a_model(context: Path) -> dict[str, object]:
    (context / "compilation.bmodel").write_bytes(b"#!/bin/sh\necho no\n" * 100)
    return {}


def cut_short(context: Path) -> dict[str, object]:
    model = context / "compilation.bmodel"
    model.write_bytes(model.read_bytes()[:10_000])
    return {}


def unknown_chip(context: Path) -> dict[str, object]:
    model = context / "compilation.bmodel"
    model.write_bytes(model.read_bytes().replace(b"BM1684X", b"BM9999X"))
    return {}


def locations_of_another_model(context: Path) -> dict[str, object]:
    other = case("softmax_bm1684x_f32").path / "tensor_location.json.xz"
    (context / "tensor_location.json").write_bytes(lzma.decompress(other.read_bytes()))
    return {}


def damaged_locations(context: Path) -> dict[str, object]:
    (context / "tensor_location.json").write_text('[{"file-line": 3}]')
    return {}


def missing_inputs(context: Path) -> dict[str, object]:
    return {"inputs": str(context / "absent.npz")}


def misnamed_inputs(context: Path) -> dict[str, object]:
    return {"inputs": npz(context / "in.npz", picture=np.zeros((1, 3, 32, 32), np.float32))}


def misshapen_inputs(context: Path) -> dict[str, object]:
    return {"inputs": npz(context / "in.npz", x=np.zeros((1, 3, 31, 32), np.float32))}


def inputs_that_are_no_numbers(context: Path) -> dict[str, object]:
    return {"inputs": npz(context / "in.npz", x=np.full((1, 3, 32, 32), "a"))}


def foreign_reference(context: Path) -> dict[str, object]:
    return {"reference": npz(context / "ref.npz", somebody_else=np.zeros(3))}


def nothing_there(context: Path) -> dict[str, object]:
    return {"program": str(context / "nowhere")}


def an_empty_directory(context: Path) -> dict[str, object]:
    (context / "empty").mkdir()
    return {"program": str(context / "empty")}


def no_program(context: Path) -> dict[str, object]:
    return {"program": None}


def a_wrong_type(context: Path) -> dict[str, object]:
    return {"stopOnEntry": "perhaps"}


def an_unknown_sanitizer(context: Path) -> dict[str, object]:
    return {"sanitizers": ["leak"]}


def another_backend(context: Path) -> dict[str, object]:
    return {"backend": "cmodel", "cmodelPath": str(context)}


BAD: dict[Callable[[Path], dict[str, object]], str] = {
    not_a_model: "bmodel",
    cut_short: "compilation.bmodel",
    unknown_chip: "BM9999X",
    locations_of_another_model: "belongs to another model",
    damaged_locations: "tensor_location.json",
    missing_inputs: "absent.npz",
    misnamed_inputs: "has no array named x; it holds picture",
    misshapen_inputs: "[1, 3, 31, 32]",
    inputs_that_are_no_numbers: "is not a number type",
    foreign_reference: "somebody_else",
    nothing_there: "nowhere: no such file or directory",
    an_empty_directory: "no compilation.bmodel",
    no_program: "program: is missing",
    a_wrong_type: "stopOnEntry",
    an_unknown_sanitizer: "sanitizers: there is no sanitizer 'leak'",
    another_backend: "give another --cmodel-path",
}


@pytest.mark.parametrize("damage", BAD, ids=lambda f: f.__name__)
def test_a_bad_launch_is_one_clear_message(
    client: DapClient, context: Path, damage: Callable[[Path], dict[str, object]]
) -> None:
    message = client.failed_launch(**{"program": str(context), **damage(context)})
    assert BAD[damage] in message
    assert "\n" not in message
    assert "Traceback" not in message


def test_an_unreadable_file_is_named(client: DapClient, context: Path) -> None:
    (context / "final.mlir").unlink()
    (context / "final.mlir").mkdir()
    assert "final.mlir" in client.failed_launch(program=str(context))


def test_an_unknown_key_is_pointed_out(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stopOnEnty=True, preLaunchTask="build", **toy.data)
    client.expect_stopped("entry")
    printed = client.printed()
    assert "'stopOnEnty' is not known and has no effect; did you mean 'stopOnEntry'?" in printed
    assert "preLaunchTask" not in printed
    client.disconnect()


def test_null_stands_for_the_default(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, inputs=None, reference=None, tolerance=None, historyLimit=None)
    client.expect_stopped("entry")
    client.disconnect()


def test_console_commands_run_after_loading(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, commands=["b tpu.Pool2D", "nonsense("], **toy.data)
    client.expect_stopped("entry")
    printed = client.printed()
    assert "> b tpu.Pool2D\nbreakpoint 1: tpu.Pool2D (2 places)" in printed
    assert "cannot understand 'nonsense('" in printed
    client.resume()
    client.expect_stopped("breakpoint")
    client.disconnect()


def test_without_inputs_zeros_go_in_and_the_user_is_told(client: DapClient, bare: Path) -> None:
    client.launch(bare)
    stop = client.expect_stopped("entry")
    assert "zero" in client.printed()
    assert stop.variable("Inputs", "x", "main").value == "f32 1×3×32×32  [0 0 0 …]  min 0 max 0"
    client.disconnect()


def test_without_debugging_nothing_stops_the_run(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, noDebug=True, breakpoints={toy.mlir: [23]}, **toy.data)
    client.expect_end()
    client.disconnect()


def test_the_end_is_a_place_where_a_session_stands(new_client: Callable[..., DapClient], toy: Toy) -> None:
    client = new_client()
    client.raw.initialize(**client.traits)
    launch = client.raw.launch(program=str(toy.directory), stopOnEntry=False)  # as clients do, without stopOnExit
    client.request("configurationDone")
    client.raw.answer(launch)
    client.expect_stopped("step")
    assert "softmax16_Softmax = f32" in client.printed()
    for resume in (client.resume, client.next, lambda: client.console("c"), lambda: client.console("n")):
        resume()
        again = client.expect_stopped("step")
        assert client.request("tdb/moment")["ordinal"] == 58
        assert "reverse works" in again.description
        assert "softmax16_Softmax" not in client.printed(), "shown once"
    client.console("set R0:f32[1,1,1,4] = 3")
    client.resume()
    client.expect_stopped("step")
    assert "1 edits" in client.console("status"), "what was edited is still there"
    client.reverse()
    assert client.expect_stopped("entry").ordinal == 0
    client.disconnect()


def test_stopping_on_exit_shows_the_outputs(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, stop_on_entry=False, stopOnExit=True, **toy.data)
    stop = client.expect_stopped("step")
    assert stop.variable("Outputs", "softmax16_Softmax", "main").value.startswith(
        "f32 1×10  [0.03243 0.0944 0.09283 …]  min 0.03243 "
    )
    client.reverse()
    assert client.expect_stopped("entry").ordinal == 0
    client.disconnect()


def test_a_second_launch_is_refused(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    assert "loaded already" in client.refusal("launch", program=str(toy.directory))
    client.next()
    client.expect_stopped("step")
    client.disconnect()


def test_a_restart_with_other_files_loads_them(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    other = case("softmax_bm1684x_f32").path
    client.request("restart", arguments={"program": str(other), "inputs": str(other / "input.npz")})
    assert client.expect_stopped("entry").frame("op").raw["source"]["path"] == str(other / "final.mlir")
    client.disconnect()


def test_the_transcript_is_json_lines_with_times(client: DapClient, toy: Toy, tmp_path: Path) -> None:
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.disconnect()
    [log] = tmp_path.glob("session-*.jsonl")
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert {entry["dir"] for entry in entries} == {"in", "out"}
    assert all(entry["time"] > 0 for entry in entries)
    assert entries[0]["message"]["command"] == "initialize"
