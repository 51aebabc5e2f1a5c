"""A model compiled with ``--rvti``, its payload replaced by zeros: it is read, and says what cannot be done with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.cli.main import main
from tests.samples import DATA

MODEL = DATA / "rvti" / "compilation.bmodel.xz"


def test_info_tells_which_kernel_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(MODEL)]) == 0
    out = capsys.readouterr().out
    assert "kernel     RISC-V with tensor instructions (--rvti), not decoded; compile without it to debug" in out
    assert main(["info", str(DATA / "bm1684" / "conv1x1_bm1684_int8")]) == 0
    assert "kernel " not in capsys.readouterr().out


def test_it_is_not_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "-o", str(tmp_path / "run.tdbrec"), "--", str(MODEL.parent)]) == 2
    error = capsys.readouterr().err
    assert "compiled with --rvti" in error
    assert "compile without --rvti" in error
    assert not list(tmp_path.iterdir())
