"""Files that a compilation has left in a directory, whole or broken off."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.location_files import NOTES
from tdb_dap.engine.files.work_folders import own_work_model, work_source
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.stage_files import Text, compilations, stage_files, text_of, texts_in

_SUFFIX = f".{NOTES}"
_MOST_LISTED = 6
_MOST_FOLDERS = 4096

_OPTIONS = {
    "reference": (("deploy_cmd", "--test_reference"), ("transform_cmd", "--test_result")),
    "calibration": (("deploy_cmd", "--calibration_table"),),
    "bmodel": (("deploy_cmd", "--model"),),
    "top_mlir": (("deploy_cmd", "--mlir"),),
}
"""File -> the options of the compiler's commands that name it."""


class Files(Struct, frozen=True):
    """The files of one compilation by the compiler's own words for them, as far as they are there.

    ``directory``: of the notes; ``properties``: what the compiler notes of the compilation; ``is_deployed``: whether
    model_deploy has been started; ``commands``: the compiler's command lines; ``is_alone``: there is a context and no
    list of files, so that nothing is known of the stages before.
    """

    directory: Path
    paths: Mapping[str, Path]
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    is_deployed: bool = False
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    is_alone: bool = False

    def get(self, key: str) -> Path | None:
        return self.paths.get(key)


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
            return _by_content(path) or _alone(path)
        return _read(notes)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


class _NoNotes(BadInput):
    """The compiler's list of files is not there."""


_OF_IMPORT_ONLY = ("final_opt.onnx", "*_opt.onnx", "*_opt.onnx.prototxt")
"""Files that are there before the model is imported."""


def _by_content(path: Path) -> Files | None:
    """A compilation without the compiler's list of files; None if no text of a stage before final.mlir is there."""
    context, folder = _context_of(path)
    if context is None:
        texts = texts_in(folder)
        lowered = compilations(texts)
        imported = [text for text in texts if text.key == "origin_mlir"]
        if len(lowered) > 1:
            some = ", ".join(sorted(group[0].path.name for group in lowered.values())[:_MOST_LISTED])
            raise BadInput(f"{path}: {len(lowered)} compilations are here ({some}); give the context directory of one")
        if not lowered and len(imported) > 1:
            some = ", ".join(text.path.name for text in imported[:_MOST_LISTED])
            raise BadInput(f"{path}: {len(imported)} imported models are here ({some}); give a directory with one")
        if not texts and any(True for pattern in _OF_IMPORT_ONLY for _ in path.glob(pattern)):
            raise BadInput(
                f"{path}: model_transform stopped before it wrote the imported model; the last lines that it printed "
                "say why, often an op or an attribute that it does not support"
            )
    paths = _of_context(context) if context is not None else {}
    before = stage_files(folder, paths)
    if not before.keys() & {"origin_mlir", "top_mlir", "tpu_mlir"}:
        return None
    paths = {**before, **paths}
    named = next((text for key in ("tpu_mlir", "top_mlir", "origin_mlir") if (text := _text(paths, key))), None)
    model = named.model if named is not None else ""
    if model and (folder / f"{model}.onnx").is_file():
        paths["origin_model"] = folder / f"{model}.onnx"
    final = _text(paths, "tpu_mlir") or _text(paths, "final_mlir")
    properties = {"prefix": final.prefix if final is not None else model}
    if final is not None:
        properties["chip"] = final.chip
    is_deployed = final is not None or context is not None
    return Files(context or path, {key: file.resolve() for key, file in paths.items()}, properties, is_deployed)


def _text(paths: Mapping[str, Path], key: str) -> Text | None:
    return text_of(paths[key]) if key in paths else None


def _context_of(path: Path) -> tuple[Path | None, Path]:
    """The context directory that a directory is or holds, and the one in which the compiler was run.

    BadInput if it holds several.
    """
    if _of_context(path):
        return path, path.resolve().parent if not texts_before(path) else path
    folders = (entry for _, entry in zip(range(_MOST_FOLDERS), sorted(path.iterdir()), strict=False) if entry.is_dir())
    contexts = [folder for folder in folders if _of_context(folder)]
    if len(contexts) > 1:
        some = ", ".join(folder.name for folder in contexts[:_MOST_LISTED])
        raise BadInput(
            f"{path}: {len(contexts)} compilations are here ({some}); give one of them, such as {contexts[0]}"
        )
    return (contexts[0] if contexts else None), path


def texts_before(path: Path) -> bool:
    """Whether texts of stages before the last are in a directory."""
    return any(text.key in ("origin_mlir", "top_mlir", "tpu_mlir") for text in texts_in(path))


def _of_context(path: Path) -> dict[str, Path]:
    """The model and the text of a context directory, or of the working directory with a cvimodel; empty if none."""
    paths: dict[str, Path] = {}
    model = own_work_model(path)
    if model is not None:
        source = work_source(model)
        return {"bmodel": model, **({"final_mlir": source} if source is not None else {})}
    if (path / "final.mlir").is_file():
        paths["final_mlir"] = path / "final.mlir"
    for name in ("compilation.bmodel.xz", "compilation.bmodel"):
        if (path / name).is_file():
            paths["bmodel"] = path / name
    return paths


def _alone(path: Path) -> Files:
    """A context without the compiler's list of files: the bmodel, its source and data next to it. BadInput if none."""
    try:
        context = Context.find(path)
    except BadInput:
        _notes_in(path)
        raise
    paths = {"bmodel": context.bmodel}
    if context.mlir is not None:
        paths["final_mlir"] = context.mlir
    if context.reference is not None:
        paths["tpu_output"] = context.reference
    if context.inputs is not None and context.inputs.suffix != ".dat":
        paths["mlir_input"] = context.inputs
    return Files(context.directory, paths, is_deployed=True, is_alone=True)


_MODELS = (".bmodel", ".bmodel.xz", ".cvimodel", ".mlir", NOTES)
"""Ends of names of files that stand for the compilation they are part of."""


def _beside(model: Path) -> Path:
    """The context directory of a bmodel: its own folder, or the folder next to it that has its name."""
    folder = model.with_name(model.name.removesuffix(".xz").removesuffix(".bmodel").removesuffix(".cvimodel"))
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
    paths = {key: path for key, entry in entries.items() if (path := _noted(notes.parent, folder, entry)) is not None}
    for key, options in _OPTIONS.items():
        for path in _in_commands(folder, commands, options):
            if path.is_file():
                paths.setdefault(key, path)
    for name in ("compilation.bmodel.xz", "compilation.bmodel"):
        if is_deployed and (notes.parent / name).is_file():
            paths["bmodel"] = notes.parent / name
    if "final_mlir" not in paths and (notes.parent / "final.mlir").is_file():
        paths["final_mlir"] = notes.parent / "final.mlir"
    # What the compiler stopped before it noted, and what older releases do not note at all.
    paths = {**stage_files(folder, paths), **paths}
    texts = {str(name): text for name, text in commands.items() if isinstance(text, str)}
    return Files(notes.parent, paths, properties, is_deployed, texts)


def _noted(near: Path, folder: Path, entry: Any) -> Path | None:
    name = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return None
    # The directory may have been copied from where it was made: then the file is next to it under its name.
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
