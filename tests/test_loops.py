"""A loop inside a test fails, skips and counts like the tests that it stands for."""

from __future__ import annotations

import inspect

import pytest

from tests.loops import each


def test_every_combination_is_called_with_the_fixtures() -> None:
    calls: list[tuple[str, int, str]] = []

    @each("kind", ["plain", "tiny"])
    @each(("count", "name"), [(1, "one"), (2, "two")])
    def looped(fixture: str, kind: str, count: int, name: str) -> None:
        calls.append((fixture + kind, count, name))

    assert list(inspect.signature(looped).parameters) == ["fixture"]
    looped(fixture="a ")
    assert calls == [("a plain", 1, "one"), ("a plain", 2, "two"), ("a tiny", 1, "one"), ("a tiny", 2, "two")]


def test_a_failure_names_the_case() -> None:
    @each("kind", ["plain", "tiny"])
    @each("dtype", [int, float])
    def looped(kind: str, dtype: type) -> None:
        assert kind != "tiny" or dtype is int, "different"

    with pytest.raises(AssertionError, match=r"^with kind=tiny: with dtype=float: different"):
        looped()


def test_it_is_skipped_if_all_of_it_is() -> None:
    @each("number", range(3))
    def looped(number: int, least: int) -> None:
        if number < least:
            pytest.skip(f"{number} is too small")

    looped(least=2)
    with pytest.raises(pytest.skip.Exception, match="0 is too small"):
        looped(least=3)
