"""A language model with its prompt as a program to debug."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.llm.answering import answer
from tdb_dap.tools.llm.language_model import LanguageModel
from tdb_dap.tools.opening import keep_source

_DEEPEST = 3
"""Folders below the bmodel's that are searched for the sources of its nets."""

_MOST_FOLDERS = 4096


def linked(model: LanguageModel, prompt: Sequence[int], tokens: int, given: Sequence[int] = ()) -> LinkedProgram:
    """The program of an answer of ``tokens`` tokens to the ids of a prompt; BadInput where they do not fit."""
    schedule = answer(model, prompt, tokens, given)
    folders = sources_of(model.context.bmodel, set(model.nets))
    bmodel = model.context.bmodel

    def context_of(net: str) -> Context:
        folder = folders.get(net)
        if folder is None:
            return Context(bmodel.parent, bmodel, None, None, None, None)
        locations = folder / "tensor_location.json"
        return Context(folder, bmodel, folder / "final.mlir", locations if locations.exists() else None, None, None)

    return LinkedProgram(model.context, target_for, schedule, context_of, keep_source)


def sources_of(bmodel: Path, nets: set[str]) -> dict[str, Path]:
    """The folder with final.mlir of each net that has one: the converter leaves them beside the bmodel, by net.

    Several conversions may lie in one folder: what has the bmodel's name comes first.
    """
    found: dict[str, Path] = {}
    stem = bmodel.name.removesuffix(".bmodel")
    folders = sorted(
        (entry for entry in bmodel.parent.iterdir() if entry.is_dir()),
        key=lambda entry: (not stem.startswith(entry.name), entry.name),
    )
    seen = 0
    for _ in range(_DEEPEST):
        inside: list[Path] = []
        for folder in folders:
            seen += 1
            if seen > _MOST_FOLDERS:
                return found
            if folder.name in nets and (folder / "final.mlir").exists():
                found.setdefault(folder.name, folder)
            else:
                inside += sorted(entry for entry in folder.iterdir() if entry.is_dir())
        folders = inside
    return found


def open_model(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: int,
    given: Sequence[int] = (),
    history_limit: int = DEFAULT_LIMIT,
) -> Debugger:
    """A debugger before the first command of an answer."""
    program = linked(model, prompt, tokens, given)
    return Debugger(program, Machine(program, history_limit=history_limit), None)
