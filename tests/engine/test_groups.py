"""A subnet of several command groups: ids start at 1 in every group, the program counts on."""

from __future__ import annotations

import numpy as np
from msgspec.structs import asdict

from tdb_dap.engine.commands.commands import ENGINES, Columns


def group(*commands: tuple[str, int, int]) -> Columns:
    """Commands as (engine, id, dependency)."""
    engines, ids, dependencies = zip(*commands, strict=True)
    zeros = np.zeros(len(commands), np.int64)
    return Columns(
        engine=np.array([ENGINES.index(engine) for engine in engines], np.int8),
        core=zeros.astype(np.int16),
        subnet=zeros.astype(np.int32),
        kind=zeros.astype(np.int32),
        offset=zeros,
        id=np.array(ids),
        dependency=np.array(dependencies),
        listed=np.array(dependencies),
    )


def test_ids_go_on_where_the_group_before_ended() -> None:
    first = group(("dma", 1, 0), ("tiu", 1, 1), ("tiu", 2, 1), ("dma", 2, 2), ("dma", 3, 2))
    second = group(("dma", 1, 0), ("tiu", 1, 1), ("dma", 2, 1)).continuing(first)
    assert second.id.tolist() == [4, 3, 5]
    assert second.dependency.tolist() == [0, 4, 3]
    assert second.listed.tolist() == [0, 4, 3]


def test_the_first_group_keeps_its_ids() -> None:
    nothing = group(("dma", 1, 0))
    empty = Columns(**{name: values[:0] for name, values in asdict(nothing).items()})
    only = group(("dma", 1, 0), ("tiu", 1, 1))
    assert only.continuing(empty).id.tolist() == [1, 1]
