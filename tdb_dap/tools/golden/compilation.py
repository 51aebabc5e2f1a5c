"""Files that a compilation has left in a directory, whole or broken off."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.location_files import NOTES
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.errors import BadInput

_SUFFIX = f".{NOTES}"
_MOST_LISTED = 6
_MOST_FOLDERS = 4096

_BY_PREFIX = {
    "tpu_mlir": "{}_tpu.mlir",
    "tpu_output": "{}_tpu_outputs.npz",
    "final_mlir": "{}_final.mlir",
    "bmodel_output": "{}_model_outputs.npz",
}
"""File -> its name where the compiler stopped before it was noted."""

_OPTIONS = {
    "reference": (("deploy_cmd", "--test_reference"), ("transform_cmd", "--test_result")),
    "calibration": (("deploy_cmd", "--calibration_table"),),
    "bmodel": (("deploy_cmd", "--model"),),
    "top_mlir": (("deploy_cmd", "--mlir"),),
}
"""File -> the options of the compiler's commands that name it."""


@dataclass(frozen=True)
class Files:
    """The files of one compilation by the compiler's own words for them, as far as they are there.

    ``directory``: of the notes; ``properties``: what the compiler notes of the compilation; ``is_deployed``: whether
    model_deploy has been started; ``commands``: the compiler's command lines; ``is_alone``: there is a context and no
    list of files, so that nothing is known of the stages before.
    """

    directory: Path
    found: Mapping[str, Path]
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    is_deployed: bool = False
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    is_alone: bool = False

    def get(self, key: str) -> Path | None:
        return self.found.get(key)


def find(given: Path) -> Files:
    """The compilation in a directory: a context directory, or the one around it.

    BadInput if there is none, or several that have to be told apart.
    """
    path = given.expanduser()
    try:
        if path.is_file():
            if not path.name.endswith(_MODELS):
                raise BadInput(f"{path}: not a model; give the directory in which model_deploy was run, or a bmodel")
            path = _beside(path)
        if not path.is_dir():
            raise BadInput(f"{path}: no such directory; give the one in which model_deploy was run")
        try:
            notes = _notes_in(path)
        except _NoNotes:
            return _unfinished(path) or _alone(path)
        return _read(notes)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


class _NoNotes(BadInput):
    """The compiler's list of files is not there."""


_IMPORTED = "_origin.mlir"

_OF_IMPORT = {
    "origin_mlir": "{}_origin.mlir",
    "top_mlir": "{}.mlir",
    "top_output": "{}_ref_outputs.npz",
    "mlir_input": "{}_in_f32.npz",
    "origin_model": "{}.onnx",
}
"""File -> its name where the compiler stopped before it wrote any list of files."""

_OF_IMPORT_ONLY = ("final_opt.onnx", "*_opt.onnx", "*_opt.onnx.prototxt")
"""Files that are there before the model is imported."""


def _unfinished(path: Path) -> Files | None:
    """A directory in which model_transform has broken off; None if nothing of the kind is there."""
    imported = sorted(path.glob(f"*{_IMPORTED}"))
    if len(imported) > 1:
        some = ", ".join(found.name for found in imported[:_MOST_LISTED])
        raise BadInput(f"{path}: {len(imported)} imported models are here ({some}); give a directory with one")
    if not imported:
        if any(True for pattern in _OF_IMPORT_ONLY for _ in path.glob(pattern)):
            raise BadInput(
                f"{path}: model_transform stopped before it wrote the imported model; the last lines that it printed "
                "say why, often an op or an attribute that it does not support"
            )
        return None
    name = imported[0].name.removesuffix(_IMPORTED)
    found = {key: path / pattern.format(name) for key, pattern in _OF_IMPORT.items()}
    found = {key: file for key, file in found.items() if file.is_file()}
    result = _result_in(path, found)
    if result is not None:
        found["reference"] = result
    return Files(path.resolve(), {key: file.resolve() for key, file in found.items()}, {"prefix": name})


def _result_in(path: Path, found: Mapping[str, Path]) -> Path | None:
    """The file of --test_result, whose name only the command knows: it has the tensors of the imported model."""
    text = found.get("top_mlir")
    if text is None:
        return None
    names = {location for op in MlirFile.read(text).ops.values() for location in op.locations}
    known = {file.name for file in found.values()}
    shares = {}
    for file in sorted(path.glob("*.npz")):
        if file.name in known or "_weight" in file.name:
            continue
        try:
            shares[file] = len(names & read_npz(file).keys())
        except BadInput:
            continue
    best = max(shares, key=lambda file: shares[file], default=None)
    return best if best is not None and shares[best] > 1 else None


_DATA = {"mlir_input": ("input.npz", "inputs.npz"), "tpu_output": ("ref.npz", "reference.npz")}
"""File -> names that it has beside a bmodel without the compiler's list."""


def _alone(path: Path) -> Files:
    """A context without the compiler's list of files: the bmodel, its source and data beside it. BadInput if none."""
    try:
        context = Context.find(path)
    except BadInput:
        _notes_in(path)
        raise
    found = {"bmodel": context.bmodel}
    if context.mlir is not None:
        found["final_mlir"] = context.mlir
    if context.reference is not None:
        found["tpu_output"] = context.reference
    for key, names in _DATA.items():
        for name in names:
            if (context.directory / name).is_file():
                found.setdefault(key, context.directory / name)
    return Files(context.directory, found, is_deployed=True, is_alone=True)


_MODELS = (".bmodel", ".bmodel.xz", ".mlir", NOTES)
"""Ends of names of files that stand for the compilation they are part of."""


def _beside(model: Path) -> Path:
    """The context directory of a bmodel: its own folder, or the folder beside it that has its name."""
    folder = model.with_name(model.name.removesuffix(".xz").removesuffix(".bmodel"))
    return folder if folder.is_dir() else model.parent


def _notes_in(path: Path) -> Path:
    if (path / NOTES).is_file():
        return path / NOTES
    folders = (entry for _, entry in zip(range(_MOST_FOLDERS), sorted(path.iterdir()), strict=False) if entry.is_dir())
    deployed = [folder / NOTES for folder in folders if (folder / NOTES).is_file()]
    if len(deployed) == 1:
        return deployed[0]
    if deployed:
        some = ", ".join(notes.parent.name for notes in deployed[:_MOST_LISTED])
        more = f" and {len(deployed) - _MOST_LISTED} more" if len(deployed) > _MOST_LISTED else ""
        raise BadInput(
            f"{path}: {len(deployed)} compilations are here ({some}{more}); give one of them, such as "
            f"{deployed[0].parent}"
        )
    transformed = sorted(path.glob(f"*{_SUFFIX}"))
    if len(transformed) == 1:
        return transformed[0]
    if transformed:
        raise BadInput(f"{path}: {len(transformed)} imported models are here; give the context directory of one")
    raise _NoNotes(
        f"{path}: no {NOTES} in it or in its folders; give the directory in which model_transform and model_deploy "
        "--debug were run"
    )


def _read(notes: Path) -> Files:
    try:
        content: Any = json.loads(read_file(notes, limits.REPORT))
        entries: Mapping[str, Any] = dict(content["files"])
        commands: Mapping[str, Any] = dict(content.get("commands", {}))
        properties = {str(key): str(value) for key, value in dict(content.get("properties", {})).items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadInput(f"{notes}: not the compiler's list of files: {type(error).__name__}: {error}") from None
    is_deployed = notes.name == NOTES
    folder = notes.parent.resolve().parent if is_deployed else notes.parent.resolve()
    found = {key: path for key, entry in entries.items() if (path := _noted(notes.parent, folder, entry)) is not None}
    prefix = properties.get("prefix", "")
    if prefix:
        for key, pattern in _BY_PREFIX.items():
            path = folder / Path(pattern.format(prefix)).name
            if path.is_file():
                found.setdefault(key, path)
    for key, options in _OPTIONS.items():
        for path in _in_commands(folder, commands, options):
            if path.is_file():
                found.setdefault(key, path)
    for name in ("compilation.bmodel.xz", "compilation.bmodel"):
        if is_deployed and (notes.parent / name).is_file():
            found["bmodel"] = notes.parent / name
    if "final_mlir" not in found and (notes.parent / "final.mlir").is_file():
        found["final_mlir"] = notes.parent / "final.mlir"
    texts = {str(name): text for name, text in commands.items() if isinstance(text, str)}
    return Files(notes.parent, found, properties, is_deployed, texts)


def _noted(near: Path, folder: Path, entry: Any) -> Path | None:
    name = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return None
    # The directory may have been copied from where it was made: then the file lies beside under its name.
    for path in ((near / name), folder / Path(name).name, near / Path(name).name):
        if path.is_file():
            return path.resolve()
    return None


def _in_commands(folder: Path, commands: Mapping[str, Any], options: tuple[tuple[str, str], ...]) -> Iterator[Path]:
    for command, option in options:
        text = commands.get(command)
        try:
            words = shlex.split(text) if isinstance(text, str) else []
        except ValueError:
            continue
        for before, word in itertools.pairwise(words):
            if before == option:
                yield folder / word
                yield folder / Path(word).name
