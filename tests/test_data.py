"""tests/data/README.md describes everything that is there."""

from __future__ import annotations

import re

from tests.samples import DATA, cases

README = (DATA / "README.md").read_text("utf-8")
NAMED = set(re.findall(r"^\| `([\w.]+)` \|", README, re.MULTILINE))


def test_every_entry_and_every_file_of_a_case_has_a_row() -> None:
    of_cases = {path.name for case in cases() for path in case.path.iterdir()}
    chips = {case.path.parent.name for case in cases()}
    entries = {path.name for path in DATA.iterdir()} - chips - {"README.md"}
    assert sorted(NAMED) == sorted(of_cases | entries)
    assert all(f"`{chip}`" in README for chip in chips)
