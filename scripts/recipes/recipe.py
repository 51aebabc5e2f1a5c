"""A recipe of CONTRIBUTING.md: its text, and the changes that follow it step by step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts.generated import ROOT

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
_COMMANDS = ("python -m ", "tdb-dap ", "npm ", "make ")


class BadRecipe(Exception):
    """A recipe and the changes that follow it do not fit."""


@dataclass(frozen=True)
class Change:
    """A change of one file in a step: ``text`` is inserted after the last of ``after``, or is the whole of a new file.

    Each of ``after`` is searched behind the one before it.
    """

    step: int
    path: str
    text: str
    after: tuple[str, ...] = ()

    def apply(self, project: Path) -> None:
        """Change the file below ``project``; BadRecipe if the place is missing, or the file exists and shall be new."""
        path = project / self.path
        if not self.after:
            if path.exists():
                raise BadRecipe(f"{self.path} exists already")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text, "utf-8")
            return
        before, end = path.read_text("utf-8"), 0
        for anchor in self.after:
            start = before.find(anchor, end)
            if start < 0:
                raise BadRecipe(f"{self.path} has no {anchor!r}; see scripts/recipes/")
            end = start + len(anchor)
        path.write_text(before[:end] + self.text + before[end:], "utf-8")


@dataclass(frozen=True)
class Recipe:
    """``values``: what placeholders of the text stand for here; ``shown``: command -> text that it must print.

    ``left_out``: commands of the recipe that are not run, with the reason.
    """

    title: str
    changes: tuple[Change, ...]
    values: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def steps(self, contributing: str) -> list[str]:
        """The text of each step, with the placeholders filled in; BadRecipe if there is no such recipe."""
        match = re.search(rf"^## {re.escape(self.title)}\n(.*?)(?=^## |\Z)", contributing, re.MULTILINE | re.DOTALL)
        if match is None:
            raise BadRecipe(f"CONTRIBUTING.md has no recipe {self.title!r}")
        steps = re.split(r"^\d+\. ", match[1], flags=re.MULTILINE)[1:]
        return [self._filled(" ".join(step.split())) for step in steps]

    def commands(self, step: str) -> list[str]:
        """The commands that a step names and that are run here."""
        commands = [text for text in _marked(step) if text.startswith(_COMMANDS)]
        return [command for command in commands if not any(command.startswith(start) for start in self.left_out)]

    def check_paths(self, steps: list[str]) -> None:
        """BadRecipe if a change is of a file that its step does not name, or of a step that does not exist."""
        for change in self.changes:
            if change.step > len(steps):
                raise BadRecipe(f"{self.title} has no step {change.step}")
            words = " ".join(_marked(steps[change.step - 1])).split()
            if not any(_names(word, change.path) for word in words):
                raise BadRecipe(f"step {change.step} of {self.title!r} does not name {change.path}")

    def _filled(self, text: str) -> str:
        for placeholder, value in self.values.items():
            text = re.sub(rf"\b{placeholder}\b", value, text)
        return text


def _marked(text: str) -> list[str]:
    """What stands in code marks, and the targets of links."""
    return re.findall(r"`([^`]+)`", text) + re.findall(r"\]\(([^)]+)\)", text)


def _names(word: str, path: str) -> bool:
    """Whether a word names a file by its path, by the end of its path or by its folder."""
    return f"/{path}".endswith(f"/{word}") or (word.endswith("/") and f"/{word}" in f"/{path}")
