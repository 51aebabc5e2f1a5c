"""Choosing a token by chance, as the net ``sample_head`` prepares it that the converter makes with ``--do_sample``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import fields

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadInput

MOST = 50
"""Tokens that ``sample_head`` chooses from at most."""

_ALWAYS = 5
"""The likeliest tokens, which ``top_p`` never leaves out."""


class Sampling(Struct, frozen=True):
    """Manner in which a token is drawn; BadInput where a number is outside of its range."""

    temperature: float = 1.0
    """Logits are divided by it; above 0."""

    top_k: int = MOST
    """Number of tokens to choose from, 1 to ``MOST``."""

    top_p: float = 1.0
    """Probability of those tokens together, above 0, at most 1."""

    penalty: float = 1.0
    """Logits of tokens that were there before are divided by it, negative ones multiplied; above 0."""

    seed: int = 0
    """Seed of the random numbers; each token has one of its own, so time travel repeats them."""

    def __post_init__(self) -> None:
        for name, is_right, what in (
            ("temperature", self.temperature > 0, "a number above 0"),
            ("top_k", 1 <= self.top_k <= MOST, f"a whole number from 1 to {MOST}"),
            ("top_p", 0 < self.top_p <= 1, "a number above 0, at most 1"),
            ("penalty", self.penalty > 0, "a number above 0"),
            ("seed", self.seed >= 0, "a whole number of at least 0"),
        ):
            if not is_right:
                raise BadInput(f"sample: {name} is {getattr(self, name):g}; give {what}")


def parse(text: str) -> Sampling:
    """``temperature=0.7,top_k=20``; BadInput says what is wrong."""
    known = {field.name: int if field.name in ("top_k", "seed") else float for field in fields(Sampling)}
    given: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in known:
            raise BadInput(f"sample: {quoted(part[:40])} is none of {', '.join(known)}, such as temperature=0.7")
        try:
            given[name] = known[name](value)
        except ValueError:
            raise BadInput(f"sample: {name} is {quoted(value[:40])}; give a number") from None
    return Sampling(**given)


def candidates(logits: Array, ids: Array, wanted: Sampling) -> tuple[Array, Array]:
    """Probabilities, float32, and the tokens that they are of, the likeliest first, as ``sample_head`` gives them.

    ``logits``: of the whole vocabulary; ``ids``: tokens that were there before, padded with 0.
    """
    logits = logits.reshape(-1).astype(np.float32).copy()
    before = logits[ids]
    penalty = np.float32(wanted.penalty)
    logits[ids] = np.where(before < 0, before * penalty, before / penalty)
    order = np.argsort(-logits, kind="stable")[: wanted.top_k]
    scaled = logits[order] / np.float32(wanted.temperature)
    inside = np.cumsum(_softmax(scaled), dtype=np.float32) < np.float32(wanted.top_p)
    inside[:_ALWAYS] = True
    if wanted.top_p >= 1:  # how near the sum of all comes to 1 is a matter of rounding
        inside[:] = True
    return _softmax(np.where(inside, scaled, np.float32(-1000))), order.astype(np.int32)


def _softmax(numbers: Array) -> Array:
    powers = np.exp(numbers - numbers.max())
    return powers / powers.sum(dtype=np.float32)


def choose(logits: Array, ids: Array, wanted: Sampling, token: int) -> int:
    """The id of a token. ``token``: its number, which has a separate random number. BadInput for NaN."""
    if np.isnan(logits).any():
        raise BadInput(f"{np.count_nonzero(np.isnan(logits)):,} of {logits.size:,} logits are NaN: none is likely")
    probabilities, tokens = candidates(logits, ids, wanted)
    drawn = np.random.default_rng([wanted.seed, token]).random()
    return int(tokens[min(int(np.searchsorted(np.cumsum(probabilities, dtype=np.float64), drawn)), len(tokens) - 1)])


def described(wanted: Sampling) -> Sequence[str]:
    """``temperature=0.7``, one for each that differs from the defaults; the seed always."""
    plain = Sampling()
    names = [field.name for field in fields(Sampling)]
    return [
        f"{name}={getattr(wanted, name):g}"
        for name in names
        if name == "seed" or getattr(wanted, name) != getattr(plain, name)
    ]
