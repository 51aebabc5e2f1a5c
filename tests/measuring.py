"""Folders as the vendor's runtime leaves them of a run on a board, made for a program whose times are chosen."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.targets.timing import Monitor
from tdb_dap.tools.profile.schedule import Span

BLOCKS = {"tiu": 3, "dma": 4, "sdma": 11}


def monitor_of(program: CompiledProgram) -> Monitor:
    timing = target_for(program.chip, "a model").timing
    assert timing is not None
    assert timing.monitor is not None
    return timing.monitor


def microseconds(program: CompiledProgram, spans: list[Span]) -> list[Span]:
    """Spans in cycles of the chip's clock, as times."""
    clock = program.target.clock
    assert clock is not None
    return [Span(span.start / clock, span.stop / clock) for span in spans]


def block(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content


def record(monitor: Monitor, engine: str, number: int, start: int, stop: int) -> bytes:
    shape = monitor.record(engine)
    words = np.zeros(shape.size // 4, "<u4")
    words[:] = 0xA5A50000  # what else is in a record is not looked at
    words[shape.id] = (0xA5A5 << 16 | number & 0xFFFF) & 0xFFFFFFFF
    words[shape.start], words[shape.start + 1] = start % (1 << 32), stop % (1 << 32)
    return words.tobytes()


def write_run(
    folder: Path,
    program: CompiledProgram,
    times: list[Span],
    zero: Mapping[tuple[int, str], float] = {},
    is_lost: Callable[[int], bool] = lambda ordinal: False,
    iteration: int = 0,
    first: int = 0,
    name: str = "",
) -> Path:
    """Write what a board would have. ``times``: microseconds of each command; ``zero``: what an engine's counter shows
    at their begin; ``is_lost``: commands whose record is missing; ``first``: number of the first file.
    """
    monitor = monitor_of(program)
    folder.mkdir(exist_ok=True)
    (folder / "global.profile").write_text(
        f"[bmprofile] arch={program.chip}\n[bmprofile] net_name={name or program.net.name}\n"
        f"[bmprofile] tpu_freq={monitor.tiu_clock:.0f}\n[bmprofile] is_mlir=1\n...Start Profile Log...\n"
    )
    columns = program.commands.columns
    streams = 3 if program.target.has_engine("sdma") else 2
    for index, info in enumerate(program.stage.subnets):
        content = block(1, struct.pack("<IIIQQQ", iteration, info.id, 0, 0, 0, 0))
        for core, groups in enumerate(info.groups):
            counts = b"".join(struct.pack("<II", group.dma_count, group.tiu_count) for group in groups)
            content += block(8, bytes(16 * streams) + struct.pack("<I", len(groups)) + counts)
            for engine, kind in BLOCKS.items():
                ordinals = np.flatnonzero(
                    (columns.subnet == index) & (columns.core == core) & (columns.engine == ENGINES.index(engine))
                )
                if engine == "sdma" and not ordinals.size:
                    continue
                clock = monitor.clock(engine, monitor.tiu_clock)
                base = zero.get((core, engine), 0.0)
                data = b"".join(
                    record(monitor, engine, number, round((base - 1) * clock), round(base * clock))
                    for number in range(monitor.synchronising)
                )
                ids = raw_ids(program, index, core, engine, ordinals)
                for ordinal, id in zip(ordinals.tolist(), ids, strict=True):
                    if not is_lost(ordinal):
                        start, stop = times[ordinal].start + base, times[ordinal].stop + base
                        data += record(monitor, engine, id - 1, round(start * clock), round(stop * clock))
                content += block(kind, data)
        content += block(5, bytes(32))
        (folder / f"iter{first + index}.profile").write_bytes(content)
    return folder


def raw_ids(program: CompiledProgram, subnet: int, core: int, engine: str, ordinals: np.ndarray) -> list[int]:
    """Ids as the descriptors have them."""
    if engine == "sdma":
        return list(range(1, len(ordinals) + 1))
    found: dict[int, int] = {}
    for group in program.stage.subnets[subnet].groups[core]:
        span, count = (group.tiu, group.tiu_count) if engine == "tiu" else (group.dma, group.dma_count)
        stream = program.target.decode_stream(engine, program.bmodel.bytes_of(span, "it"), count, "it")
        found.update(zip((stream.offsets + span.start).tolist(), stream.ids.tolist(), strict=True))
    return [found[offset] for offset in program.commands.columns.offset[ordinals].tolist()]
