"""Finding the files of a .cvimodel among those that the compiler leaves in its working directory.

All are next to the model, and begin with a name that the user has chosen or the compiler has made of model, chip and
number format: ``toy_cv181x_int8_final.mlir``, ``toy_tensor_info.txt``. A copy of final.mlir is in a folder with the
name of the model. A user may call the model ``toy.bmodel``: what it contains decides.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tdb_dap.engine.files.bounded_files import start_of
from tdb_dap.engine.files.location_files import existing

SUFFIX = ".cvimodel"
_MAGIC = b"CviModel"
_MOST = 64
"""Files of one ending that are looked at."""


def is_work_model(path: Path) -> bool:
    """Whether a file is called as such a model is, or begins as one."""
    if path.name.removesuffix(".xz").endswith(SUFFIX):
        return True
    return path.suffix == ".bmodel" and path.is_file() and start_of(path, len(_MAGIC)) == _MAGIC


def own_work_model(directory: Path) -> Path | None:
    """The model that a directory, or a text in it, is about: the only one there, or the one that it is named after."""
    models = [path for end in (SUFFIX, f"{SUFFIX}.xz") for path in islice(directory.glob(f"*{end}"), _MOST)]
    if len(models) == 1 and next(directory.glob("*.bmodel"), None) is None:
        return models[0]
    if models:
        return None
    path = directory.absolute()
    other = path.with_name(f"{path.name}.bmodel")
    return existing(path.with_name(f"{path.name}{SUFFIX}")) or (other if is_work_model(other) else None)


def work_file(model: Path, ending: str) -> Path | None:
    """The file with an ending that belongs to a model: named after it, or the only one next to it."""
    folder = model.parent
    own = existing(folder / f"{stem_of(model)}_{ending}")
    if own is not None:
        return own
    # The compiler takes as many characters from the end of any name.
    own = existing(folder / f"{model.name.removesuffix('.xz')[: -len(SUFFIX)]}_{ending}")
    if own is not None:
        return own
    files = [path for end in (ending, f"{ending}.xz") for path in islice(folder.glob(f"*_{end}"), _MOST)]
    return files[0] if len(files) == 1 else existing(folder / ending)


def work_source(model: Path) -> Path | None:
    """The final.mlir of a model."""
    return existing(model.parent / stem_of(model) / "final.mlir") or work_file(model, "final.mlir")


def stem_of(model: Path) -> str:
    """The name of a model without what ends it."""
    return model.name.removesuffix(".xz").removesuffix(SUFFIX).removesuffix(".bmodel")
