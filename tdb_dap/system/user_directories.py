"""Directories of the user for what is kept between processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_directory() -> Path:
    """For what can be made again: ``TDB_DAP_CACHE``, else where the system keeps such files."""
    if os.environ.get("TDB_DAP_CACHE"):
        return Path(os.environ["TDB_DAP_CACHE"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tdb-dap"
    if sys.platform == "win32":
        return _local_data() / "tdb-dap"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tdb-dap"


def state_directory() -> Path:
    """For what belongs to this user on this machine, such as histories and keys."""
    if sys.platform == "win32":
        return _local_data() / "tdb-dap" / "state"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tdb-dap"


def _local_data() -> Path:
    return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
