"""The vendor's verdicts, against those that its own debugger recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.compare import tdb_profile
from tests.samples import Case, cases

RECORDED = [case for case in cases() if (case.path / "check.json.xz").exists()]


def judgements(case: Case, reference: Path) -> dict[tuple[int, bool, int], tdb_profile.Judgement]:
    debugger = tdb_dap.open(case.path, inputs=case.inputs, reference=reference, static_tables="tdb")
    return {(p.record.index, p.is_operand, p.index): found for p, found in tdb_profile.check(debugger)}


def agrees(found: tdb_profile.Judgement, entry: dict[str, Any]) -> bool:
    metric = entry.get("metric") or {}
    pairs = ((found.cosine, "cosine"), (found.euclidean, "euclid"), (found.close_order, "close_order"))
    return found.state == entry["state"] and all(
        key not in metric or (number is not None and abs(number - metric[key]) < 1e-5) for number, key in pairs
    )


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.name)
@pytest.mark.parametrize("which", ["good", "bad"])
def test_verdicts_are_the_vendors(case: Case, which: str, tmp_path: Path) -> None:
    recorded = case.verdicts[which]
    reference = case.reference
    if which == "bad":
        if not recorded:
            pytest.skip("nothing recorded: no tensor was large enough to be spoiled")
        with np.load(reference) as archive:
            arrays = dict(archive)
        name = case.verdicts["bad_tensor"]
        arrays[name] = (1 - 2 * arrays[name]).astype(arrays[name].dtype)
        reference = tmp_path / "bad.npz"
        np.savez(reference, **arrays)
    found = judgements(case, reference)
    wanted = {(entry["loc"], entry["operand"], entry["index"]): entry for entry in recorded}
    assert set(found) == set(wanted)
    assert [key for key, entry in wanted.items() if not agrees(found[key], entry)] == []


def test_the_recorded_cases_hold_every_kind_of_verdict() -> None:
    entries = [entry for case in RECORDED for which in ("good", "bad") for entry in case.verdicts[which]]
    assert {entry["state"] for entry in entries} == {"Pass", "Fail", "Unknown"}
    assert {entry["kind"] for entry in entries if "kind" in entry} == {"EQUAL", "CLOSE", "SIMILAR", "NOT_SIMLIAR"}
