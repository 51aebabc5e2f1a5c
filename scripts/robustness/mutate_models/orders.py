"""What a fault changes, without asking any sanitizer: the outputs, in every order of execution that is allowed.

Real engines run at the same time, so that a missing dependency shows only now and then. Here a program is executed in
the orders that are furthest from each other: either engine always first, the first core first or the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.target import Message
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadAccess, NotSimulated

Order = Callable[[tuple[int, str]], tuple[int, int]]
"""Of core and engine; the one with the smallest value goes first."""

ORDERS: tuple[Order, ...] = (
    lambda key: (key[0], key[1] == "dma"),
    lambda key: (key[0], key[1] == "tiu"),
    lambda key: (-key[0], key[1] == "dma"),
    lambda key: (-key[0], key[1] == "tiu"),
)

Outcome = bytes | str
"""The outputs of the net, or why there are none."""


def outcomes(program: Program, inputs: Mapping[str, Array]) -> set[Outcome]:
    """What can come out of a program."""
    orders = ORDERS if program.core_count > 1 else ORDERS[:2]
    found = {_run(program, inputs, range(len(program.commands)))}
    seen: set[tuple[int, ...]] = set()
    for order in orders:
        ordinals = tuple(schedule(program, order))
        if ordinals not in seen:
            seen.add(ordinals)
            found.add(_run(program, inputs, ordinals))
    return found


def _run(program: Program, inputs: Mapping[str, Array], ordinals: range | tuple[int, ...]) -> Outcome:
    if len(ordinals) < len(program.commands):
        return "deadlock"
    machine = Machine(program, history_limit=0)
    machine.load_inputs(inputs)
    try:
        for ordinal in ordinals:
            command = program.commands[ordinal]
            if not command.has_descriptor:
                machine.ordinal = ordinal  # the host computes it
                machine.step()
            elif not command.is_system:
                program.target.execute(command.description, machine.memory)
        return b"".join(machine.memory.read(tensor.view).tobytes() for tensor in program.outputs)
    except (NotSimulated, BadAccess) as error:
        return f"{type(error).__name__}"


def schedule(program: Program, order: Order) -> Iterator[int]:
    """Ordinals in an order; it ends early where all wait for each other."""
    for subnet in program.subnets:
        streams: dict[tuple[int, str], list[_Step]] = {}
        for ordinal in range(subnet.start, subnet.stop):
            command = program.commands[ordinal]
            step = _Step(ordinal, command.id, command.dep, program.message_of(ordinal))
            streams.setdefault((command.core, command.engine), []).append(step)
        yield from _schedule(streams, sorted(streams, key=order))


class _Step(NamedTuple):
    """What a command waits for, and what it sends."""

    ordinal: int
    id: int
    dep: int
    message: Message | None


def _schedule(streams: dict[tuple[int, str], list[_Step]], keys: list[tuple[int, str]]) -> Iterator[int]:
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
