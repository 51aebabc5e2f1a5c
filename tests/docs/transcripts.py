"""Console blocks of a page: what is typed, and what must come of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """A command line, what is typed into it, and the lines it must print; ``...`` is any text or, alone, any lines."""

    command: str
    typed: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def pattern(self) -> str:
        """The lines as a regular expression for the whole output."""
        parts: list[str] = []
        for line in self.expected:
            if line == "...":
                parts.append(r"(?:.*\n)*?")
            elif line.endswith("..."):
                parts.append(re.escape(line.removesuffix("...")) + ".*\n")
            else:
                parts.append(re.escape(line) + " *\n")
        return "".join(parts)

    def check(self, output: str) -> None:
        """AssertionError with the first line that does not come."""
        lines = [line for line in output.replace("\x1b[0m", "").splitlines(keepends=True) if line.strip()]
        if re.fullmatch(self.pattern(), "".join(lines)):
            return
        for count in range(1, len(self.expected) + 1):
            upto = Step(self.command, [], [*self.expected[:count], "..."])
            if not re.fullmatch(upto.pattern(), "".join(lines)):
                raise AssertionError(f"{self.command}\ndoes not print\n{self.expected[count - 1]}\nbut\n{output}")
        raise AssertionError(f"{self.command}\nprints more than\n{self.expected[-1]}\nin\n{output}")


def blocks(page: Path) -> list[str]:
    """The console blocks of a page, as they stand there."""
    return _BLOCK.findall(page.read_text("utf-8"))


def steps(page: Path) -> Iterator[Step]:
    """All command lines of a page in their order."""
    for block in blocks(page):
        step: Step | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if step is not None:
                    yield step
                step = Step(line.removeprefix("$ "))
            elif step is not None and line.startswith("(tdb) "):
                step.typed.append(line.removeprefix("(tdb) "))
            elif step is not None and line.strip():
                step.expected.append(line)
        if step is not None:
            yield step
