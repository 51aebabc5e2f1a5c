"""``hazard``: two engines or two cores touch the same bytes, one of them writing, and nothing orders them.

What one run computes may be right all the same: which of both comes first is chance. The whole program is looked at
before it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.sanitizers.finding_text import place_text, title_of
from tdb_dap.engine.sanitizers.happens_before import timelines
from tdb_dap.engine.sanitizers.harmless import brings_nothing_new, is_repeated
from tdb_dap.engine.sanitizers.overlap import SharedBytes, unordered_overlaps
from tdb_dap.system.notices import notice

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program

NAME = "hazard"


def hazards(program: Program) -> Iterator[Finding]:
    """One finding for each pair of commands, about the one that is executed later here."""
    if not program.has_waits:
        notice(f"{NAME}: a recording does not contain which command waits for which; check the compiled model")
        return
    rows = program.access_rows
    shared = SharedBytes(rows)
    for subnet in range(len(program.subnets)):
        pairs = unordered_overlaps(rows, timelines(program, subnet))
        known: set[tuple[int, int]] = set()
        for one, other in pairs.tolist():
            first, second = sorted((one, other), key=lambda row: int(rows.ordinal[row]))
            key = int(rows.ordinal[first]), int(rows.ordinal[second])
            if key in known:
                continue
            if _is_settled(program.commands[key[0]], program.commands[key[1]]) or is_repeated(program, *key):
                continue
            if rows.is_write[second] and not rows.is_write[first] and brings_nothing_new(program, key[1]):
                continue
            place = shared(first, second)
            if place is not None:
                known.add(key)
                writes = bool(rows.is_write[first]), bool(rows.is_write[second])
                yield _finding(program, key, writes, place)


def _is_settled(one: Command, other: Command) -> bool:
    """Whether no order is needed: both leave the same constants, or both combine (memory does that undivided)."""
    combination = one.attributes.get("all_reduce")
    if combination is not None and combination == other.attributes.get("all_reduce"):
        return True
    is_fill = not any(isinstance(read, View) for read in one.description.reads)
    return is_fill and one.descriptor == other.descriptor


def _finding(program: Program, ordinals: tuple[int, int], writes: tuple[bool, bool], place: ByteRanges) -> Finding:
    one, other = (program.commands[ordinal] for ordinal in ordinals)
    verbs = ["writes" if is_write else "reads" for is_write in writes]
    text = (
        f"{title_of(other)} {verbs[1]} {place_text(place, program.target.geometry)} which {title_of(one)} "
        f"{verbs[0]}, and nothing orders them: {_missing(one, other)}"
    )
    details = tuple(
        f"{verb}: {command.ordinal}: {command.asm}" for verb, command in zip(verbs, (one, other), strict=True)
    )
    return Finding(
        NAME, "Two engines touch the same bytes in no certain order", text, ordinals[1], details, (ordinals[0],)
    )


def _missing(one: Command, other: Command) -> str:
    if one.core != other.core:
        return (
            f"no message of core {one.core} after {one.token} reaches core {other.core} before {other.token}, "
            "nor the other way round"
        )
    awaited = [command.awaited_token or "nothing" for command in (one, other)]
    return f"{other.token} waits for {awaited[1]} and not for {one.token}, {one.token} for {awaited[0]}"
