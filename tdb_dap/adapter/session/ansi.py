"""Colours for clients that announce supportsANSIStyling: in the values of variables and in what goes to the console."""

from __future__ import annotations

import re

_STYLES = (
    (r"^pass\b|^一致(?=：)", "32"),
    (r"^fail\b|: fail\b|^不一致(?=：)", "31"),
    (r"\bNaN [1-9]\d*|\bInf [1-9]\d*", "31;1"),
    (r"\(not yet computed\)|（尚未计算）", "2"),
    (r"\(overwritten by [^()]*(?:\([^()]*\))?\)|（已被 .*覆盖）", "2"),
    (r"^=> .*$", "33;1"),
)
_WORDS = re.compile("|".join(f"({pattern})" for pattern, _ in _STYLES), re.MULTILINE)


def styled(text: str) -> str:
    """``text`` with what is right in green, what is wrong in red, and where we are in yellow."""
    return _WORDS.sub(lambda match: f"\033[{_STYLES[(match.lastindex or 1) - 1][1]}m{match[0]}\033[0m", text)
