"""Steps of a completion that show pictures: the net that encodes them, and their rows among the prompt's states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.program.schedule import Border, HostStep, NetStep, Step, copied, filled
from tdb_dap.tools.float_model.vision_config import ENCODER
from tdb_dap.tools.llm.borders import net_input, net_output, part_of
from tdb_dap.tools.llm.language_model import ADD, LanguageModel
from tdb_dap.tools.llm.pictures.reading import Pictures


def encoded(model: LanguageModel, pictures: Pictures | None) -> Iterator[Step]:
    """The launch that makes the rows of a picture; nothing where they are given."""
    if pictures is None or not pictures.inputs:
        return
    for name, numbers in pictures.inputs.items():
        yield filled(Border(ENCODER, name), numbers)
    yield NetStep(ENCODER, token=0)


def placed(model: LanguageModel, pictures: Pictures | None, net: str, first: int, count: int) -> Iterator[Step]:
    """Rows of pictures in the states that a block is given for a part of the prompt."""
    if pictures is not None:
        yield from _rows(model, pictures, 0, Border(net, model.input(net, 0).name), first, count)


def added(
    model: LanguageModel, pictures: Pictures, number: int, states: Border, first: int, count: int
) -> Iterator[Step]:
    """The launch that adds rows to ``states`` of a part of the prompt. ``number``: of the block that made them."""
    size = count * model.hidden
    yield copied(replace(states, count=size), part_of(model, ADD, 0, 0, size))
    yield filled(net_input(model, ADD, 1), np.zeros(model.input(ADD, 1).shape, np.float32))
    yield from _rows(model, pictures, 1 + number, net_input(model, ADD, 1), first, count)
    yield NetStep(ADD, token=0)


def _rows(
    model: LanguageModel, pictures: Pictures, output: int, into: Border, first: int, count: int
) -> Iterator[HostStep]:
    """Copies of rows into a tensor of states, those that are neighbours in both in one."""
    numbers, places = pictures.within(first, count)
    breaks = np.flatnonzero((np.diff(numbers) != 1) | (np.diff(places) != 1)) + 1
    for own, at in zip(np.split(numbers, breaks), np.split(places, breaks), strict=True):
        if not own.size:
            continue
        size = own.size * model.hidden
        target = replace(into, first=int(at[0]) * model.hidden, count=size)
        if pictures.rows:
            yield filled(target, pictures.rows[output][own].reshape(-1))
        else:
            source = net_output(model, ENCODER, output)
            yield copied(replace(source, first=int(own[0]) * model.hidden, count=size), target)
