"""Tables of a store as files for other programs: Parquet for DuckDB and pandas, or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from tdb_dap.engine.files.atomic_files import whole_file
from tdb_dap.errors import BadInput
from tdb_dap.tools.zoo.store import Store
from tdb_dap.tools.zoo.tables import COLUMNS

_WHOLE = ("id", "case_id", "line", "run", "cases")
_REAL = ("started", "ended", "seconds", "megabytes", "cosine", "euclidean", "max_abs", "cycles")

_ROWS = 50_000
"""Rows that are in memory at a time."""


def export(store: Store, folder: Path, form: str) -> list[Path]:
    """Write each table to a file; ``form``: ``parquet`` or ``csv``. BadInput if a package is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in COLUMNS:
        path = folder / f"{name}.{form}"
        names, rows = store.table(name)
        if form == "csv":
            with whole_file(path) as file:
                text = io.TextIOWrapper(file, "utf-8", newline="")
                writer = csv.writer(text)
                writer.writerow(names)
                writer.writerows(rows)
                text.detach()
        else:
            _parquet(path, names, rows)
        paths.append(path)
    return paths


def _parts(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    iterator = iter(rows)
    while part := list(islice(iterator, _ROWS)):
        yield part


def _parquet(path: Path, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise BadInput("Parquet needs pyarrow; pip install pyarrow, or --form csv") from None
    kinds = {**dict.fromkeys(_WHOLE, arrow.int64()), **dict.fromkeys(_REAL, arrow.float64())}
    schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in names])
    with whole_file(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for part in _parts(rows):
            columns = {name: [row[at] for row in part] for at, name in enumerate(names)}
            writer.write_table(arrow.Table.from_pydict(columns, schema))
