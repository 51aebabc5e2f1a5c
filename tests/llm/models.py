"""The small language models of the tests: converted by the vendor's compiler from random weights."""

from __future__ import annotations

import json
import lzma
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.engine.program.schedule import HostStep, NetStep, Step
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.llm.judging.comparing import Part
from tdb_dap.tools.llm.language_model import LanguageModel, read_model
from tdb_dap.tools.llm.opening import linked
from tdb_dap.tools.llm.pictures.reading import Pictures
from tdb_dap.tools.llm.running import Answering, Token
from tdb_dap.tools.llm.sources import weights_report

FOLDER = Path(__file__).parents[1] / "data" / "llm"
QWEN = FOLDER / "qwen2_bm1684x_bf16"
LLAMA = FOLDER / "llama_bm1688_w4"
DYNAMIC = FOLDER / "qwen2_bm1684x_dynamic"
DISK = FOLDER / "qwen2_bm1684x_disk"
SAMPLE = FOLDER / "qwen2_bm1684x_sample"
HISTORY = FOLDER / "qwen2_bm1684x_history"
LORA = FOLDER / "llama_bm1684x_lora"
"""Converted from the same float model as LLAMA, with room for LoRA of rank 4."""
X2 = FOLDER / "llama_bm1684x2_w4"
"""For four cores; the vendor's runtime does not run models of this chip on a host."""
VISION = FOLDER / "qwen2_5_vl_bm1684x_bf16"
STATIC = (QWEN, LLAMA)
PROMPT = (5, 17, 30)
LONG_PROMPT = tuple((7 * number + 5) % 96 for number in range(20))
"""The prompt of the recordings of HISTORY: parts of 8, 8 and 4 tokens."""


def float_model(folder: Path) -> FloatModel:
    """The model before conversion."""
    return FloatModel((QWEN if folder in (DYNAMIC, DISK, HISTORY) else LLAMA if folder == LORA else folder) / "float")


Change = Callable[[Step, str], "Step | tuple[Step, ...]"]
"""A step of the schedule, and the net that it comes before or is -> the step or steps that take its place."""


def program(
    folder: Path,
    tokens: int = 4,
    change: Change | None = None,
    prompt: Sequence[int] = PROMPT,
    pictures: Pictures | None = None,
) -> tuple[LanguageModel, LinkedProgram]:
    """An answer as a program; ``change``: a fault in what the host does."""
    model = read_model(folder)
    made = linked(model, prompt, tokens, pictures=pictures)
    if change is not None:
        made = linked_again(model, made, change)
    return model, made


def linked_again(model: LanguageModel, made: LinkedProgram, change: Change) -> LinkedProgram:
    """The program with other steps."""
    from tdb_dap.engine.files.context import Context
    from tdb_dap.targets.chips.registry import target_for
    from tdb_dap.tools.llm.sources import sources_of
    from tdb_dap.tools.programs import keep_source

    steps = made.schedule.steps
    changed: list[Step] = []
    for index, step in enumerate(steps):
        instead = change(step, _next_net(steps[index:]))
        changed += instead if isinstance(instead, tuple) else (instead,)
    sources = sources_of(model)
    bmodel = model.context.bmodel

    def context_of(net: str, stage: int) -> Context:
        return sources.get(net) or Context(bmodel.parent, bmodel, None, None, None, None)

    schedule = replace(made.schedule, steps=tuple(changed))
    return LinkedProgram(model.context, target_for, schedule, context_of, keep_source)


def _next_net(steps: Sequence[Step]) -> str:
    """``block_cache_0 at token 2``: the net that runs next."""
    found = next((step for step in steps if isinstance(step, NetStep)), None)
    return f"{found.net} at token {found.token}" if found is not None else ""


def answered(
    folder: Path,
    tokens: int = 4,
    change: Change | None = None,
    prepare: Callable[[Debugger], None] | None = None,
    prompt: Sequence[int] = PROMPT,
    pictures: Pictures | None = None,
) -> list[Token]:
    """Tokens with everything compared. ``prepare``: a fault in the memories before the first command."""
    model, made = program(folder, tokens, change, prompt, pictures)
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    if prepare is not None:
        prepare(debugger)
    reference = FloatModel(float_model(folder).folder, room=model.room)
    report = weights_report(model, reference)
    return list(Answering(debugger, model, prompt, (), reference, weights=report, pictures=pictures).tokens())


def wrong(tokens: Sequence[Token]) -> Iterator[tuple[int, Part]]:
    """Launches that are wrong, each with the number of its token."""
    for token in tokens:
        for part in token.parts:
            if part.is_wrong:
                yield token.number, part


def write_adapter(folder: Path, rank: int = 3, layer: str = "self_attn.v_proj", **config: object) -> Path:
    """A LoRA adapter with random weights for q_proj, down_proj and one more layer of the blocks of LORA."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = {"peft_type": "LORA", "r": rank, "lora_alpha": 2.0 * rank, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps({**plain, **config}))
    random = np.random.default_rng(3)
    shapes = {"self_attn.q_proj": (64, 64), "mlp.down_proj": (64, 128), layer: (32, 64)}
    header: dict[str, object] = {}
    data = b""
    for number in range(2):
        for name, (outputs, inputs) in shapes.items():
            for factor, shape in (("A", (rank, inputs)), ("B", (outputs, rank))):
                words = (random.standard_normal(shape) * (inputs**-0.5 if factor == "A" else 0.5)).astype("<f4")
                entry = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + words.nbytes]}
                header[f"base_model.model.model.layers.{number}.{name}.lora_{factor}.weight"] = entry
                data += words.tobytes()
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return folder


def write_picture(path: Path, height: int = 112, width: int = 168) -> Path:
    """Noise with a gradient, uint8 (height, width, 3)."""
    noise = np.random.default_rng(3).integers(0, 128, (height, width, 3))
    np.save(path, (noise + np.linspace(0, 127, width, dtype=np.int64)[None, :, None]).astype(np.uint8))
    return path


def is_fill(step: Step, tensor: str) -> bool:
    """Whether a step of the host fills an input of that name."""
    return isinstance(step, HostStep) and step.name == "host.fill" and step.destination.tensor == tensor


def copied(folder: Path, into: Path) -> Path:
    """A copy of a model's folder in which the sources of the nets are files that an editor can open."""
    copy = into / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("float"))
    for packed in copy.glob("nets/*/*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    return copy
