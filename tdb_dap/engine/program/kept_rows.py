"""Accesses of a program kept between processes: to describe its commands takes as long as to run a small network."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tdb_dap.engine.hardware.dtypes import BY_NAME
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.target import Keeping
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.access_table import AccessRows, Views
from tdb_dap.errors import NotSimulated
from tdb_dap.system import kept_files
from tdb_dap.system.kept_files import KeptFile, state_of_sources
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command, Commands


class _Kind(msgspec.Struct, array_like=True):
    """A tensor without its address and core."""

    space: Space
    shape: tuple[int, ...]
    dtype: str
    layout: Layout
    strides: tuple[int, ...] | None
    width: int
    lane_mask: int | None


class _File(msgspec.Struct, array_like=True):
    rows: bytes
    """Columns of AccessRows, one after the other, as int64."""
    views: bytes
    """Columns of Views: kind, address, core."""
    kinds: list[_Kind]
    undefined: tuple[tuple[int, str], ...]
    illegal: tuple[tuple[int, str], ...]
    words: bytes


_COLUMNS = ("ordinal", "space", "core", "start", "stop", "lane", "lane_stop", "is_write", "view")


def access_rows(commands: Commands) -> AccessRows:
    """The accesses of all commands: those that another process has kept, else worked out and kept."""
    file = _file_of(commands)
    if file is None:
        return AccessRows.of(commands)
    geometry, data = commands.target.geometry, file.load()
    if data is not None:
        with suppress(ValueError, KeyError, msgspec.MsgspecError):
            return _unpacked(msgspec.msgpack.decode(data, type=_File), geometry)
    rows = AccessRows.of(commands)
    if all(view.geometry is geometry for view in rows.views.kinds):
        with suppress(OverflowError):
            file.save(msgspec.msgpack.encode(_packed(rows)))
    return rows


def _file_of(commands: Commands) -> KeptFile | None:
    """The file of a program; None where accesses depend on more than commands and chip, or nothing is kept."""
    target, encoded = commands.target, commands.encoded
    if encoded is None or not isinstance(target, Keeping) or not target.identity or not kept_files.are_wanted():
        return None
    try:
        hosts = [_host_operands(commands[int(ordinal)]) for ordinal in np.flatnonzero(encoded.kinds < 0)]
        others = (_build(), target.identity.encode(), msgspec.msgpack.encode(hosts))
    except (NotSimulated, OverflowError):  # or an address that no memory has
        return None
    return KeptFile("rows", encoded.digest(target.kind_size, *others)) if encoded.kinds.size else None


def _host_operands(command: Command) -> list[tuple[_Kind, int, int] | None]:
    """Kind, address and core of each tensor that a command without a descriptor reads or writes."""
    description = command.description
    return [
        (_kind_of(operand), operand.address, operand.core) if isinstance(operand, View) else None
        for operand in (*description.reads, None, *description.results)
    ]


def _kind_of(view: View) -> _Kind:
    return _Kind(view.space, view.shape, view.dtype.name, view.layout, view.strides, view.width, view.lane_mask)


@cache
def _build() -> bytes:
    """The version of this package, and the state of the sources that accesses depend on."""
    package = Path(__file__).parents[2]
    folders = (package / "targets", *[package / "engine" / room for room in ("commands", "hardware", "program")])
    return __version__.encode() + state_of_sources(*folders)


def _packed(rows: AccessRows) -> _File:
    columns = np.stack([getattr(rows, name).astype(np.int64, copy=False) for name in _COLUMNS])
    views = rows.views
    places = np.stack([views.kind, views.address, views.core])
    kinds = [_kind_of(view) for view in views.kinds]
    words = rows.words.tobytes()
    return _File(columns.tobytes(), places.tobytes(), kinds, rows.undefined, rows.illegal, words)


def _unpacked(file: _File, geometry: Geometry) -> AccessRows:
    """ValueError or KeyError where it is not what was packed."""
    columns = dict(zip(_COLUMNS, np.frombuffer(file.rows, np.int64).reshape(len(_COLUMNS), -1).copy(), strict=True))
    kind, address, core = np.frombuffer(file.views, np.int64).reshape(3, -1)
    kinds = [
        View(one.space, 0, one.shape, BY_NAME[one.dtype], one.layout, one.strides, geometry, one.width, one.lane_mask)
        for one in file.kinds
    ]
    views = Views(kinds, kind, address, core)
    is_write, words = columns.pop("is_write").astype(np.bool_), np.frombuffer(file.words, np.int8)
    if words.size != int(columns["ordinal"].max(initial=-1)) + 1:
        raise ValueError
    return AccessRows(
        **columns,
        is_write=is_write,
        views=views,
        words=words,
        undefined=file.undefined,
        illegal=file.illegal,
    )
