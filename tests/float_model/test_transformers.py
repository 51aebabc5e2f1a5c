"""The float model computes what Transformers computes, for random small models of every known kind.

Needs ``pip install torch transformers``, which is more than the development environment has.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.float_model.model import FloatModel

torch = pytest.importorskip("torch", reason="pip install torch transformers")
transformers = pytest.importorskip("transformers", reason="pip install torch transformers")

TEXT = (5, 17, 30, 2, 9, 44, 8, 3, 21, 6, 40, 13)
VOCABULARY = 50


def rope(draw: random.Random, head: int) -> dict[str, Any]:
    """A random form of the rotary embedding, as config.json has it."""
    factors = [[draw.uniform(1, 4) for _ in range(head // 2)] for _ in range(2)]
    forms: list[dict[str, Any]] = [
        {"rope_type": "default"},
        {"rope_type": "linear", "factor": draw.uniform(1, 8)},
        {"rope_type": "dynamic", "factor": draw.uniform(1, 4)},
        {"rope_type": "yarn", "factor": draw.uniform(1, 8), "original_max_position_embeddings": draw.choice([8, 32])},
        {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 16,
            "beta_fast": 4.0,
            "beta_slow": 2.0,
            "mscale": 0.7,
            "mscale_all_dim": 1.1,
        },
        {
            "rope_type": "llama3",
            "factor": draw.uniform(2, 9),
            "low_freq_factor": 1.0,
            "high_freq_factor": draw.uniform(2, 5),
            "original_max_position_embeddings": draw.choice([8, 64]),
        },
    ]
    forms.append({"rope_type": "longrope", "short_factor": factors[0], "long_factor": factors[1]})
    return draw.choice(forms)


def configurations(draw: random.Random) -> Iterator[tuple[str, Any]]:
    """Name and configuration of one random model of each kind."""
    head = draw.choice([8, 12, 16])
    shared = draw.choice([1, 2])
    common: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 24 + 8 * draw.randrange(3),
        "intermediate_size": 8 * draw.randrange(3, 7),
        "num_hidden_layers": draw.choice([1, 2, 3]),
        "num_attention_heads": shared * draw.choice([1, 2]),
        "num_key_value_heads": shared,
        "head_dim": head,
        "max_position_embeddings": draw.choice([8, 64]),
        "rms_norm_eps": 10 ** draw.uniform(-6, -4),
        "tie_word_embeddings": draw.random() < 0.5,
        "pad_token_id": 0,
    }
    window = {"sliding_window": draw.choice([3, 5, 40])}
    some = {"use_sliding_window": True, "max_window_layers": 1, **window}
    experts = {
        "num_experts": 5,
        "num_experts_per_tok": draw.choice([1, 2, 3]),
        "moe_intermediate_size": 12,
        "norm_topk_prob": draw.random() < 0.5,
        "decoder_sparse_step": draw.choice([1, 2]),
    }
    biases = {"attention_bias": draw.random() < 0.5, "mlp_bias": draw.random() < 0.5}
    activation = {"hidden_act": draw.choice(["silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "quick_gelu"])}

    def scaled(theta: float = 10000.0) -> dict[str, Any]:
        form = rope(draw, head)
        if form["rope_type"] == "longrope":
            form["original_max_position_embeddings"] = 8
            if draw.random() < 0.5:
                form["attention_factor"] = 1.2
        return {"rope_parameters": {**form, "rope_theta": theta}}

    yield "Llama", {**common, **biases, **activation, **scaled(draw.choice([1e4, 5e5]))}
    yield "Mistral", {**common, **window, **scaled()}
    yield "Qwen2", {**common, **some, **scaled(1e6)}
    yield "Qwen3", {**common, **some, **scaled(1e6), "attention_bias": draw.random() < 0.5}
    yield "Qwen2Moe", {**common, **experts, "shared_expert_intermediate_size": 20, **scaled()}
    yield "Qwen3Moe", {**common, **experts, **scaled()}
    yield "Gemma", {**common, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    caps = {"query_pre_attn_scalar": 10, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0}
    yield "Gemma2", {**common, **window, **caps, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    types = [draw.choice(["full_attention", "sliding_attention"]) for _ in range(common["num_hidden_layers"])]
    ropes = {
        "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    gemma3 = {"query_pre_attn_scalar": 20, "layer_types": types, "rope_parameters": ropes}
    yield "Gemma3", {**common, **window, **gemma3}
    rotated = draw.choice([1.0, 0.5]) if head == 8 or head == 16 else 1.0
    phi = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": rotated}}
    yield (
        "Phi3",
        {
            **{k: v for k, v in common.items() if k != "head_dim"},
            **window,
            **phi,
            "hidden_size": head * common["num_attention_heads"],
        },
    )


def made(name: str, config: dict[str, Any], seed: int, suffix: str = "ForCausalLM") -> Any:
    """The model of Transformers with random weights, in float64."""
    torch.manual_seed(seed)
    kind = "Gemma3Text" if name == "Gemma3" else name
    model = getattr(transformers, f"{name}{suffix}")(getattr(transformers, f"{kind}Config")(**config))
    for name_, parameter in model.named_parameters():
        scale = 0.3 if "norm" in name_ else 1.5 / parameter.shape[-1] ** 0.5
        torch.nn.init.normal_(parameter, 1.0 if "norm" in name_ else 0.0, scale)
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model.double().eval()


def written(model: Any, folder: Path, rename: Any = lambda name, array: [(name, array)], **config: Any) -> Path:
    """The files of a model before conversion."""
    folder.mkdir()
    model.config.save_pretrained(folder)
    saved = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**saved, **config}))
    header: dict[str, Any] = {}
    data = b""
    for name, tensor in model.state_dict().items():
        for own, array in rename(name, tensor.numpy()):
            words = array.astype("<f8").tobytes()
            header[own] = {"dtype": "F64", "shape": array.shape, "data_offsets": [len(data), len(data) + len(words)]}
            data += words
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return folder


def experts_apart(name: str, array: Array) -> Iterator[tuple[str, Array]]:
    """Experts under the names that files have."""
    if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
        yield name, array
        return
    prefix, _, last = name.rpartition(".")
    for number, own in enumerate(array):
        if last == "down_proj":
            yield f"{prefix}.{number}.down_proj.weight", own
        else:
            half = len(own) // 2
            yield f"{prefix}.{number}.gate_proj.weight", own[:half]
            yield f"{prefix}.{number}.up_proj.weight", own[half:]


def logits(model: FloatModel, parts: tuple[int, ...]) -> Array:
    """Logits of every position of TEXT, computed in parts of these lengths with a cache between them."""
    results, first = [], 0
    caches: list[tuple[Array | None, Array | None]] = [(None, None)] * model.config.layers
    for count in parts:
        positions = np.arange(first, first + count)
        states = model.embedded(np.array(TEXT[first : first + count]))
        for layer, (keys, values) in enumerate(caches):
            block = model.block(layer, states, positions, keys, values)
            new_keys, new_values = block["k_cache"], block["v_cache"]
            if keys is not None and values is not None:
                new_keys, new_values = np.concatenate([keys, new_keys]), np.concatenate([values, new_values])
            caches[layer] = new_keys, new_values
            states = block["output_states"]
        results += [model.logits(row) for row in states]
        first += count
    return np.array(results)


def distance(actual: Array, wanted: Array) -> float:
    return float(np.abs(actual - wanted).max() / np.abs(wanted).max())


def test_random_models_of_every_kind(tmp_path: Path) -> None:
    for seed in range(12):
        draw = random.Random(seed)
        for name, config in configurations(draw):
            model = made(name, config, seed)
            with torch.no_grad():
                wanted = model(torch.tensor([TEXT])).logits[0].numpy()
            folder = written(model, tmp_path / f"{name}{seed}", experts_apart)
            ours = FloatModel(folder, room=len(TEXT))
            assert distance(logits(ours, (len(TEXT),)), wanted) < 1e-5, (name, seed, config)
            assert distance(logits(ours, (5, 1, 1, 5)), wanted) < 1e-5, (name, seed, "in parts")


def test_mini_cpm_is_llama_with_scales(tmp_path: Path) -> None:
    _, config = next(configurations(random.Random(5)))
    config |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}, "hidden_act": "silu"}
    scales = {"scale_emb": 12.0, "scale_depth": 1.4, "dim_model_base": 16}
    model = made("Llama", {**config, "tie_word_embeddings": False}, 5)
    folder = written(model, tmp_path / "minicpm", model_type="minicpm", **scales)
    residual = scales["scale_depth"] / config["num_hidden_layers"] ** 0.5
    with torch.no_grad():
        model.model.embed_tokens.weight *= scales["scale_emb"]
        model.lm_head.weight *= scales["dim_model_base"] / config["hidden_size"]
        for layer in model.model.layers:
            for linear in (layer.self_attn.o_proj, layer.mlp.down_proj):
                linear.weight *= residual
                if linear.bias is not None:
                    linear.bias *= residual
        wanted = model(torch.tensor([TEXT])).logits[0].numpy()
    assert distance(logits(FloatModel(folder), (5, 7)), wanted) < 1e-5


def test_chat_glm_is_glm_with_other_names(tmp_path: Path) -> None:
    config = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "attention_bias": True}
    model = made("Glm", {**config, "rms_norm_eps": 1e-5, "pad_token_id": 0}, 7)
    with torch.no_grad():
        wanted = model(torch.tensor([TEXT])).logits[0].numpy()
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}

    def renamed(name: str, array: Array) -> Iterator[tuple[str, Array]]:
        if ".k_proj" in name or ".v_proj" in name:
            return
        if ".q_proj" in name:
            array = np.concatenate([state[name.replace("q_proj", other)] for other in ("q_proj", "k_proj", "v_proj")])
        for old, new in (
            ("model.embed_tokens", "transformer.embedding.word_embeddings"),
            ("model.norm", "transformer.encoder.final_layernorm"),
            ("lm_head", "transformer.output_layer"),
            ("model.layers", "transformer.encoder.layers"),
            ("self_attn.q_proj", "self_attention.query_key_value"),
            ("self_attn.o_proj", "self_attention.dense"),
            ("mlp.gate_up_proj", "mlp.dense_h_to_4h"),
            ("mlp.down_proj", "mlp.dense_4h_to_h"),
        ):
            name = name.replace(old, new)
        yield name, array

    folder = written(model, tmp_path / "chatglm", renamed)
    glm = {"model_type": "chatglm", "num_layers": 2, "hidden_size": 32, "ffn_hidden_size": 24, "kv_channels": 8}
    glm |= {"num_attention_heads": 4, "multi_query_group_num": 2, "multi_query_attention": True, "rmsnorm": True}
    glm |= {"layernorm_epsilon": 1e-5, "padded_vocab_size": VOCABULARY, "add_qkv_bias": True, "post_layer_norm": True}
    (folder / "config.json").write_text(json.dumps(glm))
    assert distance(logits(FloatModel(folder), (5, 7)), wanted) < 1e-5
