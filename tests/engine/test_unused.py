"""``unused``: no right program is blamed for what others than its commands read, and a result that is lost is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.sanitizers.unused import unused
from tdb_dap.tools.programs import open_program
from tests.samples import DATA

RECORDINGS = sorted(DATA.glob("**/*.tdbrec"))
LOST = DATA / "findings" / "toy_bm1690_f16c4"


def found(path: Path) -> list[Finding]:
    return list(unused(open_program(path)))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_of_a_right_run_has_no_unused_results(recording: Path) -> None:
    assert found(recording) == []


def test_what_the_host_may_have_kept_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The firmware's change of a block is recorded with all bytes of the block, those of a result before it as well."""
    recording = DATA / "memory" / "topk_bm1684x.tdbrec"
    monkeypatch.setattr(type(open_program(recording)), "of_firmware", ())
    assert found(recording) == []
    monkeypatch.setattr(type(open_program(recording)), "may_keep", Program.may_keep)
    assert found(recording)


def test_a_result_that_is_lost_is_found_with_and_without_records_of_ops(tmp_path: Path) -> None:
    shutil.copy(LOST / "compilation.bmodel.xz", tmp_path)
    with_records, alone = found(LOST), found(tmp_path)
    assert len(with_records) == 1
    assert [finding.focus for finding in alone] == [finding.focus for finding in with_records]


def test_only_a_net_with_firmware_may_leave_results_in_ddr_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = DATA / "memory" / "roi_align_bm1690.tdbrec"
    monkeypatch.setattr(type(open_program(boxes)), "of_firmware", ())
    assert ["dma.tensor" in finding.text for finding in found(boxes)] == [True]


def test_what_firmware_loads_into_cores_that_do_not_compute_is_not_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = open_program(LOST)
    assert program.core_count > 1
    assert list(unused(program))
    monkeypatch.setattr(type(program), "of_firmware", range(len(program.commands)))
    monkeypatch.setattr(type(program), "shares_l2", False)
    assert list(unused(program)) == []
