"""HTML of a page: its program and its data in one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.tools.pages.data import Measured

_FOLDER = Path(__file__).parent
_DIGITS = 7
_UNSAFE = "<>&\u2028\u2029"
"""Characters that could end the element around a text of JSON, or begin another."""


def page(title: str, data: Mapping[str, object], summary: str = "") -> str:
    """The whole file. ``data``: one of the types of ``data.py``; ``summary``: for readers without scripts."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = f"default-src 'none'; style-src {policy_hash(style)}; script-src {policy_hash(script)}"
    about = escape(f"{title}. {summary}".strip() + " (This page needs JavaScript.)")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escape(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main></main>\n<noscript><p>{about}</p></noscript>\n"
        f'<script type="application/json" id="data">{json_text(data)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def json_text(data: object) -> str:
    """Data for a script element; no text in it can end the element. ValueError for a number that is not finite."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in _UNSAFE:
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def measured(value: float | None) -> Measured:
    """A metric as data of a page, to as many digits as a page shows."""
    if value is None or isinstance(value, int):
        return value
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() else short


@cache
def _asset(name: str) -> str:
    """A file that ``scripts/generate_pages.py`` has made."""
    return (_FOLDER / name).read_text("utf-8")


def policy_hash(text: str) -> str:
    """A script or style as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
