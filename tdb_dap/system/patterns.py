"""Regular expressions that are compiled when they are first used: most processes need few of those that they load."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile``, later: a text that is wrong is an error where it is used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
