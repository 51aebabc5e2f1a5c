"""Console blocks of a page: what is typed, and the output it must give."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 300

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EITHER = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


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

    def run(self, directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Execute it, with what is typed into it."""
        return subprocess.run(
            self.command,
            shell=True,
            cwd=directory,
            env=dict(environment),
            input="\n".join(self.typed),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

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
    """All command lines of the console blocks of a page in their order."""
    for block in blocks(page):
        yield from _steps(block)


def _steps(block: str) -> Iterator[Step]:
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


def follow(page: Path) -> int:
    """Run a page in a copy of the project, with a new environment and nothing else; returns the number of commands.

    The blocks marked ``sh`` must succeed. AssertionError for the first command that prints something else.
    """
    done = 0
    with tempfile.TemporaryDirectory(prefix="tdb-newcomer-") as scratch:
        clone, home = Path(scratch, "tdb-dap"), Path(scratch, "home")
        clone.mkdir()
        home.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", str(clone)], input=archive.stdout, check=True)
        venv.create(Path(scratch, "venv"), with_pip=True)
        path = f"{Path(scratch, 'venv', 'bin')}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "https"))}
        environment = {**kept, "PATH": path, "HOME": str(home)}
        for kind, block in _EITHER.findall(page.read_text("utf-8")):
            for step in _steps(block) if kind == "console" else map(Step, block.strip().splitlines()):
                print(f"$ {step.command}", flush=True)
                ran = step.run(clone, environment)
                if kind == "console":
                    step.check(ran.stdout + ran.stderr)
                else:
                    assert ran.returncode == 0, f"{step.command}\n{ran.stdout}{ran.stderr}"
                done += 1
    return done
