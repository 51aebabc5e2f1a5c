"""Numbers of a chip for time estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from tdb_dap.targets.timing.monitor import Monitor


class Transfer(Struct, frozen=True):
    """One direction of DMA: ``start`` cycles for each command, and ``rate`` bytes per cycle.

    A contiguous piece counts as at least ``least`` bytes; one of a matrix and of a fill with a constant as
    ``least_when_short``. Of a large transfer up to ``streams`` blocks of 4 KiB are under way at a time.
    """

    start: float
    rate: float
    least: int
    least_when_short: int
    streams: int = 1

    def cycles(self, pieces: int, size: float, is_short: bool) -> float:
        """``start + pieces * max(size / pieces, least) / (rate * streams in use)``; ``size``: bytes of all pieces."""
        streams = min(self.streams, math.ceil(size / 4096) or 1)
        least = self.least_when_short if is_short else self.least
        return self.start + pieces * max(size / pieces, least) / (self.rate * streams)


class Timing(Struct, frozen=True):
    """Speeds of one core of a chip."""

    clock: float
    """MHz, of both engines."""
    places: int
    """Results of the convolution unit of a lane at a time; 0: as many as fit into its execution units."""
    products: Mapping[float, int]
    """Input channels that each of them takes at a time, by bytes of the number format."""
    load: Transfer
    """DMA into local memory."""
    store: Transfer
    """DMA out of local memory."""
    copy: Transfer
    """DMA between memories outside."""
    matrix_steps: int = 1
    """How many times as long a product of matrices takes."""
    skipping: int = 3
    """The same for windows that move by more than one."""
    monitor: Monitor | None = None
    """What a board measures, None where its records are not known."""
    source: str = ""
    """Where the numbers come from."""

    def seconds(self, cycles: float) -> float:
        """Time of a number of cycles."""
        return cycles / (self.clock * 1e6)
