"""A compiled language model answers: what it computes, what is found wrong, and the way there and back."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.backend import InProcess
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.schedule import Border, HostStep, NetStep, Step, filled
from tdb_dap.errors import BadInput
from tdb_dap.targets import kernel
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.opening import linked, open_model
from tests.llm.models import DISK, DYNAMIC, LLAMA, PROMPT, QWEN, STATIC, answered, is_fill, program, wrong


def digest(debugger: Debugger, number: int) -> str:
    """Hash of all outputs of a launch, as they are now."""
    launch = debugger.program.launches[number]
    outputs = debugger.program.borders_of(launch)[1]
    stored = b"".join(debugger.machine.memory.read(tensor.view).tobytes() for tensor in outputs)
    return hashlib.sha256(stored).hexdigest()[:16]


@pytest.mark.parametrize("folder", STATIC, ids=lambda folder: folder.name)
def test_every_launch_gives_what_the_vendors_runtime_gives(folder: Path) -> None:
    """``runtime.json``: hashes of the outputs of each launch of the same steps there."""
    _, made = program(folder)
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    found = []
    for launch in made.launches:
        debugger.run_to(launch.stop)
        found.append(digest(debugger, launch.number))
    assert found == json.loads((folder / "runtime.json").read_text())


@pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())
@pytest.mark.parametrize("folder", STATIC, ids=lambda folder: folder.name)
def test_commands_of_a_net_run_together_and_give_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without history few commands are executed by themselves, and those of later tokens are bound once for all."""
    debugger = open_model(read_model(folder), PROMPT, 4, (), 0)
    alone: list[int] = []
    execute = InProcess.execute

    def counted(self: InProcess, command: Any, memory: Memory) -> Any:
        alone.append(command.kind)
        return execute(self, command, memory)

    monkeypatch.setattr(InProcess, "execute", counted)
    found = []
    for launch in debugger.program.launches:
        debugger.run_to(launch.stop)
        found.append(digest(debugger, launch.number))
    assert found == json.loads((folder / "runtime.json").read_text())
    assert len(alone) < len(debugger.program.commands) / 4


def test_it_answers_what_the_float_model_answers() -> None:
    tokens = answered(QWEN, 6)
    assert [token.expected for token in tokens] == [token.id for token in tokens]
    assert list(wrong(tokens)) == []
    compared = {one.name for token in tokens for part in token.parts for one in part.compared}
    assert {"embedding", "k_cache", "v_cache", "model.layers.1.fattention", "output_states"} <= compared


def test_four_bits_are_no_fault() -> None:
    tokens = answered(LLAMA)
    assert list(wrong(tokens)) == []
    assert [token.id for token in tokens] != [token.expected for token in tokens]


def test_a_net_that_runs_twice_in_a_token_is_judged_as_the_first_time() -> None:
    """Also a whole pass that the host repeats, with and without a fault in the second time."""

    def again(step: Step, ahead: str) -> Step | tuple[Step, ...]:
        is_second = isinstance(step, NetStep) and ahead in ("block_cache_1 at token 2", "block_0 at token 0")
        return (step, step) if is_second else step

    tokens = answered(QWEN, change=again)
    assert list(wrong(tokens)) == []
    assert [token.id for token in tokens] == [token.expected for token in tokens]
    launches = [part.launch.net for part in tokens[2].parts]
    assert launches.count("block_cache_1") == 2
    assert all(part.compared for part in tokens[2].parts)

    def late(step: Step, ahead: str) -> Step | tuple[Step, ...]:
        if isinstance(step, NetStep) and ahead == "block_cache_1 at token 2":
            wrong_position = filled(Border("block_cache_1", "position_ids"), np.full((1, 1), 7, np.int32))
            return (step, wrong_position, step)
        return step

    found = [(number, part.launch.net, part.given) for number, part in wrong(answered(QWEN, change=late))]
    assert found[0] == (2, "block_cache_1", ("position_ids 7 instead of 4 at position 4",))


def test_a_token_too_early_in_its_place() -> None:
    """The host gives the position of the token before."""

    def change(step: Step, ahead: str) -> Step:
        if is_fill(step, "position_ids") and ahead == "block_cache_1 at token 2":
            assert isinstance(step, HostStep)
            return filled(step.destination, np.asarray(step.compute(())) - 1)
        return step

    number, part = next(wrong(answered(QWEN, change=change)))
    assert (number, part.launch.net) == (2, "block_cache_1")
    assert part.given == ("position_ids 3 instead of 4 at position 4",)
    assert part.first_wrong is not None
    assert part.first_wrong.name in ("q_proj", "k_cache")


def test_a_mask_that_hides_the_prompt() -> None:
    def change(step: Step, ahead: str) -> Step:
        if is_fill(step, "attention_mask") and ahead == "block_cache_0 at token 3":
            assert isinstance(step, HostStep)
            mask = np.array(step.compute(()))
            mask.reshape(-1)[0] = -10000
            return filled(step.destination, mask)
        return step

    number, part = next(wrong(answered(QWEN, change=change)))
    assert (number, part.launch.net) == (3, "block_cache_0")
    assert part.given == ("attention_mask: position 0 is hidden from position 5",)
    assert part.first_wrong is not None
    assert part.first_wrong.name.endswith("fattention")


def test_a_slot_of_the_cache_that_is_swapped() -> None:
    """The keys of token 1 are put one position too far."""

    def change(step: Step, ahead: str) -> Step:
        is_key = isinstance(step, HostStep) and step.destination.tensor == "history_k"
        if is_key and ahead == "block_cache_1 at token 1":
            assert isinstance(step, HostStep)
            to = step.destination
            return replace(step, destination=replace(to, first=to.first + (to.count or 0)))
        return step

    number, part = next(wrong(answered(QWEN, change=change)))
    assert (number, part.launch.net) == (2, "block_cache_0")
    assert re.fullmatch("history_k .* instead of .* at position 3, 32 of 128 differ", part.given[0])
    assert part.first_wrong is not None
    assert part.first_wrong.opcode == "tpu.FAttention"


def test_weights_of_one_block_that_are_scaled() -> None:
    def prepare(debugger: Debugger) -> None:
        name = "model.layers.0.self_attn.o_proj.weight_bf16"
        launch = next(one for one in debugger.program.launches if one.net == "block_cache_0")
        records = [r for r in debugger.program.source.records if r.ordinals and launch.start <= r.first < launch.stop]
        values = [value for record in records for value in record.operands if value.name == name]
        view = values[0].view
        assert isinstance(view, View)
        debugger.write(view, debugger.machine.read(view) * 1.5)

    found = list(wrong(answered(QWEN, prepare=prepare)))
    number, part = found[0]
    assert (number, part.launch.net, part.given) == (0, "block_0", ())
    one = part.first_wrong
    assert one is not None
    assert one.name == "model.layers.0.self_attn.o_proj"
    # Both nets have the weights in common; the others get what they should, and are right.
    assert {part.launch.net for _, part in found} == {"block_0", "block_cache_0"}


def test_to_a_token_and_back_with_another_logit() -> None:
    _, made = program(QWEN, 6)
    debugger = Debugger(made, Machine(made), None)
    debugger.run()
    ends = [digest(debugger, launch.number) for launch in made.launches]
    head = next(one for one in made.launches if one.token == 2 and one.net == "lm_head")
    take = head.stop - 1
    assert made.commands[take].engine == "dynamic"
    debugger.machine.travel(take)
    logits = made.commands[take].operands[0]
    assert isinstance(logits, View)
    numbers: Array = debugger.machine.read(logits).copy()
    numbers.reshape(-1)[7] = 1e6
    debugger.write(logits, numbers)
    debugger.machine.travel(head.stop)
    assert debugger.machine.read(made.borders_of(head)[1][0].view).reshape(-1).tolist() == [7]
    fed = next(one for one in made.launches if one.token == 3)
    debugger.machine.travel(made.first_own(fed))
    assert debugger.machine.read(made.borders_of(fed)[0][0].view).reshape(-1).tolist() == [7]
    debugger.run()
    assert digest(debugger, len(ends) - 2) != ends[-2]
    debugger.machine.take_back()
    assert debugger.ordinal == take
    debugger.run()
    assert [digest(debugger, launch.number) for launch in made.launches] == ends
    for token in (5, 4, 3, 2, 1, 0):
        start = next(one.start for one in made.launches if one.token == token)
        debugger.machine.travel(start)
        assert debugger.ordinal == start
    debugger.run()
    assert [digest(debugger, launch.number) for launch in made.launches] == ends


@pytest.mark.parametrize(
    ("prompt", "tokens", "given", "says"),
    [
        ([], 1, [], "the prompt is empty"),
        ([1] * 17, 1, [], "has 17 tokens; the model was converted for at most 16"),
        ([1] * 10, 8, [], "give --tokens 7 or less"),
        ([1], 0, [], "--tokens 0"),
        ([1], 2, [3, 4], "2 tokens are given for 2"),
        ([96], 1, [], "token 96 is not in the vocabulary of 96"),
        ([-1], 1, [], "token -1 is not"),
    ],
)
def test_what_does_not_fit_is_one_line(prompt: list[int], tokens: int, given: list[int], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        linked(read_model(QWEN), prompt, tokens, given)


def test_given_tokens_take_the_place_of_the_answered() -> None:
    made = linked(read_model(QWEN), PROMPT, 3, (9, 11))
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    for token, fed in ((1, 9), (2, 11)):
        launch = next(one for one in made.launches if one.token == token)
        debugger.run_to(made.first_own(launch))
        assert debugger.machine.read(made.borders_of(launch)[0][0].view).reshape(-1).tolist() == [fed]


def test_a_dynamic_model_says_what_runs_it() -> None:
    with pytest.raises(BadInput, match=r"dynamic blocks \(block_0, block_1\): .* add --record FILE.tdbrec"):
        linked(read_model(DYNAMIC), PROMPT, 2)


def test_what_is_no_language_model() -> None:
    toy = QWEN.parents[1] / "bm1684x" / "toy_bm1684x_f32" / "compilation.bmodel.xz"
    with pytest.raises(BadInput, match="no net embedding, embedding_cache, lm_head, block_0"):
        read_model(toy)
    with pytest.raises(BadInput, match="no bmodel is in it"):
        read_model(QWEN / "float")


def test_the_host_looks_up_embeddings_and_short_caches_come_first() -> None:
    """Converted with --embedding_disk and --chunk_length 8: stages for caches of 8, 16 and 32 positions."""
    model, made = program(DISK, 15)
    assert (model.caches, model.vocabulary) == ((32, 16, 8), 96)
    assert model.table is not None
    assert model.table.path == DISK / "config" / "embedding.bin"
    lengths = [made.borders_of(launch)[0][3].shape[1] for launch in made.launches if launch.net == "block_cache_1"]
    assert lengths == [8] * 6 + [16] * 8
    tokens = answered(DISK, 15)
    assert list(wrong(tokens)) == []
    assert [token.expected for token in tokens] == [token.id for token in tokens]
    with_all = [token.id for token in answered(QWEN, 14)]  # the same weights, with the longest cache only
    assert [token.id for token in tokens][:14] == with_all


def test_an_edit_of_a_token_goes_into_the_embedding_that_is_looked_up() -> None:
    _, made = program(DISK, 3)
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    second = next(launch for launch in made.launches if launch.token == 1)
    debugger.run_to(second.start)
    head = made.launches[second.number - 1]
    token = made.borders_of(head)[1][0].view
    debugger.machine.write(token, np.array([[7]], np.int32))
    debugger.run_to(made.first_own(second))
    row = np.frombuffer((DISK / "config" / "embedding.bin").read_bytes(), np.uint16).reshape(96, 64)[7]
    states = debugger.machine.memory.read(made.borders_of(second)[0][0].view).reshape(-1)
    assert states.tobytes() == row.tobytes()
    debugger.travel(second.start)
    debugger.machine.write(token, np.array([[96]], np.int32))
    stop = debugger.run_to(made.first_own(second))
    assert stop.finding is not None
    assert "token 96 is not in the vocabulary of 96" in stop.text
