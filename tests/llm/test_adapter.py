"""LoRA: an adapter written into the weights of the nets, beside the float model with the same adapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.model import FloatModel, Pair
from tdb_dap.tools.llm.adapter import Adapter
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.opening import linked
from tdb_dap.tools.llm.running import Answering, Token
from tests.command_line import tdb_dap
from tests.llm.models import LLAMA, LORA, PROMPT, QWEN, write_adapter, wrong


def answered(written: Adapter | None, expected: Adapter | None) -> list[Token]:
    model = read_model(LORA)
    program = linked(model, PROMPT, 3, adapter=written)
    debugger = Debugger(program, Machine(program, history_limit=0), None)
    return list(
        Answering(debugger, model, PROMPT, (), FloatModel(LLAMA / "float", expected.pairs if expected else {})).tokens()
    )


def test_every_launch_is_right_with_an_adapter_and_without_one(tmp_path: Path) -> None:
    adapter = Adapter(write_adapter(tmp_path))
    plain, changed = answered(None, None), answered(adapter, adapter)
    for tokens in (plain, changed):
        assert list(wrong(tokens)) == []
        assert [token.id for token in tokens] == [token.expected for token in tokens]
    assert [token.id for token in plain] != [token.id for token in changed]
    block = next(part for part in changed[0].parts if part.launch.net == "block_0")
    compared = {one.name for one in block.compared}
    assert {f"model.layers.0.{name}.lora_B" for name in ("self_attn.q_proj", "mlp.down_proj")} <= compared


def test_a_forgotten_scale_is_found_at_its_product(tmp_path: Path) -> None:
    adapter, without = Adapter(write_adapter(tmp_path)), Adapter(tmp_path)
    without.pairs = {layer: Pair(pair.a, pair.b / 2) for layer, pair in adapter.pairs.items()}
    number, part = next(wrong(answered(without, adapter)))
    assert part.first_wrong is not None
    assert (number, part.launch.net, part.first_wrong.opcode) == (0, "block_0", "tpu.MatMul")
    assert part.first_wrong.name.endswith(".lora_B")
    assert part.first_wrong.ratio == pytest.approx(0.5, abs=0.01)


def test_an_adapter_that_was_not_written_is_found(tmp_path: Path) -> None:
    part = next(wrong(answered(None, Adapter(write_adapter(tmp_path)))))[1]
    assert part.first_wrong is not None
    assert part.first_wrong.cosine == 0


def test_weights_of_the_adapter_are_written_once_for_both_kinds_of_blocks(tmp_path: Path) -> None:
    steps = list(Adapter(write_adapter(tmp_path)).fills(read_model(LORA)))
    assert len(steps) == 2 * 2 * 3
    assert {step.destination.net for step in steps} <= {f"block{kind}_{n}" for kind in ("", "_cache") for n in (0, 1)}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rank": 5}, "rank 5 of model.layers.0.self_attn.q_proj; the model was converted for at most 4"),
        ({"layer": "self_attn.x_proj"}, "has no place for LoRA of model.layers.0.self_attn.x_proj"),
        ({"use_dora": True}, "use_dora: only plain LoRA is known"),
        ({"peft_type": "IA3"}, "peft_type: only plain LoRA is known"),
        ({"bias": "all"}, "bias: only plain LoRA is known"),
        ({"lora_alpha": None}, "cannot be used"),
        ({"r": 0}, "r is 0"),
    ],
)
def test_an_adapter_that_does_not_fit(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        list(Adapter(write_adapter(tmp_path, **changes)).fills(read_model(LORA)))  # type: ignore[arg-type]


def test_a_model_without_room_for_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no place for LoRA"):
        list(Adapter(write_adapter(tmp_path)).fills(read_model(QWEN)))


def test_root_of_the_rank_as_scale(tmp_path: Path) -> None:
    plain = Adapter(write_adapter(tmp_path / "plain", rank=4))
    rooted = Adapter(write_adapter(tmp_path / "rooted", rank=4, use_rslora=True))
    for layer, pair in plain.pairs.items():
        assert rooted.pairs[layer].b == pytest.approx(2 * pair.b)


def test_from_the_command_line(tmp_path: Path) -> None:
    write_adapter(tmp_path)
    asked = ("--ids", "5,17,30", "--tokens", "2", "--lora", tmp_path)
    done = tdb_dap("llm", LORA, *asked, "--reference", LLAMA / "float")
    assert (done.returncode, "every block is as the float model computes it" in done.stdout) == (0, True)
    opened = tdb_dap("debug", LORA, *asked, "-c", "start", "-c", "n")
    assert "host.lora" in opened.stdout
    refused = tdb_dap("llm", LORA, *asked, "--record", tmp_path / "run.tdbrec")
    assert "--lora: not with --record" in refused.stderr
