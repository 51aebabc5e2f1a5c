"""A program, ready to be looked at: built once, never changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection
from functools import cached_property

from msgspec import Struct

from tdb_dap.engine.bmodel import ModelFile, Net
from tdb_dap.engine.commands.commands import Columns, Commands, StandIns
from tdb_dap.engine.commands.listing import Listing
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Bytes, Memory, Region
from tdb_dap.engine.hardware.target import Message, Target
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.access_table import AccessRows
from tdb_dap.engine.program.accesses import Accesses
from tdb_dap.engine.program.kept_rows import access_rows
from tdb_dap.engine.program.ops import Ops
from tdb_dap.engine.rendering import html
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.engine.source.compile_stages import CompileStages
from tdb_dap.engine.source.source_map import SourceMap
from tdb_dap.errors import BadExpression

_DENSE = 100
"""Commands of a core from which on they touch an eighth of local memory: clearing all of it at once is quicker."""


class Subnet(Struct, frozen=True):
    """A subnet, or a launch of a net that was recorded, and its commands [start, stop) in execution order.

    ``function``: its name in final.mlir; ``title``: its line in the listing.
    """

    id: int
    run_mode: str
    start: int
    stop: int
    function: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    title: str = ""


class Launch(Struct, frozen=True):
    """A launch of a net, commands [start, stop).

    ``shapes``: of its inputs, as text; ``token``: number of the token that it is for, in a run of a language model.
    """

    number: int
    net: str
    shapes: str
    start: int
    stop: int
    token: int | None = None

    @property
    def layer(self) -> int | None:
        """The number at the end of the net's name: 11 of ``block_cache_11``."""
        number = self.net.rpartition("_")[2]
        return int(number) if number.isdecimal() else None

    @property
    def title(self) -> str:
        """``launch 3 of toy (1×3×32×32)``, ``token 7, launch 21 of block_0 (1×1×64)``."""
        token = f"token {self.token}, " if self.token is not None else ""
        return f"{token}launch {self.number} of {self.net} ({self.shapes})"


class Program(ABC):
    """Commands in execution order, the tensors at their border, and the source that they were compiled from.

    ``net``, ``stage``: the net that the commands are of, and its version for certain input shapes; ``stage_index``: the
    stage's number in its net; ``compiler``: its version, as text. ``source`` and ``subnets`` are set by who is made.
    """

    def __init__(
        self,
        context: Context,
        target: Target,
        chip: str,
        compiler: str,
        net: Net,
        stage_index: int,
        columns: Columns,
        payload: Bytes,
        stand_ins: StandIns,
        target_at: Callable[[int, int], Target] | None = None,
        part_at: Callable[[int], tuple[Commands, int] | None] | None = None,
    ) -> None:
        self.context = context
        self.target = target
        self.chip = chip
        self.compiler = compiler
        self.net = net
        self.stage = stage = net.stages[stage_index]
        self.stage_index = stage_index
        self.inputs = tuple(Tensor.of(info, target.geometry) for info in stage.inputs)
        self.outputs = tuple(Tensor.of(info, target.geometry) for info in stage.outputs)
        self.commands = Commands(columns, target, payload, stage.subnets, stand_ins, self._lines_of, target_at, part_at)
        self.commands.content = self.content
        self.core_count = self.commands.core_count

    source: SourceMap
    subnets: tuple[Subnet, ...]

    def __repr__(self) -> str:
        return f"<Program {self.net.name}: {self.chip}, {len(self.commands):,} commands>"

    def _repr_html_(self) -> str:
        return program_html(self)

    def _lines_of(self, ordinal: int) -> tuple[int, ...]:
        return self.source.lines_of(ordinal)

    launches: tuple[Launch, ...] = ()
    """Launches of nets, in order; none where the commands are those of one net that has not been run yet."""

    has_waits = True
    """Whether it is known which commands wait for which."""

    content: FileBytes | None = None
    """The bytes of the compiled file, which the program is read from as it goes; None where it is read at once."""

    brings_inputs = False
    """Whether what the net is given is part of the program."""

    @property
    def begins_at_op(self) -> bool:
        """Whether a session begins at the first op: what several cores do before is of no interest."""
        return self.core_count > 1

    @property
    def is_dense(self) -> bool:
        """Whether its commands are so many that they touch most of what memories they have."""
        return len(self.commands) > _DENSE * self.core_count

    @property
    def of_firmware(self) -> Collection[int]:
        """Commands, by ordinal, that the dynamic firmware made while the net ran: no compiler wrote them."""
        return ()

    shares_l2 = False
    """Whether others than its commands read and write L2: the firmware's processor, engines that are not decoded."""

    @property
    def is_executable(self) -> bool:
        """Whether there is all that its commands compute with."""
        return True

    @property
    @abstractmethod
    def nets(self) -> tuple[Net, ...]:
        """Every net that is known with it, whichever the commands are of."""

    @property
    @abstractmethod
    def bmodel(self) -> ModelFile:
        """The compiled file; BadInput where there is none."""

    @abstractmethod
    def ddr_regions(self, to_write: bool = False) -> list[Region]:
        """DDR as far as it is used, as it is before the first command.

        ``to_write``: the regions become somebody's memory; without it they may be the program's own bytes.
        """

    @abstractmethod
    def message_of(self, ordinal: int) -> Message | None:
        """The message that a command sends to other cores or waits for; None if it does neither."""

    def fill_tables(self, memory: Memory, tables: str) -> None:
        """Write what the chip's own memories hold before the first command. ``tables``: see ``Target.fill_tables``."""
        self.target.fill_tables(memory, tables)

    @property
    def verifies(self) -> bool:
        """Whether it is known what the commands have to leave in memory."""
        return False

    def mismatch(self, ordinal: int, memory: Memory) -> str | None:
        """The first difference of the memories from what is known of them after a command, in words, or None."""
        return None

    def outside_writes(self, ordinal: int, memory: Memory) -> tuple[tuple[View, Array], ...] | None:
        """Stored words that the host puts into views instead of a command; None if it has to be executed."""
        return None

    def may_keep(self, ordinal: int) -> bool:
        """Whether bytes that a command writes may be those that were there: more is known to be new than is."""
        return False

    def borders_of(self, launch: Launch) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Inputs and outputs of the net of a launch, where they are for it."""
        return self.inputs, self.outputs

    def made_by(self, launch: Launch) -> tuple[Tensor, ...]:
        """Outputs of a launch's net, and of its subnets where they are known."""
        return self.borders_of(launch)[1]

    def first_own(self, launch: Launch) -> int:
        """The first command of a launch after what the host does before it."""
        own = (ordinal for ordinal in range(launch.start, launch.stop) if self.commands[ordinal].engine != "host")
        return next(own, launch.stop)

    def answered_at(self, token: int) -> View | None:
        """Place where the host leaves a token of a language model; None where the head gives it."""
        return None

    def is_computed(self, subnet: Subnet) -> bool:
        """Whether what a dynamic subnet gives is computed, though its commands are not known."""
        return False

    def launch_at(self, ordinal: int) -> Launch | None:
        """The launch that a command is of."""
        at = bisect_right(self._launch_starts, ordinal) - 1
        return self.launches[at] if at >= 0 and ordinal < self.launches[at].stop else None

    @cached_property
    def _launch_starts(self) -> list[int]:
        return [launch.start for launch in self.launches]

    @cached_property
    def listing(self) -> Listing:
        """Our disassembly of the whole program."""
        heading = f"// {self.net.name}: {self.chip}, {len(self.commands):,} commands, compiler {self.compiler}"
        return Listing(self.net.name, heading, self._sections(), lambda ordinal: self.commands[ordinal].asm)

    def _sections(self) -> list[tuple[str, int, int]]:
        """Sections of the listing: title, first command, command after the last."""
        return [
            (subnet.title or f"subnet {subnet.id} {subnet.run_mode}:", subnet.start, subnet.stop)
            for subnet in self.subnets
        ]

    def require_ordinal(self, ordinal: int) -> int:
        """A number of executed commands that there can be; BadExpression for any other."""
        last = len(self.commands)
        if not 0 <= ordinal <= last:
            raise BadExpression(f"command {ordinal} is not in this program; there are 0 to {last}")
        return ordinal

    @cached_property
    def ops(self) -> Ops:
        """The ops that have commands, in the order in which they begin; empty where no command has a line."""
        return Ops(self.source, self.commands)

    @cached_property
    def compile_stages(self) -> CompileStages:
        """The stages of compilation before final.mlir."""
        return CompileStages(self.context)

    @cached_property
    def accesses(self) -> Accesses:
        """Index of the accesses of all commands."""
        return Accesses(self.commands)

    @cached_property
    def access_rows(self) -> AccessRows:
        """Accesses of all commands, as columns of numbers."""
        return access_rows(self.commands)


def collected_rows(program: Program) -> AccessRows | None:
    """The ``access_rows`` of a program where they were asked for before: of a long program they take a while."""
    rows: AccessRows | None = program.__dict__.get("access_rows")
    return rows


def program_html(program: Program) -> str:
    """Three tables."""
    about = {
        "net": program.net.name,
        "chip": f"{program.chip}, {counted(program.core_count, 'core')}",
        "compiler": program.compiler,
        "commands": f"{len(program.commands):,}",
        "ops": f"{len(program.ops):,}",
    }
    tensors = [
        (role, tensor.name, tensor.dtype.name, tensor.shape, f"%{tensor.view.name}", tensor.scale, tensor.zero_point)
        for role, group in (("input", program.inputs), ("output", program.outputs))
        for tensor in group
    ]
    subnets = [
        (subnet.id, subnet.run_mode, subnet.stop - subnet.start, tuple(tensor.name for tensor in subnet.outputs))
        for subnet in program.subnets
    ]
    return html.block(
        html.fields(about),
        html.table(("", "name", "type", "shape", "address", "scale", "zero point"), tensors),
        html.table(("subnet", "runs", "commands", "gives"), subnets),
    )
