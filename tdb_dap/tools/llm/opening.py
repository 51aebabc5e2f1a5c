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
from tdb_dap.tools.llm.language_model import LanguageModel, require_static
from tdb_dap.tools.llm.recorded_answer import record_answer
from tdb_dap.tools.llm.sources import sources_of
from tdb_dap.tools.opening import keep_source, open_debugger


def linked(model: LanguageModel, prompt: Sequence[int], tokens: int, given: Sequence[int] = ()) -> LinkedProgram:
    """The program of an answer of ``tokens`` tokens to the ids of a prompt; BadInput where they do not fit."""
    require_static(model)
    schedule = answer(model, prompt, tokens, given)
    sources = sources_of(model)
    bmodel = model.context.bmodel

    def context_of(net: str) -> Context:
        return sources[net] or Context(bmodel.parent, bmodel, None, None, None, None)

    return LinkedProgram(model.context, target_for, schedule, context_of, keep_source)


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


def record(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: int,
    given: Sequence[int],
    path: Path,
    library: Path | None = None,
) -> None:
    """Run an answer on the vendor's runtime, and leave a recording in ``path``; BadInput says what is missing.

    ``library``: as in ``--cmodel-path``.
    """
    record_answer(model, answer(model, prompt, tokens, given), path, library)


def open_recorded(path: Path) -> Debugger:
    """A debugger before the first command of a recorded run, which keeps no history."""
    return open_debugger(path, history_limit=0)
