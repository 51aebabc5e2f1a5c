"""Finding what the compiler expects of a compilation, among the files of several in one directory."""

from __future__ import annotations

import re
from pathlib import Path

from tdb_dap.engine.files.bounded_files import read_file, start_of
from tdb_dap.engine.files.location_files import existing, noted
from tdb_dap.engine.files.work_folders import work_file
from tdb_dap.errors import BadInput

_EXPECTED = "_tpu_outputs.npz"
"""Ending of files with the tensors that the compiler's interpreter has computed."""

_WEIGHTS = re.compile(rb'module\.weight_file = "([\w.-]+)_tpu_addressed_([\w.-]+)_weight\.npz"')
_HEADER = 1 << 16
"""Bytes of a final.mlir within which its module's attributes are."""


def reference_of(directory: Path) -> Path | None:
    """The file with the expected tensors of the compilation in a context directory, else with its outputs.

    Never that of another compilation: its notes and its final.mlir say how the file is called; one of another name
    counts only in the directory itself, or where neither is there.
    """
    name = noted(directory, "tpu_output")
    own = sibling(directory, name) if name.endswith(_EXPECTED) else None
    own = own or _lonely(directory)
    parts = compilation(directory)
    if own is None and parts is not None:
        own = sibling(directory, f"{'_'.join(parts)}{_EXPECTED}")
    if own is None and existing(directory / "final.mlir") is None:
        own = _lonely(directory.resolve().parent)
    return own or existing(directory / "output_ref_data.dat")


def reference_of_work_model(model: Path, mlir: Path | None) -> Path | None:
    """The file with the expected tensors of a model among others in the compiler's working directory.

    ``mlir``: its final.mlir, whose compilation names the file. A file that another text there names is of that one.
    """
    named = work_file(model, _EXPECTED.removeprefix("_"))
    parts = compilation_of(mlir)
    if parts is None:
        return named
    own = existing(model.parent / f"{'_'.join(parts)}{_EXPECTED}")
    if own is not None or named is None:
        return own
    text = named.name.removesuffix(".xz").removesuffix(_EXPECTED)
    return named if existing(named.with_name(f"{text}_tpu.mlir")) is None else None


def compilation(directory: Path) -> tuple[str, str] | None:
    """Name of the model, and chip and mode, as the compiler calls the files of the compilation in a context directory.

    Taken from the name of the weights in final.mlir; None if it is not there.
    """
    return compilation_of(existing(directory / "final.mlir"))


def compilation_of(mlir: Path | None) -> tuple[str, str] | None:
    """Name of the model, and chip and mode, that a final.mlir is of; None if it does not tell."""
    match = _weights_named(mlir)
    return (_text(match[1]), _text(match[2])) if match else None


def weights_of(mlir: Path | None) -> Path | None:
    """The compiler's file with the weights as they are in the model of a final.mlir; None if it is not there."""
    match = _weights_named(mlir)
    return sibling(mlir.parent, _text(match[0]).split('"')[1]) if match and mlir is not None else None


def _weights_named(mlir: Path | None) -> re.Match[bytes] | None:
    try:
        return _WEIGHTS.search(_start(mlir)) if mlir is not None else None
    except (OSError, BadInput):
        return None


def sibling(directory: Path, name: str) -> Path | None:
    """A file in a context directory or next to the directory, where the compiler leaves it."""
    return existing(directory / name) or existing(directory.absolute().parent / name)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _start(path: Path) -> bytes:
    return bytes(read_file(path)[:_HEADER]) if path.suffix == ".xz" else start_of(path, _HEADER)


def _lonely(folder: Path) -> Path | None:
    """The one file with expected tensors in a folder."""
    paths = sorted(folder.glob(f"*{_EXPECTED}"))
    return paths[0] if len(paths) == 1 else None
