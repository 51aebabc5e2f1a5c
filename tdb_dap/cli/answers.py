"""Command lines that are about the answer of a language model instead of one net."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.tools.llm.adapter import Adapter
    from tdb_dap.tools.llm.sampling import Sampling


def is_asked(arguments: argparse.Namespace) -> bool:
    """Whether a prompt or a pipeline was given."""
    return any(given is not None for given in (arguments.prompt, arguments.ids, arguments.pipeline))


def open_answer(arguments: argparse.Namespace) -> Debugger:
    """A debugger, without history, before the first command of the answer; BadInput for options of single nets."""
    from tdb_dap.tools.llm.language_model import read_model
    from tdb_dap.tools.llm.opening import open_model, open_pipeline
    from tdb_dap.tools.llm.words import prompt_ids

    others = ("inputs", "reference", "recording", "net", "measured")
    given = [f"--{name}" for name in others if getattr(arguments, name, None)]
    given += ["--backend"] if getattr(arguments, "backend", "numpy") != "numpy" else []
    if given:
        raise BadInput(
            f"{', '.join(given)}: not with a prompt or a pipeline; leave {'it' if len(given) == 1 else 'them'} out"
        )
    if arguments.pipeline is not None:
        return open_pipeline(arguments.context, arguments.pipeline, history_limit=0)
    model = read_model(arguments.context)
    given_prompt = arguments.prompt if arguments.ids is None else arguments.ids
    prompt = prompt_ids(given_prompt, model.context.bmodel.parent, arguments.chat)
    sampling, adapter = sampling_of(arguments), adapter_of(arguments)
    return open_model(model, prompt, arguments.tokens, history_limit=0, sampling=sampling, adapter=adapter)


def adapter_of(arguments: argparse.Namespace) -> Adapter | None:
    """The LoRA adapter that was given."""
    from tdb_dap.tools.llm.adapter import Adapter

    return Adapter(arguments.lora) if arguments.lora is not None else None


def sampling_of(arguments: argparse.Namespace) -> Sampling | None:
    """Manner in which tokens are drawn; None: the likeliest is taken."""
    from tdb_dap.tools.llm.sampling import parse

    return parse(arguments.sample) if arguments.sample is not None else None
