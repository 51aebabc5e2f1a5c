"""The small language models of the tests: converted by the vendor's compiler from random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.engine.program.schedule import HostStep, NetStep, Step
from tdb_dap.tools.llm.float_model import FloatModel
from tdb_dap.tools.llm.language_model import LanguageModel, read_model
from tdb_dap.tools.llm.opening import linked
from tdb_dap.tools.llm.running import Answering, Part, Token

FOLDER = Path(__file__).parents[1] / "data" / "llm"
QWEN = FOLDER / "qwen2_bm1684x_bf16"
LLAMA = FOLDER / "llama_bm1688_w4"
DYNAMIC = FOLDER / "qwen2_bm1684x_dynamic"
STATIC = (QWEN, LLAMA)
PROMPT = (5, 17, 30)


def float_model(folder: Path) -> FloatModel:
    """The model before conversion."""
    return FloatModel((QWEN if folder == DYNAMIC else folder) / "float")


Change = Callable[[Step, str], Step]
"""A step of the schedule, and the net that it comes before or is -> the step that takes its place."""


def program(folder: Path, tokens: int = 4, change: Change | None = None) -> tuple[LanguageModel, LinkedProgram]:
    """An answer as a program; ``change``: a fault in what the host does."""
    model = read_model(folder)
    made = linked(model, PROMPT, tokens)
    if change is not None:
        made = linked_again(model, made, change)
    return model, made


def linked_again(model: LanguageModel, made: LinkedProgram, change: Change) -> LinkedProgram:
    """The program with other steps."""
    from tdb_dap.engine.files.context import Context
    from tdb_dap.targets.chips.registry import target_for
    from tdb_dap.tools.llm.sources import sources_of
    from tdb_dap.tools.opening import keep_source

    steps = made.schedule.steps
    changed = [change(step, _next_net(steps[index:])) for index, step in enumerate(steps)]
    sources = sources_of(model)
    bmodel = model.context.bmodel

    def context_of(net: str) -> Context:
        return sources[net] or Context(bmodel.parent, bmodel, None, None, None, None)

    schedule = replace(made.schedule, steps=tuple(changed))
    return LinkedProgram(model.context, target_for, schedule, context_of, keep_source)


def _next_net(steps: Sequence[Step]) -> str:
    """``block_cache_0 at token 2``: the net that runs next."""
    found = next((step for step in steps if isinstance(step, NetStep)), None)
    return f"{found.net} at token {found.token}" if found is not None else ""


def answered(
    folder: Path, tokens: int = 4, change: Change | None = None, prepare: Callable[[Debugger], None] | None = None
) -> list[Token]:
    """Tokens with everything compared. ``prepare``: a fault in the memories before the first command."""
    model, made = program(folder, tokens, change)
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    if prepare is not None:
        prepare(debugger)
    return list(Answering(debugger, model, PROMPT, (), float_model(folder)).tokens())


def wrong(tokens: Sequence[Token]) -> Iterator[tuple[int, Part]]:
    """Launches that are wrong, each with the number of its token."""
    for token in tokens:
        for part in token.parts:
            if part.is_wrong:
                yield token.number, part


def is_fill(step: Step, tensor: str) -> bool:
    """Whether a step of the host fills an input of that name."""
    return isinstance(step, HostStep) and step.name == "host.fill" and step.destination.tensor == tensor
