"""The observer in a run of the sample, and one that fails."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import nan_log

import tdb_dap

SAMPLE = Path(tdb_dap.__file__).parent / "sample"


def run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tdb_dap", "run", str(SAMPLE), "--inputs", str(SAMPLE / "input.npz"), "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_every_result_has_a_line(installed: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "nans.csv"
    done = run({**installed, nan_log.VARIABLE: str(log)})
    assert done.returncode == 0, done.stderr
    with log.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 5
    assert {row["NaNs"] for row in rows} == {"0"}
    assert "relu4_Relu" in {row["tensor"] for row in rows}


def test_an_observer_that_fails_is_named_and_the_run_goes_on(installed: dict[str, str], tmp_path: Path) -> None:
    done = run({**installed, nan_log.VARIABLE: str(tmp_path)})  # a directory cannot be written to
    assert done.returncode == 0
    assert "plugin 'nan-log' (nan_log:NanLog, nan-log 1.0) is switched off: loaded: IsADirectoryError" in done.stderr
    assert "is switched off" in done.stderr
    assert done.stderr.count("switched off") == 1
