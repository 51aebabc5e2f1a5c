"""System commands: synchronisation and ends of streams; they move no data."""

from __future__ import annotations

from tdb_dap.targets.families.declaration import family


@family("system", registers=("SYSID", "SYS", "sDMA_sys", "DMA_sys"))
class System:
    """Synchronisation and control."""
