"""Tolerances: limits for all tensors, for those of a number format, and for those of some names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import fields, replace

from tdb_dap.engine.hardware.dtypes import BY_NAME
from tdb_dap.engine.reference.metrics import Metrics, similarity_text
from tdb_dap.engine.reference.name_patterns import fits
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadInput


class Tolerance(Struct, frozen=True):
    """Limits of one tensor: it passes if equal, if all elements are close, or if similarities are above their limits.

    Limits that are given always hold; None: no limit.
    """

    cosine: float = 0.99
    """Least cosine similarity of the whole tensor."""
    euclidean: float = 0.99
    """Least Euclidean similarity of the whole tensor."""
    relative: float = 1e-3
    """Difference over the expected magnitude from which on an element is bad."""
    channel: float | None = 0.8
    """Least Euclidean similarity of any channel: one in many is lost in the similarity of the whole (right results of
    narrow floats stay above 0.92).
    """
    max_abs: float | None = None
    """Largest difference allowed."""
    ulp: float | None = None
    """Largest difference allowed, in units of the last place."""
    sqnr: float | None = None
    """Least ratio of signal to error, dB."""
    bad_share: float | None = None
    """Largest share of bad elements allowed, 0 to 1."""

    def complaints(self, metrics: Metrics) -> tuple[str, ...]:
        """Metrics beyond a limit, one phrase each; empty if the tensor passes."""
        if metrics.equal:
            return ()
        complaints: list[str] = []
        if metrics.broken:
            complaints.append(_not_numbers(metrics))
        if metrics.bad_count:
            complaints += _below("cosine", metrics.cosine, self.cosine)
            complaints += _below("euclidean", metrics.euclidean, self.euclidean)
            if self.channel is not None and metrics.channel <= self.channel and not metrics.broken:
                similarity = similarity_text(metrics.channel)
                complaints.append(f"channel {metrics.worst_channel} euclidean {similarity} (limit {self.channel:g})")
        complaints += _above("max difference", metrics.max_abs, self.max_abs)
        complaints += _above("ULP", metrics.max_ulp, self.ulp)
        complaints += _above("share of bad elements", metrics.bad_share, self.bad_share)
        if self.sqnr is not None and metrics.sqnr < self.sqnr:
            complaints.append(f"SQNR {metrics.sqnr:.1f} dB (limit {self.sqnr:g})")
        return tuple(complaints)


def _not_numbers(metrics: Metrics) -> str:
    if metrics.nan_expected and not metrics.nan_count:
        return f"the reference holds {metrics.nan_expected} NaN"
    here = f"{metrics.nan_count} NaN, {metrics.inf_count} Inf"
    return f"{here} where the reference has {metrics.nan_expected} NaN, {metrics.inf_expected} Inf"


def _below(what: str, number: float, limit: float) -> list[str]:
    return [] if number > limit else [f"{what} {similarity_text(number)} (limit {limit:g})"]


def _above(what: str, number: float | None, limit: float | None) -> list[str]:
    return [] if limit is None or number is None or number <= limit else [f"{what} {number:.6g} (limit {limit:g})"]


_KEYS = {
    "cosine": "cosine",
    "euclidean": "euclidean",
    "relative": "relative",
    "channel": "channel",
    "maxAbs": "max_abs",
    "ulp": "ulp",
    "sqnr": "sqnr",
    "badShare": "bad_share",
}
"""How a limit is called where a user writes it -> in ``Tolerance``."""

_RANGES = {
    "cosine": (-1.0, 1.0),
    "euclidean": (-math.inf, 1.0),
    "channel": (-math.inf, 1.0),
    "relative": (0.0, math.inf),
    "max_abs": (0.0, math.inf),
    "ulp": (0.0, math.inf),
    "sqnr": (-math.inf, math.inf),
    "bad_share": (0.0, 1.0),
}
"""The least and the greatest number that a limit can be."""


class Tolerances(Struct, frozen=True):
    """Limits by tensor: ``default``, then those of its number format, then those of each pattern its name fits.

    ``excepted``: patterns of names that are not compared.
    """

    default: Tolerance = Tolerance()
    by_dtype: dict[str, dict[str, float]] = field(default_factory=dict)
    by_name: tuple[tuple[str, dict[str, float]], ...] = ()
    excepted: tuple[str, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str], excepted: Sequence[str] = ()) -> Tolerances:
        """From ``[WHERE:]LIMIT=NUMBER[,...]``; WHERE is a number format or a pattern of names.

        ``0.99,0.98`` stands for cosine and euclidean. BadInput says what is wrong.
        """
        default = Tolerance()
        by_dtype: dict[str, dict[str, float]] = {}
        by_name: list[tuple[str, dict[str, float]]] = []
        for text in texts:
            where, _, limits = text.rpartition(":")
            changed = _limits(limits, text)
            if not where:
                default = replace(default, **changed)
            elif where in BY_NAME:
                by_dtype.setdefault(where, {}).update(changed)
            else:
                by_name.append((where, changed))
        return cls(default, by_dtype, tuple(by_name), tuple(excepted))

    def of(self, name: str, dtype: str | None) -> Tolerance:
        """The limits for one tensor."""
        changed: dict[str, float] = dict(self.by_dtype.get(dtype or "", {}))
        for pattern, limits in self.by_name:
            if fits(name, pattern):
                changed.update(limits)
        return replace(self.default, **changed) if changed else self.default

    def excepts(self, name: str) -> bool:
        """Whether a tensor is not to be compared."""
        return any(fits(name, pattern) for pattern in self.excepted)


def _limits(text: str, option: str) -> dict[str, float]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 2 and not any("=" in part for part in parts):
        parts = [f"cosine={parts[0]}", f"euclidean={parts[1]}"]
    limits: dict[str, float] = {}
    for part in parts:
        key, _, number = part.partition("=")
        try:
            name = _KEYS[key.strip()]
            limit = float(number)
        except (KeyError, ValueError):
            raise BadInput(
                f"tolerance {quoted(option)}: {quoted(part)} is not LIMIT=NUMBER; limits are {', '.join(_KEYS)}, "
                "for example 'f16:cosine=0.98' or 'conv*:ulp=2'"
            ) from None
        least, most = _RANGES[name]
        if not least <= limit <= most:  # nor is NaN, to which everything would compare as within the limit
            raise BadInput(
                f"tolerance {quoted(option)}: {quoted(part)}: {key.strip()} is a number from {least:g} to {most:g}"
            )
        limits[name] = limit
    return limits


assert {f.name for f in fields(Tolerance)} == set(_KEYS.values()) == set(_RANGES)
