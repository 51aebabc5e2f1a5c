"""Tables in pages of the documentation that a command measures and writes, between two marks.

``PARTS`` is the list of them. A mark names the part and the command that writes it; all else on the page is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.generated import ROOT


@dataclass(frozen=True)
class Part:
    """``page``: path in the project; ``command``: what measures the figures and writes them."""

    page: str
    command: str


PARTS = {
    "fuzz": Part("docs/hardening.md", "python -m scripts.robustness.fuzz_parsers --write"),
    "soak": Part("docs/hardening.md", "python benchmarks/soak.py --write"),
    "soak-agents": Part("docs/hardening.md", "python benchmarks/soak_agents.py --write"),
    "kills": Part("docs/hardening.md", "python -m scripts.robustness.kills --write"),
    "coverage": Part("docs/hardening.md", "python -m scripts.measure_coverage"),
    "mutation": Part("docs/hardening.md", "python -m scripts.robustness.mutate_code --write"),
    "sanitizers": Part("docs/sanitizers.md", "python -m scripts.robustness.mutate_models --write"),
    "court": Part("docs/verdicts.md", "python -m scripts.robustness.verdicts made --write"),
    "compilations": Part("docs/verdicts.md", "python -m scripts.robustness.verdicts compiled FOLDER --write"),
    "timing": Part("docs/profile.md", "python -m scripts.compare_timing FOLDER --write"),
}


def begin(name: str) -> str:
    """The mark above a part."""
    return f"<!-- {name}: written by `{PARTS[name].command}`; text between these marks is overwritten -->"


def end(name: str) -> str:
    """The mark below a part."""
    return f"<!-- {name}: end -->"


def read(name: str, root: Path = ROOT) -> str:
    """What is between the marks of a part; ValueError if its page does not have exactly one such part."""
    page = root / PARTS[name].page
    parts = re.findall(f"{re.escape(begin(name))}\n(.*?){re.escape(end(name))}", page.read_text("utf-8"), re.DOTALL)
    if len(parts) != 1:
        raise ValueError(f"{page}: {len(parts)} parts between the marks of {name}")
    return str(parts[0])


def write(name: str, lines: Sequence[str], root: Path = ROOT) -> None:
    """Put lines between the marks of a part; ValueError if its page does not have exactly one such part."""
    page = root / PARTS[name].page
    before = begin(name) + "\n" + read(name, root) + end(name)
    after = "\n".join([begin(name), "", *lines, "", end(name)])
    page.write_text(page.read_text("utf-8").replace(before, after), "utf-8")
