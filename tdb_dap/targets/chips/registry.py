"""The chips known, by the name that a bmodel carries."""

from __future__ import annotations

import sys
from importlib import import_module

from tdb_dap.errors import BadInput
from tdb_dap.system.plugins import plugins
from tdb_dap.targets.chips.chip import Chip

_PAGES = {
    "BM1684": "bm1684",
    "BM1684X": "bm1684x",
    "BM1684X2": "bm1684x2",
    "BM1688": "bm1688",
    "BM1690": "bm1690",
    "BM1690E": "bm1690",
    "CV184X": "cv184x",
    "SG2380": "sg2380",
    "SGTPUV8": "cv184x",
    "CV180X": "cv18xx",
    "CV181X": "cv18xx",
    "CV182X": "cv18xx",
    "CV183X": "cv18xx",
    "CV186X": "bm1688",
}
"""Modules of this package by chip: a model imports that of its own. Each has its chips in ``CHIPS``."""
_OTHER_NAMES = {"CV186X": "BM1688"}
"""Under which a chip is sold, too."""


def _ours(name: str) -> Chip:
    page: tuple[Chip, ...] = import_module(f"tdb_dap.targets.chips.{_PAGES[name]}").CHIPS
    return next(chip for chip in page if chip.name == _OTHER_NAMES.get(name, name))


def chips() -> dict[str, Chip]:
    """Every chip by name; a chip that is sold under two names stands under both."""
    return {**_of_plugins(), **{name: _ours(name) for name in _PAGES}}


def _of_plugins() -> dict[str, Chip]:
    """Chips that installed packages bring; none of ours can be replaced."""
    loaded = (plugin.loaded for plugin in plugins("targets"))
    return {chip.name: chip for chip in loaded if isinstance(chip, Chip)}


def target_for(chip: str, file: str) -> Chip:
    """The target of a chip name; BadInput names ``file`` and the chips that are known."""
    if sys.byteorder != "little":
        raise BadInput(
            f"{file}: not opened: this machine stores the high byte of a number first (big endian), and results "
            "would be wrong; use a little-endian one"
        )
    if chip in _PAGES:
        return _ours(chip)
    known = chips()
    if chip not in known:
        raise BadInput(
            f"{file}: the model is for the chip {chip[:24] or '(none)'!r}, which is not supported yet; "
            f"supported: {', '.join(known)}"
        )
    return known[chip]


def chip_of_library(file: str) -> str | None:
    """Name of the chip that an emulator of the vendor's is of, by the file's name; None if it is of none."""
    known = chips().items()
    return next((name for name, chip in known if chip.vendor_library and chip.vendor_library.file == file), None)
