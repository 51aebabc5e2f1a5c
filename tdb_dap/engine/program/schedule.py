"""The order in which nets of one bmodel run, and what the host does between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput

Compute = Callable[[Sequence[Array]], Array]
"""Numbers of the sources, each flat -> numbers of the destination."""


class Border(Struct, frozen=True):
    """An input or output of a net, or a part of it; or all bytes of a weight that the bmodel names.

    ``first``, ``count``: the first element in memory and the number of elements; None: all from ``first`` on.
    """

    net: str
    tensor: str
    first: int = 0
    count: int | None = None
    stage: int = 0


class HostStep(Struct, frozen=True):
    """An action of the host: ``destination`` gets what ``compute`` makes of the numbers of ``sources``.

    ``name``: as in listings, ``host.copy``; ``summary``: a sentence. ``is_exact``: stored words are copied as they
    are, and ``compute`` is not called.
    """

    name: str
    summary: str
    sources: tuple[Border, ...]
    destination: Border
    compute: Compute
    is_exact: bool = False


class NetStep(Struct, frozen=True):
    """A launch of a net. ``token``: number of the token of a language model that it is for.

    ``shapes``: of its inputs, where the net is dynamic and is not given its largest ones.
    """

    net: str
    stage: int = 0
    token: int | None = None
    shapes: tuple[tuple[int, ...], ...] = ()


Step = HostStep | NetStep


class Schedule(Struct, frozen=True):
    """Steps in order. ``substitutes``: net and number of a dynamic subnet -> its output from its inputs.

    ``answers``: number of a token -> place where the host leaves it, where no net gives it.
    """

    steps: tuple[Step, ...]
    substitutes: Mapping[tuple[str, int], Compute] = field(default_factory=dict[tuple[str, int], Compute])
    answers: Mapping[int, Border] = field(default_factory=dict[int, Border])

    @property
    def nets(self) -> tuple[tuple[str, int], ...]:
        """Nets that run or hold what is copied, with their stages, each once, as they are needed first."""
        used: list[NetStep | Border] = []
        for step in self.steps:
            used += [step] if isinstance(step, NetStep) else [*step.sources, step.destination]
        return tuple(dict.fromkeys((one.net, one.stage) for one in used))


def copied(source: Border, destination: Border) -> HostStep:
    """The stored words of one tensor become those of another."""
    return HostStep("host.copy", "The host copies bytes in DDR.", (source,), destination, lambda given: given[0], True)


def filled(destination: Border, numbers: Array) -> HostStep:
    """Numbers that the host knows."""
    return HostStep("host.fill", "The host writes numbers into DDR.", (), destination, lambda given: numbers)


def largest(source: Border, destination: Border) -> HostStep:
    """The index of the largest number, of several equal ones the first."""
    summary = "The host takes the index of the largest number."
    return HostStep("host.largest", summary, (source,), destination, index_of_largest)


def index_of_largest(given: Sequence[Array]) -> Array:
    """The index of the largest of the numbers, int32 of shape (1,); BadInput for NaN, which has no order."""
    import numpy as np

    numbers = np.asarray(given[0]).reshape(-1)
    if np.isnan(numbers).any():
        raise BadInput(f"{np.count_nonzero(np.isnan(numbers)):,} of {numbers.size:,} numbers are NaN: none is largest")
    return np.array([numbers.argmax()], np.int32)
