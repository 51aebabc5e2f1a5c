"""The float model computes of pictures what Transformers computes, for small random models.

Needs ``pip install torch transformers``, which is more than the development environment has.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.vision import VisionModel
from tdb_dap.tools.float_model.vision_config import vision_config
from tdb_dap.tools.llm.pictures.patches import host_inputs, patches_of, positions_around
from tests.float_model.test_transformers import distance, made, written

torch = pytest.importorskip("torch", reason="pip install torch transformers")

IMAGE = 41
TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "vocab_size": 50,
    "pad_token_id": 0,
}
TOKENS = {"image_token_id": IMAGE, "video_token_id": 42, "vision_start_token_id": 43, "vision_end_token_id": 44}
VISION: dict[str, Any] = {"depth": 3, "num_heads": 2, "in_channels": 3}
KINDS: dict[str, tuple[dict[str, Any], bool]] = {
    "Qwen2VL": ({**VISION, "embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2, "patch_size": 4}, False),
    "Qwen2_5_VL": (
        {
            **VISION,
            "hidden_size": 32,
            "intermediate_size": 40,
            "out_hidden_size": 64,
            "patch_size": 4,
            "window_size": 16,
            "fullatt_block_indexes": [1],
        },
        False,
    ),
    "Qwen3VL": (
        {
            **VISION,
            "hidden_size": 32,
            "intermediate_size": 40,
            "out_hidden_size": 64,
            "patch_size": 4,
            "num_position_embeddings": 49,
            "deepstack_visual_indexes": [0, 1],
        },
        True,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    vision, is_interleaved = KINDS[kind]
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 6, 6], "mrope_interleaved": is_interleaved}
    config = {**TOKENS, "text_config": {**TEXT, "rope_parameters": rope}, "vision_config": vision}
    model = made(kind, config, 3, "ForConditionalGeneration")
    rename = (lambda name, array: [(name, array)]) if is_interleaved else _of_older_files
    folder = written(model, tmp_path / kind, rename)
    known = vision_config(json.loads((folder / "config.json").read_text()))
    rows, columns = 10, 12
    pixels = np.random.default_rng(1).integers(0, 256, (rows * 4, columns * 4, 3), np.uint8)
    patches = patches_of(pixels, known, known.kind.mean, known.kind.deviation)
    float_model = FloatModel(folder)
    computed = VisionModel(known, float_model.weights)
    outputs = computed.outputs(computed.results(host_inputs(known, patches, rows, columns)))
    ids = np.array([5, 17, 43, *[IMAGE] * len(outputs[0]), 44, 30, 2])
    given, grid = torch.tensor(patches).double(), torch.tensor([[1, rows, columns]])
    kinds = torch.tensor((ids == IMAGE)[None].astype(np.int64))
    with torch.no_grad():
        wanted = (
            model(input_ids=torch.tensor(ids[None]), pixel_values=given, image_grid_thw=grid, mm_token_type_ids=kinds)
            .logits[0]
            .numpy()
        )
    positions = positions_around(ids, IMAGE, rows // 2, columns // 2, 3)
    states, at = float_model.embedded(ids), np.flatnonzero(ids == IMAGE)
    states[at] = outputs[0]
    for layer in range(float_model.config.layers):
        states = float_model.block(layer, states, positions)["output_states"]
        if layer + 1 < len(outputs):
            states[at] += outputs[layer + 1]
    assert distance(np.array([float_model.logits(row) for row in states]), wanted) < 1e-5


def _of_older_files(name: str, array: Any) -> list[tuple[str, Any]]:
    return [(name.replace("model.visual.", "visual.").replace("model.language_model.", "model."), array)]
