"""Which files of the project are pages or pictures of the site, and where its links lead."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"

COPIED = {
    "README.zh.md": "index.zh.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/toy-chip/README.md": "examples/toy-chip.md",
    "examples/nan-log/README.md": "examples/nan-log.md",
    "examples/board/README.md": "examples/board.md",
    "examples/gpu-backend/README.md": "examples/gpu-backend.md",
    "scripts/README.md": "scripts.md",
    "scripts/robustness/README.md": "robustness.md",
    "tdb_dap/targets/isa/README.md": "reference/instruction-rows.md",
}
"""Files outside of docs/ that are pages, by their name on the site."""

PICTURES = "vscode-extension/images"

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)]*)?\)")


class DeadLink(Exception):
    """A page leads to a file that does not exist."""


def source_of(page: str) -> Path:
    """The file that a page of the site is made of."""
    names = {name: source for source, name in COPIED.items()}
    return ROOT / names[page] if page in names else DOCS / page


def page_of(file: Path) -> str | None:
    """Name of a file of the project on the site; None if it is not there."""
    name = file.relative_to(ROOT).as_posix()
    if name in COPIED:
        return COPIED[name]
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS).as_posix()
    if name.startswith(f"{PICTURES}/"):
        return f"images/{file.name}"
    return None


def relinked(markdown: str, page: str) -> str:
    """A page whose links fit the site; what is in the project but not on the site is named and leads nowhere.

    DeadLink where a file is not in the project either.
    """
    here = source_of(page).parent

    def link(match: re.Match[str]) -> str:
        picture, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = Path(os.path.normpath(here / target))
        if not file.is_relative_to(ROOT):
            raise DeadLink(f"{page}: {target} leads out of the project")
        if file.is_relative_to(DOCS / "reference"):
            pass  # made from the code, so there is no such file; mkdocs itself looks after the link
        elif not file.exists():
            raise DeadLink(f"{page}: there is no {file.relative_to(ROOT)}")
        there = page_of(file)
        if there is None:
            return text if text == target or "`" in text else f"{text} (`{file.relative_to(ROOT)}`)"
        return f"{picture}[{text}]({os.path.relpath(there, os.path.dirname(page) or '.')}{anchor})"

    return _LINK.sub(link, markdown)
