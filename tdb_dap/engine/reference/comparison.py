"""One tensor against the reference: the numbers and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property

from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.reference.metrics import Metrics, Room, measure, similarity_text
from tdb_dap.engine.reference.tolerance import Tolerance


class Sides:
    """The computed and the expected numbers of a tensor, made by ``make`` when somebody looks at them."""

    def __init__(self, make: Callable[[], tuple[Array, Array]]) -> None:
        self._make = make

    @cached_property
    def both(self) -> tuple[Array, Array]:
        """``actual`` and ``expected``: float32 arrays of one shape."""
        return self._make()


class Comparison(Struct, frozen=True, eq=False):
    """``actual`` against ``expected`` (float32 arrays of one shape; dequantised).

    ``complaints``: what is beyond a limit, one phrase each; empty if the tensor passes. ``identity``: equal where the
    numbers and the metrics are; None where that is not known.
    """

    name: str
    metrics: Metrics
    complaints: tuple[str, ...]
    sides: Sides
    identity: Hashable = None

    @property
    def actual(self) -> Array:
        return self.sides.both[0]

    @property
    def expected(self) -> Array:
        return self.sides.both[1]

    @property
    def verdict(self) -> str:
        return "fail" if self.complaints else "pass"

    @property
    def cosine(self) -> float:
        return self.metrics.cosine

    @property
    def euclidean(self) -> float:
        return self.metrics.euclidean

    @property
    def summary(self) -> str:
        """One line: verdict, similarities and, where it fails, which elements differ."""
        metrics = self.metrics
        text = brief(self)
        if self.complaints and metrics.first_bad is not None:
            text += f", first at {self._element(metrics.first_bad)}"
            if metrics.worst is not None and metrics.worst != metrics.first_bad:
                text += f", most at {self._element(metrics.worst)}"
        return text

    def _element(self, index: tuple[int, ...]) -> str:
        place = ", ".join(map(str, index))
        return f"[{place}]: {self.actual[index]:.6g} instead of {self.expected[index]:.6g}"


def brief(comparison: Comparison) -> str:
    """The summary with the number of elements that differ, and none of them."""
    metrics = comparison.metrics
    similarities = f"cosine {similarity_text(metrics.cosine)}, euclidean {similarity_text(metrics.euclidean)}"
    text = f"{comparison.verdict}: {similarities}"
    text += f", max difference {metrics.max_abs:.6g}"
    if metrics.nan_count:
        text += f", {metrics.nan_count} NaN"
    if comparison.complaints and metrics.first_bad is not None:
        text += f", {metrics.bad_count:,} of {metrics.size:,} elements differ"
    return text


def compare(
    name: str,
    actual: Array,
    expected: Array,
    tolerance: Tolerance,
    dtype: DType | None = None,
    scale: float = 1.0,
) -> Comparison:
    """Compare ``actual`` with ``expected``. ``dtype``, ``scale``: how the tensor is stored."""
    metrics = measure(actual, expected, tolerance.relative, dtype, scale)
    return Comparison(name, metrics, tolerance.complaints(metrics), Sides(lambda: (actual, expected)))


class Comparer:
    """Compares the tensors of a whole run: what was measured before is not measured again.

    The result of an op is the operand of others, most often with the same numbers.
    """

    def __init__(self) -> None:
        self._room = Room()
        self._known: dict[Hashable, Metrics] = {}

    def compare(
        self,
        name: str,
        sides: Sides,
        tolerance: Tolerance,
        dtype: DType | None,
        scale: float,
        identity: Hashable,
    ) -> Comparison:
        """As the function of that name. ``identity``: of both tensors, None if it is not known.

        Of tensors that are known already the sides are not made.
        """
        key = None if identity is None else (identity, tolerance.relative, dtype.name if dtype else "", scale)
        metrics = None if key is None else self._known.get(key)
        if metrics is None:
            metrics = measure(*sides.both, tolerance.relative, dtype, scale, self._room)
            if key is not None:
                self._known[key] = metrics
        return Comparison(name, metrics, tolerance.complaints(metrics), sides, key)
