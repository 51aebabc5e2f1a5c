"""Scopes of each kind of frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.requests.variable_nodes import comparison, layout, remembered, tensor
from tdb_dap.adapter.session.handles import Frame, Node, leaf, mapping
from tdb_dap.adapter.session.references import every_region, memory_reference
from tdb_dap.engine.expressions.scope import Scope
from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.machine.what_if import change_field
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.commands.net_tensors import Tensor

Children = Callable[[], list[Node]]

_LETTERS = 24
"""Of a layer's name before the numbers of its tensor."""


def contents(session: Session, frame: Frame) -> dict[str, Children]:
    """The scopes of a frame by name; their variables are made when they are opened."""
    return _CONTENTS[frame.level](session, frame)


def names_at(session: Session, frame: Frame | None) -> Scope:
    """The names that expressions see in a frame; without one, those of the stop's first frame."""
    if frame is None:
        return session.debugger.scope(level="command" if session.by_instruction else "op")
    return session.debugger.scope(frame.focus, "command" if frame.level == "command" else "op", frame.line)


def _command(session: Session, frame: Frame) -> dict[str, Children]:
    names = names_at(session, frame)
    command = session.debugger.machine.command_at(frame.focus)
    # One that only waits for or wakes others has none: a pane with nothing in it would be all that a stop shows.
    around = {} if _has_tensors(names) else _borders_around(session, frame)
    return {
        **around,
        "Operands": lambda: _guarded(lambda: _tensors(session, frame.focus, names.operands(), "in", names.moment)),
        "Results": lambda: _guarded(lambda: _tensors(session, frame.focus, names.results(), "out", names.moment)),
        "Attributes": lambda: _guarded(lambda: [_attribute(key, item) for key, item in command.attributes.items()]),
        "Registers": lambda: _registers(session, frame.focus),
        "Sync": lambda: _sync(session, command),
    }


def _has_tensors(names: Scope) -> bool:
    try:
        return bool(names.operands() or names.results())
    except NotSimulated:
        return True


def _attribute(name: str, item: Any) -> Node:
    return Node(name, _text(item), why_fixed="it follows from the registers; set those")


def _registers(session: Session, ordinal: int) -> list[Node]:
    """The fields of a command; one that has not been executed yet can be given other values."""
    machine = session.debugger.machine
    return [
        Node(
            name, f"{number} ({number:#x})", partial(hex, number), assign=partial(_set_register, session, ordinal, name)
        )
        for name, number in machine.command_at(ordinal).fields.items()
    ]


def _set_register(session: Session, ordinal: int, name: str, text: str) -> None:
    try:
        value = int(text.partition("(")[0], 0)
    except ValueError:
        raise BadExpression(f"{quoted(text)} is not a whole number; fields hold the bits of a command") from None
    change_field(session.debugger.machine, ordinal, name, value)


def _guarded(children: Children) -> list[Node]:
    """A command whose form is not described has no operands to show; say so."""
    try:
        return children()
    except NotSimulated as error:
        return [leaf("not known", error)]


def _op(session: Session, frame: Frame) -> dict[str, Children]:
    names = names_at(session, frame)
    children: dict[str, Children] = {
        "Operands": lambda: _tensors(session, frame.focus, names.operands(), "in", names.moment),
        "Results": lambda: _tensors(session, frame.focus, names.results(), "out", names.moment),
        "Attributes": lambda: _op_attributes(session, names),
        "Layout": lambda: _op_layout(names),
    }
    if session.debugger.reference is not None:
        children["Compare"] = lambda: _op_compare(session, names)
    return children


def _borders_around(session: Session, frame: Frame) -> dict[str, Children]:
    """Inputs and outputs of the net, or of the subnet around a command; those that are wanted first."""
    program, names, own = session.debugger.program, names_at(session, frame), ""
    inputs, outputs = program.inputs, program.outputs
    if frame.level != "main":
        number = program.commands[frame.focus].subnet
        subnet = next(s for s in program.subnets if s.id == number)
        inputs, outputs, own = subnet.inputs, subnet.outputs, f"@{frame.focus}"
    children: dict[str, Children] = {
        "Inputs": lambda: _borders(session, names, "input", inputs, own),
        "Outputs": lambda: _borders(session, names, "output", outputs, own),
    }
    # Clients open the first: at the end that is what came out.
    return dict(reversed(children.items())) if session.debugger.at_end else children


def _outer(session: Session, frame: Frame) -> dict[str, Children]:
    names = names_at(session, frame)
    return {
        **_borders_around(session, frame),
        "Weights": lambda: _weights(session, names),
        "Memory": lambda: memory_nodes(session),
    }


_CONTENTS: dict[str, Callable[[Session, Frame], dict[str, Children]]] = {
    "command": _command,
    "op": _op,
    "group": _outer,
    "subnet": _outer,
    "launch": _outer,
    "token": _outer,
    "main": _outer,
    "location": lambda session, frame: {},
    "origin": lambda session, frame: {},
}


def _text(item: Any) -> str:
    return item if isinstance(item, str) else str(item)


def _tensors(session: Session, focus: int, values: list[Value], kind: str, moment: str) -> list[Node]:
    return [_operand(session, focus, value, f"{kind}[{i}]{moment}") for i, value in enumerate(values)]


def _operand(session: Session, focus: int, value: Value, evaluate_name: str) -> Node:
    """``%16 = f32 1×16×32×32  relu4_Relu  ...``; the pane is narrow, so a long name is elided, and whole at the end."""
    name, _, layer = value.title.partition(" ")
    if value.named is None or not name.startswith("%") or not layer:
        return tensor(session, value.title, value, evaluate_name)
    source = session.debugger.program.source
    label = source.label_of(layer, source.line_of(focus), _LETTERS)
    node = tensor(session, name, value, evaluate_name, label)
    if label != layer:
        node.value += f"  {layer}"
    return node


def _sync(session: Session, command: Command) -> list[Node]:
    rows: dict[str, object] = {
        "command": command.ordinal,
        "engine": command.engine.upper(),
        "id": command.token,
        "core": command.core,
        "subnet": command.subnet,
    }
    if command.dep:
        other = "dma" if command.engine == "tiu" else "tiu"
        rows["waits for"] = f"{command.awaited_token}{_place_of(session, command, other)}"
    return [leaf(name, row) for name, row in rows.items()]


def _place_of(session: Session, command: Command, engine: str) -> str:
    """Text of the command that it waits for."""
    commands = session.debugger.program.commands
    for ordinal in range(command.ordinal - 1, -1, -1):
        other = commands[ordinal]
        if other.subnet != command.subnet:
            break
        if other.engine == engine and other.core == command.core and other.id == command.dep:
            return f" ({other.name}, command {ordinal})"
    return ""


def _op_attributes(session: Session, names: Scope) -> list[Node]:
    op = session.debugger.program.source.op_of(names.record) if names.record else None
    return [leaf(key, _text(item)) for key, item in op.attributes.items()] if op else []


def _op_layout(names: Scope) -> list[Node]:
    record = names.record
    values = (*names.operands(), *names.results())
    nodes = [layout(value.view, value.title, value.named) for value in values]
    if record is not None:
        nodes += [layout(view, f"buffer {i}") for i, view in enumerate(record.buffers)]
        if record.slice_text:
            nodes.append(leaf("slice", record.slice_text))
        if record.ordinals:
            nodes.append(leaf("commands", f"{len(record.ordinals)}: {record.first} to {record.last}"))
    return nodes


def _op_compare(session: Session, names: Scope) -> list[Node]:
    values = (remembered(session, value) for value in (*names.operands(), *names.results()))
    return [
        leaf(value.title, value.absence) if value.absence else comparison(session, value.title, value)
        for value in values
    ]


def _borders(session: Session, names: Scope, kind: str, tensors: tuple[Tensor, ...], own: str) -> list[Node]:
    """Inputs or outputs; ``own``: what their names need to be those of a subnet."""
    return [
        tensor(session, border.name, names.border(kind, border.name), f'{kind}("{border.name}"){own}')
        for border in tensors
    ]


def _weights(session: Session, names: Scope) -> list[Node]:
    """Weights by name, as the ops that load them see them."""
    weights = session.debugger.program.source.weights
    return [tensor(session, name, names.border("weight", name), f'weight("{name}")') for name in weights]


def memory_nodes(session: Session) -> list[Node]:
    """The memories that exist, each with a reference to its first byte."""
    nodes: list[Node] = []
    for title, space, core, region in every_region(session.debugger.machine.memory):
        node = mapping(
            f"{space.value} {title}",
            f"{region.data.size:,} bytes from {space.value}{region.start}",
            {"start": hex(region.start), "size": region.data.size},
        )
        node.memory_reference = memory_reference(space, core, region.start)
        nodes.append(node)
    return nodes
