"""Hashing what a run computes: after each command its results, after each op its tensors."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.views import View
from tdb_dap.tools.hashes.log import Command, Entry, Log, Tensor
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from tdb_dap.engine.commands import commands
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.source.source_map import OpRecord

_NOTHING = "-"


class Hashes(Observer):
    """Keeps a hash of every result, in the order of execution. ``exact``: whether the run is bit for bit the chip's."""

    def __init__(self, exact: bool = True) -> None:
        self._exact = exact
        self._entries: list[Entry] = []
        self._head: dict[str, str] = {}

    def after_command(self, inspector: Inspector, command: commands.Command) -> None:
        views = [result for result in command.results if isinstance(result, View)]
        line = next(iter(command.mlir_lines), 0)
        hashed = _hash(inspector.memory.read(view) for view in views) if views else _NOTHING
        self._entries.append(Command(command.ordinal, line, hashed, command.token, command.name))

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        for value in record.results:
            hashed = _NOTHING if value.view is None else _hash([inspector.memory.read(value.view)])
            self._entries.append(Tensor(record.line, record.core, hashed, record.opcode, value.name))

    def finished(self, inspector: Inspector) -> None:
        program = inspector.program
        inputs = (array for _, array in sorted(inspector.machine.inputs.items()))
        self._head = {
            "tool": __version__,
            "chip": program.chip,
            "model": f"{program.context.bmodel.name.removesuffix('.xz')} {_file_hash(program.context.bmodel)}",
            "inputs": _hash(inputs),
            "exact": "yes" if self._exact else "no",
        }

    @property
    def log(self) -> Log:
        """All of it, when the run has come to its end."""
        return Log(self._head, tuple(self._entries))


def _hash(arrays: Iterable[Array]) -> str:
    """Eight hexadecimal digits for the words of some arrays, as they are stored: -0.0 is not 0.0, a NaN is its bits."""
    digest = blake2b(digest_size=4)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    return blake2b(read_file(path), digest_size=4).hexdigest()
