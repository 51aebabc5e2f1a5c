"""Finding the files of a compiled model, as the compiler's tools leave them.

``model_deploy --debug`` with test data leaves a directory with everything. Without test data, and in the converter of
language models, the bmodel stays next to that directory, whose ``ref_files.json`` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tdb_dap.engine.files.data_files import data_of, data_of_work_model
from tdb_dap.engine.files.location_files import existing, locations_of, noted
from tdb_dap.engine.files.reference_files import compilation
from tdb_dap.engine.files.work_folders import is_work_model, own_work_model, work_file, work_source
from tdb_dap.errors import BadInput

_MOST_FOLDERS = 4096
"""Entries of a directory that are looked at."""

_MOST_LISTED = 8

MODELS = (".bmodel", ".bmodel.xz", ".cvimodel", ".cvimodel.xz")
"""Ends of the names of compiled models."""

_TEXTS = ("origin_mlir", "top_mlir", "tpu_mlir", "tpu_opt_mlir", "final_mlir", "tensor_location")
"""Texts of a compilation, by their keys in the compiler's notes."""


class Context(Struct, frozen=True):
    """The files of one compiled model; all but the bmodel may be missing.

    ``directory``: where final.mlir and what belongs to it are; the bmodel may be next to it.
    """

    directory: Path
    bmodel: Path
    mlir: Path | None
    locations: Path | None
    inputs: Path | None
    reference: Path | None

    @classmethod
    def find(cls, given: str | Path) -> Context:
        """``given``: a context directory, the directory around it, a bmodel file, or a text of the compilation.

        The text is what an editor has open: final.mlir, or the .mlir of an earlier stage next to the context directory.

        BadInput says what is missing, or which of several models can be given.
        """
        path = Path(given).expanduser()
        try:
            if path.name.removesuffix(".xz").endswith((".mlir", ".json")) and path.is_file():
                path = _compiled_from(path)
            if path.is_dir():
                directory, bmodel = _in_directory(path)
            elif path.exists():
                directory, bmodel = _source_of(path), path
            else:
                raise BadInput(f"{path}: no such file or directory; give a context directory or a .bmodel file")
            if is_work_model(bmodel):
                return cls._of_work_folder(bmodel)
            mlir = existing(directory / "final.mlir")
            data = data_of(directory)
            return cls(
                directory,
                bmodel,
                mlir,
                locations_of(directory, bmodel, mlir),
                data.inputs,
                data.reference,
            )
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None

    def found(self, given: str | Path) -> list[Path]:
        """Its files but for one that was ``given``."""
        files = (self.bmodel, self.mlir, self.locations, self.inputs, self.reference)
        return [file for file in files if file is not None and file != Path(given).expanduser()]

    @classmethod
    def _of_work_folder(cls, model: Path) -> Context:
        """A model whose files are among others in the compiler's working directory."""
        data = data_of_work_model(model)
        locations = work_file(model, "tensor_info.txt")
        return cls(model.parent, model, work_source(model), locations, data.inputs, data.reference)

    @classmethod
    def of_net(cls, folder: Path, bmodel: Path) -> Context:
        """One net of several in a bmodel. ``folder``: where it was compiled; what is missing there is None."""
        mlir, locations = existing(folder / "final.mlir"), existing(folder / "tensor_location.json")
        return cls(folder, bmodel, mlir, locations, None, None)


def _in_directory(path: Path) -> tuple[Path, Path]:
    """The directory of the sources and the bmodel that a directory stands for."""
    own = _own_model(path)
    if own is not None:
        return path, own
    models = [file for end in MODELS for file in sorted(path.glob(f"*{end}")) if file.is_file()]
    if len(models) == 1:
        return _source_of(models[0]), models[0]
    if not models:
        inside = [(folder, model) for folder in _folders(path) if (model := _own_model(folder)) is not None]
        if len(inside) == 1:
            return inside[0]
        models = [folder for folder, _ in inside]
    raise BadInput(_no_model(path, models))


def _compiled_from(text: Path) -> Path:
    """The context directory that a text belongs to: its own, or the one whose notes or weights name it.

    BadInput if there is none, or several.
    """
    folder = text.absolute().parent
    if _own_model(folder) is not None:
        return text.parent
    name = text.name.removesuffix(".xz")
    models = [other for other in _folders(folder) if _own_model(other) is not None and name in _texts_of(other)]
    if len(models) == 1:
        return text.parent / models[0].name
    if models:
        names = ", ".join(other.name for other in models[:_MOST_LISTED])
        raise BadInput(f"{text}: {len(models)} models are compiled from it ({names}); give one of these directories")
    raise BadInput(
        f"{text}: no compiled model belongs to it; give the context directory that the compiler leaves "
        "(model_deploy --debug), or a .bmodel file"
    )


def _texts_of(directory: Path) -> set[str]:
    """Names of the texts that the compilation in a context directory goes through."""
    names = {noted(directory, key) for key in _TEXTS}
    parts = compilation(directory)
    if parts is not None:
        model, mode = parts
        names |= {f"{model}{end}" for end in (".mlir", "_origin.mlir")}
        names |= {f"{model}_{mode}_{stage}.mlir" for stage in ("tpu", "tpu_opt", "final")}
    return names - {""}


def _own_model(directory: Path) -> Path | None:
    """The bmodel that a context directory is about: in it, or named in its notes."""
    return existing(directory / "compilation.bmodel") or _noted(directory) or own_work_model(directory)


def _noted(directory: Path) -> Path | None:
    """The bmodel that the compiler's notes name, if it is there; only next to or in the directory, nowhere else."""
    name = noted(directory, "bmodel")
    if not name.endswith(".bmodel"):
        return None
    return existing(directory / name) or existing(directory.absolute().parent / name)


def _source_of(bmodel: Path) -> Path:
    """The directory with the sources of a bmodel: its own, or the context directory next to it that names it."""
    if existing(bmodel.parent / "final.mlir") is not None:
        return bmodel.parent
    folders = [folder for folder in _folders(bmodel.parent) if (own := _noted(folder)) and own.samefile(bmodel)]
    return folders[0] if len(folders) == 1 else bmodel.parent


def _folders(path: Path) -> Iterator[Path]:
    """The directories in a directory, by name."""
    entries = sorted(entry for _, entry in zip(range(_MOST_FOLDERS), path.iterdir(), strict=False))
    return (entry for entry in entries if entry.is_dir())


def _no_model(path: Path, others: list[Path]) -> str:
    if others:
        more = f" and {len(others) - _MOST_LISTED} more" if len(others) > _MOST_LISTED else ""
        names = ", ".join(other.name for other in others[:_MOST_LISTED])
        return f"{path}: {len(others)} models are here ({names}{more}); give one of them, such as {others[0]}"
    return (
        f"{path}: no compilation.bmodel in this directory; give the context directory that the compiler leaves "
        "(model_deploy --debug), or a .bmodel or .cvimodel file"
    )
