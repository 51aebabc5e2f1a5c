"""System commands: synchronisation, configuration registers and ends of streams; they move no data."""

from __future__ import annotations

from typing import Any

from tdb_dap.targets.declaration.family import family
from tdb_dap.targets.declaration.fields import Fields

NO_REGISTER = 127


@family("system", registers=("SYSID", "SYS", "sDMA_sys", "DMA_sys"))
class System:
    """Synchronisation and control."""


@family("registers", registers=("SYS_TR_ACC", "SYS_TR_WR"))
class RegisterWrite:
    """Sets up to three configuration registers: the second immediate holds two words."""

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {
            "reg_idx0": f.reg_idx0,
            "reg_idx1": f.reg_idx1,
            "reg_idx2": f.reg_idx2,
            "des_imm0": f.imm0,
            "des_imm1_h32": f.imm1 >> 32,
            "des_imm1_l32": f.imm1 & 0xFFFFFFFF,
        }


def register_writes(f: Fields) -> dict[int, int]:
    """Register number to value; 127 means none."""
    words = ((f.reg_idx0, f.imm0), (f.reg_idx1, f.imm1 & 0xFFFFFFFF), (f.reg_idx2, f.imm1 >> 32))
    return {index: value for index, value in words if index != NO_REGISTER}
