"""A language model with its prompt as a program to debug."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.net_folders import name_of_folder, sources_beside
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.engine.program.schedule import Schedule
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.llm.adapter import Adapter
from tdb_dap.tools.llm.answering import answer, substitutes_for
from tdb_dap.tools.llm.language_model import LanguageModel, bmodel_in, read_model, require_static
from tdb_dap.tools.llm.pictures.reading import Pictures, read_picture
from tdb_dap.tools.llm.pipeline_file import read_pipeline
from tdb_dap.tools.llm.recorded_answer import record_answer
from tdb_dap.tools.llm.sampling import Sampling, parse
from tdb_dap.tools.llm.sources import sources_of
from tdb_dap.tools.llm.words import prompt_ids
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import keep_source, report_links


class PromptOptions(Struct, frozen=True):
    """A language model with a prompt, a text or token ids, or a bmodel with a ``pipeline`` file."""

    context: Path
    prompt: str | Sequence[int] | None
    tokens: int = 8
    chat: bool = False
    sample: str | None = None
    lora: Path | None = None
    pipeline: Path | None = None
    references: tuple[Path, ...] = ()
    image: Path | None = None
    embeds: Path | None = None

    @property
    def sampling(self) -> Sampling | None:
        """Manner in which tokens are drawn; None: the likeliest is taken."""
        return parse(self.sample) if self.sample is not None else None

    @property
    def adapter(self) -> Adapter | None:
        return Adapter(self.lora) if self.lora is not None else None

    def ids(self, model: LanguageModel) -> list[int]:
        """Token ids of the prompt; empty without one."""
        has_picture = self.image is not None or self.embeds is not None
        folder = model.context.bmodel.parent
        return [] if self.prompt is None else prompt_ids(self.prompt, folder, self.chat, has_picture)

    def shown(self, model: LanguageModel, reference: Path | None = None) -> tuple[list[int], Pictures | None]:
        """Token ids of the prompt with its picture; ``reference`` as in ``read_picture``."""
        return read_picture(model, self.ids(model), self.image, self.embeds, reference)

    def open(self) -> Debugger:
        """A debugger, without history, before the first command of the completion or pipeline."""
        if self.pipeline is not None:
            return open_pipeline(self.context, self.pipeline, history_limit=0)
        model = read_model(self.context)
        ids, pictures = self.shown(model)
        return open_model(model, ids, self.tokens, (), 0, self.sampling, self.adapter, pictures)


def linked(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: int,
    given: Sequence[int] = (),
    sampling: Sampling | None = None,
    adapter: Adapter | None = None,
    pictures: Pictures | None = None,
) -> LinkedProgram:
    """The program of an answer of ``tokens`` tokens to the ids of a prompt; BadInput where they do not fit."""
    require_static(model)
    before = adapter.fills(model) if adapter is not None else ()
    schedule = answer(model, prompt, tokens, given, sampling=sampling, before=before, pictures=pictures)
    sources = sources_of(model)
    report_links(model.context.bmodel, model.context, sources.values())
    return _linked(model.context, schedule, sources)


def _linked(context: Context, schedule: Schedule, sources: Mapping[str, Context | None]) -> LinkedProgram:
    bmodel = context.bmodel

    def context_of(net: str, stage: int) -> Context:
        return sources.get(name_of_folder(net, stage)) or Context(bmodel.parent, bmodel, None, None, None, None)

    return LinkedProgram(context, target_for, schedule, context_of, keep_source)


def open_pipeline(given: Path, pipeline: Path, history_limit: int = DEFAULT_LIMIT) -> Debugger:
    """A debugger before the first step of a pipeline file; BadInput says what does not fit the bmodel."""
    context = replace(Context.find(bmodel_in(given)), inputs=None, reference=None)
    nets = {net.name: net.stages[0] for net in Bmodel(context.bmodel).metadata.nets if net.stages}
    schedule = replace(read_pipeline(pipeline), substitutes=substitutes_for(nets))
    names = [name_of_folder(net, stage) for net, stage in schedule.nets]
    sources = sources_beside(context.bmodel, names)
    report_links(given, context, sources.values())
    try:
        program = _linked(context, schedule, sources)
    except BadInput as error:
        raise BadInput(f"{pipeline}: {error}") from None
    return Debugger(program, _machine(program, history_limit), None)


def _machine(program: LinkedProgram, history_limit: int) -> Machine:
    machine = Machine(program, history_limit=history_limit)
    if not history_limit:
        machine.keep_no_changes()  # a run that only goes forwards: nobody can stop in it
    return machine


def open_model(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: int,
    given: Sequence[int] = (),
    history_limit: int = DEFAULT_LIMIT,
    sampling: Sampling | None = None,
    adapter: Adapter | None = None,
    pictures: Pictures | None = None,
) -> Debugger:
    """A debugger before the first command of an answer."""
    program = linked(model, prompt, tokens, given, sampling, adapter, pictures)
    return Debugger(program, _machine(program, history_limit), None)


def record(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: int,
    given: Sequence[int],
    path: Path,
    library: Path | None = None,
    pictures: Pictures | None = None,
) -> None:
    """Run an answer on the vendor's runtime, and leave a recording in ``path``; BadInput says what is missing.

    ``library``: as in ``--cmodel-path``.
    """
    schedule = answer(model, prompt, tokens, given, all_stages=False, pictures=pictures)
    record_answer(model, schedule, path, library)


def open_recorded(path: Path) -> Debugger:
    """A debugger before the first command of a recorded run, which keeps no history."""
    return open_debugger(path, history_limit=0)
