"""Modules: the model, and each of its subnets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tdb_dap.adapter.protocol.model import plain
from tdb_dap.adapter.protocol.types import ColumnDescriptor, Module, ModulesArguments
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.adapter.session.references import instruction_reference

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Subnet

_COLUMNS: dict[str, tuple[str, Literal["string", "number"]]] = {
    "runMode": ("Run mode", "string"),
    "function": ("Function", "string"),
    "commands": ("Commands", "number"),
    "inputs": ("Inputs", "string"),
    "outputs": ("Outputs", "string"),
}
"""What is known of a module beyond the protocol's own columns."""


@provides("additionalModuleColumns")
def columns() -> list[dict[str, Any]]:
    """The columns of a subnet."""
    return [
        plain(ColumnDescriptor(attributeName=name, label=label, type=kind)) for name, (label, kind) in _COLUMNS.items()
    ]


def module_id(subnet: int) -> str:
    """Id by which frames refer to the module of a subnet."""
    return f"subnet:{subnet}"


@request("modules", capability="supportsModulesRequest", while_running="answer")
def modules(session: Session, arguments: ModulesArguments) -> dict[str, Any]:
    """The model first, then its subnets in the order in which they run."""
    rows = [_model(session), *(_subnet(session, subnet) for subnet in session.debugger.program.subnets)]
    start = max(0, arguments.startModule or 0)
    stop = start + arguments.moduleCount if arguments.moduleCount else len(rows)
    return {"modules": rows[start:stop], "totalModules": len(rows)}


def _model(session: Session) -> dict[str, Any]:
    program = session.debugger.program
    return {
        **plain(
            Module(
                id="model",
                name=program.context.bmodel.name,
                path=session.traits.path_out(program.context.bmodel),
                version=program.chip,
                symbolStatus=_symbols(session),
                symbolFilePath=session.traits.path_out(program.context.mlir) if program.context.mlir else None,
            )
        ),
        "commands": len(program.commands),
        "inputs": ", ".join(tensor.name for tensor in program.inputs),
        "outputs": ", ".join(tensor.name for tensor in program.outputs),
    }


def _symbols(session: Session) -> str:
    source = session.debugger.program.source
    if source.mlir is None:
        return "no final.mlir: the listing is the source"
    return "final.mlir and tensor_location.json" if source.records else "final.mlir, without tensor_location.json"


def _subnet(session: Session, subnet: Subnet) -> dict[str, Any]:
    first, after = (instruction_reference(0, ordinal) for ordinal in (subnet.start, subnet.stop))
    known = Module(
        id=module_id(subnet.id),
        name=f"subnet {subnet.id}",
        isUserCode=True,
        symbolStatus=_symbols(session),
        addressRange=f"{first}-{after}",
    )
    return {
        **plain(known),
        "runMode": subnet.run_mode,
        "function": subnet.function,
        "commands": subnet.stop - subnet.start,
        "inputs": ", ".join(tensor.name for tensor in subnet.inputs),
        "outputs": ", ".join(tensor.name for tensor in subnet.outputs),
    }
