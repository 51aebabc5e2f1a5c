"""Scopes of frames, and the children of scopes and variables, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.protocol.types import (
    Scope,
    ScopesArguments,
    ScopesResponseBody,
    ValueFormat,
    VariablesArguments,
)
from tdb_dap.adapter.requests.scopes import contents
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.handles import Node

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session

_MOST_UNASKED = 1000
"""Children given at once to a client that does not say how many it wants."""

_HINTS = {"Operands": "locals", "Results": "locals", "Inputs": "arguments", "Registers": "registers"}
_EXPENSIVE = {"Weights", "Memory"}


@request("scopes")
def scopes(session: Session, arguments: ScopesArguments) -> ScopesResponseBody:
    """The scopes of a frame."""
    frame = session.handles.frame(arguments.frameId)
    return ScopesResponseBody(
        scopes=[
            Scope(
                name=session.traits.localised(name),
                presentationHint=_HINTS.get(name),
                variablesReference=session.handles.add_node(Node(name, named=children)),
                expensive=name in _EXPENSIVE,
            )
            for name, children in contents(session, frame).items()
        ]
    )


@request("variables", capability="supportsValueFormattingOptions")
def variables(session: Session, arguments: VariablesArguments) -> dict[str, Any]:
    """Children of a node: with names, with numbers (``count`` of them from ``start``), or both."""
    node = session.handles.node(arguments.variablesReference)
    children: list[Node] = []
    # Where no numbers of children were announced, some clients ask for the indexed ones and mean all.
    if node.named is not None and (node.indexed is None or arguments.filter != "indexed") and not arguments.start:
        children += node.named()
    if node.indexed is not None and arguments.filter in (None, "indexed"):
        start = max(0, arguments.start or 0)
        left = max(0, node.indexed_count - start)
        count = min(arguments.count or _MOST_UNASKED, left)
        children += node.indexed(start, count)
        if count < left and not arguments.count:
            more = f"{left - count:,} more; use the console: p {node.evaluate_name or node.name}[...]"
            children.append(Node("...", more))
    return {"variables": [describe(session, child, arguments.format) for child in children]}


def describe(session: Session, node: Node, format: ValueFormat | None = None) -> dict[str, Any]:
    """A node as the protocol's Variable, with a number to open it by; in hexadecimal its bits as they are stored.

    A page may have thousands, so it is made as it goes over the wire; the tests check it against the schema.
    """
    value = node.raw() if format is not None and format.hex and node.raw is not None else node.value
    shown: dict[str, Any] = {
        "name": shown_name(session, node),
        "value": session.traits.answer_out(value),
        "variablesReference": session.handles.add_node(node),
    }
    if node.evaluate_name is not None:
        shown["evaluateName"] = node.evaluate_name
    if node.type is not None and session.traits.variable_type:
        shown["type"] = node.type
    if node.indexed is not None:
        shown["indexedVariables"] = node.indexed_count
        if node.named_count is not None:
            shown["namedVariables"] = node.named_count
    if node.memory_reference is not None and _gives_references(session):
        shown["memoryReference"] = node.memory_reference
    if node.part is not None and not node.part.index:
        shown["valueLocationReference"] = session.handles.add_location(node.part)
    if node.hint:
        shown["presentationHint"] = {"kind": node.hint}
    if node.is_lazy:
        shown["presentationHint"] = {"lazy": True}
    return shown


def _gives_references(session: Session) -> bool:
    """Whether the client takes references to memory, and has what shows it."""
    return session.traits.memory_references and session.configuration.memoryReferences


def shown_name(session: Session, node: Node) -> str:
    """The name of a node in the client's language, if it is a few words and not that of a field or a tensor."""
    return session.traits.localised(node.name) if " " in node.name and node.evaluate_name is None else node.name
