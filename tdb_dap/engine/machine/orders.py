"""Other orders in which a chip may execute the commands of a program: real engines and cores run at the same time.

They are those that are furthest from each other: either engine first wherever it may go on, the first core first or the
last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tdb_dap.engine.hardware.target import Message
from tdb_dap.engine.program.program import Program

Order = Callable[[tuple[int, str]], tuple[int, int]]
"""Of core and engine; the one with the smallest value goes first."""

ORDERS: tuple[tuple[str, Order], ...] = (
    ("the DMA", lambda key: (key[0], key[1] == "tiu")),
    ("the TIU", lambda key: (key[0], key[1] == "dma")),
    ("the DMA of the last core", lambda key: (-key[0], key[1] == "tiu")),
    ("the TIU of the last core", lambda key: (-key[0], key[1] == "dma")),
)


def other_orders(program: Program) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Ordinals in each order that is not the program's own, and what goes first in it."""
    seen = {tuple(range(len(program.commands)))}
    for name, order in ORDERS if program.core_count > 1 else ORDERS[:2]:
        ordinals = tuple(schedule(program, order))
        if ordinals not in seen:
            seen.add(ordinals)
            yield name, ordinals


def schedule(program: Program, order: Order) -> Iterator[int]:
    """Ordinals in an order; it ends early where all wait for each other."""
    for subnet in program.subnets:
        streams: dict[tuple[int, str], list[_Step]] = {}
        for ordinal in range(subnet.start, subnet.stop):
            command = program.commands[ordinal]
            step = _Step(ordinal, command.id, command.dep, program.message_of(ordinal))
            streams.setdefault((command.core, command.engine), []).append(step)
        yield from _scheduled(streams, sorted(streams, key=order))


class _Step(NamedTuple):
    """A command with what it waits for and sends."""

    ordinal: int
    id: int
    dep: int
    message: Message | None


def _scheduled(streams: dict[tuple[int, str], list[_Step]], keys: list[tuple[int, str]]) -> Iterator[int]:
    position = Counter[tuple[int, str]]()
    done = Counter[tuple[int, str]]()
    sent = Counter[int]()
    waited = Counter[tuple[tuple[int, str], int]]()

    def ready(key: tuple[int, str]) -> bool:
        step = streams[key][position[key]]
        other = (key[0], "dma" if key[1] == "tiu" else "tiu")
        if step.dep > done[other]:
            return False
        message = step.message
        if message is None or message.is_send:
            return True
        return sent[message.number] >= message.count * (waited[key, message.number] + 1)

    while True:
        key = next((k for k in keys if position[k] < len(streams[k]) and ready(k)), None)
        if key is None:
            return
        step = streams[key][position[key]]
        message = step.message
        if message is not None and message.is_send:
            sent[message.number] += 1
        elif message is not None:
            waited[key, message.number] += 1
        position[key] += 1
        done[key] = max(done[key], step.id)
        yield step.ordinal
