"""Finding the inputs of a compiled model, and the tensors expected for them.

The only search of its kind: the adapter, the command line, ``check``, ``zoo`` and ``triage`` take what it returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from msgspec import Struct

from tdb_dap.engine.files.location_files import existing, noted
from tdb_dap.engine.files.reference_files import (
    compilation,
    compilation_of,
    reference_of,
    reference_of_work_model,
    sibling,
)
from tdb_dap.engine.files.work_folders import work_file, work_source

_MADE_INPUTS = "_in_f32.npz"
"""Ending of the file in which model_transform keeps its test input."""

_INPUTS = ("input.npz", "inputs.npz")
_REFERENCES = ("ref.npz", "reference.npz")
_MOST = 64
"""Files of one ending that are looked at."""


class DataFiles(Struct, frozen=True):
    """Files with the inputs of a model and with its expected tensors; None: there is none.

    ``reference`` may be there without ``inputs``: then no run can be compared with it.
    """

    inputs: Path | None = None
    reference: Path | None = None


def data_of(directory: Path) -> DataFiles:
    """The data of a context directory: by the compiler's own list, by the compiler's names, by a user's names.

    Never that of another compilation next to it: see ``reference_of``.
    """
    inputs = existing(directory / "input_ref_data.dat") or _listed_inputs(directory) or _named(directory, _INPUTS)
    return DataFiles(inputs or _made_inputs(directory), reference_of(directory) or _named(directory, _REFERENCES))


def data_of_work_model(model: Path) -> DataFiles:
    """The data of a model among others in the compiler's working directory: by its compilation, by a user's names."""
    mlir = work_source(model)
    parts = compilation_of(mlir)
    made = existing(model.parent / f"{parts[0]}{_MADE_INPUTS}") if parts is not None else None
    inputs = made or work_file(model, _MADE_INPUTS.removeprefix("_")) or _named(model.parent, _INPUTS)
    return DataFiles(inputs, reference_of_work_model(model, mlir) or _named(model.parent, _REFERENCES))


def _listed_inputs(directory: Path) -> Path | None:
    """The inputs that the compiler's list names, else those with the model's name."""
    name = noted(directory, "mlir_input")
    listed = sibling(directory, name) if name.endswith((".npz", ".npy")) else None
    parts = compilation(directory)
    if listed is None and parts is not None:
        listed = sibling(directory, f"{parts[0]}{_MADE_INPUTS}")
    return listed


def _made_inputs(directory: Path) -> Path | None:
    """The only test input of model_transform in a directory, or around it."""
    for folder in (directory, directory.resolve().parent):
        files = list(islice(folder.glob(f"*{_MADE_INPUTS}"), _MOST))
        if files:
            return files[0] if len(files) == 1 else None
    return None


def _named(directory: Path, names: Iterable[str]) -> Path | None:
    return next((directory / name for name in names if (directory / name).is_file()), None)
