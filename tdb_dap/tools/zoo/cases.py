"""The cases of a zoo: compiled models, each with what is to be done with it."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.files.context import MODELS, Context
from tdb_dap.engine.files.data_files import DataFiles
from tdb_dap.engine.files.work_folders import own_work_model, stem_of, work_source
from tdb_dap.engine.program.model_files import open_model_file
from tdb_dap.errors import BadInput

Ask = Literal["run", "check", "sanitize", "profile", "hashes"]
ASKS: tuple[Ask, ...] = get_args(Ask)
"""All that can be done with a case, in the order in which it is done."""

_OUTPUTS = ("runtime.npz", "outputs.npz")

_HEADER = 64 << 10
"""Bytes of final.mlir in which the attributes of its module stand."""

_DEEPEST = 6
"""Levels of folders below a given one in which models are looked for."""


class Recipe(Struct, frozen=True):
    """Compilation of a case that is not there yet."""

    command: str
    """A command line for the shell; ``{out}`` is the folder in which it leaves the context."""

    environment: tuple[tuple[str, str], ...] = ()
    """Variables that are set for it; ``PATH`` is put before that of this process."""


class Case(Struct, frozen=True):
    """One compiled model."""

    key: str
    """Its name in the store: the same in every run."""

    context: Path
    """Its context directory or model file; with a recipe: where it will be."""

    asks: tuple[Ask, ...] = ()
    """The things to do with it; empty, until ``described`` looks: what its files allow."""

    model: str = ""
    """Row of the report's matrix: name of the network."""

    chip: str = ""
    """Column: name of the chip."""

    precision: str = ""
    """Column: number format that the compiler was asked for."""

    inputs: Path | None = None
    """Inputs of the net; None: those that the compiler left, or zeros."""

    reference: Path | None = None
    """Values of all tensors to check against; None: what the compiler left."""

    outputs: Path | None = None
    """Outputs that ``run`` must give, bit for bit."""

    recipe: Recipe | None = None
    """Compilation; None: the model is there."""

    seconds: float = 1800
    """Longest time for everything that is asked of it."""

    megabytes: int = 0
    """Most memory of a process; 0: any."""


def find_cases(roots: Sequence[Path], asks: tuple[Ask, ...] = ()) -> list[Case]:
    """The compiled models in and below directories, by name; BadInput if there is none. ``asks``: as in ``Case``."""
    cases: dict[str, Case] = {}
    for root in roots:
        if not root.exists():
            raise BadInput(f"{root}: no such file or directory; give directories of compiled models, or a zoo file")
        for place in _contexts(root.absolute()):
            key = _key(place, root.absolute())
            if key in cases:
                key = str(place)
            cases[key] = described(Case(key, place, asks))
    if not cases:
        raise BadInput(f"{', '.join(map(str, roots))}: no compiled model is in there")
    return [cases[key] for key in sorted(cases)]


def _key(place: Path, root: Path) -> str:
    return place.name if place == root else place.relative_to(root).as_posix()


def _contexts(root: Path, depth: int = 0) -> Iterator[Path]:
    """Directories that hold one model, and lone models."""
    if root.is_file():
        yield root
        return
    entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    models = [entry.name for entry in entries if entry.is_file() and entry.name.endswith(MODELS)]
    if "compilation.bmodel" in models or "compilation.bmodel.xz" in models or _is_work_folder(root, models):
        yield root
    else:
        yield from (root / name for name in models)
        if depth < _DEEPEST:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from _contexts(Path(entry.path), depth + 1)


def _is_work_folder(folder: Path, models: Sequence[str]) -> bool:
    """Whether a directory has one model, a cvimodel with its final.mlir."""
    model = own_work_model(folder) if len(models) == 1 else None
    return model is not None and work_source(model) is not None


def described(case: Case) -> Case:
    """The case with what its files tell: network, chip, precision, data next to it. Unreadable files tell nothing.

    Where nothing was asked, a model with reference data is checked, another one run, and both are sanitized.
    """
    attributes = _module(case.context)
    folder = case.context if case.context.is_dir() else case.context.parent
    name = stem_of(case.context).removesuffix(".bmodel")
    data = _data(case.context)
    reference = case.reference or data.reference
    return replace(
        case,
        asks=case.asks or ("check" if reference is not None else "run", "sanitize"),
        model=case.model or attributes.get("model") or name,
        chip=(case.chip or attributes.get("chip", "")).upper() or _chip_of(case.context),
        precision=case.precision or attributes.get("mode", "") or "?",
        inputs=case.inputs or data.inputs,
        reference=reference,
        outputs=case.outputs or _sibling(folder, _OUTPUTS),
    )


def _chip_of(context: Path) -> str:
    """Chip of a model without source, from its file."""
    try:
        return open_model_file(Context.find(context).bmodel).metadata.chip
    except BadInput:
        return "?"


def _data(context: Path) -> DataFiles:
    """Data next to the model; none where it cannot be opened."""
    try:
        files = Context.find(context)
    except BadInput:
        return DataFiles()
    return DataFiles(files.inputs, files.reference)


def _sibling(folder: Path, names: Iterable[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


_NAME = re.compile(r"^module @(?:\"([^\"]*)\"|([\w.$-]+))", re.MULTILINE)
_TEXT = re.compile(r"module\.(chip|mode) = \"([^\"]*)\"")


def _module(context: Path) -> dict[str, str]:
    """Name and attributes of the module of final.mlir; empty where it cannot be read."""
    folder = context if context.is_dir() else context.parent
    model = own_work_model(folder)
    source = work_source(model) if model is not None else folder / "final.mlir"
    if source is None:
        return {}
    try:
        with source.open("rb") as file:
            head = file.read(_HEADER).decode("utf-8", "replace")
    except OSError:
        return {}
    texts = dict(_TEXT.findall(head))
    if (name := _NAME.search(head)) is not None:
        texts["model"] = name[1] or name[2]
    return texts


def chosen(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases whose key, model, chip or precision fits one of the patterns; BadInput for a pattern that fits none."""
    if not patterns:
        return list(cases)
    for pattern in patterns:
        if not any(_fits(case, pattern) for case in cases):
            raise BadInput(f"--only {pattern}: fits none of the {len(cases):,} cases, such as {cases[0].key}")
    return [case for case in cases if any(_fits(case, pattern) for pattern in patterns)]


def _fits(case: Case, pattern: str) -> bool:
    wanted = pattern.lower()
    return any(fnmatch.fnmatchcase(text.lower(), wanted) for text in (case.key, case.model, case.chip, case.precision))


def files_of(case: Case) -> dict[str, Path]:
    """The files that a case is made of, by the name under which they travel."""
    files = {}
    try:
        if case.context.is_dir():
            for path in sorted(case.context.iterdir()):
                if path.is_file() and not path.name.startswith("."):
                    files[path.name] = path
        else:
            files[case.context.name] = case.context
    except OSError as error:
        raise BadInput(f"{case.context}: cannot be read: {error.strerror or error}") from None
    for role in ("inputs", "reference", "outputs"):
        given: Path | None = getattr(case, role)
        if given is not None and given.parent != case.context:
            files[f"zoo-{role}{given.suffix}"] = given
    return files


def digest_of(case: Case) -> str:
    """Hash of the names and contents of all files of a case, 128 bits in hexadecimal digits; BadInput if unreadable."""
    total = hashlib.blake2b(digest_size=16)
    for name, path in files_of(case).items():
        try:
            with path.open("rb") as file:
                total.update(f"{name}\0{os.fstat(file.fileno()).st_size}\0".encode("utf-8", "surrogateescape"))
                while block := file.read(1 << 20):
                    total.update(block)
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    return total.hexdigest()
