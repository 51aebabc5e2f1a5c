"""Pictures of a prompt: computed as by the float model, and each fault of the host's part named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.schedule import HostStep, NetStep, Step
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.pictures.reading import Pictures, read_picture
from tdb_dap.tools.llm.running import require_pictures
from tdb_dap.tools.patch.editor import Editor
from tests.command_line import tdb_dap
from tests.llm.models import QWEN, VISION, Change, answered, is_fill, program, write_picture, wrong

TEXT = (5, 17, 93, 91, 94, 30, 2)
"""Token 91 stands for the picture."""

HEIGHT, WIDTH = 112, 168
ROWS = HEIGHT // 28 * (WIDTH // 28)


def picture(folder: Path, height: int = HEIGHT, width: int = WIDTH) -> Path:
    return write_picture(folder / "picture.npy", height, width)


def shown(folder: Path, height: int = HEIGHT, width: int = WIDTH) -> tuple[list[int], Pictures]:
    """The prompt with a token for each row, and the picture."""
    prompt, pictures = read_picture(read_model(VISION), TEXT, picture(folder, height, width), None)
    assert pictures is not None
    return prompt, pictures


@pytest.mark.parametrize("size", [(HEIGHT, WIDTH), (56, 140)], ids=["two windows", "padded"])
def test_a_picture_is_right_beside_the_float_model(size: tuple[int, int], tmp_path: Path) -> None:
    prompt, pictures = shown(tmp_path, *size)
    assert len(prompt) == len(TEXT) - 1 + size[0] // 28 * (size[1] // 28)
    tokens = answered(VISION, 3, prompt=prompt, pictures=pictures)
    assert list(wrong(tokens)) == []
    assert [token.id for token in tokens] == [token.expected for token in tokens]
    assert min(token.cost or 0 for token in tokens) > 0.999
    encoder = next(part for part in tokens[0].parts if part.launch.net == "vit")
    names = {one.name for one in encoder.compared}
    assert {"visual.blocks.1.fattention", "visual.blocks.0.attn.q.rotary", "visual.merger.mlp.2.reverse"} <= names


def test_another_picture_gives_other_states(tmp_path: Path) -> None:
    """Else all of this would hold for a net whose rows nobody reads."""
    prompt, pictures = shown(tmp_path)
    other = replace(pictures, inputs={**pictures.inputs, "input_states": -pictures.inputs["input_states"]})
    costs = [
        answered(VISION, 1, prompt=prompt, pictures=one)[0].parts[-1].compared[-1].cosine for one in (pictures, other)
    ]
    assert costs[0] != costs[1]


def changed(tensor: str, make: Callable[[Array], Array]) -> Change:
    """The host gives the encoder, or the first block, other numbers."""

    def change(step: Step, net: str) -> Step:
        if not is_fill(step, tensor) or "vit" not in net:
            return step
        assert isinstance(step, HostStep)
        numbers = make(np.array(step.compute(())))
        return replace(step, compute=lambda given: numbers)

    return change


def _exchanged(numbers: Array) -> Array:
    numbers[[4, 5]] = numbers[[5, 4]]
    return numbers


def _not_in_windows(numbers: Array) -> Array:
    order = np.argsort(np.random.default_rng(0).permutation(len(numbers)))
    return numbers[order]


def _one_hidden(numbers: Array) -> Array:
    numbers[0, 0, 2, 3] = -10000
    return numbers


FAULTS = {
    "pixels": ("input_states", lambda numbers: numbers * 2, "input_states"),
    "order of patches": ("input_states", _exchanged, "of 96 patches differ: it holds those of patch 5"),
    "order of windows": ("position_ids", _not_in_windows, "position_ids"),
    "positions": ("position_ids", lambda numbers: numbers[:, ::-1].copy(), "position_ids 1 instead of 0 at patch 1"),
    "window": ("window_attn_mask", lambda numbers: numbers * 0, "window_attn_mask: patch 64 is seen by patch 0"),
    "mask": ("full_attn_mask", _one_hidden, "full_attn_mask: patch 3 is hidden from patch 2"),
    "reverse": ("reverse_index", lambda numbers: np.arange(len(numbers)), "reverse_index 4 instead of 16 at token 4"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_what_the_encoder_is_given_is_named(fault: str, tmp_path: Path) -> None:
    tensor, make, text = FAULTS[fault]
    prompt, pictures = shown(tmp_path)
    tokens = answered(VISION, 1, changed(tensor, make), prompt=prompt, pictures=pictures)
    number, part = next(wrong(tokens))
    assert (number, part.launch.net) == (0, "vit")
    assert any(text in phrase for phrase in part.given), part.given


def _rows_late(step: Step, net: str) -> Step:
    """Rows of the picture one position too far on."""
    if isinstance(step, HostStep) and step.name == "host.copy" and step.sources[0].net == "vit":
        return replace(step, destination=replace(step.destination, first=step.destination.first + 64))
    return step


def _no_rows(step: Step, net: str) -> Step | tuple[Step, ...]:
    is_copy = isinstance(step, HostStep) and step.name == "host.copy" and step.sources[0].net == "vit"
    return () if is_copy else step


def _as_text(step: Step, net: str) -> Step:
    """Positions as those of text."""
    if is_fill(step, "position_ids") and net.startswith("block_0"):
        assert isinstance(step, HostStep)
        numbers = np.array(step.compute(()))
        numbers[...] = np.arange(numbers.shape[-1])
        return replace(step, compute=lambda given: numbers)
    return step


def _counted_on(step: Step, net: str) -> Step:
    """The position in the cache instead of that after the picture."""
    if is_fill(step, "position_ids") and net.startswith("block_cache"):
        assert isinstance(step, HostStep)
        numbers = np.full_like(step.compute(()), len(TEXT) - 1 + ROWS)
        return replace(step, compute=lambda given: numbers)
    return step


@pytest.mark.parametrize(
    ("change", "net", "text"),
    [
        (_rows_late, "block_0", "input_states"),
        (_no_rows, "block_0", "input_states"),
        (_as_text, "block_0", "position_ids 4 instead of 3 at position 4"),
        (_counted_on, "block_cache_0", "position_ids 30 instead of 12 at position 30"),
    ],
    ids=["rows late", "no rows", "positions of text", "positions counted on"],
)
def test_a_fault_in_the_text_around_a_picture_is_named(change: Change, net: str, text: str, tmp_path: Path) -> None:
    prompt, pictures = shown(tmp_path)
    tokens = answered(VISION, 2, change, prompt=prompt, pictures=pictures)
    part = next(part for _, part in wrong(tokens))
    assert part.launch.net == net
    assert any(phrase.startswith(text) for phrase in part.given), part.given


def test_a_wrong_weight_of_the_encoder_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(VISION, copy)
    packed = next(copy.glob("*.bmodel.xz"))
    program = CompiledProgram(Context.of_net(copy / "nets" / "vit", packed), target_for, "vit")
    with Editor(program, packed.with_suffix("")) as editor:
        name = "visual.blocks.1.attn.k.weight_bf16"
        view = program.source.weights[name].view
        assert view is not None
        editor.set_weight(name, -Machine(program, history_limit=0).read(view))
    packed.unlink()
    ids = ",".join(map(str, TEXT))
    done = tdb_dap(
        "llm", copy, "--ids", ids, "--tokens", "1", "--image", picture(tmp_path), "--reference", VISION / "float"
    )
    assert done.returncode == 1
    assert "wrong weight: visual.blocks.1.attn.k.weight in vit: the sign is wrong" in done.stdout
    assert "tpu.MatMul visual.blocks.1.attn.k" in done.stdout
    assert f"--image {tmp_path / 'picture.npy'} -c" in done.stdout.splitlines()[-1]


def test_given_rows_stand_for_a_picture(tmp_path: Path) -> None:
    """Without the encoder: the same states, so the same tokens; no config.json is needed where the places are given."""
    rows = np.random.default_rng(5).standard_normal((4, 64)).astype(np.float32)
    np.savez(tmp_path / "rows.npz", rows=rows, at=[1, 2, 4, 5])
    prompt, pictures = read_picture(read_model(VISION), TEXT, None, tmp_path / "rows.npz")
    assert prompt == list(TEXT)
    tokens = answered(VISION, 2, prompt=prompt, pictures=pictures)
    assert list(wrong(tokens)) == []
    assert "vit" not in {part.launch.net for part in tokens[0].parts}
    assert [token.id for token in tokens] == [token.expected for token in tokens]

    def one_less(step: Step, net: str) -> Step | tuple[Step, ...]:
        is_row = isinstance(step, HostStep) and is_fill(step, "input_states") and step.destination.first == 4 * 64
        return () if is_row else step

    part = next(part for _, part in wrong(answered(VISION, 1, one_less, prompt=prompt, pictures=pictures)))
    assert part.launch.net == "block_0"
    assert "at position 4" in part.given[0]


def test_any_language_model_takes_rows(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", rows=np.ones((1, 64), np.float32), at=[1])
    prompt, pictures = read_picture(read_model(QWEN), (5, 17, 30), None, tmp_path / "rows.npz")
    assert list(wrong(answered(QWEN, 2, prompt=prompt, pictures=pictures))) == []


@pytest.mark.parametrize(
    ("ids", "config", "text"),
    [
        ((5, 17), {}, "the prompt has the token of a picture (91) 0 times; give it once, or 24 times in a row"),
        (TEXT, {"model_type": "internvl_chat"}, "pictures of model_type 'internvl_chat' are not known"),
        (TEXT, {"vision_config": {"depth": 2, "rope_scale": 3}}, "rope_scale of the vision_config of 'qwen2_5_vl'"),
        (TEXT, {"image_token_id": None}, "config.json has no image_token_id"),
    ],
)
def test_an_unknown_picture_is_refused_by_name(
    ids: Sequence[int], config: dict[str, object], text: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(VISION, copy, ignore=shutil.ignore_patterns("nets", "float"))
    loaded = json.loads((copy / "config" / "config.json").read_text())
    (copy / "config" / "config.json").write_text(json.dumps({**loaded, **config}))
    with pytest.raises(BadInput) as refused:
        read_picture(read_model(copy), ids, picture(tmp_path), None)
    assert text in str(refused.value)


def test_the_text_half_answers_without_a_picture() -> None:
    tokens = answered(VISION, 2)
    assert list(wrong(tokens)) == []
    assert [token.id for token in tokens] == [token.expected for token in tokens]


def test_a_run_that_shows_a_picture_needs_it(tmp_path: Path) -> None:
    prompt, pictures = shown(tmp_path)
    _, made = program(VISION, 1, prompt=prompt, pictures=pictures)
    require_pictures(made, pictures)
    with pytest.raises(BadInput, match="the run shows a picture"):
        require_pictures(made, None)
    assert NetStep("vit", token=0) in made.schedule.steps


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_a_picture_is_decoded_and_resized(suffix: str, tmp_path: Path) -> None:
    """Transparency and grey become RGB, a size that the net does not take one that it does."""
    from PIL import Image

    numbers = np.load(picture(tmp_path))
    array, decoded = tmp_path / "picture.npy", tmp_path / f"picture.{suffix}"
    modes = ("RGB", "RGBA") if suffix == "png" else ("RGB",)
    _, expected = read_picture(read_model(VISION), TEXT, array, None)
    assert expected is not None
    for mode in modes:
        Image.fromarray(numbers).convert(mode).save(decoded, quality=100, subsampling=0)
        prompt, pictures = read_picture(read_model(VISION), TEXT, decoded, None)
        assert pictures is not None
        assert pictures.patches == expected.patches
        difference = np.abs(pictures.inputs["input_states"] - expected.inputs["input_states"]).max()
        assert difference == 0 if suffix == "png" else difference < 0.1
    Image.fromarray(numbers).convert("L").resize((403, 197)).save(decoded)
    prompt, pictures = read_picture(read_model(VISION), TEXT, decoded, None)
    assert pictures is not None
    assert 0 < pictures.patches <= 96
    assert len(prompt) == len(TEXT) - 1 + pictures.patches // 4
    decoded.write_bytes(decoded.read_bytes()[:100])
    with pytest.raises(BadInput, match=rf"picture\.{suffix}: cannot be used: "):
        read_picture(read_model(VISION), TEXT, decoded, None)
