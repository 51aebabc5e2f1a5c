"""Rotary embeddings: the angle of each pair of numbers of a head, by position.

RoFormer, https://arxiv.org/abs/2104.09864; scaled forms as Transformers writes them into config.json: linear, dynamic
(NTK), YaRN (https://arxiv.org/abs/2309.00071), Llama 3, and LongRoPE (https://arxiv.org/abs/2402.13753). A token may
have three positions, in time and in a picture (mrope, https://arxiv.org/abs/2409.12191); those of text are equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput

_KEYS = {
    "default": (),
    "mrope": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("factor", "attention_factor", "short_factor", "long_factor"),
}
"""Type -> the keys that it reads, besides those of all types."""

_COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings"}
_OF_PICTURES = {"mrope_section", "mrope_interleaved"}


class Rotary(Struct, frozen=True):
    """Angles of a rotary embedding.

    ``size``: numbers of a head that are rotated, the first ones; ``frequencies``: float64 (size / 2); ``scale``: of
    cosine and sine; ``is_interleaved``: pairs are neighbours, not halves. ``long``: frequencies beyond ``limit``
    positions (LongRoPE); ``stretch``: dynamic scaling beyond ``limit`` positions, with ``theta``. ``axes``: for each
    frequency which of a token's positions it turns with; None: all have one.
    """

    size: int
    frequencies: Array
    scale: float = 1.0
    is_interleaved: bool = False
    long: Array | None = None
    limit: int = 0
    stretch: float = 0.0
    theta: float = field(default=1.0)
    axes: Array | None = None

    def rotate(self, heads: Array, positions: Array, length: int) -> Array:
        """Heads (positions, heads, numbers) rotated by their positions in a sequence of ``length`` positions.

        ``positions``: one axis, or three of them, (3, positions).
        """
        cosine, sine = (one[:, None] for one in self.table(positions, length))
        rotated, rest = heads[..., : self.size], heads[..., self.size :]
        if self.is_interleaved:
            low, high = rotated[..., 0::2], rotated[..., 1::2]
        else:
            low, high = rotated[..., : self.size // 2], rotated[..., self.size // 2 :]
        first, second = low * cosine - high * sine, high * cosine + low * sine
        if self.is_interleaved:
            pairs = np.stack([first, second], -1).reshape(rotated.shape)
        else:
            pairs = np.concatenate([first, second], -1)
        return np.concatenate([pairs, rest], -1)

    def table(self, positions: Array, length: int) -> tuple[Array, Array]:
        """Cosines and sines, float64 (positions, size / 2)."""
        turned = positions[:, None] if positions.ndim == 1 else positions[self._axes(len(positions))].T
        angles = turned * self._frequencies_for(length)
        return np.cos(angles) * self.scale, np.sin(angles) * self.scale

    def _axes(self, count: int) -> Array:
        """Row of the positions for each frequency; BadInput where config.json has no sections for several."""
        if self.axes is None or count <= self.axes.max():
            raise BadInput(f"config.json has no mrope_section of {self.size // 2} frequencies, which pictures need")
        return self.axes

    def _frequencies_for(self, length: int) -> Array:
        if self.long is not None and length > self.limit:
            return self.long
        if self.stretch and length > self.limit:
            grown = self.stretch * length / self.limit - (self.stretch - 1)
            return _plain(self.theta * grown ** (self.size / (self.size - 2)), self.size)
        return self.frequencies


def rotary_of(
    parameters: Mapping[str, Any],
    config: Mapping[str, Any],
    head: int,
    theta: float,
    is_interleaved: bool = False,
) -> Rotary:
    """The rotary embedding of ``rope_parameters`` or ``rope_scaling`` of a config.json.

    ``theta``: the base where the parameters have none. BadInput for a type or a key that is not known, KeyError,
    TypeError and ValueError for values that cannot be used.
    """
    kind = str(parameters.get("rope_type") or parameters.get("type") or "default")
    if kind == "su":  # LongRoPE in the first releases of Phi-3
        kind = "longrope"
    if kind not in _KEYS:
        raise BadInput(f"rope_type {kind!r} is not known in float; known are {', '.join(_KEYS)}")
    known = _COMMON | _OF_PICTURES | set(_KEYS[kind])
    unknown = [key for key, value in parameters.items() if key not in known and value is not None]
    if unknown:
        raise BadInput(f"{unknown[0]} of rope_type {kind!r} is not known in float")
    made = _rotary(kind, parameters, config, head, theta, is_interleaved)
    axes = _axes(parameters.get("mrope_section"), made.size // 2, bool(parameters.get("mrope_interleaved")))
    return replace(made, axes=axes)


def _rotary(
    kind: str, parameters: Mapping[str, Any], config: Mapping[str, Any], head: int, theta: float, is_interleaved: bool
) -> Rotary:
    """That of a kind, for tokens with one position."""
    theta = positive(parameters.get("rope_theta") or theta, "rope_theta")
    part = parameters.get("partial_rotary_factor") or config.get("partial_rotary_factor") or 1.0
    size = int(head * positive(part, "partial_rotary_factor"))
    if size < 2 or size % 2 or size > head:
        raise BadInput(f"{size} of {head} numbers of a head would be rotated")
    plain = _plain(theta, size)
    longest = int(config.get("max_position_embeddings") or 2048)
    original = int(
        config.get("original_max_position_embeddings") or parameters.get("original_max_position_embeddings") or longest
    )
    if kind == "linear":
        return Rotary(size, plain / positive(parameters["factor"], "factor"), is_interleaved=is_interleaved)
    if kind == "dynamic":
        stretch = positive(parameters["factor"], "factor")
        return Rotary(size, plain, is_interleaved=is_interleaved, limit=longest, stretch=stretch, theta=theta)
    if kind == "llama3":
        return Rotary(size, _llama3(plain, parameters, original), is_interleaved=is_interleaved)
    factor = positive(parameters.get("factor") or longest / original, "factor")
    if kind == "yarn":
        frequencies = _yarn(plain, parameters, factor, original, theta)
        return Rotary(size, frequencies, _yarn_scale(parameters, factor), is_interleaved)
    if kind == "longrope":
        scale = parameters.get("attention_factor")
        if scale is None:
            scale = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
        short, long = (plain / _factors(parameters[name], size, name) for name in ("short_factor", "long_factor"))
        return Rotary(size, short, positive(scale, "attention_factor"), is_interleaved, long=long, limit=original)
    return Rotary(size, plain, is_interleaved=is_interleaved)


def _axes(sections: Sequence[int] | None, pairs: int, is_interleaved: bool) -> Array | None:
    """Position that each frequency turns with: by section, or in turn; None where the sections are not those of all."""
    if sections is None or len(sections) != 3 or sum(sections) != pairs or min(sections) < 0:
        return None
    if not is_interleaved:
        return np.repeat(np.arange(3), sections)
    axes = np.zeros(pairs, np.int64)
    for axis in (1, 2):
        axes[axis : 3 * sections[axis] : 3] = axis
    return axes


def positive(value: Any, name: str) -> float:
    """A finite number above zero; BadInput for any other."""
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise BadInput(f"{name} is {number:g}; it must be a number above 0")
    return number


def _plain(theta: float, size: int) -> Array:
    frequencies: Array = theta ** (-np.arange(0, size, 2) / size)
    return frequencies


def _factors(values: Sequence[float], size: int, name: str) -> Array:
    factors = np.asarray(values, np.float64)
    if factors.shape != (size // 2,) or not (factors > 0).all():
        raise BadInput(f"{name} has {factors.size} numbers instead of {size // 2}, or one that is not above 0")
    return factors


def _llama3(plain: Array, parameters: Mapping[str, Any], original: int) -> Array:
    """Long waves are stretched, short ones kept, those between interpolated."""
    factor, low, high = (positive(parameters[name], name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    waves = 2 * math.pi / plain
    smooth = np.clip((original / waves - low) / (high - low), 0, 1) if high != low else (waves < original / low) * 1.0
    result: Array = (1 - smooth) * plain / factor + smooth * plain
    return result


def _yarn(plain: Array, parameters: Mapping[str, Any], factor: float, original: int, theta: float) -> Array:
    """Interpolated, extrapolated, and a ramp between them."""
    size = 2 * len(plain)
    fast, slow = parameters.get("beta_fast") or 32, parameters.get("beta_slow") or 1

    def dimension(rotations: float) -> float:
        return size * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(theta))

    low, high = dimension(fast), dimension(slow)
    if parameters.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, size - 1)
    ramp = np.clip((np.arange(size // 2) - low) / ((high - low) or 0.001), 0, 1)
    result: Array = plain / factor * ramp + plain * (1 - ramp)
    return result


def _yarn_scale(parameters: Mapping[str, Any], factor: float) -> float:
    if parameters.get("attention_factor") is not None:
        return positive(parameters["attention_factor"], "attention_factor")

    def scale(by: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * by * math.log(factor) + 1.0

    one, other = parameters.get("mscale"), parameters.get("mscale_all_dim")
    return scale(float(one)) / scale(float(other)) if one and other else scale(1.0)
