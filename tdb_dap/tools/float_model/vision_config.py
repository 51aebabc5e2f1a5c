"""config.json of the picture half of a language model, and of the host's part: patches, their order and positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.functions import ACTIVATIONS


class VisionKind(Struct, frozen=True):
    """Facts of a family that config.json lacks.

    ``keys``: that its vision_config may have; ``size``, ``middle``: keys of the numbers of a patch and of the
    feed-forward part; ``has_layer_norm``: mean and bias, else RMS norm; ``is_gated``: the feed-forward part;
    ``activation``: by default; ``mean``, ``deviation``: of pixels;
    ``merged_norm``, ``merger``: names of the last layers.
    """

    keys: tuple[str, ...]
    size: str = "hidden_size"
    middle: str = "intermediate_size"
    has_layer_norm: bool = True
    is_gated: bool = False
    activation: str = "silu"
    prefix: str = "visual"
    first: str = "mlp.fc1"
    second: str = "mlp.fc2"
    merged_norm: str = "ln_q"
    merger: tuple[str, str] = ("mlp.0", "mlp.2")
    mean: tuple[float, ...] = (0.48145466, 0.4578275, 0.40821073)
    deviation: tuple[float, ...] = (0.26862954, 0.26130258, 0.27577711)


VISION_KINDS: Mapping[str, VisionKind] = {
    "qwen2_vl": VisionKind(
        keys=("embed_dim", "mlp_ratio", "hidden_size"), size="embed_dim", middle="", activation="quick_gelu"
    ),
    "qwen2_5_vl": VisionKind(
        keys=("intermediate_size", "window_size", "fullatt_block_indexes", "out_hidden_size"),
        has_layer_norm=False,
        is_gated=True,
        first="mlp.gate_proj",
        second="mlp.down_proj",
    ),
    "qwen3_vl": VisionKind(
        keys=("intermediate_size", "num_position_embeddings", "deepstack_visual_indexes", "out_hidden_size"),
        activation="gelu_pytorch_tanh",
        prefix="model.visual",
        first="mlp.linear_fc1",
        second="mlp.linear_fc2",
        merged_norm="norm",
        merger=("linear_fc1", "linear_fc2"),
        mean=(0.5, 0.5, 0.5),
        deviation=(0.5, 0.5, 0.5),
    ),
}
"""Values of ``model_type`` whose picture half is known."""

ENCODER = "vit"
"""The net that the converter makes of the picture half."""

THETA = 10000.0
"""Base of the rotary positions of patches."""

_READ = {
    *("depth", "num_heads", "patch_size", "temporal_patch_size", "spatial_merge_size", "in_channels", "in_chans"),
    *("hidden_size", "hidden_act", "rope_parameters"),
}
_HARMLESS = {
    *("model_type", "initializer_range", "dtype", "torch_dtype", "tokens_per_second", "spatial_patch_size"),
    *("_attn_implementation", "_attn_implementation_autoset", "_name_or_path", "architectures", "transformers_version"),
    *("id2label", "label2id", "return_dict", "chunk_size_feed_forward", "problem_type", "is_encoder_decoder"),
    *("tie_word_embeddings", "output_attentions", "output_hidden_states", "attention_dropout"),
}
"""Keys that change no number of a picture."""


class VisionConfig(Struct, frozen=True):
    """Everything that the numbers of a picture depend on. ``hidden``: numbers of a patch between two blocks.

    ``patch``: pixels of a side of a patch; ``frames``: times that a picture is repeated; ``merge``: patches of a side
    of a token; ``window``: tokens of a side of a window, 0 without; ``full_blocks``: blocks that see all of it;
    ``side``: of the square of learnt positions, 0 without; ``taps``: blocks whose states later layers of the text get.
    """

    kind: VisionKind
    depth: int
    hidden: int
    heads: int
    middle: int
    patch: int
    frames: int
    merge: int
    channels: int
    activation: str
    window: int = 0
    full_blocks: tuple[int, ...] = ()
    side: int = 0
    taps: tuple[int, ...] = ()

    @property
    def head(self) -> int:
        """Numbers of a head."""
        return self.hidden // self.heads

    @property
    def unit(self) -> int:
        """Patches of a token."""
        return self.merge * self.merge


def vision_config(loaded: Mapping[str, Any]) -> VisionConfig:
    """That of a config.json; BadInput for a kind or a key that is not known, KeyError for one that it lacks."""
    name = str(loaded.get("model_type"))
    vision = loaded.get("vision_config")
    if name not in VISION_KINDS or not isinstance(vision, dict):
        raise BadInput(f"pictures of model_type {name!r} are not known; known are {', '.join(VISION_KINDS)}")
    kind = VISION_KINDS[name]
    rope = vision.get("rope_parameters") or {}
    if rope.get("rope_type", "axial") not in ("axial", "default") or float(rope.get("rope_theta") or THETA) != THETA:
        raise BadInput(f"rope_parameters of vision_config is {rope}; known is 'axial' with {THETA:g}")
    for key, value in vision.items():
        if key not in (*_READ, *_HARMLESS, *kind.keys) and value not in (None, False, "", 0, 0.0, [], {}):
            raise BadInput(f"{key} of the vision_config of {name!r} is not known, and may change numbers")
    hidden, heads = _count(vision, kind.size), _count(vision, "num_heads")
    patch, merge = _count(vision, "patch_size"), _count(vision, "spatial_merge_size", 2)
    activation = str(vision.get("hidden_act") or kind.activation)
    if activation not in ACTIVATIONS:
        raise BadInput(f"hidden_act {activation!r} of vision_config is not known; known are {', '.join(ACTIVATIONS)}")
    if hidden % (4 * heads):
        raise BadInput(f"vision_config: {hidden} numbers with {heads} heads")
    return VisionConfig(
        kind=kind,
        depth=_count(vision, "depth"),
        hidden=hidden,
        heads=heads,
        middle=_count(vision, kind.middle) if kind.middle else int(hidden * float(vision.get("mlp_ratio") or 4)),
        patch=patch,
        frames=_count(vision, "temporal_patch_size", 2),
        merge=merge,
        channels=_count(vision, "in_chans" if "in_chans" in vision else "in_channels", 3),
        activation=activation,
        window=_count(vision, "window_size", 112) // merge // patch if "window_size" in kind.keys else 0,
        full_blocks=tuple(vision.get("fullatt_block_indexes") or ()),
        side=round(_count(vision, "num_position_embeddings", 2304) ** 0.5)
        if "num_position_embeddings" in kind.keys
        else 0,
        taps=tuple(vision.get("deepstack_visual_indexes") or ()),
    )


def _count(config: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key, default)
    if value is None:
        raise KeyError(f"vision_config.{key}")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 24:
        raise BadInput(f"{key} of vision_config is {str(value)[:40]}; it must be a number from 1 on")
    return value
