"""``tdb-dap check``, as it is typed."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.hardware.target import Watched
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.reference.comparison import Comparer, Comparison
from tdb_dap.tools.check.schema import Report
from tdb_dap.tools.profile.schema import ProfileReport
from tdb_dap.tools.report_schema import read
from tests.command_line import new_process, tdb_dap
from tests.conftest import Toy
from tests.pages import data_of
from tests.samples import DATA, case


@pytest.fixture
def spoiled(toy: Toy, tmp_path: Path) -> Path:
    """The reference with one channel of one tensor negated."""
    path = tmp_path / "spoiled.npz"
    with np.load(toy.reference) as archive:
        arrays = dict(archive)
    arrays["conv8_Conv"][0, 3] *= -1
    np.savez(path, **arrays)
    return path


def check(toy: Toy, reference: Path, *options: object) -> CompletedProcess[str]:
    return tdb_dap("check", toy.directory, "--inputs", toy.inputs, "--reference", reference, *options)


def test_a_right_model_passes(toy: Toy) -> None:
    done = check(toy, toy.reference)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "pass: 16 tensors compared, 0 differ, 16 not compared (14 weights, 2 loads and stores)\n"
    assert done.stderr == ""


def test_the_op_at_fault_is_named_and_the_rest_inherits(toy: Toy, spoiled: Path) -> None:
    done = check(toy, spoiled, "--blame")
    assert done.returncode == 1
    line = toy.line_of('"tpu.Conv2D"(%17')
    assert f"tpu.Conv2D at line {line} is at fault" in done.stdout
    assert "channel 3 euclidean" in done.stdout
    assert "64 of 2,048 elements differ, the first at [0, 3, 0, 0]" in done.stdout
    first, *others = done.stdout.splitlines()
    assert first.startswith("fail: first at fault is conv8_Conv")
    assert first not in others


def test_rounding_that_adds_up_is_said_first_and_need_not_fail_a_build(toy: Toy, spoiled: Path) -> None:
    """Within its limits from the reference's operands and beyond them from computed ones: 4.8e-7 and 1.9e-6."""
    tight = ("--tolerance", "mul10*:maxAbs=1e-6")
    sentence = "differs by accumulated rounding; no op at fault: first beyond its limits is mul10_Mul (tpu.Active at "
    done = check(toy, toy.reference, "--blame", *tight)
    assert done.returncode == 1
    assert done.stdout.startswith(sentence)
    for options, code in (((), 1), (("--fail-on", "any"), 1), (("--fail-on", "op"), 0)):
        assert check(toy, toy.reference, *tight, *options).returncode == code, options
    done = check(toy, toy.reference, *tight, "--fail-on", "op")
    assert done.stdout.startswith(sentence)  # op includes --blame
    assert check(toy, spoiled, *tight, "--fail-on", "op").returncode == 1
    assert check(toy, toy.reference, *tight, "--fail-on", "op", "--mode", "standalone").returncode == 0
    assert check(toy, spoiled, "--fail-on", "op", "--mode", "standalone").returncode == 1


def test_the_reports_say_the_same(toy: Toy, spoiled: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"report{suffix}" for suffix in (".json", ".md", ".html")]
    done = check(toy, spoiled, "--blame", *(word for file in files for word in ("--report", file)))
    assert done.returncode == 1, done.stderr
    report = read(Report, files[0].read_text())
    assert json.loads(files[0].read_text())["schema_version"] == 1
    assert report.culprit is not None
    assert report.culprit.name == "conv8_Conv"
    assert report.culprit.picture is not None
    heat = report.culprit.picture.heat
    assert [y for y, line in enumerate(heat) if max(line) > 0.1] == [round(3 * len(heat) / 32)]
    assert report.culprit.numbers is not None
    assert sum(report.culprit.picture.histogram) == report.culprit.numbers.size == 2048
    assert "**fail: first at fault is conv8_Conv" in files[1].read_text()
    page = files[2].read_text()
    HTMLParser().feed(page)
    data = data_of(page)
    assert data["differing"][0]["isCulprit"]
    assert data["differing"][0]["line"] == report.culprit.line
    assert report.culprit.line in data["source"]["wrong"]
    assert '"tpu.Conv2D"' in data["source"]["text"].split("\n")[report.culprit.line - 1]
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")


def test_blame_runs_again_what_it_must(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.load(toy.reference) as archive:
        arrays = dict(archive)
    arrays["softmax16_Softmax"][0, 3] += 1
    np.savez(tmp_path / "last.npz", **arrays)
    steps: list[int] = []
    step, run_ahead = Machine.step, Machine.run_ahead

    def counted(machine: Machine) -> None:
        steps.append(machine.ordinal)
        step(machine)

    def counted_ahead(machine: Machine, ordinal: int, watched: Watched | None) -> None:
        before = machine.ordinal
        run_ahead(machine, ordinal, watched)
        steps.extend(range(before, machine.ordinal))

    monkeypatch.setattr(Machine, "step", counted)
    monkeypatch.setattr(Machine, "run_ahead", counted_ahead)
    compared: list[str] = []
    compare = Comparer.compare

    def noted(comparer: Comparer, name: str, *others: Any) -> Comparison:
        compared.append(name)
        return compare(comparer, name, *others)

    monkeypatch.setattr(Comparer, "compare", noted)
    done = check(toy, tmp_path / "last.npz", "--blame")
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first at fault is softmax16_Softmax")
    assert len(compared) == 16 + 1, "again only what differed"
    again = steps[58:]
    assert steps[:58] == list(range(58))
    assert again == list(range(again[0], 58))
    assert again[0] > 20, "what comes before the last layer group is right"


def test_sanitizers_look_on_in_the_same_run(toy: Toy, spoiled: Path, tmp_path: Path) -> None:
    done = check(toy, toy.reference, "--sanitize")
    assert (done.returncode, done.stderr) == (0, "")
    first, last = done.stdout.split("\n\n")
    assert first.startswith("pass: 16 tensors compared")
    assert last == "no findings in 58 commands (bounds, uninitialized, hazard, decode, legal, unused, nan)\n"
    wrong = check(toy, spoiled, "--sanitize", "--blame", "--fail-on", "op")
    assert wrong.returncode == 1
    assert wrong.stdout.startswith("fail: first at fault is conv8_Conv")
    assert wrong.stdout.endswith(last)

    race = DATA / "findings" / "toy_bm1690_f16c4"
    files = [tmp_path / f"report{suffix}" for suffix in (".json", ".md", ".html", ".sarif", ".xml")]
    same = ("check", race, "--reference", race, "--sanitize")
    done = tdb_dap(*same, *(word for file in files for word in ("--report", file)))
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("pass: ")
    alone = tdb_dap("sanitize", race)
    assert alone.returncode == 1
    assert done.stdout.endswith(f"\n\n{alone.stdout}")
    sanitized = read(Report, files[0].read_text()).sanitized
    assert sanitized is not None
    assert [finding.sanitizer for finding in sanitized.findings] == ["hazard", "unused"]
    for file in files[1:3]:
        assert "c3.D6 waits for c3.B2 and not for c3.B4" in file.read_text()
    [run] = json.loads(files[3].read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["hazard", "unused"]
    assert {"mismatch", "hazard", "nan"} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert "hazard" in files[4].read_text()
    known = tmp_path / "known.json"
    tdb_dap(*same, "--write-baseline", known)
    done = tdb_dap(*same, "--baseline", known)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_profile_is_part_of_the_same_report(toy: Toy, spoiled: Path, tmp_path: Path) -> None:
    def profile(*options: object) -> str:
        return tdb_dap("profile", toy.directory, *options).stdout

    done = check(toy, toy.reference, "--sanitize", "--profile")
    assert (done.returncode, done.stderr) == (0, "")
    *times, last, sanitized = done.stdout.removeprefix("\n").split("\n\n")
    assert last.startswith("pass: ")
    assert "\n\n".join(times) == profile().rstrip("\n")
    assert sanitized == "no findings in 58 commands (bounds, uninitialized, hazard, decode, legal, unused, nan)\n"
    assert check(toy, toy.reference, "--all", "--profile", "time").stdout.endswith(f"{profile('--all')}\n{last}\n")

    files = [tmp_path / f"report{suffix}" for suffix in (".json", ".md", ".html")]
    options = [word for file in files for word in ("--report", file)]
    wrong = check(toy, spoiled, "--profile", "--blame", *options)
    assert wrong.returncode == 1
    alone = tmp_path / "profile.json"
    profile("--report", alone)
    report = read(Report, files[0].read_text())
    assert report.profiled == read(ProfileReport, alone.read_text())
    assert report.failures
    assert "| line | op | result | commands | TIU cycles |" in files[1].read_text()
    page = files[2].read_text()
    times = data_of(page)["profile"]
    assert "of them the compiler's own figures" in times["above"]
    assert "TIU cycles" in times["table"]["columns"]
    assert len(times["table"]["rows"]) == len(report.profiled.ops)


def test_standalone_in_two_processes(toy: Toy, spoiled: Path) -> None:
    one = check(toy, spoiled, "--mode", "standalone")
    data = ("--inputs", toy.inputs, "--reference", spoiled)
    two = new_process("check", toy.directory, *data, "--mode", "standalone", "--jobs", 2)
    assert (one.returncode, two.returncode) == (1, 1)
    assert one.stdout == two.stdout
    assert two.stderr == ""


def test_limits_and_exceptions(toy: Toy, spoiled: Path) -> None:
    assert check(toy, spoiled, "--except", "conv8*").returncode == 0
    assert check(toy, toy.reference, "--tolerance", "f32:ulp=1").returncode == 1
    loose = "conv8*:cosine=0.9,euclidean=0.6,channel=-99"
    assert check(toy, spoiled, "--tolerance", loose).returncode == 0


def test_tensors_can_be_kept(toy: Toy, spoiled: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept.npz"
    check(toy, spoiled, "--dump", "failed", "--dump-file", out)
    with np.load(out) as kept:
        assert {name.split("@")[0] for name in kept.files} == {"conv8_Conv"}
        line = toy.line_of('"tpu.Conv2D"(%17')
        actual, expected = (kept[f"conv8_Conv@{line}.result0.{which}"] for which in ("actual", "expected"))
        assert np.allclose(actual[0, 3], -expected[0, 3], atol=1e-5)


def test_the_vendors_verdicts(toy: Toy, spoiled: Path) -> None:
    done = check(toy, spoiled, "--verdicts", "tdb")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "Fail 2, Pass 14, Unknown 16"
    old = check(toy, spoiled, "--profile", "tdb")
    assert (old.returncode, old.stdout) == (done.returncode, done.stdout)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reference", "{inputs}", "--net", "other"], "other"),
        (["--reference", "absent.npz"], "absent.npz: cannot be read"),
        ([], "nothing to compare with; give --reference"),
        (["--reference", "{unrelated}"], "no name in it (nothing_known, ...) is a tensor of this model"),
        (["--reference", "{reference}", "--tolerance", "speed=1"], "limits are cosine"),
        (["--reference", "{reference}", "--jobs", "2"], "in a cascade each op waits"),
        (["--reference", "{reference}", "--jobs", "0"], "--jobs 0"),
        (["--reference", "{reference}", "--report", "out.pdf"], "a report is one of .json, .md, .html, .sarif, .xml"),
        (["--reference", "{reference}", "--report", "/nonexistent/out.json"], "there is no directory"),
        (["--reference", "{reference}", "--verdicts", "tdb", "--blame"], "--verdicts tdb"),
        (["--reference", "{reference}", "--profile", "tdb", "--blame"], "--verdicts tdb"),
        (["--reference", "{reference}", "--verdicts", "tdb", "--report", "a.json"], "leave out --report"),
        (["--reference", "{reference}", "--profile", "tdb", "--sanitize"], "no other mode, blame, sanitizers"),
        (["--reference", "{reference}", "--mode", "standalone", "--sanitize"], "--sanitize and --mode standalone"),
        (["--reference", "{reference}", "--resume", "kept", "--sanitize"], "--sanitize and --resume"),
        (["--perturb", "--sanitize"], "leave --sanitize out"),
        (["--perturb", "--profile"], "leave --profile out"),
    ],
)
def test_trouble_is_one_line_and_exit_code_2(
    options: list[str], message: str, toy: Toy, bare: Path, tmp_path: Path
) -> None:
    unrelated = tmp_path / "unrelated.npz"
    np.savez(unrelated, nothing_known=np.zeros(3))
    places = {"reference": toy.reference, "inputs": toy.inputs, "unrelated": unrelated}
    done = tdb_dap("check", bare, *(word.format(**places) for word in options))
    assert done.returncode == 2, done.stdout
    assert [line.startswith("tdb-dap: error: ") for line in done.stderr.splitlines() if "all inputs" not in line] == [
        True
    ]
    assert message in done.stderr


def test_a_run_that_cannot_go_on_is_exit_code_2() -> None:
    dynamic = case("nonzero_bm1684x_f32")
    done = tdb_dap("check", dynamic.path, "--inputs", dynamic.inputs, "--reference", dynamic.inputs)
    assert done.returncode == 2
    assert "is dynamic" in done.stderr
