"""Families of models by the formulas of their own papers, where Transformers is not at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.float_model.model import FloatModel
from tests.float_model.packing import source, write
from tests.llm.models import LLAMA

FLOAT = LLAMA / "float"
TEXT = [5, 17, 30, 2, 9]


def logits(folder: Path) -> Array:
    """Logits of the last position of TEXT."""
    model = FloatModel(folder)
    states = model.embedded(np.array(TEXT))
    for layer in range(model.config.layers):
        states = model.block(layer, states, np.arange(len(TEXT)))["output_states"]
    return model.logits(states[-1])


def test_internlm3_is_llama_with_other_names_of_keys(tmp_path: Path) -> None:
    config, tensors = source(FLOAT)
    write(tmp_path, {**config, "model_type": "internlm3", "bias": False, "qkv_bias": False}, tensors)
    np.testing.assert_array_equal(logits(tmp_path), logits(FLOAT))


@pytest.mark.parametrize("is_swapped", [False, True])
def test_internlm2_holds_queries_keys_and_values_of_each_shared_head_together(is_swapped: bool, tmp_path: Path) -> None:
    """The rows of one shared head: its queries, its key, its value; in another order the logits are others."""
    config, tensors = source(FLOAT)
    head = config["hidden_size"] // config["num_attention_heads"]
    shared = config["num_key_value_heads"]
    renamed: dict[str, Array] = {}
    parts: dict[str, dict[str, Array]] = {}
    for name, array in tensors.items():
        layer, _, last = name.partition("self_attn.")
        kind = last.removesuffix("_proj.weight")
        if kind in ("q", "k", "v"):
            parts.setdefault(layer, {})[kind] = array.reshape(shared, -1, head, array.shape[1])
        else:
            renamed[_of_internlm2(name)] = array
    for layer, one in parts.items():
        order = ("q", "v", "k") if is_swapped else ("q", "k", "v")
        fused = np.concatenate([one[kind] for kind in order], 1)
        renamed[f"{layer}attention.wqkv.weight"] = fused.reshape(-1, fused.shape[-1])
    write(tmp_path, {**config, "model_type": "internlm2", "bias": False}, renamed)
    is_same = bool(np.allclose(logits(tmp_path), logits(FLOAT), atol=1e-6))
    assert is_same is not is_swapped


def _of_internlm2(name: str) -> str:
    for one, other in (
        ("self_attn.o_proj", "attention.wo"),
        ("mlp.gate_proj", "feed_forward.w1"),
        ("mlp.up_proj", "feed_forward.w3"),
        ("mlp.down_proj", "feed_forward.w2"),
        ("input_layernorm", "attention_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("embed_tokens", "tok_embeddings"),
        ("lm_head", "output"),
    ):
        name = name.replace(one, other)
    return name


def glm4v(folder: Path, **changes: Any) -> Path:
    """The text half of a GLM-4V with random weights."""
    random = np.random.default_rng(3)
    text = {
        "model_type": "glm4v_text",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 40,
        "rms_norm_eps": 1e-5,
        "rope_scaling": {"type": "default", "mrope_section": [1, 1]},
        "partial_rotary_factor": 0.5,
        "attention_bias": True,
        **changes,
    }
    shapes = {
        "self_attn.q_proj.weight": (32, 32),
        "self_attn.q_proj.bias": (32,),
        "self_attn.k_proj.weight": (16, 32),
        "self_attn.k_proj.bias": (16,),
        "self_attn.v_proj.weight": (16, 32),
        "self_attn.v_proj.bias": (16,),
        "self_attn.o_proj.weight": (32, 32),
        "mlp.gate_up_proj.weight": (96, 32),
        "mlp.down_proj.weight": (32, 48),
        "input_layernorm.weight": (32,),
        "post_self_attn_layernorm.weight": (32,),
        "post_attention_layernorm.weight": (32,),
        "post_mlp_layernorm.weight": (32,),
    }
    prefix = "model.language_model."
    tensors = {f"{prefix}layers.0.{name}": random.standard_normal(shape) * 0.4 for name, shape in shapes.items()}
    tensors[f"{prefix}embed_tokens.weight"] = random.standard_normal((40, 32))
    tensors[f"{prefix}norm.weight"] = random.standard_normal(32)
    tensors["lm_head.weight"] = random.standard_normal((40, 32))
    whole = {"model_type": "glm4v", "tie_word_embeddings": False, "text_config": text, "vision_config": {"depth": 2}}
    return write(folder, whole, {name: array.astype(np.float32) for name, array in tensors.items()})


def expected_of_glm4v(folder: Path) -> Array:
    """Its formulas: half of a head is rotated in neighbouring pairs, and four norms are in a block."""
    _, t = source(folder)
    t = {name.replace("model.language_model.", "").replace("layers.0.", ""): array for name, array in t.items()}

    def norm(x: Array, name: str) -> Array:
        return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-5) * t[f"{name}.weight"]

    def projected(x: Array, name: str, heads: int) -> Array:
        return (x @ t[f"self_attn.{name}_proj.weight"].T + t[f"self_attn.{name}_proj.bias"]).reshape(-1, heads, 8)

    def rotated(x: Array) -> Array:
        y = x.copy()
        for pair in range(2):
            angle = np.arange(len(x))[:, None] * 10000.0 ** (-2 * pair / 4)
            a, b = x[..., 2 * pair], x[..., 2 * pair + 1]
            y[..., 2 * pair] = a * np.cos(angle) - b * np.sin(angle)
            y[..., 2 * pair + 1] = b * np.cos(angle) + a * np.sin(angle)
        return y

    x = t["embed_tokens.weight"][TEXT].astype(np.float64)
    h = norm(x, "input_layernorm")
    q, k, v = (projected(h, name, heads) for name, heads in (("q", 4), ("k", 2), ("v", 2)))
    q, k = rotated(q), np.repeat(rotated(k), 2, 1)
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(8)
    scores[:, np.triu_indices(len(TEXT), 1)[0], np.triu_indices(len(TEXT), 1)[1]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    attended = np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), np.repeat(v, 2, 1))
    attended = attended.reshape(len(TEXT), 32) @ t["self_attn.o_proj.weight"].T
    x = x + norm(attended, "post_self_attn_layernorm")
    gate, up = np.split(norm(x, "post_attention_layernorm") @ t["mlp.gate_up_proj.weight"].T, 2, -1)
    x = x + norm((gate / (1 + np.exp(-gate)) * up) @ t["mlp.down_proj.weight"].T, "post_mlp_layernorm")
    result: Array = norm(x, "norm") @ t["lm_head.weight"].T
    return result


def test_the_text_half_of_glm_4v_is_computed(tmp_path: Path) -> None:
    glm4v(tmp_path / "right")
    np.testing.assert_allclose(logits(tmp_path / "right"), expected_of_glm4v(tmp_path / "right")[-1], atol=1e-4)
    glm4v(tmp_path / "other", partial_rotary_factor=1.0)
    difference = np.abs(logits(tmp_path / "other") - expected_of_glm4v(tmp_path / "other")[-1]).max()
    assert difference > 0.01, "another part is rotated"
