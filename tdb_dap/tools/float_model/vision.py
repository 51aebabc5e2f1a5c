"""The picture half of a language model before conversion, computed in float64 from patches.

Vision transformer (https://arxiv.org/abs/2010.11929) with rotary positions in two axes, windows (Qwen2.5-VL,
https://arxiv.org/abs/2502.13923) or learnt positions and states of several blocks (Qwen3-VL); neighbouring patches are
merged into tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.float_model.functions import activated, product, short_name, softmax
from tdb_dap.tools.float_model.vision_config import THETA, VisionConfig
from tdb_dap.tools.float_model.weights import FloatWeights

_EPSILON = 1e-6


class VisionModel:
    """Computes from the weights of a folder; tensors have the names that the converter gives them in final.mlir."""

    def __init__(self, config: VisionConfig, weights: FloatWeights) -> None:
        self.config = config
        self._weights = weights
        self._prefix = config.kind.prefix

    def results(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Every tensor of the net by name, of patches or of tokens; ``rows``, ``rows_0`` ... are those of its outputs.

        ``inputs``: of the net, without padding; masks (patches, patches).
        """
        config, kind = self.config, self.config.kind
        results: dict[str, Array] = {}
        states = self._embedded(inputs, results)
        turns = rotation(inputs["position_ids"], config.head)
        taps: list[Array] = []
        for block in range(config.depth):
            is_full = not config.window or block in config.full_blocks
            mask = (
                inputs["window_attn_mask"]
                if not is_full
                else inputs.get("full_attn_mask", inputs.get("attention_mask"))
            )
            assert mask is not None
            states = self._block(f"{self._prefix}.blocks.{block}", states, turns, mask == 0, results)
            if block in config.taps:
                taps.append(states)
        rows = self._merged(f"{self._prefix}.merger", kind.merged_norm, states, False, results)
        if config.window:
            last = f"{self._prefix}.merger.{kind.merger[1]}"
            rows = results[f"{last}.reverse"] = rows[inputs["reverse_index"]]
        results["rows"] = rows
        for number, tap in enumerate(taps):
            name = f"{self._prefix}.deepstack_merger_list.{number}"
            results[f"rows_{number}"] = self._merged(name, "norm", tap, True, results)
        return results

    def outputs(self, results: Mapping[str, Array]) -> list[Array]:
        """Results that are the net's outputs, in order."""
        return [results["rows"], *(results[f"rows_{number}"] for number in range(len(self.config.taps)))]

    def _embedded(self, inputs: Mapping[str, Array], results: dict[str, Array]) -> Array:
        name = f"{self._prefix}.patch_embed.proj"
        weight = self._weights.read(f"{name}.weight")
        states = product(inputs["input_states"].astype(np.float64), weight.reshape(len(weight), -1))
        if f"{name}.bias" in self._weights:
            states = states + self._weights.read(f"{name}.bias")
        results[name] = states
        if not self.config.side:
            return states
        name = f"{self._prefix}.pos_embed"
        learnt = self._weights.read(f"{name}.weight").astype(np.float64)[inputs["pos_idx"]]
        added = results[f"{name}.sum"] = (learnt * inputs["pos_weight"].reshape(*inputs["pos_idx"].shape, 1)).sum(1)
        states = results[f"{name}.add"] = states + added
        return states

    def _block(
        self, prefix: str, states: Array, turns: tuple[Array, Array], seen: Array, results: dict[str, Array]
    ) -> Array:
        kind = self.config.kind
        attended = self._attended(prefix, self._norm(states, f"{prefix}.norm1", results), turns, seen, results)
        out = self._linear(attended, f"{prefix}.attn.proj", results)
        states = results[f"{prefix}.attn.proj.add"] = states + out
        normal = self._norm(states, f"{prefix}.norm2", results)
        first, second = f"{prefix}.{kind.first}", f"{prefix}.{kind.second}"
        middle = activated(self._linear(normal, first, results), self.config.activation)
        results[f"{first}.{short_name(self.config.activation)}"] = middle
        if kind.is_gated:
            up = f"{prefix}.mlp.up_proj"
            middle = results[f"{up}.mul"] = middle * self._linear(normal, up, results)
        states = results[f"{second}.add"] = states + self._linear(middle, second, results)
        return states

    def _attended(
        self, prefix: str, normal: Array, turns: tuple[Array, Array], seen: Array, results: dict[str, Array]
    ) -> Array:
        config = self.config
        fused = product(normal, self._weights.read(f"{prefix}.attn.qkv.weight"))
        fused = fused + self._weights.read(f"{prefix}.attn.qkv.bias")
        parts = np.split(fused, 3, -1)
        for name, part in zip("qkv", parts, strict=True):
            results[f"{prefix}.attn.{name}"] = part
        q, k, v = (part.reshape(-1, config.heads, config.head) for part in parts)
        q = results[f"{prefix}.attn.q.rotary"] = _rotated(q, turns)
        k = results[f"{prefix}.attn.k.rotary"] = _rotated(k, turns)
        scores = np.where(seen, np.einsum("qhd,khd->hqk", q, k) * config.head**-0.5, -np.inf)
        attended = np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(len(q), -1)
        results[f"{prefix}.fattention"] = attended
        return attended

    def _merged(self, prefix: str, norm: str, states: Array, is_after: bool, results: dict[str, Array]) -> Array:
        """Tokens of neighbouring patches. ``is_after``: the norm is that of tokens, not of patches."""
        config = self.config
        first, second = (f"{prefix}.{name}" for name in config.kind.merger)
        wide = states.reshape(-1, config.unit * config.hidden) if is_after else states
        tokens = self._norm(wide, f"{prefix}.{norm}", results).reshape(-1, config.unit * config.hidden)
        middle = results[f"{first}.gelu"] = activated(self._linear(tokens, first, results), "gelu")
        return self._linear(middle, second, results)

    def _norm(self, states: Array, name: str, results: dict[str, Array]) -> Array:
        is_layer_norm = self.config.kind.has_layer_norm
        centred = states - states.mean(-1, keepdims=True) if is_layer_norm else states
        scaled = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + _EPSILON)
        scaled = scaled * self._weights.read(f"{name}.weight")
        if is_layer_norm:
            scaled = scaled + self._weights.read(f"{name}.bias")
        results[name] = scaled
        return scaled

    def _linear(self, states: Array, name: str, results: dict[str, Array]) -> Array:
        result = product(states, self._weights.read(f"{name}.weight"))
        if f"{name}.bias" in self._weights:
            result = result + self._weights.read(f"{name}.bias")
        results[name] = result
        return result


def frequencies(count: int, head: int) -> tuple[Array, Array]:
    """Cosines and sines, float64 (count, head / 4), of positions in one axis."""
    angles = np.arange(count)[:, None] * THETA ** (-np.arange(0, head // 2, 2) / (head // 2))
    return np.cos(angles), np.sin(angles)


def rotation(positions: Array, head: int) -> tuple[Array, Array]:
    """Cosines and sines, float64 (patches, head / 2), of positions (patches, 2) by row and column."""
    cosines, sines = frequencies(int(positions.max()) + 1, head)
    return cosines[positions].reshape(len(positions), -1), sines[positions].reshape(len(positions), -1)


def _rotated(heads: Array, turns: tuple[Array, Array]) -> Array:
    """(patches, heads, numbers), the first half of each head with the second."""
    cosine, sine = (one[:, None] for one in turns)
    low, high = np.split(heads, 2, -1)
    return np.concatenate([low * cosine - high * sine, high * cosine + low * sine], -1)
