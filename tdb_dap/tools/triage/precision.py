"""The float formats that an op can be kept in, by chip and by the format that the model was compiled in."""

from __future__ import annotations

from tdb_dap.tools.golden.files.stage_files import text_of
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.level import Level

_BF16_ONLY = frozenset(("cv180x", "cv181x", "cv182x", "cv183x", "cv184x"))
"""Chips on which the compiler keeps ops in BF16 and in no other float."""

_F32_ONLY = frozenset(("bm1684",))


def floats(chip: str) -> tuple[str, ...]:
    """Float formats of a chip's ops by the compiler's names, the narrowest range first."""
    if chip in _BF16_ONLY:
        return ("BF16",)
    return ("F32",) if chip in _F32_ONLY else ("F16", "BF16", "F32")


def format_to_keep(level: Level, is_range: bool = False) -> str:
    """The format for ops that need more precision than a lowered model has; empty if the chip has none.

    ``is_range``: numbers are beyond the model's format, so that a wider range is needed.
    """
    text = text_of(level.path)
    chip, mode = (text.chip, text.mode) if text is not None else ("", "")
    formats = floats(chip)
    if is_range or mode in ("F16", "BF16"):
        wider = [name for name in formats if name == "F32" or (is_range and name == "BF16" and mode != "BF16")]
        return wider[-1] if wider else ""
    return formats[0] if mode != formats[0] else ""


def type_of(name: str) -> TensorType:
    """The type of the compiler's name of a float format."""
    return TensorType(None, name.lower())
