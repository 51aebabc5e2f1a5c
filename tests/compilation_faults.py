"""Faults of a compiler, one of each kind at every stage before the bmodel, put into a compilation that was made here.

A fault of a text or its weights is followed by the tensors that it means; one of the tensors alone is what a wrong
program leaves behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tests.made_compilation import Made

Change = Callable[[Array], Array]


@dataclass(frozen=True)
class Fault:
    """``put``: makes it; ``stage`` and ``tensor``: where it is; ``modes``: formats in which it can be made."""

    kind: str
    stage: str
    tensor: str
    put: Callable[[Made], None]
    modes: tuple[str, ...] = ("F32", "F16", "BF16", "INT8")
    is_attention: bool = False


_KEYS = {"as imported": "origin_mlir", "top": "top_mlir", "tpu": "tpu_mlir"}


def _text(stage: str, name: str, old: str, new: str) -> Callable[[Made], None]:
    """Another attribute in a text. The tensors of the first stage are the original model's and stay."""

    def put(made: Made) -> None:
        made.edit(_KEYS[stage], name, old, new)
        if stage != "as imported":
            made.compute(_KEYS[stage])

    return put


def _weight(stage: str, layer: str, index: int, change: Change) -> Callable[[Made], None]:
    """Other weights of a layer, by their number."""

    def put(made: Made) -> None:
        key = _KEYS[stage]
        name = f"{layer}_w{index}"
        if key == "tpu_mlir":
            kind = "f32" if index else made.mode.lower()
            name = f"{layer}_{('filter_i8', 'bias_i32')[index]}" if made.mode == "INT8" else f"{name}_{kind}"
        made.change(made.weights[key], name, change)
        if stage != "as imported":
            made.compute(key)

    return put


def _tensor(stage: str, name: str, change: Change) -> Callable[[Made], None]:
    """Other numbers of a tensor than its text means."""

    def put(made: Made) -> None:
        made.change(made.tensors[_KEYS[stage]], name, change)

    return put


def _rotated(array: Array) -> Array:
    return np.roll(array, 1, axis=0)


def _mirrored(array: Array) -> Array:
    return np.swapaxes(array, -1, -2)


def _without_a_row(array: Array) -> Array:
    changed = array.copy()
    changed[..., -1, :] = 0
    return changed


def _cut_off(array: Array) -> Array:
    greatest = float(np.abs(array).max()) / 2
    return np.clip(array, -greatest, greatest)


def _one_channel_negative(array: Array) -> Array:
    changed = array.copy()
    changed[:, 1] = -changed[:, 1]
    return changed


def _factor(made: Made) -> None:
    text = made.texts["tpu_mlir"].read_text("utf-8")
    line = next(line for line in text.splitlines() if line.endswith('loc("a_Conv")'))
    numbers = line.partition("multiplier = [")[2].partition("]")[0]
    first, rest = numbers.split(", ", 1)
    made.edit("tpu_mlir", "a_Conv", f"[{numbers}]", f"[{int(int(first) * 1.5)}, {rest}]")
    made.compute("tpu_mlir")


def _multipliers(made: Made) -> None:
    """Ten per cent more of every channel."""
    text = made.texts["tpu_mlir"].read_text("utf-8")
    line = next(line for line in text.splitlines() if line.endswith('loc("e_Conv")'))
    numbers = line.partition("multiplier = [")[2].partition("]")[0]
    larger = ", ".join(str(int(int(number) * 1.1)) for number in numbers.split(", "))
    made.edit("tpu_mlir", "e_Conv", f"[{numbers}]", f"[{larger}]")
    made.compute("tpu_mlir")


_FLOATS = ("F32", "F16", "BF16")
_PADS, _OTHER_PADS = "pads = [1, 1, 1, 1]", "pads = [2, 1, 0, 1]"

FAULTS = (
    Fault("wrong pad", "as imported", "a_Conv", _text("as imported", "a_Conv", _PADS, _OTHER_PADS)),
    Fault("wrong axis", "as imported", "i_Softmax", _text("as imported", "i_Softmax", "axis = 1", "axis = 0")),
    Fault("rotated weights", "as imported", "c_Conv", _weight("as imported", "c_Conv", 0, _rotated)),
    Fault("dropped activation", "top", "a_Conv", _text("top", "a_Conv", "do_relu = true", "do_relu = false")),
    Fault("dropped bias", "top", "e_Conv", _weight("top", "e_Conv", 1, np.zeros_like)),
    Fault(
        "swapped operands",
        "top",
        "r_Sub",
        _text("top", "r_Sub", "is_reverse = false", "is_reverse = true"),
        _FLOATS,
        True,
    ),
    Fault("rotated weights", "tpu", "e_Conv", _weight("tpu", "e_Conv", 0, _rotated)),
    Fault("transposed layout", "tpu", "a_Conv", _weight("tpu", "a_Conv", 0, _mirrored)),
    Fault("dropped bias", "tpu", "c_Conv", _weight("tpu", "c_Conv", 1, np.zeros_like)),
    Fault("wrong pad", "tpu", "b_Conv", _text("tpu", "b_Conv", _PADS, _OTHER_PADS)),
    Fault("wrong stored sign", "tpu", "h_MatMul", _weight("tpu", "h_MatMul", 0, np.negative)),
    Fault("wrong scale", "tpu", "a_Conv", _factor, ("INT8",)),
    Fault("perturbed multiplier", "tpu", "e_Conv", _multipliers, ("INT8",)),
    Fault("wrong shift", "tpu", "h_MatMul", _text("tpu", "h_MatMul", "rshifts = [24]", "rshifts = [23]"), ("INT8",)),
    Fault("wrong shift", "tpu", "d_Add", _text("tpu", "d_Add", "rshifts = [7, 7]", "rshifts = [7, 8]"), ("INT8",)),
    Fault("wrong axis", "tpu", "p_Softmax", _text("tpu", "p_Softmax", "axis = 2", "axis = 1"), _FLOATS, True),
    Fault("wrong constant", "tpu", "t_MulConst", _text("tpu", "t_MulConst", "0.25", "0.24"), _FLOATS, True),
    Fault("wrong address", "tpu", "c_Conv", _tensor("tpu", "c_Conv", lambda array: np.roll(array, 1, axis=1))),
    Fault("missing command", "tpu", "e_Conv", _tensor("tpu", "e_Conv", _without_a_row)),
    Fault("truncated range", "tpu", "b_Conv", _tensor("tpu", "b_Conv", _cut_off)),
    Fault("wrong sign of a channel", "tpu", "e_Conv", _tensor("tpu", "e_Conv", _one_channel_negative)),
    Fault("transposed layout", "tpu", "s_MatMul", _tensor("tpu", "s_MatMul", _mirrored), _FLOATS, True),
    Fault("not a number", "tpu", "v_MatMul", _tensor("tpu", "v_MatMul", lambda array: array * np.nan), _FLOATS, True),
)
"""Fifteen kinds at three stages."""
