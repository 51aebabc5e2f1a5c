"""The file that describes a zoo: YAML, or JSON, which needs no other package."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tdb_dap.engine.files.documents import SUFFIXES, read_document
from tdb_dap.engine.rendering.printable import field_path, visible
from tdb_dap.errors import BadInput
from tdb_dap.tools.zoo.cases import ASKS, Ask, Case, Recipe, chosen, described, find_cases

LARGEST = 16 << 20
"""Bytes of a zoo file; one of 100,000 cases has ten million."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Limits(_Part):
    seconds: float = Field(default=1800, gt=0)
    megabytes: int = Field(default=0, ge=0)


class _Compile(_Part):
    command: str
    environment: dict[str, str] = {}


class _Case(_Part):
    """One case; texts may hold ``{name}`` of a variable of ``each``."""

    name: str = ""
    context: str = ""
    model: str = ""
    chip: str = ""
    precision: str = ""
    inputs: str = ""
    reference: str = ""
    outputs: str = ""
    do: tuple[Ask, ...] = ()
    limits: _Limits | None = None
    compile: _Compile | None = None
    each: dict[str, tuple[str, ...]] = {}
    """Variables: the case stands for all combinations of their values."""


class _Zoo(_Part):
    version: int = Field(default=1, ge=1, le=1)
    directories: tuple[str, ...] = ()
    """Folders in which every compiled model is a case."""
    do: tuple[Ask, ...] = ()
    limits: _Limits = _Limits()
    built: str = "zoo-built"
    """Folder for what recipes compile."""
    cases: tuple[_Case, ...] = ()


def complaint(error: ValidationError) -> str:
    """The first thing that is wrong, and where in the file."""
    first = error.errors()[0]
    where = field_path(first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def read_zoo(path: Path) -> list[Case]:
    """The cases of a zoo file, in its order; paths are relative to its folder. BadInput says what is wrong with it."""
    try:
        zoo = _Zoo.model_validate(read_document(path, LARGEST) or {})
    except ValidationError as error:
        raise BadInput(f"{path}: {complaint(error)}; docs/zoo.md shows what a zoo file holds") from None
    here = path.absolute().parent
    cases = find_cases([here / name for name in zoo.directories], zoo.do) if zoo.directories else []
    cases = [_limited(case, zoo.limits) for case in cases]
    for entry in zoo.cases:
        for values in _combinations(entry.each):
            cases.append(_case(entry, values, zoo, here, path))
    if not cases:
        raise BadInput(f"{path}: has neither cases nor directories with models")
    known: set[str] = set()
    for case in cases:
        if case.key in known:
            raise BadInput(f"{path}: two cases are called {case.key}; give each a unique name")
        known.add(case.key)
    return cases


def _combinations(each: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    combinations: list[dict[str, str]] = [{}]
    for name, values in each.items():
        combinations = [{**known, name: value} for known in combinations for value in values]
    return combinations


def _limited(case: Case, limits: _Limits) -> Case:
    return replace(case, seconds=limits.seconds, megabytes=limits.megabytes)


def _case(entry: _Case, values: dict[str, str], zoo: _Zoo, here: Path, path: Path) -> Case:
    filled = _filler(values, entry, path)
    name = filled(entry.name) or filled(entry.context) or "-".join(values.values())
    if not name:
        raise BadInput(f"{path}: a case has neither name nor context")
    recipe = None
    if entry.compile is not None:
        pairs = tuple((key, filled(value)) for key, value in sorted(entry.compile.environment.items()))
        recipe = Recipe(filled(entry.compile.command, is_command=True), pairs)
    elif not entry.context:
        raise BadInput(f"{path}: case {name}: give its context, or how to compile it")
    limits = entry.limits or zoo.limits
    context = here / filled(entry.context) if entry.context else here / zoo.built / name

    def place(text: str) -> Path | None:
        return here / filled(text) if text else None

    case = Case(
        name,
        context,
        entry.do or zoo.do,
        filled(entry.model),
        filled(entry.chip).upper(),
        filled(entry.precision).upper(),
        place(entry.inputs),
        place(entry.reference),
        place(entry.outputs),
        recipe,
        limits.seconds,
        limits.megabytes,
    )
    return case if recipe is not None and not context.exists() else described(case)


_VARIABLE = re.compile(r"\{(\w+)\}")


def _filler(values: dict[str, str], entry: _Case, path: Path) -> Callable[..., str]:
    def filled(text: str, is_command: bool = False) -> str:
        """``is_command``: braces that are no variables are the shell's."""

        def value(match: re.Match[str]) -> str:
            if match[1] not in values and not is_command:
                raise BadInput(f"{path}: case {entry.name or entry.context}: {match[1]!r} is no variable of its 'each'")
            return values.get(match[1], match[0])

        return _VARIABLE.sub(value, text)

    return filled


def is_zoo_file(path: Path) -> bool:
    """Whether a path is a zoo file, not a directory of compiled models."""
    return path.suffix in SUFFIXES and not path.is_dir()


def zoo_cases(
    paths: Sequence[Path],
    asks: Sequence[Ask] = (),
    only: Sequence[str] = (),
    seconds: float | None = None,
    megabytes: int | None = None,
) -> tuple[str, list[Case]]:
    """The name of a zoo and its cases, of one zoo file or of directories; BadInput says what is wrong with them.

    ``asks``, ``seconds``, ``megabytes``: in place of those of the cases; ``only``: patterns of their names.
    """
    if any(is_zoo_file(path) for path in paths):
        if len(paths) > 1:
            raise BadInput("give one zoo file, or directories")
        cases = read_zoo(paths[0])
    else:
        cases = find_cases(paths)
    limits: tuple[tuple[str, float | None], ...] = (("seconds", seconds), ("megabytes", megabytes))
    for option, value in limits:
        if value is not None and not value > 0:
            raise BadInput(f"--{option} {value}: give more than 0")
    changes: dict[str, Any] = {option: value for option, value in limits if value is not None}
    if asks:
        changes["asks"] = tuple(ask for ask in ASKS if ask in asks)
    name = paths[0].stem if paths[0].suffix in SUFFIXES else paths[0].absolute().name
    return visible(name), chosen([replace(case, **changes) for case in cases], only)


def zoo_case(zoo: Path | None, key: str) -> Case:
    """One case of a zoo, or the one that has only a name; BadInput if the zoo has none of that name."""
    if zoo is None:
        return Case(key, Path(key))
    cases = read_zoo(zoo) if is_zoo_file(zoo) else find_cases([zoo])
    case = next((one for one in cases if one.key == key), None)
    if case is None:
        raise BadInput(f"{zoo}: has no case {key}; it has {cases[0].key} and others")
    return case
