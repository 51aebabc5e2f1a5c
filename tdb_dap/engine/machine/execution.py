"""Executing one command, by a backend or in its place; errors name the command and the reason."""

from __future__ import annotations

from collections.abc import Sequence

from tdb_dap.engine.bmodel import RunMode
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.machine import host_subnets
from tdb_dap.engine.machine.backend import Backend
from tdb_dap.engine.machine.branches import Branches
from tdb_dap.engine.machine.undo_log import Outcome
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BackendFailed, BadAccess, Illegal, NotSimulated


def execute(command: Command, backend: Backend, memory: Memory) -> Outcome:
    """Let the backend execute a command that has a descriptor. Raises NotSimulated or BackendFailed."""
    if command.is_system:
        return Outcome()
    try:
        return backend.execute(command, memory)
    except (NotSimulated, BadAccess, BackendFailed) as error:
        if isinstance(error, NotSimulated) and error.ordinal is not None:
            raise
        text = f"{command.place}: {error}"
        if isinstance(error, BackendFailed):
            raise BackendFailed(text) from None
        raise (Illegal if isinstance(error, Illegal) else NotSimulated)(text, command.ordinal) from None


def compute_subnet(
    command: Command, program: Program, memory: Memory, sources: Sequence[host_subnets.Source], branches: Branches
) -> host_subnets.Outcome:
    """The outputs of a subnet that is not made of commands, not yet written. Raises NotSimulated."""
    info = command.subnet_info
    outside = program.outside_writes(command.ordinal, memory)
    if outside is not None:
        return host_subnets.Outcome(outside)
    try:
        if info.run_mode is RunMode.SWITCH:
            return branches.decide(info, memory)
        if info.run_mode is RunMode.MERGE:
            return branches.merge(info, memory)
        if command.engine == "cpu":
            return host_subnets.on_the_host(info, command.name, program.bmodel, memory)
        if command.engine == "hau":
            raise NotSimulated(f"{command.name}: the {info.hau_bytes:,} bytes of HAU streams are not simulated")
        return host_subnets.known_elsewhere(info, command.name, memory, sources)
    except (NotSimulated, BadAccess) as error:
        raise NotSimulated(f"command {command.ordinal}: {error}", command.ordinal) from None
