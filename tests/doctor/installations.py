"""Installations in directories of a test."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tdb_dap.tools.doctor.findings import Check
from tdb_dap.tools.doctor.installation import Installation
from tdb_dap.version import __version__


def installed(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: dict[str, Any] | None = None,
    version: str = __version__,
    frozen: bool = False,
) -> Installation:
    """An environment below ``root`` that has this package of that version, installed from ``origin``."""
    information = root / "site" / f"tdb_dap-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tdb-dap\nVersion: {version}\n")
    if origin is not None:
        (information / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.setattr(sys, "path", [str(root / "site")])
    return Installation(root, "/opt/python", frozen)


def only(checks: object) -> Check:
    """The one check that there is."""
    [check] = list(checks)  # type: ignore[call-overload]
    return check
