"""Faults for benchmarks/agent.py: what an agent is given, and the right answer, which it never sees.

Sources: compilations with their stages (benchmarks/triage.py seeds them), of which the agent is given the folder.
Context directories alone, with inputs and expected values: a wild address, an address shifted by a little, a DMA that
moves too little, a dependency that is too early, a weight that is not a number; models of CV18XX, and dynamic ones
(benchmarks/agent_dynamic.py), too. Language models with wrong weights (benchmarks/agent_weights.py) and recorded runs
of programs with a fault (benchmarks/agent_hosts.py), with the model before conversion.

Whether a fault has an effect at all is decided without the tools: a missing dependency must give other outputs in some
order that the engines may take, every other fault other outputs or an access that no memory has.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np

from benchmarks import agent_dynamic, agent_hosts, agent_weights
from benchmarks.triage import Fault, Sound, has_effect
from scripts.robustness.mutate_models.judging import outcomes
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.compare.recording import record as recorded
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.golden.files.compilation import find
from tdb_dap.tools.golden.library import NoGolden
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tests.triage_case import Compiled

DATA = Path(__file__).parent.parent / "tests" / "data"
MODELS = (
    "bm1684x/toy_bm1684x_f32",
    "bm1684x/toy_bm1684x_f16",
    "bm1684x/toy_bm1684x_int8",
    "bm1684x/sin_cos_erf_bm1684x_f32",
    "bm1684/toy_bm1684_int8",
    "bm1688/toy_bm1688_int8c2",
    "bm1684x/toy_bm1684x_bf16",
    "bm1684x/attention_bm1684x_int8",
)

CV18XX = (
    "chips/cv180x/toy_cv180x_int8",
    "chips/cv181x/act_relu_cv181x_int8",
    "chips/cv181x/toy_cv181x_int8",
    "chips/cv181x/attention_cv181x_int8",
    "chips/cv181x/deconv_cv181x_bf16",
    "chips/cv182x/toy_cv182x_bf16",
    "chips/cv183x/toy_cv183x_int8",
    "chips/cv184x/toy_cv184x_int8",
)
"""Models of the chips of cameras; those of CV180X to CV183X are a ``.cvimodel``."""

LOWERING = "the lowering to stage tpu"
INTERPRETED = "the computation at stage tpu"
COMMANDS = "the commands of the op"
WILD, UNWRITTEN, RACE, NAN = "an access outside of memory", "unwritten bytes", "a missing dependency", "not a number"

_SYMPTOMS = frozenset({COMMANDS, WILD, UNWRITTEN, RACE})
"""How a wrong address or size shows depends on the contents it points to."""

CAUSES = {
    "weight swapped": frozenset({LOWERING}),
    "scale wrong": frozenset({LOWERING}),
    "zero point lost": frozenset({LOWERING}),
    "axis": frozenset({LOWERING}),
    "wrong table": frozenset({LOWERING}),
    "round mode": frozenset({INTERPRETED}),
    "saturated accumulation": frozenset({INTERPRETED}),
    "missing dependency": frozenset({RACE}),
    "wild address": frozenset({WILD}),
    "not a number": frozenset({NAN}),
    "shifted address": _SYMPTOMS,
    "short transfer": _SYMPTOMS,
}
"""Causes that are right, by kind; stride and stale buffer depend on the stage, see ``_causes``."""

ON_CV18XX = " on CV18xx"
"""The end of the kinds of faults in models of CV18XX."""

KINDS = (
    *dict.fromkeys((*CAUSES, "stride", "stale buffer")),
    *agent_weights.CAUSES,
    *(f"{kind}{ON_CV18XX}" for kind in (*list(CAUSES)[-5:], "short transfer")),
    f"dynamic: {NAN}",
    *(f"{where}: {cause}" for where in ("host", "dynamic") for cause in agent_hosts.CAUSES),
)


@dataclass(frozen=True)
class Task:
    """What the agent is given: ``folder`` of a compilation, or ``context`` with ``inputs`` and ``reference``, or
    ``converted``, a folder of the converter of language models, whose ``reference`` is the folder of the model before,
    and the ``recording`` of a program that runs it with a ``prompt``.
    """

    folder: Path | None = None
    context: Path | None = None
    inputs: Path | None = None
    reference: Path | None = None
    converted: Path | None = None
    recording: Path | None = None
    prompt: tuple[int, ...] = ()


@dataclass(frozen=True)
class Seeded:
    """``tensors``: any of these names is the op at fault. ``make``: the task in a folder, None without an effect."""

    kind: str
    model: str
    text: str
    tensors: frozenset[str]
    causes: frozenset[str]
    make: Callable[[Path], Task | None]


def seeded(contexts: list[Path], random: Random) -> dict[str, list[Seeded]]:
    """All faults by kind, each list in random order. ``contexts``: compilations besides the bundled one."""
    found: dict[str, list[Seeded]] = {kind: [] for kind in KINDS}
    for context in contexts:
        try:
            compiled = Sound(context)
        except (TdbError, KeyError):
            continue
        for fault in compiled.faults(random):
            found[fault.kind].append(_of_compilation(compiled, fault))
    for name in MODELS:
        for one in _of_model(DATA / name, random):
            found[one.kind].append(one)
    for name in CV18XX:
        for one in _of_model(DATA / name, random):
            found[f"{one.kind}{ON_CV18XX}"].append(replace(one, kind=f"{one.kind}{ON_CV18XX}"))
    for one in (*_of_weights(random), *_of_hosts(random), *_of_dynamic()):
        found[one.kind].append(one)
    for faults in found.values():
        random.shuffle(faults)
    return found


def bundled(folder: Path) -> Path:
    """The context directory of the compilation that the tests have."""
    return Compiled.into(folder / "toy").context


# In weights of language models


def _of_weights(random: Random) -> Iterator[Seeded]:
    for model, tensor, cause, make in agent_weights.faults(random):

        def made(folder: Path, make: Callable[[Path], Path | None] = make) -> Task | None:
            converted = make(folder)
            return None if converted is None else Task(reference=converted / "float", converted=converted)

        yield Seeded(cause, model, tensor, frozenset({tensor}), frozenset({cause}), made)


# In programs that run language models


def _of_hosts(random: Random) -> Iterator[Seeded]:
    for model, fault, prompt, make in agent_hosts.faults(random):

        def made(
            folder: Path, prompt: tuple[int, ...] = prompt, make: Callable[[Path], Path | None] = make
        ) -> Task | None:
            try:
                run = make(folder)
            except BadInput:  # the vendor's runtime is missing
                return None
            task = Task(reference=run / "float", converted=run, recording=run / "run.tdbrec") if run else None
            return replace(task, prompt=prompt) if task is not None else None

        kind = f"{'dynamic' if model in agent_hosts.DYNAMIC_MODELS else 'host'}: {fault.cause}"
        yield Seeded(kind, model, fault.text, fault.launches, frozenset({fault.cause}), made)


# In models with dynamic subnets


def _of_dynamic() -> Iterator[Seeded]:
    for model, weight, tensors, make in agent_dynamic.faults():

        def made(folder: Path, make: Callable[[Path], Path | None] = make) -> Task | None:
            context = make(folder)
            return Task(None, context, context / "input.npz", context / "ref.npz") if context is not None else None

        yield Seeded(f"dynamic: {NAN}", model, f"weight {weight} is NaN", tensors, frozenset({NAN}), made)


# In compilations


def _of_compilation(compiled: Sound, fault: Fault) -> Seeded:
    def make(folder: Path) -> Task | None:
        files = compiled.copy(folder)
        try:
            fault.put(files)
            if fault.stage == "bmodel":
                inputs = files.paths["mlir_input"]
                is_seen = _changes(files.paths["bmodel"], compiled.files.paths["bmodel"], inputs, fault.kind)
            else:
                is_seen = has_effect(compiled, fault, find(files.directory))
        except (TdbError, NoGolden):
            return None
        return Task(folder=folder) if is_seen else None

    names = frozenset(fault.tensors)
    return Seeded(fault.kind, compiled.context.name, fault.text, names, _causes(fault), make)


def _causes(fault: Fault) -> frozenset[str]:
    if fault.kind == "stride":
        return _SYMPTOMS if fault.stage == "bmodel" else frozenset({LOWERING})
    if fault.kind == "stale buffer":
        return _SYMPTOMS if fault.stage == "bmodel" else frozenset({INTERPRETED})
    return CAUSES[fault.kind]


# In models without stages


def _of_model(path: Path, random: Random) -> Iterator[Seeded]:
    program = open_program(path)
    step = program.target.geometry.eu_bytes
    for command in program.commands:
        records = program.source.records_of(command.ordinal)
        if len(records) != 1 or not command.has_descriptor or program.target.writes_registers(command.kind):
            continue
        tensors = frozenset(value.name for value in records[0].results)
        for kind, field, value in _fields(command, step, random):
            yield _changed(path, program, kind, tensors, command, field, value)
    mlir = program.source.mlir
    weights = {n for op in (mlir.ops.values() if mlir else ()) if op.name == "top.Weight" for n in op.locations}
    for record in program.source.records:
        for operand in record.operands:
            view = operand.view
            if operand.name in weights and view is not None and str(view.dtype) in ("f32", "f16", "bf16"):
                yield _not_a_number(path, program, operand.name)


def _fields(command: Command, step: int, random: Random) -> Iterator[tuple[str, str, int]]:
    for field, old in command.fields.items():
        if field == "cmd_id_dep" and old > 0:
            yield "missing dependency", field, 0
        if re.fullmatch(r"(opd0|res0)_addr", field) and old > 0:
            yield "wild address", field, old + (1 << random.choice((27, 28)))
            yield "shifted address", field, old + step * random.choice((1, 2, 4))
        size = re.fullmatch(r"src_([chw])size", field)
        if size and old > 1 and command.fields.get(f"dst_{size[1]}size", old) in (0, old):
            yield "short transfer", field, old // 2


def _changed(
    path: Path, program: Program, kind: str, tensors: frozenset[str], command: Command, field: str, value: int
) -> Seeded:
    def edit(editor: Editor) -> None:
        editor.set_field(command.token, field, value)
        other = field.replace("src_", "dst_")
        if kind == "short transfer" and command.fields.get(other) == command.fields[field]:
            editor.set_field(command.token, other, value)

    text = f"{command.token} {command.name}: {field} = {value} instead of {command.fields[field]}"
    return Seeded(kind, path.name, text, tensors, CAUSES[kind], lambda folder: _made(path, program, kind, folder, edit))


def _not_a_number(path: Path, program: Program, weight: str) -> Seeded:
    """The op is the first that computes with the weight; loading it makes no number."""

    def edit(editor: Editor) -> None:
        editor.set_weight(weight, np.float32("nan"))

    kind = "not a number"
    text = f"weight {weight} is NaN"
    tensors = agent_dynamic.computed_with(program, weight)
    return Seeded(kind, path.name, text, tensors, CAUSES[kind], lambda folder: _made(path, program, kind, folder, edit))


def _made(path: Path, program: Program, kind: str, folder: Path, edit: Callable[[Editor], None]) -> Task | None:
    context = folder / "model"
    shutil.copytree(
        path, context, ignore=shutil.ignore_patterns("*.bmodel*", "*.cvimodel*", "*.json", "trace*", "check*")
    )
    model, inputs = context / program.bmodel.path.name.removesuffix(".xz"), context / "input.npz"
    try:
        with Editor(program, model) as editor:
            edit(editor)
        if not _changes(model, path, inputs, kind):
            return None
    except TdbError:
        return None
    reference = context / "ref.npz"
    if not reference.exists():
        write_npz(reference, _right(path, inputs))
    return Task(None, context, inputs, reference)


def _right(path: Path, inputs: Path) -> Mapping[str, Array]:
    """Every tensor as the sound model computes it, where its compilation has left no expected values."""
    debugger = open_debugger(path, inputs, history_limit=0)
    try:
        return recorded(debugger)
    finally:
        debugger.close()


def _changes(model: Path, sound: Path, inputs: Path, kind: str) -> bool:
    """Whether a fault can be seen at the outputs, in one of the orders that the engines may take."""
    debugger = open_debugger(sound, inputs, history_limit=0)
    words, right = debugger.machine.inputs, outcomes(debugger.program, debugger.machine.inputs)
    debugger.close()
    found = outcomes(open_program(model), words)
    if kind == "missing dependency":
        return len(found) > 1
    if len(right) != 1 or found == right or "NotSimulated" in found:
        return False
    return kind != "wild address" or "BadAccess" in found
