"""The folders in which the nets of a combined bmodel were compiled: they are next to it, by the nets' names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tdb_dap.engine.files.context import Context

_DEEPEST = 3
"""Folders below the bmodel's that are searched for the sources of its nets."""

_MOST_FOLDERS = 4096


def name_of_folder(net: str, stage: int) -> str:
    """Name of the folder of a net; of other stages than the first it ends with their number."""
    return f"{net}_{stage}" if stage else net


def sources_beside(bmodel: Path, names: Iterable[str]) -> dict[str, Context | None]:
    """The files in the folders of these names next to a bmodel, None where there are none.

    Several conversions may be in one folder: what has the bmodel's name comes first.
    """
    sources: dict[str, Context | None] = dict.fromkeys(names)
    stem = bmodel.name.removesuffix(".xz").removesuffix(".bmodel")
    folders = sorted(_inside(bmodel.parent), key=lambda entry: (not stem.startswith(entry.name), entry.name))
    for _ in range(_DEEPEST):
        inside: list[Path] = []
        for folder in folders[:_MOST_FOLDERS]:
            context = Context.of_net(folder, bmodel) if folder.name in sources else None
            if context is not None and context.mlir is not None:
                sources[folder.name] = sources[folder.name] or context
            else:
                inside += _inside(folder)
        folders = inside
    return sources


def _inside(folder: Path) -> list[Path]:
    """Folders in a folder, by name; none where they cannot be listed."""
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return []
