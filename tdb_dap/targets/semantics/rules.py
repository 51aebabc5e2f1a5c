"""The arithmetic in which chips differ, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """``channel_group``: channels whose 16-bit products the cube adds exactly before it rounds."""

    channel_group: int
