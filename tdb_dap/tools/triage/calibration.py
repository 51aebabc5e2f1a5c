"""Whether numbers that a scale cannot hold are the calibration's fault."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.triage.stages import Stage

_SATURATED = 0.02
"""Share of saturated elements from which on the calibration is at fault, if it costs much."""

_COSTLY = 0.1
"""Error over the size of the numbers from which on a format costs much."""

_NARROWER = 0.9
"""Reach of a scale over the threshold of the table below which the compiler has chosen another one."""

_OF_MODEL = 0.5
"""Share of the saturated elements that are beyond the scale in the model as well, from which on they are its own."""


def thresholds(path: Path | None) -> dict[str, float]:
    """Thresholds of a calibration table by tensor; none if it is not there or cannot be read."""
    by_tensor: dict[str, float] = {}
    if path is None:
        return by_tensor
    try:
        text = read_file(path, limits.REPORT).decode("utf-8", "replace")
    except BadInput:
        return by_tensor
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        try:
            by_tensor[words[0]] = float(words[1])
        except (IndexError, ValueError):
            continue
    return by_tensor


def is_too_small(one: Judged, stage: Stage, table: Mapping[str, float]) -> bool:
    """Whether the threshold of the table is what cuts a tensor off, and it costs much."""
    return _is_costly(one) and not _is_narrowed(one, stage, table)


def is_of_model(one: Judged, stage: Stage, model: Stage | None) -> bool:
    """Whether the model itself has the numbers that a tensor's scale cannot hold, or its tensors are not known.

    Errors before it may have moved numbers of a tensor beyond a threshold that holds those of the model.
    """
    numbers = model.tensors.get(_name(one)) if model is not None else None
    kind = stage.level.type_named(one.name) if stage.level is not None else None
    if numbers is None or kind is None or kind.bounds is None or not np.size(numbers):
        return True
    low, high = kind.bounds
    beyond = (numbers < low - kind.scale) | (numbers > high + kind.scale)
    return float(beyond.mean()) >= one.saturated * _OF_MODEL


def narrowed(one: Judged, stage: Stage, table: Mapping[str, float]) -> str:
    """A remark on a tensor to which the compiler gave a narrower scale than the table says; empty if it did not.

    It does so to spare a requantisation: the operand of an addition gets the scale of the sum.
    """
    if not _is_costly(one) or not _is_narrowed(one, stage, table):
        return ""
    return (
        f"the compiler gave {one.name} a scale that reaches to {_reach(one, stage):.4g}, where the calibration table "
        f"says {table[_name(one)]:.4g}: {one.saturated:.0%} of it saturate"
    )


def _is_costly(one: Judged) -> bool:
    return one.verdict != "bug" and one.saturated >= _SATURATED and one.error > _COSTLY * one.reach


def _is_narrowed(one: Judged, stage: Stage, table: Mapping[str, float]) -> bool:
    threshold = table.get(_name(one), 0.0)
    return threshold > 0 and _reach(one, stage) < _NARROWER * threshold


def _name(one: Judged) -> str:
    return one.name.split("__")[0]


def _reach(one: Judged, stage: Stage) -> float:
    kind = stage.level.type_named(one.name) if stage.level is not None else None
    if kind is None or kind.bounds is None:
        return math.inf
    low, high = kind.bounds
    return max(high, -low - kind.scale)  # a threshold stands for 127 steps, not for 128
