"""Wrong weights of language models for benchmarks/agent.py: constants of a compiled model are changed in its file.

Each must change the last state of a short answer: a fault without an effect is not seeded. The right answer is known
from the change alone, not from the tools.
"""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.opening import open_model
from tdb_dap.tools.llm.sources import sources_of
from tdb_dap.tools.weights.constants import Constant, FloatConstant, QuantisedConstant, Words, constants
from tests.llm.models import LLAMA, QWEN, copied, float_model

ZERO_POINTS, SCALE, SIGN, ORDER = "wrong zero points", "a wrong scale", "a wrong sign", "a wrong order"
NUMBER, LOST = "one wrong number", "lost numbers"

Edit = Callable[[Constant, Random], None]


def _words(of: Words) -> Array:
    stored: Array = of.held.view(np.uint16) if of.type in ("bf16", "f16") else of.held
    return stored.reshape(of.shape)


def _zero_points(constant: Constant, random: Random) -> None:
    assert isinstance(constant, QuantisedConstant)
    assert constant.zero_words is not None
    _words(constant.zero_words)[...] += np.uint8(random.choice((1, 2, 255)))


def _scale(by: float) -> Edit:
    def edit(constant: Constant, random: Random) -> None:
        assert isinstance(constant, QuantisedConstant)
        of = constant.scale_words
        place = tuple(random.randrange(size) for size in of.shape)
        _words(of)[place] = np.float32(of.numbers[place] * by).view(np.uint32) >> 16

    return edit


def _on_levels(edit: Callable[[Array, Random], None]) -> Edit:
    def change(constant: Constant, random: Random) -> None:
        assert isinstance(constant, QuantisedConstant)
        edit(_words(constant.packed), random)

    return change


def _on_floats(edit: Callable[[Array, Random], None]) -> Edit:
    def change(constant: Constant, random: Random) -> None:
        assert isinstance(constant, FloatConstant)
        edit(_words(constant.words), random)

    return change


def _exchange(rows: Array, random: Random) -> None:
    one, other = random.sample(range(len(rows)), 2)
    rows[[one, other]] = rows[[other, one]]


def _rotate(axis: int) -> Callable[[Array, Random], None]:
    def edit(array: Array, random: Random) -> None:
        array[...] = np.roll(array, random.randrange(1, 8), axis)

    return edit


def _nibbles(array: Array, random: Random) -> None:
    array[...] = array >> 4 | array << 4


def _one_level(array: Array, random: Random) -> None:
    array[tuple(random.randrange(size) for size in array.shape)] ^= np.uint8(8)


def _one_float(array: Array, random: Random) -> None:
    array[tuple(random.randrange(size) for size in array.shape)] = 0x4080


def _negative(array: Array, random: Random) -> None:
    array ^= np.uint16(0x8000)


def _doubled(array: Array, random: Random) -> None:
    array += np.uint16(0x80)


def _zeros(array: Array, random: Random) -> None:
    array[...] = 0


_MATRICES = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
_MLP = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")

QUANTISED: tuple[tuple[str, Edit], ...] = (
    (ZERO_POINTS, _zero_points),
    (SCALE, _scale(3.0)),
    (SIGN, _scale(-1.0)),
    (ORDER, _on_levels(_exchange)),
    (ORDER, _on_levels(_rotate(0))),
    (ORDER, _on_levels(_rotate(1))),
    (ORDER, _on_levels(_nibbles)),
    (NUMBER, _on_levels(_one_level)),
)
FLOATS: tuple[tuple[str, Edit], ...] = (
    (ORDER, _on_floats(_rotate(-1))),
    (NUMBER, _on_floats(_one_float)),
    (SIGN, _on_floats(_negative)),
    (SCALE, _on_floats(_doubled)),
    (LOST, _on_floats(_zeros)),
)


CAUSES = (ZERO_POINTS, SCALE, SIGN, ORDER, NUMBER, LOST)


def faults(random: Random) -> Iterator[tuple[str, str, str, Callable[[Path], Path | None]]]:
    """Model, tensor, cause, and what makes a converter's folder with the fault, besides it ``float``, the model before.

    The last gives None where the fault has no effect.
    """
    for folder, edits in ((LLAMA, QUANTISED), (QWEN, FLOATS)):
        for cause, edit in edits:
            for _ in range(3):
                name = f"model.layers.{random.randrange(2)}.{random.choice((*_MATRICES, *_MLP))}.weight"
                yield folder.name, name, cause, _maker(folder, name, edit, random.randrange(1 << 30))


def _maker(folder: Path, name: str, edit: Edit, seed: int) -> Callable[[Path], Path | None]:
    return lambda into: _made(folder, name, edit, Random(seed), into)


def _made(folder: Path, name: str, edit: Edit, random: Random, into: Path) -> Path | None:
    copy = copied(folder, into)
    packed = next(copy.glob("*.bmodel.xz"))
    packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    right = _states(copy)
    model = read_model(copy)
    bmodel = Bmodel(model.context.bmodel)
    bmodel.payload.flags.writeable = True  # a private copy of the file's
    before = bmodel.payload.copy()
    parts = [one for one in constants(bmodel, model.nets, sources_of(model)) if one.tensor == name]
    for constant in parts[:1]:
        edit(constant, random)
    if np.array_equal(before, bmodel.payload):
        return None
    changed = bmodel.payload.tobytes()
    with model.context.bmodel.open("r+b") as file:
        file.seek(bmodel.payload_start)
        file.write(changed)
    if _states(copy) == right:
        return None
    shutil.copytree(float_model(folder).folder, copy / "float")
    return copy


def _states(folder: Path) -> bytes:
    """What the last launch of a short answer takes, as stored: the state of which the logits are made."""
    model = read_model(folder)
    debugger = open_model(model, [5, 17, 30], 2, (), 0)
    try:
        debugger.run()
        last = debugger.program.launches[-1]
        return b"".join(
            debugger.machine.memory.read(border.view).tobytes() for border in debugger.program.borders_of(last)[0]
        )
    finally:
        debugger.close()
