"""``tdb-dap sanitize``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.tools.report_schema import read
from tdb_dap.tools.sanitize.schema import SanitizerFinding, SanitizerReport
from tdb_dap.tools.sanitize.text import lines
from tests.command_line import tdb_dap
from tests.conftest import Toy
from tests.samples import DATA, case

RACE = DATA / "findings" / "toy_bm1690_f16c4"
"""The compiler loads a bias twice, and nothing orders the second load."""


def test_a_correct_model_has_no_findings(toy: Toy) -> None:
    done = tdb_dap("sanitize", toy.directory, "--inputs", toy.inputs, "--reference", toy.reference)
    assert done.returncode == 0, done.stderr
    names = "bounds, uninitialized, hazard, decode, legal, unused, nan, mismatch"
    assert done.stdout == f"no findings in 58 commands ({names})\n"


def test_findings_read_like_those_of_a_compiler(tmp_path: Path) -> None:
    reports = [tmp_path / f"report{suffix}" for suffix in (".json", ".md", ".sarif")]
    options = [word for report in reports for word in ("--report", report)]
    done = tdb_dap("sanitize", RACE, "--sanitizers", "hazard", *options)
    assert done.returncode == 1, done.stderr
    first, *_, note, last = done.stdout.splitlines()
    assert first.startswith(f"{RACE / 'final.mlir'}:36: error: c3.D6 dma.tensor.broadcast writes 128 bytes")
    assert first.endswith("c3.D6 waits for c3.B2 and not for c3.B4, c3.B4 for c3.D5 [hazard]")
    assert note == f"{RACE / 'final.mlir'}:36: note: c3.B4 mm2.nn is here"
    assert last == "1 error, 0 warnings in 159 commands: 1 hazard"

    found = read(SanitizerReport, reports[0].read_text())
    [finding] = found.findings
    assert (finding.command.token, finding.command.core, finding.command.location) == ("c3.D6", 3, "gemm15_Gemm")
    assert [other.token for other in finding.related] == ["c3.B4"]
    assert "| hazard | error | 36 | tpu.MatMul | 77 | c3.D6 dma" in reports[1].read_text()
    [run] = json.loads(reports[2].read_text())["runs"]
    [result] = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], result["ruleId"], result["level"]) == ("hazard", "hazard", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("tests/data/findings/toy_bm1690_f16c4/final.mlir")
    assert place["region"] == {"startLine": 36}
    assert len(result["relatedLocations"]) == 1
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_findings_of_one_op_that_differ_in_numbers_alone_are_counted(tmp_path: Path) -> None:
    tdb_dap("sanitize", RACE, "--sanitizers", "hazard", "--report", tmp_path / "report.json")
    report = read(SanitizerReport, (tmp_path / "report.json").read_text())
    [finding] = report.findings

    def another(command: int, text: str = finding.text, line: int = 36) -> SanitizerFinding:
        place = replace(finding.command, token=f"c3.D{command}", line=line)
        return replace(finding, text=text.replace("c3.D6", f"c3.D{command}"), command=place)

    alike = [finding, *map(another, range(7, 9))]
    others = [another(9, finding.text.replace("writes", "reads")), another(10, line=35)]
    printed = list(lines(replace(report, findings=(*alike, *others)), known=[1]))
    assert printed[:5] == [*list(lines(report))[:-1], "    1 more like it of this op: c3.D8"]
    assert [line.partition(": ")[2][:20] for line in printed if "dma.tensor.broadcast" in line and line[0] == "/"] == [
        "error: c3.D6 dma.ten",
        "note: known: c3.D7 d",
        "error: c3.D9 dma.ten",
        "error: c3.D10 dma.te",
    ]
    assert printed[-1] == "5 errors, 0 warnings in 159 commands: 5 hazard"


def test_suppressed_places_and_warnings_are_no_errors() -> None:
    assert tdb_dap("sanitize", RACE, "--sanitizers", "hazard", "--except", "gemm15*").returncode == 0
    warned = tdb_dap("sanitize", RACE, "--sanitizers", "unused")
    assert (warned.returncode, warned.stdout.splitlines()[-1]) == (0, "0 errors, 1 warning in 159 commands: 1 unused")
    assert tdb_dap("sanitize", RACE, "--sanitizers", "unused", "--strict").returncode == 1


def test_with_a_reference_the_op_where_values_go_wrong_is_found(toy: Toy, tmp_path: Path) -> None:
    with np.load(toy.reference) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["conv8_Conv"] = 1 - 2 * arrays["conv8_Conv"]
    np.savez(tmp_path / "bad.npz", **arrays)
    done = tdb_dap("sanitize", toy.directory, "--inputs", toy.inputs, "--reference", tmp_path / "bad.npz")
    assert done.returncode == 1
    assert "error: conv8_Conv (tpu.Conv2D at line 24): fail" in done.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sanitizers", "leak"], "there is no sanitizer 'leak'; there are all, bounds, "),
        (["--sanitizers", "saturate: 200%"], "'200%' is not a percentage"),
        (["--report", "out.html"], "a report is one of .json, .md, .sarif, .xml"),
        (["--inputs", "absent.npz"], "absent.npz"),
    ],
)
def test_trouble_is_one_line_and_exit_code_2(toy: Toy, options: list[str], message: str) -> None:
    done = tdb_dap("sanitize", toy.directory, *options)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("tdb-dap: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_run_that_cannot_reach_its_end_says_so() -> None:
    done = tdb_dap("sanitize", case("nonzero_bm1684x_f32").path)
    assert done.returncode == 2
    assert "is dynamic" in done.stderr
    assert "findings up to there are listed" in done.stderr
    assert tdb_dap("sanitize", case("nonzero_bm1684x_f32").path, "--sanitizers", "hazard", "bounds").returncode == 0
