"""The first of several builds of the compiler that breaks a case, by halving."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import outside_environment
from tdb_dap.system.user_directories import cache_directory
from tdb_dap.tools.report_schema import json_text, read
from tdb_dap.tools.zoo.case_run import command_line, run_case
from tdb_dap.tools.zoo.cases import ASKS, Ask, Case, Recipe, described, digest_of, find_cases
from tdb_dap.tools.zoo.result import Result

Say = Callable[[str], None]


class Build(Struct, frozen=True):
    """One build of the compiler, or what it has made."""

    name: str
    """A directory of compiled models, a wheel or requirement to install, or a name for the command."""

    kind: str
    """``directory``, ``package`` or ``command``."""


class Outcome(Struct, frozen=True):
    """The build before, and the first that is wrong. ``skipped``: builds between them that made nothing."""

    good: Build
    bad: Build
    skipped: tuple[Build, ...]
    result: Result
    """Of the first that is wrong."""
    context: Path
    """The context that this build has made."""
    looked: int
    """Builds that were tried."""
    builds: int
    """All builds."""


class BisectOptions(Struct, frozen=True):
    """``builds``, or the commits ``GOOD..BAD`` of ``repository``: the oldest first.

    ``command``: makes the context ``{out}`` of ``{build}``; ``asks``: what has to pass, in place of what the case asks;
    ``keep``: where contexts and results are kept, None: in the user's cache.
    """

    case: Case
    builds: Sequence[str] = ()
    commits: str | None = None
    repository: Path = Path()
    command: str = ""
    asks: Sequence[Ask] = ()
    keep: Path | None = None


def bisect(options: BisectOptions, say: Say) -> Outcome:
    """Find the first build that breaks a case; BadInput if the options exclude each other or nothing can be told."""
    names, case = list(options.builds), options.case
    if options.commits:
        if names:
            raise BadInput("--builds and --commits: give one of them")
        if not options.command:
            raise BadInput("--commits needs --build-command, which makes the context {out} with the commit {build}")
        names = commits(options.repository, options.commits)
    if options.asks:
        case = replace(case, asks=tuple(ask for ask in ASKS if ask in options.asks))
    builds = builds_of(names, options.command)
    keep = options.keep or cache_directory() / "bisect"
    return Bisection(case, builds, keep.absolute(), options.command, say).run()


def lines(outcome: Outcome) -> Iterator[str]:
    """The first wrong build, what fails with it, and how to see that."""
    result = outcome.result
    yield f"{visible(outcome.bad.name)} is the first build that is wrong; {visible(outcome.good.name)} was right"
    for build in outcome.skipped:
        yield f"between them {visible(build.name)} made nothing"
    yield f"{result.status}: {visible(result.text)}"
    first = next((op for op in result.ops if op.verdict == "fail"), None)
    if first is not None:
        yield f"first op: {visible(first.opcode)} at line {first.line}, {visible(first.name)}"
    yield f"{outcome.looked} of {outcome.builds} builds were tried; see it with\n    {visible(result.command)}"


def builds_of(names: Sequence[str], command: str) -> list[Build]:
    """The builds that words on the command line stand for, in their order; BadInput if they are of no known kind."""
    builds = []
    for name in names:
        if command:
            builds.append(Build(name, "command"))
        elif Path(name).is_dir():
            builds.append(Build(name, "directory"))
        elif name.endswith(".whl") and not Path(name).is_file():
            raise BadInput(f"{name}: no such wheel")
        else:
            builds.append(Build(name, "package"))
    return builds


def commits(repository: Path, span: str) -> list[str]:
    """The commits ``GOOD..BAD`` of a git repository with GOOD itself, the oldest first."""
    good, dots, bad = span.partition("..")
    if not dots or not good or not bad:
        raise BadInput(f"--commits {span}: give GOOD..BAD")
    hashes = [_git(repository, "rev-parse", "--verify", "--end-of-options", f"{good}^{{commit}}").strip()]
    return hashes + _git(repository, "rev-list", "--reverse", "--first-parent", f"{hashes[0]}..{bad}", "--").split()


def _git(repository: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *words],
            capture_output=True,
            text=True,
            check=False,
            env=outside_environment(),
        )
    except OSError as error:
        raise BadInput(f"git: cannot be started: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise BadInput(f"git {words[0]} in {repository}: {lines[-1] if lines else f'code {done.returncode}'}")
    return done.stdout


class Bisection:
    """Tries builds on one case; what was compiled and tried before is not done again.

    ``folder``: where contexts, environments and results are kept; ``command``: makes a context of a build, with
    ``{build}`` and ``{out}``.
    """

    def __init__(self, case: Case, builds: Sequence[Build], folder: Path, command: str, say: Say) -> None:
        if len(builds) < 2:
            raise BadInput(
                "bisecting needs two builds or more, the oldest first: one that is right, and one that is not"
            )
        self._case = case
        self._builds = builds
        self._folder = folder
        self._command = command
        self._say = say
        self._tried: dict[int, Result | None] = {}

    def run(self) -> Outcome:
        """Find the first bad build; BadInput if the first is bad, the last is good, or nothing can be told."""
        low, high = 0, len(self._builds) - 1
        first, last = self._result(low), self._result(high)
        if first is None or last is None:
            broken = self._builds[low if first is None else high].name
            raise BadInput(f"{broken}: made nothing of {self._case.key}; the first and the last build have to")
        if first.status != "pass":
            raise BadInput(f"{self._builds[0].name}: the first build is wrong already: {first.text or first.status}")
        if last.status == "pass":
            raise BadInput(f"{self._builds[-1].name}: the last build is right; there is nothing to find")
        while (middle := self._between(low, high)) is not None:
            result = self._result(middle)
            if result is None:
                continue
            if result.status == "pass":
                low = middle
            else:
                high = middle
        bad = self._result(high)
        assert bad is not None
        return Outcome(
            self._builds[low],
            self._builds[high],
            tuple(self._builds[low + 1 : high]),
            bad,
            self._made(high).context,
            len(self._tried),
            len(self._builds),
        )

    def _between(self, low: int, high: int) -> int | None:
        """The build nearest to the middle that has not failed to make something."""
        left = [number for number in range(low + 1, high) if self._tried.get(number, _UNTRIED) is not None]
        return min(left, key=lambda number: abs(2 * number - low - high)) if left else None

    def _result(self, number: int) -> Result | None:
        if number not in self._tried:
            build = self._builds[number]
            self._tried[number] = result = self._attempt(number)
            what = "made nothing" if result is None else result.status
            text = f": {result.text}" if result is not None and result.text else ""
            self._say(f"{build.name}: {what}{text}")
        return self._tried[number]

    def _made(self, number: int) -> Case:
        """The case as one build makes it."""
        build, case = self._builds[number], self._case
        if build.kind == "directory":
            place = Path(build.name).absolute() / case.key
            try:
                cases = {one.key: one for one in find_cases([Path(build.name)], case.asks)}
            except BadInput:
                cases = {}
            if case.key not in cases:
                return replace(case, context=place / "nothing", recipe=None)
            return replace(cases[case.key], seconds=case.seconds, megabytes=case.megabytes)
        recipe = self._recipe(build)
        kept = hashlib.blake2b(repr((build, _identity(build), recipe)).encode(), digest_size=12).hexdigest()
        return replace(case, context=self._folder / "contexts" / kept / "context", recipe=recipe)

    def _recipe(self, build: Build) -> Recipe:
        if build.kind == "command":
            return Recipe(self._command.replace("{build}", shlex.quote(build.name)))
        recipe = self._case.recipe
        if recipe is None:
            raise BadInput(
                f"{self._case.key}: has no recipe to compile it; give a zoo file with 'compile', directories of "
                "compiled models as builds, or --build-command"
            )
        return replace(recipe, environment=(*recipe.environment, ("PATH", str(self._environment(build) / "bin"))))

    def _attempt(self, number: int) -> Result | None:
        case = self._made(number)
        if case.recipe is None and not case.context.exists():
            return None
        if case.context.exists():
            case = described(case)
            kept = self._folder / "results" / f"{digest_of(case)}-{'-'.join(case.asks)}.json"
            if kept.exists():
                known = read(Result, kept.read_bytes())
                return replace(known, command=command_line(case, known.steps))
        result = run_case(case)
        if not result.digest:
            return None
        kept = self._folder / "results" / f"{result.digest}-{'-'.join(case.asks)}.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json_text(result))
        return result

    def _environment(self, build: Build) -> Path:
        """An environment with one build of the compiler, made once."""
        kept = hashlib.blake2b(repr((build, _identity(build))).encode(), digest_size=12).hexdigest()
        folder = self._folder / "environments" / kept
        ready = folder / "ready"
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            self._say(f"{build.name}: installing")
            tool = shutil.which("uv")
            python = str(folder / "bin" / "python")
            made = [tool, "venv", "--quiet", str(folder)] if tool else [sys.executable, "-m", "venv", str(folder)]
            install = (
                [tool, "pip", "install", "--quiet", "--python", python] if tool else [python, "-m", "pip", "install"]
            )
            environment = outside_environment()
            for words in (made, [*install, build.name]):
                done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
                if done.returncode:
                    lines = done.stderr.strip().splitlines()
                    raise BadInput(f"{build.name}: cannot be installed: {lines[-1] if lines else done.returncode}")
            ready.write_text(json.dumps({"build": build.name}))
        return folder


_UNTRIED = Result(key="")
"""Stands for a build that was not tried yet."""


def _identity(build: Build) -> str:
    """Identity of a build besides its name: size and time of a wheel that may be made anew."""
    path = Path(build.name)
    if build.kind != "package" or not path.is_file():
        return ""
    status = os.stat(path)
    return f"{path.resolve()} {status.st_size} {status.st_mtime_ns}"
