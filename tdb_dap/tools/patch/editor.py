"""A copy of a bmodel, and changes to it that keep every byte where it is."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.bmodel import schema
from tdb_dap.engine.bmodel.file import HEADER_BYTES
from tdb_dap.engine.control.breakpoint_specs import command_named
from tdb_dap.engine.cvimodel.file import CHECKSUM, HEADING, Cvimodel, checksum
from tdb_dap.engine.files.atomic_files import whole_path
from tdb_dap.engine.files.flat_buffer import Block, Table
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadAccess, BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.bmodel import CommandGroup
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.program.program import Program

# Fields of a command group.
_SPAN = {"tiu": schema.Group.TIU, "dma": schema.Group.DMA}
_BYTES = {"tiu": schema.Group.TIU_BYTES, "dma": schema.Group.DMA_BYTES}

_BLOCK = 128
"""Streams are padded to whole blocks."""


class _Group(Struct, frozen=True):
    """A command group: what is known of it, and its table in the file."""

    info: CommandGroup
    table: Table


class Editor:
    """Changes a copy of a program's bmodel, a mapped file. ``notes``: what has been changed, a line each.

    As a context manager it gives the copy its name at the end, and removes it if anything goes wrong.
    """

    def __init__(self, program: Program, path: Path) -> None:
        self._program = program
        self.notes: list[str] = []
        with ExitStack() as stack:
            unfinished = stack.enter_context(whole_path(path))
            program.bmodel.copy_to(unfinished)
            self._data = np.memmap(unfinished, np.uint8, "r+")
            self._stack = stack.pop_all()
        start = program.bmodel.payload_start
        self._metadata = bytearray(self._data[HEADER_BYTES:start].tobytes())
        self._payload = self._data[start : start + program.bmodel.payload.size]

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._data[HEADER_BYTES : HEADER_BYTES + len(self._metadata)] = np.frombuffer(self._metadata, np.uint8)
            if isinstance(self._program.bmodel, Cvimodel):
                self._data[CHECKSUM] = np.frombuffer(checksum(self._data[HEADING.size :]), np.uint8)
            self._data.flush()
        self._stack.__exit__(kind, error, trace)

    def set_field(self, token: str, field: str, value: int) -> None:
        """Another value in a field of the command ``B12`` or ``c1.D3``; BadInput says what does not fit."""
        program, target = self._program, self._program.target
        ordinal = command_named(program, token)
        command = program.commands[ordinal]
        if field not in command.fields:
            raise BadInput(f"{token} ({command.name}) has no field {field!r}; it has {', '.join(command.fields)}")
        start = int(program.commands.columns.offset[ordinal])
        size = target.kind_size(command.kind)
        before = self._payload[start : start + size].tobytes()
        after = target.encode(command.kind, before, {field: value})
        if target.fields(command.kind, after)[field] != value:
            raise BadInput(f"{token}: {value} does not fit into the field {field}")
        self._payload[start : start + size] = np.frombuffer(after, np.uint8)
        old = target.fields(command.kind, before)[field]
        self.notes.append(f"{token} {command.name}: {field} = {value} instead of {old}")

    def set_weight(self, name: str, numbers: Array) -> None:
        """Other numbers in a weight; one number fills it. BadInput if it is not there or the shape is another one."""
        view = _weight(self._program, name)
        stage, geometry = self._program.stage, self._program.target.geometry
        regions = self._program.ddr_regions(to_write=True)
        memory = Memory(geometry, 1, regions)
        try:
            given = np.full(view.shape, numbers) if np.ndim(numbers) == 0 else np.reshape(numbers, view.shape)
            memory.write(view, view.dtype.encode(given))
        except (ValueError, BadAccess) as error:
            raise BadInput(
                f"{name} is {view.dtype}{list(view.shape)}; an array {list(np.shape(numbers))} does not fit: {error}"
            ) from None
        weights = next(region for region in regions if region.title == "weights")
        place = slice(stage.weights.start, stage.weights.start + stage.weights.size)
        self._payload[place] = weights.data[: stage.weights.size]
        if not isinstance(self._program.bmodel, Cvimodel):
            self._set_hash(hashlib.sha256(self._payload[place].tobytes()).digest())
        self.notes.append(f"weight {name}: other numbers, {view.dtype}{list(view.shape)}")

    def cut(self, ordinal: int) -> None:
        """Let command ``ordinal`` and all after it do nothing; those that synchronise stay, so that nothing waits.

        BadInput for chips that have no such command, and where what is left out is not made of commands.
        """
        program = self._program
        if not 0 < ordinal < len(program.commands):
            last = len(program.commands) - 1
            raise BadInput(f"there is nothing to cut at command {ordinal}; there are commands 1 to {last:,}")
        for subnet in program.subnets:
            if subnet.stop > ordinal and not program.commands[subnet.start].has_descriptor:
                raise BadInput(f"subnet {subnet.id} ({subnet.run_mode}) is not made of commands and cannot be left out")
        self._keep(program.commands.columns.offset[:ordinal])
        token = program.commands[ordinal].token
        self.notes.append(f"from command {ordinal:,} ({token}) on nothing is done")

    def keep(self, ordinals: Sequence[int]) -> None:
        """Let all other commands do nothing but those that synchronise. BadInput as ``cut``."""
        program = self._program
        for subnet in program.subnets:
            if not program.commands[subnet.start].has_descriptor:
                raise BadInput(f"subnet {subnet.id} ({subnet.run_mode}) is not made of commands and cannot be left out")
        self._keep(program.commands.columns.offset[np.asarray(ordinals, np.int64)])
        self.notes.append(f"{len(ordinals):,} of {len(program.commands):,} commands do something")

    def _keep(self, kept: Array) -> None:
        """Put commands that do nothing in the place of those that do not start at these bytes."""
        for group in self._groups():
            for engine, span in (("tiu", group.info.tiu), ("dma", group.info.dma)):
                inside = (kept >= span.start) & (kept < span.start + span.size)
                self._idle(group, engine, {int(offset) - span.start for offset in kept[inside]})

    def _idle(self, group: _Group, engine: str, kept: set[int]) -> None:
        """Put commands that do nothing in the place of those that are not at the offsets ``kept``.

        Numbers and ids stay: the vendor's runtime waits for the last id of each engine. The stream gets shorter.
        """
        target = self._program.target
        span = group.info.tiu if engine == "tiu" else group.info.dma
        count = group.info.tiu_count if engine == "tiu" else group.info.dma_count
        data = self._payload[span.start : span.start + span.size]
        stream = target.decode_stream(engine, data, count, f"{engine.upper()} stream")
        parts: list[bytes] = []
        for kind, start, id in zip(stream.kinds.tolist(), stream.offsets.tolist(), stream.ids.tolist(), strict=True):
            descriptor = data[start : start + target.kind_size(kind)].tobytes()
            if start not in kept and not target.is_system(kind):
                idle = target.idle(engine, id)
                if idle is None or len(idle) > len(descriptor):
                    chip = self._program.chip
                    raise BadInput(f"no command of {chip} is known to do nothing, so that none can be left out")
                descriptor = idle
            parts.append(descriptor)
        fresh = b"".join(parts)
        data[: len(fresh)] = np.frombuffer(fresh, np.uint8)
        data[len(fresh) :] = 0
        size = -(-len(fresh) // _BLOCK) * _BLOCK
        self._put("<Q", group.table.position(_SPAN[engine]), size, 8)  # after its start
        self._put("<I", group.table.position(_BYTES[engine]), size)

    def _put(self, form: str, place: int | None, value: int, after: int = 0) -> None:
        """Overwrite a number of the metadata block; one that the file leaves out stands for 0 and stays."""
        if place is not None:
            struct.pack_into(form, self._metadata, place + after, value)

    def _groups(self) -> Iterator[_Group]:
        """The command groups of the stage, with their tables in the metadata block."""
        subnets = self._stage().tables(schema.Stage.SUBNETS)
        for info, subnet in zip(self._program.stage.subnets, subnets, strict=True):
            tables = list(subnet.tables(schema.Subnet.GROUPS))
            for core in subnet.tables(schema.Subnet.CORES):
                tables += core.tables(schema.Core.GROUPS)
            for table, group in zip(tables, [g for core_groups in info.groups for g in core_groups], strict=True):
                yield _Group(group, table)

    def _stage(self) -> Table:
        nets = self._program.bmodel.metadata.nets
        index = next(i for i, net in enumerate(nets) if net.name == self._program.net.name)
        net = list(Block(self._metadata).root().tables(schema.Model.NETS))[index]
        return list(net.tables(schema.Net.STAGES))[self._program.stage_index]

    def _set_hash(self, digest: bytes) -> None:
        """The file's own hash of the weights, where it holds one."""
        weights = self._stage().table(schema.Stage.WEIGHTS)
        if weights is not None and len(weights.raw(schema.Weights.HASH)) == len(digest):
            place = weights.first(schema.Weights.HASH)
            self._metadata[place : place + len(digest)] = digest


def _weight(program: Program, name: str) -> View:
    """Range of a weight, by the name of its location."""
    mlir = program.source.mlir
    names = {n for op in (mlir.ops.values() if mlir else ()) if op.name == "top.Weight" for n in op.locations}
    for record in program.source.records:
        for value in record.operands:
            if value.name == name in names and value.view is not None and value.view.space is Space.GLOBAL:
                return value.view
    known: Sequence[str] = sorted(names)
    raise BadInput(f"there is no weight {name!r}; the model has {', '.join(known[:12])}")
