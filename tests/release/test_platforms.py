"""Other systems compute the same bits; those that this machine cannot run are skipped by name."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.platforms.__main__ import prove, summary
from scripts.platforms.systems import ONLY_BUILT, SYSTEMS, Missing
from scripts.release import cross

HOME = "linux-x64"


@pytest.fixture(scope="module")
def home() -> dict[str, Any]:
    """The proof of this machine."""
    return prove(HOME)


@pytest.mark.platform
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != HOME])
def test_a_system_computes_the_same_words(name: str, home: dict[str, Any]) -> None:
    """Outputs are those of the vendor's runtime; only dynamic models are refused, and by name."""
    try:
        proof = prove(name)
    except Missing as error:
        pytest.skip(f"{SYSTEMS[name][0]}: {error}")
    for way in summary(proof, home)["ways"].values():
        assert way["different"] == 0
        assert way["equal"] + way["refused"] == proof["cases"] == home["cases"]
        assert way["same words"] == way["equal"] > proof["cases"] // 2
    refusals = {text for outcomes in proof["ways"].values() for text in outcomes.values() if text.startswith("refused")}
    assert all("is dynamic" in text for text in refusals)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("linux-x64-cross", "TDB_DAP_CROSS_BUILT"),
        ("musl-x64", "TDB_DAP_MUSL"),
        ("linux-arm64", "TDB_DAP_ARM64_ROOT"),
        ("python-3.14t", "TDB_DAP_PYTHONS"),
    ],
)
def test_a_system_that_is_not_here_is_named(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(Missing, match=variable):
        SYSTEMS[name][1]()


def test_every_wheel_is_proved_or_said_to_be_built_only() -> None:
    proved = {"linux-x64": "linux-x64-cross"}
    assert {proved.get(name, name) for name in cross.SYSTEMS} <= {*SYSTEMS, *ONLY_BUILT}
    assert not {*SYSTEMS} & {*ONLY_BUILT}
