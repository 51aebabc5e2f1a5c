"""The language model that was converted, in float: config.json and the weights of its .safetensors files.

Blocks are those of Llama, Qwen2 and Qwen3: RMS norm, rotary embedding over halves of a head (RoFormer,
https://arxiv.org/abs/2104.09864), attention with shared keys and values (https://arxiv.org/abs/2305.13245), and the
gated unit with SiLU (https://arxiv.org/abs/2002.05202).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.llm.adapter import Adapter
from tdb_dap.tools.llm.safetensors_file import SafetensorsFile

KINDS = ("llama", "qwen2", "qwen3")
"""Values of ``model_type`` in config.json whose blocks are known."""


@dataclass(frozen=True)
class _Config:
    kind: str
    layers: int
    hidden: int
    heads: int
    shared_heads: int
    head: int
    epsilon: float
    theta: float


class FloatModel:
    """Computes in float64 from the weights in ``folder``, to which ``adapter`` adds; BadInput says what is not known.

    Tensors have the names that the converter gives them in final.mlir.
    """

    def __init__(self, folder: Path, adapter: Adapter | None = None) -> None:
        self.folder = folder
        self._pairs = adapter.pairs if adapter is not None else {}
        self._config = _read_config(folder / "config.json")
        self._files = [SafetensorsFile(path) for path in sorted(folder.glob("*.safetensors"))]
        if not self._files:
            raise BadInput(f"{folder}: no .safetensors file is in it; give the folder of the model before conversion")
        self._kept: dict[str, Array] = {}

    def embedded(self, ids: Array) -> Array:
        """States of shape (positions, hidden) for the ids of tokens."""
        return self._weight("model.embed_tokens.weight")[ids]

    def logits(self, states: Array) -> Array:
        """Logits, float64 (vocabulary,), of the states of one position, as the last block leaves them."""
        name = "lm_head.weight" if self._has("lm_head.weight") else "model.embed_tokens.weight"
        return states @ self._weight(name).T

    def block(
        self, layer: int, states: Array, positions: Array, keys: Array | None = None, values: Array | None = None
    ) -> dict[str, Array]:
        """Every tensor of a block by name, ``output_states``, ``k_cache`` and ``v_cache`` among them.

        ``states``: (positions, hidden); ``keys``, ``values``: those of the positions before, (positions before, heads
        that are shared, numbers of a head). A position sees itself and all before it.
        """
        config, prefix = self._config, f"model.layers.{layer}"
        results: dict[str, Array] = {}
        normal = results[f"{prefix}.input_layernorm"] = self._norm(states, f"{prefix}.input_layernorm")
        q, k, v = (self._linear(normal, f"{prefix}.self_attn.{name}_proj", results) for name in "qkv")
        q = q.reshape(-1, config.heads, config.head)
        k = k.reshape(-1, config.shared_heads, config.head)
        v = results["v_cache"] = v.reshape(-1, config.shared_heads, config.head)
        if config.kind == "qwen3":
            q = results[f"{prefix}.self_attn.q_norm"] = self._norm(q, f"{prefix}.self_attn.q_norm")
            k = results[f"{prefix}.self_attn.k_norm"] = self._norm(k, f"{prefix}.self_attn.k_norm")
        q = results["q_proj"] = self._rotated(q, positions)
        k = results["k_cache"] = self._rotated(k, positions)
        all_k = k if keys is None else np.concatenate([keys, k])
        all_v = v if values is None else np.concatenate([values, v])
        attended = results[f"{prefix}.fattention"] = self._attended(q, all_k, all_v)
        out = self._linear(attended, f"{prefix}.self_attn.o_proj", results)
        states = results[f"{prefix}.self_attn.o_proj.add"] = states + out
        normal = results[f"{prefix}.post_attention_layernorm"] = self._norm(
            states, f"{prefix}.post_attention_layernorm"
        )
        gate = self._linear(normal, f"{prefix}.mlp.gate_proj", results)
        gate = results[f"{prefix}.mlp.gate_proj.silu"] = gate / (1 + np.exp(-gate))
        up = self._linear(normal, f"{prefix}.mlp.up_proj", results)
        up = results[f"{prefix}.mlp.up_proj.mul"] = gate * up
        states = results[f"{prefix}.mlp.down_proj.add"] = states + self._linear(up, f"{prefix}.mlp.down_proj", results)
        # The converter puts the last norm into the last block.
        results["output_states"] = self._norm(states, "model.norm") if layer == config.layers - 1 else states
        return results

    def _attended(self, q: Array, k: Array, v: Array) -> Array:
        """(positions, heads * numbers of a head). Position i of q is position i + (k - q) of k."""
        config = self._config
        repeat = config.heads // config.shared_heads
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, repeat, 1)) / np.sqrt(config.head)
        ahead = np.arange(len(k))[None, :] > np.arange(len(q))[:, None] + len(k) - len(q)
        scores = np.where(ahead, -np.inf, scores)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return np.einsum("hqk,khd->qhd", weights, np.repeat(v, repeat, 1)).reshape(len(q), -1)

    def _rotated(self, heads: Array, positions: Array) -> Array:
        half = self._config.head // 2
        frequencies = self._config.theta ** (-np.arange(half) / half)
        angles = positions[:, None] * frequencies
        cosine, sine = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
        low, high = heads[..., :half], heads[..., half:]
        return np.concatenate([low * cosine - high * sine, high * cosine + low * sine], -1)

    def _norm(self, states: Array, name: str) -> Array:
        mean = np.mean(np.square(states), -1, keepdims=True)
        scaled: Array = states / np.sqrt(mean + self._config.epsilon) * self._weight(f"{name}.weight")
        return scaled

    def _linear(self, states: Array, name: str, results: dict[str, Array]) -> Array:
        result = states @ self._weight(f"{name}.weight").T
        if self._has(f"{name}.bias"):
            result = result + self._weight(f"{name}.bias")
        results[name] = result
        pair = self._pairs.get(name)
        if pair is not None:
            added = results[f"{name}.lora_B"] = states @ pair.a.astype(np.float64).T @ pair.b.astype(np.float64).T
            result = results[f"{name}.lora_add"] = result + added
        return result

    def _has(self, name: str) -> bool:
        return any(name in file.names for file in self._files)

    def _weight(self, name: str) -> Array:
        if name not in self._kept:
            file = next((file for file in self._files if name in file.names), None)
            if file is None:
                raise BadInput(
                    f"{self.folder}: no tensor {name} in its .safetensors files; quantised weights are not read"
                )
            self._kept[name] = file.read(name).astype(np.float64)
        return self._kept[name]


def _read_config(path: Path) -> _Config:
    try:
        config: Any = json.loads(read_file(path, limits.REPORT))
        kind = config["model_type"]
        if kind not in KINDS:
            raise BadInput(f"{path}: model_type {kind!r} is not known in float; known are {', '.join(KINDS)}")
        scaling = config.get("rope_scaling")
        if scaling and scaling.get("rope_type", scaling.get("type")) not in (None, "default"):
            raise BadInput(f"{path}: rope_scaling is not known in float")
        parameters = config.get("rope_parameters") or {}
        return _Config(
            kind,
            int(config["num_hidden_layers"]),
            int(config["hidden_size"]),
            int(config["num_attention_heads"]),
            int(config.get("num_key_value_heads") or config["num_attention_heads"]),
            int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]),
            float(config["rms_norm_eps"]),
            float(config.get("rope_theta") or parameters.get("rope_theta") or 10000.0),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be used: {error}") from None
