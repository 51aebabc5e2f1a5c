"""Ops by what users call them: a line of final.mlir, a range of lines, a location."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

if TYPE_CHECKING:
    from tdb_dap.engine.source.op_records import OpRecord
    from tdb_dap.engine.source.source_map import SourceMap

_LINES = pattern(r"(?:mlir:)?(\d+)(?:-(\d+))?")
_LOCATION = pattern(r'#?loc\("(.+)"\)|loc:(.+)')


def records_named(source: SourceMap, text: str) -> list[OpRecord]:
    """Instances of the ops that ``22``, ``20-30``, ``conv1*`` or ``#loc("conv1")`` names, in the order of execution.

    BadInput if nothing of that name is there; it lists names that are near.
    """
    records = source.records
    lines = _LINES.fullmatch(text.strip())
    if lines:
        first, last = int(lines[1]), int(lines[2] or lines[1])
        matching = [record for record in records if first <= record.line <= last]
        if not matching:
            there = ", ".join(map(str, source.lines_with_commands[:12]))
            raise BadInput(f"line {text} of final.mlir has no commands; these have: {there}, ...")
        return matching
    match = _LOCATION.fullmatch(text.strip())
    wanted = (match[1] or match[2]) if match else text.strip()
    matching = [r for r in records if any(wanted in (v.name,) or fnmatchcase(v.name, wanted) for v in r.results)]
    if not matching:
        from difflib import get_close_matches  # takes milliseconds to load, and few sessions need it

        names = sorted({value.name for record in records for value in record.results})
        near = ", ".join(get_close_matches(wanted, names, 3, 0.4) or names[:8])
        raise BadInput(f"{text}: no op of that location; near are {near}")
    return matching
