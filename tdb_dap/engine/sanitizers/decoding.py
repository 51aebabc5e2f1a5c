"""``decode`` and ``legal``: descriptors that no compiler should have written.

``decode``: bits that mean nothing and are set, codes that the chip does not define, ids that are not 1, 2, 3 ..., and
waits for commands that do not exist. ``legal``: commands that the chip does not have, see ``Ruling`` of
``engine.hardware.target``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.control.stops import ILLEGAL, Finding
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.sanitizers.finding_text import title_of

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

NAME = "decode"
LEGAL = "legal"


def decoding(program: Program) -> Iterator[Finding]:
    """All that is wrong, one finding each, in the order of execution."""
    problems = [*_set_bits(program), *_ids(program), *program.access_rows.undefined]
    for ordinal, text in sorted(problems):
        command = program.commands[ordinal]
        yield Finding(NAME, "A command is not well formed", f"{title_of(command)}: {text}", ordinal, (command.asm,))


def legality(program: Program) -> Iterator[Finding]:
    """One finding for each illegal command, in the order of execution."""
    for ordinal, text in program.access_rows.illegal:
        command = program.commands[ordinal]
        yield Finding(LEGAL, ILLEGAL, f"{title_of(command)}: {text}", ordinal, (command.asm,))


def _set_bits(program: Program) -> Iterator[tuple[int, str]]:
    """Reserved bits; in commands that the firmware makes they are what its stack held, and have no effect."""
    columns = program.commands.columns
    payload = program.commands.payload
    for kind in distinct(columns.kind[columns.kind >= 0]):
        size = program.target.kind_size(kind)
        mask = np.frombuffer(program.target.reserved_bits(kind).to_bytes(size, "little"), np.uint8)
        if not mask.any():
            continue
        ordinals = np.flatnonzero(columns.kind == kind)
        bits = payload[columns.offset[ordinals][:, None] + np.arange(size)] & mask
        for row in np.flatnonzero(bits.any(axis=1)).tolist():
            if int(ordinals[row]) in program.of_firmware:
                continue
            start = int(columns.offset[ordinals[row]])
            used = program.target.reserved_bits(kind, payload[start : start + size].tobytes())
            word = int.from_bytes(bits[row].tobytes(), "little") & used
            if not word:
                continue
            first = (word & -word).bit_length() - 1
            yield int(ordinals[row]), f"reserved bit {first} is set ({word.bit_count()} such bits)"


def _ids(program: Program) -> Iterator[tuple[int, str]]:
    columns = program.commands.columns
    engines = (ENGINES.index("tiu"), ENGINES.index("dma"))
    for subnet in range(len(program.subnets)):
        for core in range(program.core_count):
            here = (columns.subnet == subnet) & (columns.core == core)
            for engine, other in (engines, engines[::-1]):
                ordinals = np.flatnonzero(here & (columns.engine == engine))
                ids = columns.id[ordinals]
                expected = np.concatenate([[1], ids[:-1] + 1]) if ids.size else ids
                for position in np.flatnonzero(ids != expected).tolist():
                    text = f"its id is {int(ids[position])} and should be {int(expected[position])}"
                    yield int(ordinals[position]), text
                last = int(columns.id[here & (columns.engine == other)].max(initial=0))
                for position in np.flatnonzero(columns.dependency[ordinals] > last).tolist():
                    wanted = int(columns.dependency[ordinals[position]])
                    text = f"waits for {ENGINES[other].upper()} command {wanted}, and the last one is {last}"
                    yield int(ordinals[position]), text
