"""The chips known, by the name that a bmodel carries."""

from __future__ import annotations

import sys

from tdb_dap.errors import BadInput
from tdb_dap.system.plugins import plugins
from tdb_dap.targets.chips.chip import Chip


def chips() -> dict[str, Chip]:
    """Every chip by name; a chip that is sold under two names stands under both."""
    from tdb_dap.targets.chips.bm1684 import BM1684
    from tdb_dap.targets.chips.bm1684x import BM1684X
    from tdb_dap.targets.chips.bm1684x2 import BM1684X2
    from tdb_dap.targets.chips.bm1688 import BM1688
    from tdb_dap.targets.chips.bm1690 import BM1690, BM1690E
    from tdb_dap.targets.chips.cv18xx import CV180X, CV181X, CV182X, CV183X
    from tdb_dap.targets.chips.cv184x import CV184X, SGTPUV8
    from tdb_dap.targets.chips.sg2380 import SG2380

    known = (BM1684, BM1684X, BM1684X2, BM1688, BM1690, BM1690E, CV184X, SG2380, SGTPUV8)
    small = (CV180X, CV181X, CV182X, CV183X)
    return {**_of_plugins(), **{chip.name: chip for chip in (*known, *small)}, "CV186X": BM1688}


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
