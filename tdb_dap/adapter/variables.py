"""Scopes of frames, and the children of scopes and variables, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.handles import Node
from tdb_dap.adapter.protocol.types import (
    Scope,
    ScopesArguments,
    ScopesResponseBody,
    ValueFormat,
    Variable,
    VariablePresentationHint,
    VariablesArguments,
    VariablesResponseBody,
)
from tdb_dap.adapter.registry import request

if TYPE_CHECKING:
    from tdb_dap.adapter.session import Session

_MOST_UNPAGED = 1000
"""Children given at once to a client that cannot ask for pages."""

_HINTS = {"Operands": "locals", "Results": "locals", "Inputs": "arguments", "Registers": "registers"}
_EXPENSIVE = {"Weights", "Memory"}


@request("scopes")
def scopes(session: Session, arguments: ScopesArguments) -> ScopesResponseBody:
    """The scopes of a frame."""
    from tdb_dap.adapter.contents import contents

    frame = session.handles.frame(arguments.frameId)
    return ScopesResponseBody(
        scopes=[
            Scope(
                name=name,
                presentationHint=_HINTS.get(name),
                variablesReference=session.handles.add_node(Node(name, named=children)),
                expensive=name in _EXPENSIVE,
            )
            for name, children in contents(session, frame).items()
        ]
    )


@request("variables", capability="supportsValueFormattingOptions")
def variables(session: Session, arguments: VariablesArguments) -> VariablesResponseBody:
    """Children of a node: with names, with numbers (``count`` of them from ``start``, 0 = all), or both."""
    node = session.handles.node(arguments.variablesReference)
    children: list[Node] = []
    if node.named is not None and arguments.filter in (None, "named") and not arguments.start:
        children += node.named()
    if node.indexed is not None and arguments.filter in (None, "indexed"):
        start = max(0, arguments.start or 0)
        count = arguments.count or node.indexed_count - start
        if not session.traits.variable_paging:
            count = min(count, _MOST_UNPAGED)
        children += node.indexed(start, max(0, count))
        left = node.indexed_count - start - count
        if left > 0 and not session.traits.variable_paging and not arguments.count:
            children.append(Node("...", f"{left:,} more; use the console: p {node.evaluate_name or node.name}[...]"))
    return VariablesResponseBody(variables=[describe(session, child, arguments.format) for child in children])


def describe(session: Session, node: Node, format: ValueFormat | None = None) -> Variable:
    """A node as the client sees it, with a number to open it by; in hexadecimal its bits as they are stored."""
    value = node.raw() if format is not None and format.hex and node.raw is not None else node.value
    return Variable(
        name=node.name,
        value=session.traits.text_out(value),
        type=node.type if session.traits.variable_type else None,
        evaluateName=node.evaluate_name,
        variablesReference=session.handles.add_node(node),
        namedVariables=node.named_count if node.indexed is not None else None,
        indexedVariables=node.indexed_count or None,
        memoryReference=node.memory_reference if session.traits.memory_references else None,
        valueLocationReference=session.handles.add_location(node.part) if node.part and not node.part.index else None,
        presentationHint=VariablePresentationHint(kind=node.hint) if node.hint else None,
    )
