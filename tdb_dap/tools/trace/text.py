"""Answers about all moments of a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.expressions.values import brief_number
from tdb_dap.engine.questions.tracing import PLACE_COLUMNS
from tdb_dap.engine.rendering.printable import aligned, counted

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.questions.search import Match, Search
    from tdb_dap.engine.questions.tracing import Place, Trace
    from tdb_dap.engine.questions.turning import Stretch, Turns
    from tdb_dap.engine.questions.versions import History, Version

LISTED = 40
"""Rows that are printed where all of them are not asked for."""

_LONGEST_NAME = 40
_SHADES = " .:-=+*#%@"
_NAMED = 12
_FEW = 8
"""Hits whose numbers are seen without a picture."""


def trace_lines(trace: Trace, limit: int | None = LISTED) -> Iterator[str]:
    """A heading, a row for each hit with the columns that say something, and what the table does not say."""
    hits = trace.hits if limit is None else trace.hits[:limit]
    places = counted(trace.places, "place")
    yield f"{trace.point.text}: {counted(len(trace.hits), 'hit')} at {places}"
    shown = _shown(trace)
    if hits:
        rows = [[PLACE_COLUMNS[index] for index in shown] + list(trace.point.expressions)]
        rows += [
            [_column(hit.place.columns[index]) for index in shown] + [one.text for one in hit.cells] for hit in hits
        ]
        yield from aligned(rows)
    if len(hits) < len(trace.hits):
        yield f"... {len(trace.hits) - len(hits):,} more"
    if len(trace.hits) > _FEW:
        for index, expression in enumerate(trace.point.expressions):
            if line := sparkline([hit.cells[index].as_float for hit in trace.hits]):
                yield f"{expression}  {line}"
    yield from trace.remarks


def _shown(trace: Trace) -> list[int]:
    """Columns in which something stands, and which differ if they are numbers of a core."""
    columns = list(zip(*(hit.place.columns for hit in trace.hits), strict=True))
    kept: list[int] = []
    for index, values in enumerate(columns):
        name = PLACE_COLUMNS[index]
        if all(value in (None, "", 0) for value in values) and name != "moment":
            continue
        if name not in ("core", "launch") or len(set(values)) > 1:
            kept.append(index)
    return kept


def _column(value: object) -> str:
    if value is None:
        return ""
    return shortened(value) if isinstance(value, str) else str(value)


def shortened(name: str) -> str:
    """A long name without its middle: both ends tell names apart."""
    half = (_LONGEST_NAME - 1) // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half:]}"


def place_text(place: Place) -> str:
    """``moment 134, line 242 tpu.Conv2D conv1 h[0:16]``: where to travel to, and what it is."""
    token = "" if place.token is None else f"token {place.token}, "
    op = f"line {place.line} {place.op}" if place.line else f"{place.command} {place.op}".strip()
    parts = " ".join(filter(None, (op, place.name, place.slice)))
    return ", ".join(filter(None, (f"moment {place.moment:,}", f"{token}{parts}")))


def turns_lines(turns: Turns, limit: int | None = LISTED) -> Iterator[str]:
    """The stretches of time in which a condition is true."""
    stretches = turns.stretches
    if not stretches:
        yield f"never: {turns.condition} ({_looked(turns)})"
    else:
        yield f"{counted(len(stretches), 'time')} true: {turns.condition} ({_looked(turns)})"
        yield f"first: {place_text(stretches[0].place)}{_until(stretches[0])}"
        for stretch in stretches[1 : -1 if limit is None else min(len(stretches) - 1, limit)]:
            yield f"then:  {place_text(stretch.place)}{_until(stretch)}"
        if limit is not None and len(stretches) - 1 > limit:
            yield f"... {len(stretches) - 1 - limit:,} more"
        if len(stretches) > 1:
            yield f"last:  {place_text(stretches[-1].place)}{_until(stretches[-1])}"
    if turns.stopped:
        yield f"the run ends early, at {turns.stopped}"


def _looked(turns: Turns) -> str:
    parts = [f"looked at {counted(turns.looked, 'moment')}"]
    if turns.pending:
        parts.append(f"at {turns.pending:,} of them it is not computed yet")
    if turns.undecided:
        parts.append(f"at {turns.undecided:,} of them it cannot be decided: {turns.why}")
    return "; ".join(parts)


def _until(stretch: Stretch) -> str:
    if stretch.until is None:
        return "; true until the end"
    why = "" if stretch.why == "false" else f" ({stretch.why})"
    return f"; until moment {stretch.until.moment:,}{why}"


def search_lines(search: Search, limit: int | None = LISTED) -> Iterator[str]:
    """Each tensor that has the property, in the order of the run."""
    matches = search.matches if limit is None else search.matches[:limit]
    tensors = counted(search.looked, "tensor")
    yield f"{len(search.matches):,} of {tensors}: {search.condition}"
    for match in matches:
        yield f"{place_text(match.place)}: {_match(match)}"
    if len(matches) < len(search.matches):
        yield f"... {len(search.matches) - len(matches):,} more"
    for why, count in search.skipped.items():
        yield f"{counted(count, 'tensor')} not looked at: {why}"
    if search.stopped:
        yield f"the run ends early, at {search.stopped}"


def _match(match: Match) -> str:
    parts: list[str] = []
    if match.size > 1 and match.size != len(match.channels):
        parts.append(f"{match.count:,} of {match.size:,}, first at [{', '.join(map(str, match.first))}]")
    if match.channels:
        named = ", ".join(map(str, match.channels[:_NAMED]))
        more = f" and {match.channel_count - _NAMED:,} more" if match.channel_count > _NAMED else ""
        parts.append(f"channel{'s' if match.channel_count > 1 else ''} {named}{more}")
    if match.statistics is not None:
        parts.append(match.statistics.text)
    return "; ".join(parts)


def history_lines(history: History, limit: int | None = LISTED) -> Iterator[str]:
    """All versions of a place."""
    versions = history.versions if limit is None else history.versions[:limit]
    yield f"{history.title}: {counted(len(history.versions), 'version')} of {counted(history.size, 'element')}"
    for version in versions:
        yield _version(version, history.size)
    if len(versions) < len(history.versions):
        yield f"... {len(history.versions) - len(versions):,} more"
    if history.is_cut:
        yield "there are more versions: ask about fewer elements"
    if history.stopped:
        yield f"the run ends early, at {history.stopped}"


def _version(version: Version, size: int) -> str:
    by = "by a number that is not finite" if version.largest is None else f"by up to {version.largest:.6g}"
    changed = f"; {version.changed:,} of {size:,} changed {by}" if version.changed else "; nothing changed"
    if version.edit:
        where = f"edited at moment {version.place.moment:,}: {version.edit}"
    elif version.writers is None:
        where = f"at the start: {version.tenant or 'no command has written it'}"
        changed = ""
    else:
        first, last = version.writers
        commands = f"command {last}" if first == last else f"commands {first} to {last}"
        op = f", line {version.place.line} {version.place.op}" if version.place.line else f", {version.place.op}"
        where = f"{commands}{op}: {version.tenant or 'a part that no tensor is named for'}"
        where += " ".join(filter(None, ("", version.place.slice))) + (
            "" if version.covers else " (a part of the place)"
        )
    numbers = version.statistics.text if version.statistics is not None else "empty"
    readers = f"; read by {len(version.readers):,}, first {version.readers[0]}" if version.readers else "; never read"
    return f"{where}\n    {numbers}{changed}{readers}  |{picture_row(version.thumbnail)}|"


def picture_row(thumbnail: Array) -> str:
    """A thumbnail in one line of shades: the mean of each column between the least and the greatest of them."""
    plane = np.where(np.isfinite(thumbnail), thumbnail, 0.0)
    columns = plane.mean(axis=0) if plane.size else np.zeros(0)
    reach = float(np.ptp(columns)) if columns.size else 0.0
    if not reach:
        return _SHADES[0] * len(columns)
    shades = ((columns - columns.min()) / reach * (len(_SHADES) - 1)).round().astype(int)
    return "".join(_SHADES[shade] for shade in shades)


def sparkline(numbers: Sequence[float]) -> str:
    """The numbers in their order as shades, at most 60; empty for fewer than two that are finite."""
    array = np.asarray(numbers, np.float64)
    if np.isfinite(array).sum() < 2:
        return ""
    parts = np.array_split(array, min(60, array.size))
    means = np.array([np.nanmean(part) if np.isfinite(part).any() else np.nan for part in parts])
    return f"|{picture_row(means[None])}|  {brief_number(np.nanmin(array))} to {brief_number(np.nanmax(array))}"
