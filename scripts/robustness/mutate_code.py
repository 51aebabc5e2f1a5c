"""Mutation testing of our code: change decoder, layouts, views, byte ranges and bmodel reader, and run their tests.

    python -m scripts.robustness.mutate_code [--most 25] [--seed 1] [--write] [MODULE ...]

The changes are those of Cosmic Ray; it would start Python anew, and write into the tree, for each of them. Here every
mutant runs in a copy of one process, in which only the module is another one: a second or two each. ``--most`` is the
number chosen at random for each module; 0 takes all. Annotations are left out: nothing evaluates them. ``--write`` puts
the table into docs/hardening.md.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

from scripts import figures

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
"""For the tests of one mutant; one that takes longer has hung, which is noticed as well."""

MODULES: dict[str, tuple[str, ...]] = {
    "tdb_dap.targets.declaration.instruction_set": ("tests/targets/test_instruction_set.py",),
    "tdb_dap.engine.hardware.layouts": ("tests/engine/test_layouts.py", "tests/engine/test_machine.py"),
    "tdb_dap.engine.hardware.views": ("tests/engine/test_layouts.py", "tests/engine/test_vendor_listing.py"),
    "tdb_dap.engine.hardware.byte_ranges": ("tests/engine/test_places.py",),
    "tdb_dap.engine.bmodel.file": ("tests/engine/test_limits.py", "tests/engine/test_damaged_files.py"),
    "tdb_dap.engine.bmodel.metadata": ("tests/engine/test_damaged_files.py", "tests/engine/test_metadata.py"),
}
"""Module -> the tests that are about it."""


@dataclass(frozen=True)
class Mutant:
    """``line``: the first that is another one, and what it was and is."""

    module: str
    code: str
    line: int
    was: str
    now: str


class _Instead(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):  # type: ignore[misc]  # as typeshed has them
    """Gives another text for one module."""

    def __init__(self, mutant: Mutant, path: Path) -> None:
        self._mutant = mutant
        self._path = path

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return spec_from_loader(name, self, origin=str(self._path)) if name == self._mutant.module else None

    def get_filename(self, fullname: str) -> str:
        return str(self._path)

    def get_data(self, path: str | bytes) -> bytes:
        if str(path).endswith(".pyc"):
            raise OSError("not for mutants")
        return self._mutant.code.encode()


def path_of(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


def mutants(module: str) -> Iterator[Mutant]:
    """Every change that makes a difference to Python."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    code = path_of(module).read_text("utf-8")
    seen = {_meaning(code)}
    for name in sorted(operator_names()):
        if "Variable" in name:  # these want to be told of variables
            continue
        operator, number = get_operator(name)(), 0
        while (changed := _changed(mutate_code, code, operator, number)) is not None:
            number += 1
            try:
                meaning = _meaning(changed)
            except SyntaxError:
                continue
            if meaning not in seen:
                seen.add(meaning)
                yield _described(module, code, changed)


def _changed(mutate: Callable[..., str | None], code: str, operator: object, number: int) -> str | None:
    """None at the end, and for the operators that do not understand some of the code."""
    try:
        return mutate(code, operator, number)
    except AttributeError:
        return None


def _meaning(code: str) -> str:
    """The syntax tree without annotations and docstrings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def _described(module: str, code: str, changed: str) -> Mutant:
    before, after = code.split("\n"), changed.split("\n")
    line = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    return Mutant(module, changed, line + 1, before[line].strip(), after[line].strip())


def is_killed(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether some test fails, or nothing ends, with this mutant in place of the module."""
    process = os.fork()
    if not process:
        os._exit(_run(mutant, tests))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


def _run(mutant: Mutant | None, tests: Sequence[str]) -> int:
    """In the copy: pytest's exit code. None: the module as it is."""
    import pytest

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.setsid()
    if mutant is not None:
        sys.meta_path.insert(0, _Instead(mutant, path_of(mutant.module)))
    try:
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
    except BaseException:
        return 1


def prepare() -> None:
    """Import what the copies need and no mutant is part of."""
    import hypothesis
    import pytest  # noqa: F401

    hypothesis.settings.register_profile("mutation", database=None, derandomize=True)
    hypothesis.settings.load_profile("mutation")
    assert not any(name.split(".")[0] == "tdb_dap" for name in sys.modules), "the package is imported already"


def table(rows: Sequence[tuple[str, int, int, Sequence[Mutant]]]) -> list[str]:
    """Markdown. A row: module, how many mutants there are, how many were tried, survivors."""
    lines = ["| module | mutants | tried | noticed | survived |", "|---|---:|---:|---:|---:|"]
    for module, count, tried, survivors in rows:
        share = f"{(tried - len(survivors)) / max(1, tried):.0%}"
        lines.append(f"| `{module}` | {count:,} | {tried:,} | {share} | {len(survivors):,} |")
    return lines


def main() -> int:
    """Try, print, and write the figures into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"default: {', '.join(MODULES)}")
    parser.add_argument("--most", type=int, default=25, help="mutants of a module, chosen at random; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the table into docs/hardening.md")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    prepare()
    rows = []
    for module in arguments.modules or MODULES:
        every = list(mutants(module))
        chosen = random.Random(f"{module} {arguments.seed}").sample(
            every, min(len(every), arguments.most or len(every))
        )
        survivors = []
        for mutant in chosen:
            if not is_killed(mutant, MODULES[module]):
                survivors.append(mutant)
                print(f"survived: {module}:{mutant.line}: {mutant.was}  ->  {mutant.now}", flush=True)
        print(f"{module}: {len(every):,} mutants, {len(chosen):,} tried, {len(survivors):,} survived", flush=True)
        rows.append((module, len(every), len(chosen), survivors))
    if arguments.write:
        figures.write("mutation", table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
