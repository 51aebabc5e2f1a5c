"""Command lines that are about the answer of a language model instead of one net."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


def is_asked(arguments: argparse.Namespace) -> bool:
    """Whether a prompt was given."""
    return arguments.prompt is not None or arguments.ids is not None


def open_answer(arguments: argparse.Namespace) -> Debugger:
    """A debugger, without history, before the first command of the answer; BadInput for options of single nets."""
    from tdb_dap.tools.llm.language_model import read_model
    from tdb_dap.tools.llm.opening import open_model
    from tdb_dap.tools.llm.words import prompt_ids

    others = ("inputs", "reference", "recording", "net", "measured")
    given = [f"--{name}" for name in others if getattr(arguments, name, None)]
    given += ["--backend"] if getattr(arguments, "backend", "numpy") != "numpy" else []
    if given:
        raise BadInput(f"{', '.join(given)}: not with a prompt; leave {'it' if len(given) == 1 else 'them'} out")
    model = read_model(arguments.context)
    prompt = arguments.ids if arguments.ids is not None else prompt_ids(arguments.prompt, model.context.bmodel.parent)
    return open_model(model, prompt, arguments.tokens, history_limit=0)
