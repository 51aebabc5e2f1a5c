"""config.json of a language model: what its numbers depend on, and nothing that would be guessed.

A key that is not known here is refused by name unless it is empty: it may change numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.functions import ACTIVATIONS
from tdb_dap.tools.float_model.names import CHATGLM, COMMON, GLM4, INTERNLM2, PHI3, Names
from tdb_dap.tools.float_model.quantised import Quantisation, quantisation
from tdb_dap.tools.float_model.rotary import Rotary, positive, rotary_of


class Kind(Struct, frozen=True):
    """Facts of a family of models that config.json lacks. ``own``: keys that only this family has.

    ``norm_offset``: added to weights of norms; ``has_head_norms``: queries and keys are normalised; ``has_four_norms``:
    also the results of attention and of the feed-forward part; ``theta``: base of the rotary embedding by default.
    """

    names: Names = COMMON
    own: tuple[str, ...] = ()
    norm_offset: float = 0.0
    has_head_norms: bool = False
    has_four_norms: bool = False
    is_tied: bool = False
    is_interleaved: bool = False
    theta: float = 10000.0


_WINDOWS = ("sliding_window", "use_sliding_window", "max_window_layers", "layer_types")
_EXPERTS = (
    "num_experts",
    "num_local_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "norm_topk_prob",
    "decoder_sparse_step",
    "mlp_only_layers",
)
_GEMMA = ("query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "hidden_activation")
_GEMMA3 = ("rope_local_base_freq", "sliding_window_pattern", "_sliding_window_pattern")
_GLM = (
    "num_layers",
    "padded_vocab_size",
    "ffn_hidden_size",
    "kv_channels",
    "layernorm_epsilon",
    "multi_query_group_num",
    "multi_query_attention",
    "rope_ratio",
    "seq_length",
)

_PICTURES = ("image_start_token_id", "image_end_token_id", "video_start_token_id", "video_end_token_id")

KINDS: Mapping[str, Kind] = {
    "llama": Kind(),
    "mistral": Kind(own=("sliding_window",)),
    "qwen2": Kind(own=_WINDOWS),
    "qwen3": Kind(own=_WINDOWS, has_head_norms=True),
    "qwen2_moe": Kind(own=(*_WINDOWS, *_EXPERTS)),
    "qwen3_moe": Kind(own=(*_WINDOWS, *_EXPERTS), has_head_norms=True),
    "minicpm": Kind(own=("scale_emb", "scale_depth", "dim_model_base")),
    "gemma": Kind(own=("hidden_activation",), norm_offset=1.0, is_tied=True),
    "gemma2": Kind(own=(*_WINDOWS, *_GEMMA), norm_offset=1.0, has_four_norms=True, is_tied=True),
    "gemma3_text": Kind(
        COMMON,
        (*_WINDOWS, *_GEMMA, *_GEMMA3),
        norm_offset=1.0,
        has_head_norms=True,
        has_four_norms=True,
        is_tied=True,
        theta=1000000.0,
    ),
    "phi3": Kind(PHI3, own=("sliding_window", "original_max_position_embeddings")),
    "internlm": Kind(own=("bias",)),
    "internlm3": Kind(own=("bias",)),
    "internlm2": Kind(INTERNLM2, own=("bias",)),
    "glm4v_text": Kind(GLM4, own=_PICTURES, has_four_norms=True, is_interleaved=True),
    "chatglm": Kind(CHATGLM, own=_GLM, is_interleaved=True),
}
"""Values of ``model_type`` that are known."""

_SAME = {
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen3_vl_text": "qwen3",
}
"""``model_type`` of the text half of models with pictures or sound -> the one that computes the same."""

_READ = {
    "model_type",
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "rms_norm_eps",
    "hidden_act",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "partial_rotary_factor",
    "max_position_embeddings",
    "tie_word_embeddings",
    "vocab_size",
    "quantization_config",
}
_HARMLESS = {
    *("_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_name_or_path", "architectures"),
    *("attention_bias", "attention_dropout", "auto_map", "bos_token_id", "cache_implementation", "classifier_dropout"),
    *("dtype", "embd_pdrop", "eos_token_id", "hidden_dropout", "initializer_range", "mlp_bias", "model_max_length"),
    *("output_router_logits", "pad_token_id", "qkv_bias", "quantize", "resid_pdrop", "router_aux_loss_coef"),
    *("tokenizer_class", "torch_dtype", "transformers_version", "use_cache", "id2label", "label2id", "return_dict"),
    *("chunk_size_feed_forward", "task_specific_params", "problem_type", "num_logits_to_keep", "unsloth_version"),
    *("pretraining_tp", "tie_encoder_decoder", "keys_to_ignore_at_inference", "is_decoder", "temperature", "top_p"),
    *("attention_softmax_in_fp32", "fp32_residual_connection", "bias_dropout_fusion", "original_rope", "use_mrope"),
    *("apply_query_key_layer_scaling", "interleaved_qkv", "vision_start_token_id", "vision_end_token_id"),
    *("vision_token_id", "image_token_id", "video_token_id", "audio_token_id", "use_bidirectional_attention_prefix"),
}
"""Keys that change no number of a completion; biases are seen from the weights themselves."""

_FIXED: Mapping[str, Any] = {
    "add_qkv_bias": None,
    "rmsnorm": True,
    "post_layer_norm": True,
    "apply_residual_connection_post_layernorm": False,
    "use_bidirectional_attention": False,
    "qk_layernorm": False,
}
"""Keys that are known with one value; None: with any."""

_NESTED = ("text_config", "llm_config", "language_config")


class Experts(Struct, frozen=True):
    """A mixture of experts. ``used``: experts for a position; ``is_shared``: one more is used for all."""

    number: int
    used: int
    is_normalised: bool
    is_shared: bool


class Config(Struct, frozen=True):
    """Everything that the numbers of a model depend on. ``rotary``, ``windows`` and ``experts``: by layer.

    ``windows``: positions that a position sees, itself included; 0: all. ``caps``: of scores, and of logits; 0: none.
    """

    kind: Kind
    layers: int
    hidden: int
    heads: int
    shared_heads: int
    head: int
    middle: int
    epsilon: float
    activation: str
    rotary: tuple[Rotary, ...]
    windows: tuple[int, ...]
    experts: tuple[Experts | None, ...]
    attention_scale: float
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0
    caps: tuple[float, float] = (0.0, 0.0)
    is_tied: bool = False
    quantisation: Quantisation | None = None
    """Format of weights that are held in few bits."""


def read_config(path: Path) -> Config:
    """The configuration in a config.json; BadInput says what is not known of it."""
    try:
        loaded: Any = json.loads(read_file(path, limits.REPORT))
        return _config(loaded)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        missing = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise BadInput(f"{path}: cannot be used: {missing}") from None


def _config(loaded: Mapping[str, Any]) -> Config:
    outer = next((loaded[name] for name in _NESTED if isinstance(loaded.get(name), dict)), None)
    config = {**loaded} if outer is None else {**_shared(loaded), **outer}
    name = str(config["model_type"])
    name = _SAME.get(name, name)
    if name not in KINDS:
        raise BadInput(f"model_type {name!r} is not known in float; known are {', '.join(KINDS)}")
    if outer is None and name != config["model_type"]:  # with keys of its pictures
        config = {key: value for key, value in config.items() if key != "vision_config"}
    kind = KINDS[name]
    _refuse_unknown(name, kind, config)
    layers = _count(config, "num_layers" if name == "chatglm" else "num_hidden_layers", _MOST_LAYERS)
    hidden, heads = _count(config, "hidden_size"), _count(config, "num_attention_heads")
    head = next((_count(config, key) for key in ("head_dim", "kv_channels") if config.get(key)), hidden // heads)
    shared = _count(config, "num_key_value_heads") if config.get("num_key_value_heads") else heads
    if name == "chatglm":
        shared = _count(config, "multi_query_group_num") if config.get("multi_query_attention") else heads
    if head < 1 or heads % shared:
        raise BadInput(f"{layers} layers of {hidden} numbers with {heads} heads and {shared} shared ones")
    for key in ("vocab_size", "padded_vocab_size", "max_position_embeddings", "seq_length"):
        if config.get(key) is not None:
            _count(config, key)
    middle = next((_count(config, key) for key in ("ffn_hidden_size", "intermediate_size") if config.get(key)), 0)
    windows = _windows(name, config, layers)
    query = config.get("query_pre_attn_scalar") if name in ("gemma2", "gemma3_text") else None
    return Config(
        kind=kind,
        layers=layers,
        hidden=hidden,
        heads=heads,
        shared_heads=shared,
        head=head,
        middle=middle,
        epsilon=positive(config["layernorm_epsilon" if name == "chatglm" else "rms_norm_eps"], "rms_norm_eps"),
        activation=_activation(name, config),
        rotary=_rotary(name, kind, config, head, windows),
        windows=windows,
        experts=tuple(_experts(name, config, layer) for layer in range(layers)),
        attention_scale=positive(query or head, "query_pre_attn_scalar") ** -0.5,
        **_scales(name, config, hidden, layers),
        caps=(_cap(config, "attn_logit_softcapping"), _cap(config, "final_logit_softcapping")),
        is_tied=bool(config.get("tie_word_embeddings", kind.is_tied)),
        quantisation=_quantisation(loaded, config),
    )


def _quantisation(*configs: Mapping[str, Any]) -> Quantisation | None:
    """That of the first of the configurations that has one: of the whole model, or its text half."""
    given = next((one["quantization_config"] for one in configs if one.get("quantization_config")), None)
    return quantisation(given) if given is not None else None


def _count(config: Mapping[str, Any], key: str, most: int = 1 << 24) -> int:
    """A whole number from 1 to ``most``; KeyError where there is none, BadInput for any other."""
    value = config[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= most or value != int(value):
        raise BadInput(f"{key} is {str(value)[:40]}; it must be a number from 1 to {most:,}")
    return int(value)


_MOST_LAYERS = 1 << 12


def _shared(outer: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the whole model that also hold for its text half."""
    return {key: outer[key] for key in ("tie_word_embeddings",) if key in outer}


def _refuse_unknown(name: str, kind: Kind, config: Mapping[str, Any]) -> None:
    for key, value in config.items():
        if key == "compression_config" and value:
            raise BadInput(f"{key}: quantised weights are not read; give the model in bf16, f16 or f32")
        if key in _FIXED and _FIXED[key] not in (None, value) and value is not None:
            raise BadInput(f"{key} is {value!r}, which is not known in float")
        is_known = key in _READ or key in _HARMLESS or key in _FIXED or key in kind.own
        if not is_known and value not in (None, False, "", 0, 0.0, [], {}):
            raise BadInput(f"{key} of model_type {name!r} is not known in float, and may change numbers")


def _activation(name: str, config: Mapping[str, Any]) -> str:
    activation = config.get("hidden_activation") if name.startswith("gemma") else None
    default = "gelu_pytorch_tanh" if name.startswith("gemma") else "silu"
    activation = str(activation or config.get("hidden_act") or default)
    if activation not in ACTIVATIONS:
        raise BadInput(f"hidden_act {activation!r} is not known in float; known are {', '.join(ACTIVATIONS)}")
    return activation


def _windows(name: str, config: Mapping[str, Any], layers: int) -> tuple[int, ...]:
    has_window = "sliding_window" in KINDS[name].own and config.get("sliding_window")
    window = _count(config, "sliding_window", 1 << 40) if has_window else 0
    types = config.get("layer_types") if "layer_types" in KINDS[name].own else None
    if name.startswith("qwen") and not config.get("use_sliding_window"):
        window = 0 if types is None or config.get("use_sliding_window") is False else window
    if types is None and name in ("gemma2", "gemma3_text"):
        window = window or 4096
        every = int(config.get("sliding_window_pattern") or config.get("_sliding_window_pattern") or 6)
        every = 2 if name == "gemma2" else every
        types = ["full_attention" if (layer + 1) % every == 0 else "sliding_attention" for layer in range(layers)]
    if types is None and name.startswith("qwen"):
        first = int(config.get("max_window_layers", 28))
        types = ["sliding_attention" if layer >= first else "full_attention" for layer in range(layers)]
    if types is None:
        return (window,) * layers
    others = set(types) - {"full_attention", "sliding_attention"}
    if others or len(types) < layers:
        raise BadInput(f"layer_types: {', '.join(sorted(others)) or f'{len(types)} for {layers} layers'}")
    return tuple(window if one == "sliding_attention" else 0 for one in types[:layers])


def _rotary(
    name: str, kind: Kind, config: Mapping[str, Any], head: int, windows: tuple[int, ...]
) -> tuple[Rotary, ...]:
    """The rotary embedding of each layer; that of layers with a window may be another one."""
    parameters = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = config.get("rope_theta") or kind.theta
    if name == "chatglm":
        theta = 10000.0 * float(config.get("rope_ratio") or 1)
        parameters = {"rope_type": "default", "partial_rotary_factor": 0.5}
    full, local = parameters, parameters
    if "full_attention" in parameters or "sliding_attention" in parameters:
        full, local = parameters["full_attention"] or {}, parameters["sliding_attention"] or {}
        local_theta = local.get("rope_theta") or 10000.0
    elif name == "gemma3_text":
        local, local_theta = {}, config.get("rope_local_base_freq") or 10000.0
    else:
        local_theta = theta
    one = rotary_of(full, config, head, theta, kind.is_interleaved)
    other = rotary_of(local, config, head, local_theta, kind.is_interleaved) if any(windows) else one
    return tuple(other if window else one for window in windows)


def _experts(name: str, config: Mapping[str, Any], layer: int) -> Experts | None:
    if not name.endswith("_moe") or layer in (config.get("mlp_only_layers") or ()):
        return None
    keys = [key for key in ("num_experts", "num_local_experts") if config.get(key)]
    number = _count(config, keys[0]) if keys else 0
    if not number or (layer + 1) % int(config.get("decoder_sparse_step") or 1):
        return None
    used = _count(config, "num_experts_per_tok", number)
    return Experts(number, used, bool(config.get("norm_topk_prob", False)), name == "qwen2_moe")


def _scales(name: str, config: Mapping[str, Any], hidden: int, layers: int) -> dict[str, float]:
    if name.startswith("gemma"):
        return {"embedding_scale": math.sqrt(hidden)}
    if name != "minicpm":
        return {}
    base = config.get("dim_model_base")
    return {
        "embedding_scale": positive(config.get("scale_emb", 1), "scale_emb"),
        "residual_scale": positive(config.get("scale_depth", 1), "scale_depth") / math.sqrt(layers),
        "logit_scale": positive(base, "dim_model_base") / hidden if base else 1.0,
    }


def _cap(config: Mapping[str, Any], key: str) -> float:
    return positive(config[key], key) if config.get(key) is not None else 0.0
