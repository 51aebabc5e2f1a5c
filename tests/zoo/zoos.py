"""Small zoos: copies of recorded models with data beside them."""

from __future__ import annotations

import lzma
import shutil
import sqlite3
from pathlib import Path

import numpy as np

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tests.samples import DATA

MODELS = {
    "toy": DATA / "bm1684x" / "toy_bm1684x_int8",
    "pool": DATA / "bm1684x" / "pool2d_bm1684x_int8",
    "argmax": DATA / "bm1684x" / "argmax_bm1684x_f32",
    "older": DATA / "bm1684" / "toy_bm1684_int8",
}


def model(name: str, folder: Path) -> Path:
    """A copy of a model under a name of its own in a folder."""
    copy = folder / name
    shutil.copytree(MODELS[name], copy)
    return copy


def zoo(folder: Path, *names: str) -> Path:
    """A folder with copies of models."""
    folder.mkdir()
    for name in names or MODELS:
        model(name, folder)
    return folder


def spoil_reference(context: Path) -> str:
    """Make one tensor of the reference another; its name."""
    path = context / "ref.npz"
    arrays = dict(read_npz(path))
    name = next(name for name in arrays if name.startswith("maxpool5"))
    arrays[name] = 1 - 2 * arrays[name]
    path.unlink()
    write_npz(path, {key: np.ascontiguousarray(array) for key, array in arrays.items()})
    return name


def break_model(context: Path) -> None:
    """Cut the bmodel in the middle."""
    path = context / "compilation.bmodel.xz"
    whole = lzma.decompress(path.read_bytes())
    path.unlink()
    (context / "compilation.bmodel").write_bytes(whole[: len(whole) // 2])


def rows(store: Path, query: str) -> list[tuple[object, ...]]:
    """What a query gives in a store."""
    database = sqlite3.connect(store)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()
