"""A prompt that is longer than a prefill: parts that go on after the cache, in recordings."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from tdb_dap.backends.recorder.models import Models
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.program.recorded_events import Piece
from tdb_dap.engine.program.recorded_launches import side_by_side
from tdb_dap.engine.program.schedule import HostStep, NetStep
from tdb_dap.errors import BadInput
from tdb_dap.tools.llm.answering import answer
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.running import Answering, Token, prompt_of
from tdb_dap.tools.opening import open_debugger
from tests.command_line import tdb_dap
from tests.llm.models import HISTORY, LONG_PROMPT, QWEN, copied, float_model, wrong


def opened(name: str) -> Debugger:
    return open_debugger(HISTORY / f"{name}.tdbrec", history_limit=0)


def compared(path: Path) -> list[Token]:
    debugger = open_debugger(path, history_limit=0)
    return list(Answering(debugger, read_model(HISTORY), LONG_PROMPT, (), float_model(HISTORY)).tokens())


def test_a_right_run_is_right_in_every_part() -> None:
    tokens = compared(HISTORY / "right.tdbrec")
    assert list(wrong(tokens)) == []
    assert [token.id for token in tokens] == [token.expected for token in tokens] == [94, 6]
    nets = [part.launch.net for part in tokens[0].parts]
    later = ["embedding", "block_kv_0", "block_kv_1"]
    assert nets == ["embedding", "block_0", "block_1", *later, *later, "lm_head"]
    assert all(part.compared for part in tokens[0].parts[:-1])


@pytest.mark.parametrize(
    ("name", "where", "given"),
    [
        ("early", (7, "block_kv_0"), ("position_ids 15 instead of 16 at position 16, 4 of 4 differ",)),
        (
            "short",
            (8, "block_kv_1"),
            ("history_k holds 8 positions instead of 16", "history_v holds 8 positions instead of 16"),
        ),
    ],
)
def test_a_fault_is_told_at_its_part(name: str, where: tuple[int, str], given: tuple[str, ...]) -> None:
    number, first = next(wrong(compared(HISTORY / f"{name}.tdbrec")))
    assert (number, first.launch.number, first.launch.net) == (0, *where)
    assert first.given == given


def test_commands_of_dynamic_nets_belong_to_ops_of_their_own_sources() -> None:
    program = opened("right").program
    launch = program.launches[7]
    assert launch.net == "block_kv_0"
    found = {
        (record.opcode, program.source.place_text(record.line).partition(":")[0])
        for record in program.source.records_between(launch.start, launch.stop)
    }
    assert {place for _, place in found} == {"block_kv_0/final.mlir"}
    assert {"tpu.RMSNorm", "tpu.MatMul", "tpu.FAttention"} <= {opcode for opcode, _ in found}


def test_a_cache_that_is_too_short_shows_at_the_attention() -> None:
    first = next(wrong(compared(HISTORY / "short.tdbrec")))[1].first_wrong
    assert first is not None
    assert (first.opcode, first.name) == ("tpu.FAttention", "model.layers.1.fattention")


def test_the_recorder_keeps_the_sources_of_all_nets(tmp_path: Path) -> None:
    folder = copied(HISTORY, tmp_path)
    packed = folder / "small_qwen2.bmodel.xz"
    packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    kept = dict(Models().attachments(0, str(packed.with_suffix(""))))
    source = (folder / "nets" / "block_kv_1" / "final.mlir").read_bytes()
    assert kept["models/0/nets/block_kv_1/final.mlir"] == source
    assert "models/0/nets/lm_head/tensor_location.json" in kept


def test_the_prompt_is_read_from_all_parts() -> None:
    debugger = opened("right")
    assert prompt_of(debugger) == list(LONG_PROMPT)
    assert debugger.machine.ordinal == debugger.program.first_own(debugger.program.launches[0])


def test_every_input_and_output_of_a_launch_has_a_place() -> None:
    program, model = opened("right").program, read_model(HISTORY)
    for launch in program.launches:
        stage = model.nets[launch.net]
        names = [[tensor.name for tensor in tensors] for tensors in program.borders_of(launch)]
        assert names == [[tensor.name for tensor in tensors] for tensors in (stage.inputs, stage.outputs)], launch.title


def test_a_copy_that_was_recorded_in_pieces_is_one_place() -> None:
    sizes = ((0, 128), (4096, 4080), (8176, 16), (8192, 4096))
    copies = [Piece(Space.GLOBAL, 0, start, size) for start, size in reversed(sizes)]
    assert side_by_side(copies, 4096) == range(1)
    assert side_by_side(copies[1:], 4096) == range(2)
    assert side_by_side(copies, 4112) == range(2)
    assert side_by_side(copies, 4224) == range(0)


def test_parts_have_their_own_lengths() -> None:
    steps = answer(read_model(HISTORY), LONG_PROMPT, 1).steps
    shapes = [step.shapes for step in steps if isinstance(step, NetStep) and step.net == "block_kv_0"]
    assert shapes == [((1, rows, 64), (1, rows), (1, at, 1, 32), (1, at, 1, 32)) for rows, at in ((8, 8), (4, 16))]
    positions = [
        step.compute(()).tolist()
        for step in steps
        if isinstance(step, HostStep) and step.destination.tensor == "position_ids" and step.destination.net[-1] == "1"
    ]
    assert positions == [list(range(8)), list(range(8, 16)), list(range(16, 20))]


def test_the_cache_is_the_limit_of_a_prompt() -> None:
    model = read_model(HISTORY)
    assert (model.length, model.longest) == (8, 32)
    with pytest.raises(BadInput, match="the prompt has 33 tokens; the model was converted for at most 32"):
        answer(model, [1] * 33, 1)


def test_from_the_command_line() -> None:
    done = tdb_dap("llm", HISTORY, "--recording", HISTORY / "early.tdbrec", "--reference", QWEN / "float", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["prompt"]) == (1, list(LONG_PROMPT))
    refused = tdb_dap("llm", HISTORY, "--ids", "1,2,3")
    assert "dynamic blocks (block_0, block_kv_0" in refused.stderr
