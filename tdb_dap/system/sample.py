"""The compiled model that comes with the package."""

from __future__ import annotations

from pathlib import Path

SAMPLE = Path(__file__).resolve().parent.parent / "sample"
"""A context directory: a small convolutional net for BM1684X with its inputs and the compiler's reference."""
