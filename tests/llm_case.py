"""The models that docs/llm.md shows: ``python -m tests.llm_case FOLDER`` writes them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.patch.editor import Editor
from tests.llm.models import HISTORY, LLAMA, LORA, VISION, write_adapter, write_picture

DATA = Path(__file__).parent / "data" / "llm"
_WEIGHT = "model.layers.1.mlp.up_proj.weight_bf16"


def write_all(folder: Path) -> None:
    """A right model, the one before conversion, one with a wrong weight, and a run of a program that counts wrongly.

    A model with history and a run that gives too little of it; a model with room for LoRA, and an adapter; a model with
    pictures, and a picture.
    """
    right, dynamic = DATA / "qwen2_bm1684x_bf16", DATA / "qwen2_bm1684x_dynamic"
    shutil.copytree(right, folder / "model", ignore=shutil.ignore_patterns("float"))
    shutil.copytree(right / "float", folder / "float")
    shutil.copytree(dynamic, folder / "dynamic", ignore=shutil.ignore_patterns("*.tdbrec"))
    shutil.copyfile(dynamic / "early.tdbrec", folder / "program.tdbrec")
    shutil.copytree(HISTORY, folder / "history", ignore=shutil.ignore_patterns("*.tdbrec"))
    shutil.copyfile(HISTORY / "short.tdbrec", folder / "parts.tdbrec")
    shutil.copytree(LORA, folder / "llama")
    shutil.copytree(LLAMA / "float", folder / "llama_float")
    write_adapter(folder / "adapter")
    shutil.copytree(VISION, folder / "vision", ignore=shutil.ignore_patterns("float"))
    shutil.copytree(VISION / "float", folder / "vision_float")
    write_picture(folder / "picture.npy")
    spoil(folder / "model", folder / "exclamation")


def spoil(model: Path, copy: Path) -> None:
    """A copy of a model in which the weights of one product have the wrong sign."""
    shutil.copytree(model, copy)
    packed = next(copy.glob("*.bmodel.xz"))
    negate(packed, packed.with_suffix(""), copy / "nets" / "block_1", _WEIGHT)
    packed.unlink()


def negate(bmodel: Path, into: Path, sources: Path, weight: str) -> None:
    """Write a bmodel with the wrong sign of a weight of the net that has this name and these ``sources``."""
    program = CompiledProgram(Context.of_net(sources, bmodel), target_for, sources.name)
    with Editor(program, into) as editor:
        editor.set_weight(weight, -_numbers(program, weight))


def _numbers(program: CompiledProgram, weight: str) -> Array:
    view = program.source.weights[weight].view
    assert view is not None
    return Machine(program, history_limit=0).read(view)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
