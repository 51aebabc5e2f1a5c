"""A language model before conversion, computed in float64: config.json and the weights of its .safetensors files.

RMS norm (https://arxiv.org/abs/1910.07467), rotary embedding, attention with shared keys and values
(https://arxiv.org/abs/2305.13245) and sliding windows, gated feed-forward units (https://arxiv.org/abs/2002.05202) and
mixtures of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.config import Config, Experts, read_config
from tdb_dap.tools.float_model.functions import activated, product, short_name, softmax
from tdb_dap.tools.float_model.weights import FloatWeights


class Pair(Struct, frozen=True):
    """The two factors of LoRA for a linear layer. ``a``: (rank, inputs); ``b``: (outputs, rank), with its scale."""

    a: Array
    b: Array


Substitute = Callable[[str], "Array | None"]
"""Numbers to compute with instead of those of the file, such as dequantised ones; None: those of the file."""


class FloatModel:
    """Computes in float64 from the weights in ``folder``; BadInput says what is not known.

    Tensors have the names that the converter gives them in final.mlir. ``pairs``: LoRA by the name of the layer;
    ``room``: positions for which the model is used, by which LongRoPE chooses its frequencies, None: those of a
    sequence so far.
    """

    def __init__(self, folder: Path, pairs: Mapping[str, Pair] | None = None, room: int | None = None) -> None:
        self.folder = folder
        self.config: Config = read_config(folder / "config.json")
        self.weights = FloatWeights(folder, self.config)
        self.room = room
        self._pairs = pairs or {}
        self._substitute: Substitute = _nothing
        self._kept: dict[str, Array] = {}
        self._own: dict[str, Array] = {}

    def with_weights(self, substitute: Substitute) -> FloatModel:
        """The same model with other numbers for some weights; the rest is kept once for both."""
        other = copy(self)
        other._substitute, other._own = substitute, {}
        return other

    def embedded(self, ids: Array) -> Array:
        """States of shape (positions, hidden) for the ids of tokens."""
        weight = self._matrix(f"{self.weights.names.embedding}.weight", self.config.hidden)
        if ids.size and not 0 <= ids.min() <= ids.max() < len(weight):
            raise BadInput(f"{self.folder}: token {int(ids.max())} is none of the {len(weight):,} of this model")
        rows = weight[ids].astype(np.float64)
        return rows * self.config.embedding_scale

    def logits(self, states: Array) -> Array:
        """Logits, float64 (vocabulary,), of the states of one position, as the last block leaves them."""
        logits = product(self.config.logit_scale * states, self._matrix(self.weights.head, self.config.hidden))
        return _capped(logits, self.config.caps[1])

    def block(
        self, layer: int, states: Array, positions: Array, keys: Array | None = None, values: Array | None = None
    ) -> dict[str, Array]:
        """Every tensor of a block by name, ``output_states``, ``k_cache`` and ``v_cache`` among them.

        ``states``: (positions, hidden); ``keys``, ``values``: those of the positions before, (positions before, heads
        that are shared, numbers of a head). A position sees itself and those before it within the window of the layer.
        ``positions``: (positions,), or (3, positions) of tokens with a place in a picture.
        """
        config, names = self.config, self.weights.names
        prefix, results = f"{names.layers}.{layer}", dict[str, Array]()
        attended = self._attention(
            layer, self._norm(states, f"{prefix}.{names.input_norm}", results), positions, keys, values, results
        )
        out = self._linear(attended, f"{prefix}.{names.o}", results, config.hidden)
        if config.kind.has_four_norms:
            out = self._norm(out, f"{prefix}.{names.attended_norm}", results)
        states = results[f"{prefix}.{names.o}.add"] = states + self._scaled(out, f"{prefix}.{names.o}", results)
        before = names.before_mlp if config.kind.has_four_norms else names.attended_norm
        normal = self._norm(states, f"{prefix}.{before}", results)
        experts = config.experts[layer]
        if experts is not None:
            out, last = self._mixture(normal, prefix, experts, results), f"{prefix}.mlp.experts.expert_id.down_proj"
        else:
            gate, up, last = (f"{prefix}.{name}" for name in (names.gate, names.up, names.down))
            out = results[f"{gate}_mlp"] = self._gated(normal, gate, up, last, results)
        if config.kind.has_four_norms:
            out = self._norm(out, f"{prefix}.{names.after_mlp}", results)
        states = results[f"{last}.add"] = states + self._scaled(out, last, results)
        # The converter puts the last norm into the last block.
        is_last = layer == config.layers - 1
        results["output_states"] = self._norm(states, names.norm) if is_last else states
        return results

    def _attention(
        self,
        layer: int,
        normal: Array,
        positions: Array,
        keys: Array | None,
        values: Array | None,
        results: dict[str, Array],
    ) -> Array:
        config, names = self.config, self.weights.names
        prefix = f"{names.layers}.{layer}"
        counts = {names.q: config.heads, names.k: config.shared_heads, names.v: config.shared_heads}
        q, k, v = (
            self._linear(normal, f"{prefix}.{name}", results, count * config.head) for name, count in counts.items()
        )
        q = q.reshape(-1, config.heads, config.head)
        k = k.reshape(-1, config.shared_heads, config.head)
        v = results["v_cache"] = v.reshape(-1, config.shared_heads, config.head)
        if config.kind.has_head_norms:
            q = self._norm(q, f"{prefix}.self_attn.q_norm", results)
            k = self._norm(k, f"{prefix}.self_attn.k_norm", results)
        rotary, length = config.rotary[layer], self.room or int(positions.max()) + 1
        q = results["q_proj"] = rotary.rotate(q, positions, length)
        k = results["k_cache"] = rotary.rotate(k, positions, length)
        all_k = k if keys is None else np.concatenate([keys, k])
        all_v = v if values is None else np.concatenate([values, v])
        attended = results[f"{prefix}.fattention"] = self._attended(q, all_k, all_v, config.windows[layer])
        return attended

    def _attended(self, q: Array, k: Array, v: Array, window: int) -> Array:
        """(positions, heads * numbers of a head). Position i of q is position i + (k - q) of k."""
        config = self.config
        repeat = config.heads // config.shared_heads
        scores = np.einsum("qhd,khd->hqk", q, np.repeat(k, repeat, 1)) * config.attention_scale
        distance = np.arange(len(q))[:, None] + len(k) - len(q) - np.arange(len(k))[None, :]
        hidden = (distance < 0) | (distance >= window if window else False)
        scores = np.where(hidden, -np.inf, _capped(scores, config.caps[0]))
        return np.einsum("hqk,khd->qhd", softmax(scores), np.repeat(v, repeat, 1)).reshape(len(q), -1)

    def _gated(self, states: Array, gate: str, up: str, down: str, results: dict[str, Array]) -> Array:
        opened = results[f"{gate}.{short_name(self.config.activation)}"] = activated(
            self._linear(states, gate, results), self.config.activation
        )
        middle = results[f"{up}.mul"] = opened * self._linear(states, up, results, opened.shape[-1])
        return self._linear(middle, down, results, self.config.hidden)

    def _mixture(self, states: Array, prefix: str, experts: Experts, results: dict[str, Array]) -> Array:
        """The sum of the likeliest experts of each position, and of the shared one."""
        mlp = f"{prefix}.mlp"
        shares = results[f"{mlp}.gate_softmax"] = softmax(self._linear(states, f"{mlp}.gate", results, experts.number))
        order = np.argsort(-shares, -1, kind="stable")[:, : experts.used]
        weights = np.take_along_axis(shares, order, -1)
        if experts.is_normalised:
            weights = weights / weights.sum(-1, keepdims=True)
        mixed = np.zeros_like(states)
        for number in np.unique(order):
            rows, ranks = np.nonzero(order == number)
            gate, up, down = (f"{mlp}.experts.{number}.{part}" for part in ("gate_proj", "up_proj", "down_proj"))
            mixed[rows] += weights[rows, ranks, None] * self._gated(states[rows], gate, up, down, {})
        results[f"{mlp}.experts.expert_id.gate_proj_experts_mlp_output"] = mixed
        if not experts.is_shared:
            return mixed
        gate, up, down = (f"{mlp}.shared_expert.{part}" for part in ("gate_proj", "up_proj", "down_proj"))
        shared = self._gated(states, gate, up, down, results)
        results[f"{gate}_mul"] = results.pop(f"{up}.mul")  # the converter names it after the gate
        open_to = 1 / (1 + np.exp(-self._linear(states, f"{mlp}.shared_expert_gate", results, 1)))
        results[f"{mlp}.shared_expert_gate_sigmoid"] = open_to
        shared = results[f"{mlp}.shared_expert_gate_mul"] = shared * open_to
        total = results[f"{mlp}.experts.expert_id.gate_proj_moe_block_res"] = mixed + shared
        return total

    def _scaled(self, out: Array, name: str, results: dict[str, Array]) -> Array:
        if self.config.residual_scale == 1:
            return out
        scaled = results[f"{name}.scale"] = out * self.config.residual_scale
        return scaled

    def _norm(self, states: Array, name: str, results: dict[str, Array] | None = None) -> Array:
        mean = np.mean(np.square(states), -1, keepdims=True)
        weight = self._vector(f"{name}.weight", states.shape[-1]) + self.config.kind.norm_offset
        scaled: Array = states / np.sqrt(mean + self.config.epsilon) * weight
        if results is not None:
            results[name] = scaled
        return scaled

    def _linear(self, states: Array, name: str, results: dict[str, Array], rows: int | None = None) -> Array:
        result = product(states, self._matrix(f"{name}.weight", states.shape[-1], rows))
        if f"{name}.bias" in self.weights:
            result = result + self._vector(f"{name}.bias", result.shape[-1])
        results[name] = result
        pair = self._pairs.get(name)
        if pair is not None:
            if (pair.b.shape[0], pair.a.shape[1]) != (result.shape[-1], states.shape[-1]):
                raise BadInput(
                    f"the adapter for {name} has the shapes {pair.a.shape} and {pair.b.shape}; {self.folder} has others"
                )
            added = results[f"{name}.lora_B"] = states @ pair.a.astype(np.float64).T @ pair.b.astype(np.float64).T
            result = results[f"{name}.lora_add"] = result + added
        return result

    def _matrix(self, name: str, columns: int, rows: int | None = None) -> Array:
        """A weight of the shape that config.json asks for; BadInput for one of another."""
        weight = self._weight(name)
        if weight.ndim != 2 or weight.shape[1] != columns or (len(weight) if rows is None else rows) != len(weight):
            raise self._misfit(name, weight, f"({'any' if rows is None else rows}, {columns})")
        return weight

    def _vector(self, name: str, size: int) -> Array:
        """As ``_matrix``, of one axis."""
        weight = self._weight(name)
        if weight.shape != (size,):
            raise self._misfit(name, weight, f"({size},)")
        return weight

    def _misfit(self, name: str, weight: Array, wanted: str) -> BadInput:
        return BadInput(f"{self.folder}: tensor {name} has the shape {weight.shape}, and config.json asks for {wanted}")

    def _weight(self, name: str) -> Array:
        """Numbers in float32, so that large models fit."""
        if name in self._own:
            return self._own[name]
        other = self._substitute(name)
        if other is not None:
            self._own[name] = other
            return other
        if name not in self._kept:
            self._kept[name] = self.weights.read(name)
        return self._kept[name]


def _nothing(name: str) -> None:
    """No weight has other numbers."""


def _capped(numbers: Array, cap: float) -> Array:
    return np.tanh(numbers / cap) * cap if cap else numbers
