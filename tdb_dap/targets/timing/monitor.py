"""The records that the performance monitors of a chip write while it works."""

from __future__ import annotations

from msgspec import Struct


class MonitorRecord(Struct, frozen=True):
    """One command of an engine, as the monitor leaves it: words of 32 bits, little endian."""

    size: int
    """Bytes."""
    start: int
    """Index of the word with the counter's value at the begin; that of the end comes next."""
    id: int
    """Index of the word whose lower 16 bits are the command's id less 1; they go round."""


class Monitor(Struct, frozen=True):
    """The monitors of a core."""

    tiu: MonitorRecord
    dma: MonitorRecord
    """Of SDMA, too."""
    tiu_clock: float
    """MHz of the TIU's counter."""
    dma_clock: float
    """MHz of the counters of DMA and SDMA."""
    is_scaled: bool = False
    """Whether the counters run with the frequency that the chip is set to, where that is known."""
    synchronising: int = 0
    """Records of each engine before those of the model: the engines meet at the end of the last."""

    def clock(self, engine: str, frequency: float | None) -> float:
        """MHz of an engine's counter. ``frequency``: what the chip is set to, if it is known."""
        if self.is_scaled and frequency:
            return frequency
        return self.tiu_clock if engine == "tiu" else self.dma_clock

    def record(self, engine: str) -> MonitorRecord:
        """The record of an engine."""
        return self.tiu if engine == "tiu" else self.dma
