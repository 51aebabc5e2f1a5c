"""Every tensor of a run against the reference: what is compared, when, and put together from which pieces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.compare import walk
from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.compare.judging import Judge
from tdb_dap.engine.compare.walk import Mode, Walk
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tests.compare.test_tdb_profile import RECORDED
from tests.samples import Case, case


def opened(of: Case, reference: Path | None = None) -> Debugger:
    return tdb_dap.open(of.path, inputs=of.inputs, reference=reference or of.reference)


def judging_walk(debugger: Debugger, mode: Mode, found: list[Checked]) -> Walk:
    judge = Judge(debugger.reference)
    return Walk(mode, lambda gathered: found.append(judge(gathered)))


def walked(debugger: Debugger, mode: Mode = "cascade") -> list[Checked]:
    found: list[Checked] = []
    debugger.observers.append(judging_walk(debugger, mode, found))
    assert debugger.run().reason == "end"
    return found


def failing(found: list[Checked]) -> list[str]:
    return [entry.name for entry in found if entry.verdict == "fail" and entry.role != "operand"]


def right(of: Case) -> bool:
    """Whether the vendor's own runtime agrees with the reference on the outputs."""
    with np.load(of.reference) as reference:
        return all(
            np.allclose(array.reshape(-1), reference[name].reshape(-1), rtol=0.02, atol=0.02)
            for name, array in of.truth.items()
            if name in reference.files
        )


@pytest.mark.parametrize("of", [c for c in RECORDED if right(c)], ids=lambda c: c.name)
@pytest.mark.parametrize("mode", ["cascade", "standalone"])
def test_a_right_model_has_no_failure(of: Case, mode: Mode) -> None:
    found = walked(opened(of), mode)
    assert failing(found) == []
    assert any(entry.verdict == "pass" and entry.role == "result" for entry in found)
    assert len({(e.line, e.role, e.index, e.name) for e in found}) == len(found)


def test_a_tensor_of_several_cores_is_judged_when_all_have_written() -> None:
    of = case("toy_bm1688_int8c2")
    vendors = {entry["name"] for entry in of.verdicts["good"] if entry["state"] == "Fail"}
    assert vendors, "the vendor judges after each core"
    found = {entry.name: entry.verdict for entry in walked(opened(of)) if entry.role == "result"}
    assert {found[name] for name in vendors & set(found)} <= {"pass"}


def test_a_tensor_that_is_in_no_memory_of_the_chip_is_not_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the shapes that the chip's processor holds, of which a recording has the addresses in the compiled model."""
    put: list[str] = []
    monkeypatch.setattr(walk, "_is_elsewhere", lambda inspector, value: value.name == "conv8_Conv")
    monkeypatch.setattr(walk, "put", lambda machine, reference, value: put.append(value.name))
    walked(opened(case("toy_bm1684x_f32")), "standalone")
    assert put
    assert "conv8_Conv" not in put


def spoiled(of: Case, path: Path, name: str, change: Callable[[Array], Array]) -> Path:
    with np.load(of.reference) as archive:
        arrays = dict(archive)
    arrays[name] = change(arrays[name])
    np.savez(path, **arrays)
    return path


def test_a_spoiled_tensor_fails_where_it_is_made(tmp_path: Path) -> None:
    of = case("toy_bm1684x_f32")
    reference = spoiled(of, tmp_path / "bad.npz", "conv8_Conv", lambda x: 1 - 2 * x)
    found = walked(opened(of, reference))
    assert set(failing(found)) == {"conv8_Conv"}
    assert {entry.opcode for entry in found if entry.verdict == "fail" and entry.role == "result"} == {"tpu.Conv2D"}


def test_an_edit_spreads_in_a_cascade_and_stays_where_it_is_standalone() -> None:
    of = case("toy_bm1684x_f32")

    def run(mode: Mode) -> list[str]:
        debugger = opened(of)
        entries: list[Checked] = []
        debugger.observers.append(judging_walk(debugger, mode, entries))
        debugger.step(5)
        debugger.write("%16", 0)  # the operand of the pooling
        debugger.run()
        return failing(entries)

    assert len(run("cascade")) > 3
    assert run("standalone") == ["maxpool5_MaxPool"]


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    of = case("toy_bm1684x_f32")
    reference = spoiled(of, tmp_path / "other.npz", "conv8_Conv", lambda x: x[:, :4])
    unknown = [entry for entry in walked(opened(of, reference)) if entry.verdict == "unknown"]
    reasons = {entry.name: entry.reason for entry in unknown}
    assert (reasons["w1"], reasons["load_w1"], reasons["load_0"]) == ("weight", "weight", "load or store")
    assert reasons["conv8_Conv"] == "other size"
    assert "" not in reasons.values()
    notes = {entry.name: entry.note for entry in unknown}
    assert notes["w1"] == "not in the reference"
    assert notes["conv8_Conv"].startswith("the reference has shape [1, 4, ")


def test_not_a_number_in_the_reference_is_named(tmp_path: Path) -> None:
    of = case("toy_bm1684x_f32")
    reference = spoiled(of, tmp_path / "nan.npz", "conv8_Conv", lambda x: np.where(x > 1, np.nan, x))
    complaints = [
        e.comparison.complaints for e in walked(opened(of, reference)) if e.comparison and e.verdict == "fail"
    ]
    assert complaints
    assert all(text[0].startswith("the reference holds") for text in complaints)
