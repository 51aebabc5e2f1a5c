"""Lines of ``tdb-dap info`` about every net and stage of a file: its kinds of subnets, commands and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.bmodel import RunMode
from tdb_dap.targets.chips.registry import target_for

if TYPE_CHECKING:
    from tdb_dap.engine.bmodel import Net, Stage
    from tdb_dap.engine.program.compiled_program import CompiledProgram
    from tdb_dap.engine.program.program import Program

_KINDS = {RunMode.TPU_STATIC: "static", RunMode.TPU_DYNAMIC: "dynamic", RunMode.CPU: "cpu"}


def net_lines(program: Program) -> Iterator[str]:
    """One line for each stage of each net, whichever of them the rest of ``info`` is about."""
    ends = int(bool(target_for(program.chip, str(program.context.bmodel)).end_commands))
    for net in program.nets:
        for number, stage in enumerate(net.stages):
            yield f"nets       {_title(net, number)}: {_subnets(stage, ends)}; {_sizes(stage)}"


def kernel_line(program: CompiledProgram) -> str:
    """Size of the kernel module in the file; empty for a chip that needs none."""
    metadata = program.bmodel.metadata
    if metadata.has_riscv_kernel:
        return "kernel     RISC-V with tensor instructions (--rvti), not decoded; compile without it to debug"
    if metadata.kernel_bytes:
        return f"kernel module: {metadata.kernel_bytes:,} bytes"
    chip = target_for(program.chip, str(program.context.bmodel))
    return "kernel module: none; a board's runtime refuses the file without one" if chip.needs_kernel else ""


def _title(net: Net, number: int) -> str:
    return net.name if len(net.stages) == 1 else f"{net.name} {number}"


def _subnets(stage: Stage, ends: int) -> str:
    """``static (3 DMA, 4 TIU)``, each kind once, with the commands of all its subnets.

    ``ends``: commands of a stream that end it and are none of the model's.
    """
    counts: dict[str, Counter[str]] = {}
    for subnet in stage.subnets:
        kind = _KINDS.get(subnet.run_mode, subnet.run_mode.name.lower())
        counter = counts.setdefault(kind, Counter())
        for core in subnet.groups:
            for group in core:
                counter["streams of both engines"] += int(group.packets is not None)
                counter.update({"DMA": max(group.dma_count - ends, 0), "TIU": max(group.tiu_count - ends, 0)})
        counter["host operations"] += len(subnet.cpu_operations)
        counter["streams between chips"] += sum(map(len, subnet.chip_to_chip))
        counter["subnets"] += 1
    return ", ".join(f"{kind} ({_listed(kind, counter)})" for kind, counter in counts.items()) or "no subnets"


def _listed(kind: str, counter: Counter[str]) -> str:
    subnets = counter.pop("subnets")
    words = [f"{count:,} {what}" for what, count in sorted(counter.items()) if count]
    nothing = "commands are made at run time" if kind == _KINDS[RunMode.TPU_DYNAMIC] else "no commands"
    return ", ".join([*([f"{subnets} subnets"] if subnets > 1 else []), *words]) or nothing


def _sizes(stage: Stage) -> str:
    streams = sum(
        span.size for subnet in stage.subnets for core in subnet.groups for group in core for span in group.spans
    )
    sizes = {"commands": streams, "weights": stage.weights.size, "activations": stage.activations_size}
    if stage.io_size:
        sizes["inputs and outputs"] = stage.io_size
    return ", ".join(f"{what} {size:,} bytes" for what, size in sizes.items())
