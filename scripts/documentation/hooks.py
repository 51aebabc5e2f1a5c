"""Hooks of mkdocs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from mkdocs.exceptions import PluginError

from scripts.documentation.site import DeadLink, relinked


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links between files of the project become links of the site."""
    try:
        return relinked(markdown, page.file.src_uri)
    except DeadLink as dead:
        raise PluginError(str(dead)) from None
