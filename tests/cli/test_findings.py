"""Reports for continuous integration, and findings that are known, of ``check`` and ``sanitize`` as they are typed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.tools.findings.baseline import Baseline
from tdb_dap.tools.findings.findings import Case, Finding, Findings, Place, Rule
from tdb_dap.tools.findings.junit import junit
from tdb_dap.tools.findings.sarif import sarif
from tdb_dap.tools.report_schema import read
from tests.cli.sarif_rules import violations
from tests.command_line import tdb_dap
from tests.samples import DATA, SAMPLE, case

RACE = DATA / "findings" / "toy_bm1690_f16c4"
"""The compiler loads a bias twice, and nothing orders the second load: one hazard, and one command not used."""


@dataclass
class Job:
    """A command whose findings depend on the model or the data."""

    words: tuple[object, ...]
    folder: Path

    def run(self, *options: object) -> CompletedProcess[str]:
        return tdb_dap(*self.words, *options)

    def reported(self, *options: object) -> tuple[dict[str, Any], ElementTree.Element]:
        """The run of the SARIF report, which is checked, and the suite of the JUnit report."""
        files = [self.folder / "report.sarif", self.folder / "report.xml"]
        self.run(*options, *(word for file in files for word in ("--report", file)))
        log = json.loads(files[0].read_text())
        assert violations(log) == []
        suites = ElementTree.parse(files[1]).getroot()
        [suite] = suites
        for name, path in (("tests", "testcase"), ("failures", "*/failure"), ("skipped", "*/skipped")):
            assert suites.get(name) == suite.get(name) == str(len(suite.findall(path)))
        return log["runs"][0], suite


@pytest.fixture
def spoiled(tmp_path: Path) -> Callable[..., Path]:
    """Makes references in which tensors are others."""

    def make(*names: str) -> Path:
        with np.load(SAMPLE / "ref.npz") as archive:
            arrays = {name: 1 - 2 * archive[name] if name in names else archive[name] for name in archive.files}
        path = tmp_path / f"{'-'.join(names) or 'good'}.npz"
        np.savez(path, **arrays)
        return path

    return make


@pytest.fixture
def check(spoiled: Callable[..., Path], tmp_path: Path) -> Callable[..., Job]:
    """Makes checks against references in which tensors are others."""

    def make(*names: str, model: Path = SAMPLE) -> Job:
        data = ("--inputs", SAMPLE / "input.npz", "--reference", spoiled(*names))
        return Job(("check", model, *data), tmp_path)

    return make


@pytest.fixture
def sanitize(tmp_path: Path) -> Callable[..., Job]:
    def make(*sanitizers: str, model: Path = RACE) -> Job:
        return Job(("sanitize", model, "--sanitizers", *sanitizers), tmp_path)

    return make


def fingerprints(run: dict[str, Any]) -> list[str]:
    return [result["partialFingerprints"]["tdb/v2"] for result in run["results"]]


def test_a_check_as_sarif_and_as_junit(check: Callable[..., Job]) -> None:
    run, suite = check("conv8_Conv").reported("--blame")
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["mismatch"]
    assert run["automationDetails"]["id"] == "tdb-dap/check/sample/toy/0/"
    result, *_ = run["results"]
    assert (result["ruleId"], result["level"]) == ("mismatch", "error")
    assert result["message"]["text"].startswith("conv8_Conv: tpu.Conv2D at line 24, f32; ")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("tdb_dap/sample/final.mlir")
    assert place["region"] == {"startLine": 24}
    cases = {(one.get("classname"), one.get("name")): one for one in suite}
    assert len(cases) == int(suite.get("tests", "0")) == 16
    wrong = cases["toy.tpu.Conv2D", "conv8_Conv"]
    failure = wrong.find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("conv8_Conv: tpu.Conv2D at line 24, f32; ")
    assert len(suite.findall("*/failure")) == len(run["results"])


def test_what_is_left_out_of_a_check_is_a_skipped_case(check: Callable[..., Job]) -> None:
    run, suite = check("conv8_Conv").reported("--except", "conv8*")
    assert run["results"] == []
    skipped = {one.get("name", "").split(" ")[0] for one in suite if one.find("skipped") is not None}
    assert skipped == {"conv8_Conv"}
    assert suite.get("failures") == "0"


def test_rounding_that_need_not_fail_a_build_fails_no_case(check: Callable[..., Job]) -> None:
    run, suite = check().reported("--tolerance", "mul10*:maxAbs=1e-6", "--fail-on", "op")
    assert {result["level"] for result in run["results"]} == {"warning"}
    assert suite.get("failures") == "0"
    assert "warning: mul10_Mul" in (suite.findtext("*/system-out") or "")


def test_findings_of_sanitizers_as_junit(sanitize: Callable[..., Job]) -> None:
    run, suite = sanitize("hazard", "unused").reported()
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    [failed] = [one for one in suite if one.find("failure") is not None]
    assert (failed.get("classname"), failed.get("name")) == ("toy.tpu.MatMul", "gemm15_Gemm")
    outputs = [one.findtext("system-out") or "" for one in suite]
    assert [text.startswith("warning: ") for text in outputs if text] == [True]
    ops = {one.get("name") for one in suite}
    assert {"conv8_Conv", "softmax16_Softmax", "commands of no op"} <= ops
    _, strict = sanitize("unused").reported("--strict")
    assert strict.get("failures") == "1"


def test_a_run_that_cannot_reach_its_end_is_an_error_of_the_reports(sanitize: Callable[..., Job]) -> None:
    run, suite = sanitize("all", model=case("nonzero_bm1684x_f32").path).reported()
    assert run["invocations"][0]["executionSuccessful"] is False
    assert suite.get("errors") == "1"
    assert "is dynamic" in suite.findall("*/error")[0].get("message", "")


def moved(model: Path, folder: Path, lines: int) -> Path:
    """A copy of a model elsewhere, whose final.mlir begins with comments."""
    copy = folder / "elsewhere 100%"
    shutil.copytree(model, copy)
    mlir = copy / "final.mlir"
    mlir.write_text("// a comment\n" * lines + mlir.read_text())
    for name in ("tensor_location.json", "tensor_location.json.xz"):
        if (copy / name).exists():
            shift_lines(copy / name, lines)
    return copy


def shift_lines(file: Path, lines: int) -> None:
    import lzma

    compressed = file.suffix == ".xz"
    text = (lzma.decompress(file.read_bytes()) if compressed else file.read_bytes()).decode()
    text = re.sub(r'("file-line": )(\d+)', lambda match: f"{match[1]}{int(match[2]) + lines}", text)
    file.write_bytes(lzma.compress(text.encode()) if compressed else text.encode())


def test_fingerprints_know_neither_lines_nor_ordinals_nor_paths(
    check: Callable[..., Job], sanitize: Callable[..., Job], tmp_path: Path
) -> None:
    here, _ = sanitize("hazard", "unused").reported()
    there, _ = sanitize("hazard", "unused", model=moved(RACE, tmp_path, 7)).reported()
    assert fingerprints(here) == fingerprints(there)
    lines = [
        [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in run["results"]]
        for run in (here, there)
    ]
    assert lines[1] == [line + 7 for line in lines[0]]
    here, _ = check("conv8_Conv").reported()
    shutil.rmtree(tmp_path / "elsewhere 100%")
    there, _ = check("conv8_Conv", model=moved(SAMPLE, tmp_path, 3)).reported()
    assert fingerprints(here) == fingerprints(there)
    assert "100%25" in there["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_only_new_findings_of_a_check_fail(check: Callable[..., Job], tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert check("conv8_Conv").run("--write-baseline", known).returncode == 1
    again = check("conv8_Conv").run("--baseline", known)
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "baseline: 0 new, 2 known, 0 gone")
    assert again.stderr == ""
    more = check("conv8_Conv", "maxpool5_MaxPool").run("--baseline", known)
    assert more.returncode == 1
    assert re.fullmatch(r"baseline: \d new, 2 known, 0 gone", more.stdout.splitlines()[-1])
    less = check().run("--baseline", known)
    assert (less.returncode, less.stdout.splitlines()[-1]) == (0, "baseline: 0 new, 0 known, 2 gone")
    *gone, advice = less.stderr.splitlines()
    assert sorted(text.partition(", f32")[0] for text in gone) == [
        "tdb-dap: no longer found: conv8_Conv: tpu.Active at line 25",
        "tdb-dap: no longer found: conv8_Conv: tpu.Conv2D at line 24",
    ]
    assert all(len(text) <= 300 for text in gone)
    assert advice == f"tdb-dap: --write-baseline {known} forgets them"
    assert check().run("--baseline", known, "--quiet").stderr == ""
    check().run("--baseline", known, "--write-baseline", known)
    assert json.loads(known.read_text())["findings"] == []


def test_only_new_findings_of_sanitizers_fail(sanitize: Callable[..., Job], tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert sanitize("hazard", "unused").run("--write-baseline", known).returncode == 1
    again = sanitize("hazard", "unused").run("--baseline", known, "--strict")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "baseline: 0 new, 2 known, 0 gone")
    assert "final.mlir:36: note: known: c3.D6 dma.tensor.broadcast" in again.stdout
    # what was not looked for has not gone
    one = sanitize("unused").run("--baseline", known)
    assert one.stdout.splitlines()[-1] == "baseline: 0 new, 1 known, 0 gone"
    run, suite = sanitize("hazard", "unused").reported("--baseline", known)
    assert {result["baselineState"] for result in run["results"]} == {"unchanged"}
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    written = read(Baseline, known.read_text())
    kept = [entry for entry in written.findings if entry.rule == "unused"]
    known.write_text(replace(written, findings=tuple(kept)).text())
    partly = sanitize("hazard", "unused").run("--baseline", known)
    assert (partly.returncode, partly.stdout.splitlines()[-1]) == (1, "baseline: 1 new, 1 known, 0 gone")
    run, _ = sanitize("hazard", "unused").reported("--baseline", known)
    assert [result["baselineState"] for result in run["results"]] == ["new", "unchanged"]


def test_an_op_at_fault_that_is_known_leaves_rounding_that_is_not(check: Callable[..., Job], tmp_path: Path) -> None:
    """With --fail-on op the new findings count: rounding that adds up is none, whatever else is known."""
    known = tmp_path / "known.json"
    tight = ("--fail-on", "op", "--tolerance", "mul10*:maxAbs=1e-6")
    check("gemm15_Gemm").run("--fail-on", "op", "--write-baseline", known)
    assert check("gemm15_Gemm").run(*tight).returncode == 1
    done = check("gemm15_Gemm").run(*tight, "--baseline", known)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "baseline: 2 new, 2 known, 0 gone")
    assert check("gemm15_Gemm", "maxpool5_MaxPool").run(*tight, "--baseline", known).returncode == 1


def test_a_run_that_stops_early_writes_no_baseline_and_misses_nothing(
    sanitize: Callable[..., Job], tmp_path: Path
) -> None:
    known = tmp_path / "known.json"
    dynamic = sanitize("all", model=case("nonzero_bm1684x_f32").path)
    assert dynamic.run("--write-baseline", known).returncode == 2
    assert not known.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no baseline ("),
        ("[]", "is no baseline ("),
        ('{"version": 2}', "`$.version`"),
        ('{"version":1,"tool":"t","command":"check","net":"n","stage":0,"findings":[{"rule":1}]}', "`$.findings[0]"),
        (
            '{"version":1,"tool":"t","command":"check","net":"n","stage":0,"findings":[]}',
            "is of check of net n, stage 0",
        ),
        (
            '{"version":1,"tool":"t","command":"sanitize","net":"toy","stage":1,"findings":[]}',
            "stage 1, not",
        ),
    ],
)
def test_a_baseline_that_is_none_or_of_something_else_is_refused(
    text: str, message: str, sanitize: Callable[..., Job], tmp_path: Path
) -> None:
    known = tmp_path / "known.json"
    known.write_text(text)
    done = sanitize("unused").run("--baseline", known)
    assert done.returncode == 2
    (error,) = [line for line in done.stderr.splitlines() if not line.startswith("tdb-dap: using ")]
    assert error.startswith("tdb-dap: error: ")
    assert message in error


PLACES = st.builds(
    Place,
    st.text(min_size=1).filter(lambda t: "\0" not in t and t.isprintable()),
    st.integers(0, 9),
    *[st.text(min_size=1)] * 4,
)
FINDINGS = st.builds(
    Finding,
    st.sampled_from("ab"),
    st.sampled_from(["error", "warning"]),
    st.text(min_size=1),
    PLACES,
    st.text(),
    st.lists(PLACES, max_size=2).map(tuple),
    fails=st.booleans(),
)
RULES = {name: Rule("label", "description") for name in "ab"}


@settings(deadline=None)
@given(st.lists(FINDINGS, max_size=6), st.text(min_size=1), st.data())
def test_whatever_names_hold_reports_are_well_formed_and_fingerprints_differ(
    given_: list[Finding], net: str, data: st.DataObject
) -> None:
    numbers = tuple(range(len(given_)))
    cases = [Case(net, net, numbers[:2]), Case("", "\x00\ufffe", numbers[2:]), Case(net, "", left_out=net)]
    found = Findings.of("check", net, net, 0, RULES, given_, cases, "")
    assert len({finding.fingerprint for finding in found.findings}) == len(given_)
    known = data.draw(st.sets(st.sampled_from([one.fingerprint for one in found.findings]))) if given_ else set()
    marked = found.with_known(known)
    assert marked.is_failure == any(one.fails and one.fingerprint not in known for one in found.findings)
    assert violations(json.loads(sarif(marked))) == []
    [suite] = ElementTree.fromstring(junit(marked).encode("utf-8"))
    assert len(suite) == 3
    failing = [any(found.findings[n].fails and not marked.findings[n].is_known for n in one.findings) for one in cases]
    assert [one.find("failure") is not None for one in suite] == failing
    baseline = Baseline.of(found)
    again = read(Baseline, baseline.text())
    assert again == baseline
    assert not again.applied(found, Path("x")).is_failure
    assert again.gone(found) == ()
    fewer = Findings.of("check", net, net, 0, RULES, given_[:1], cases, "")
    assert len(again.gone(fewer)) == max(0, len(given_) - 1)
