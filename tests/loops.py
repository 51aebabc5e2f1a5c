"""Loops over the cases of a test, for products of kinds, formats and operations that would be thousands of tests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_LONGEST = 100
"""Letters of a value that are shown."""

_Test = Callable[..., None]


def each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[_Test], _Test]:
    """Call the test with each of the values, in one test; arguments as of ``pytest.mark.parametrize``.

    A failure names the case. A test that is skipped for all values is skipped.
    """
    keys = (names,) if isinstance(names, str) else names
    cases = [dict(zip(keys, (case,) if isinstance(names, str) else case, strict=True)) for case in values]

    def looped(test: _Test) -> _Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def called(**fixtures: Any) -> None:
            skipped: list[BaseException] = []
            for case in cases:
                try:
                    test(**fixtures, **case)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except Exception as error:
                    text = ", ".join(f"{key}={_short(value)}" for key, value in case.items())
                    raise AssertionError(f"with {text}: {error}") from error
            if len(skipped) == len(cases):
                raise skipped[0]

        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        called.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del called.__wrapped__  # pytest would look for the fixtures of what it wraps
        return called

    return looped


def _short(value: object) -> str:
    return (getattr(value, "__name__", "") or str(value))[:_LONGEST]
