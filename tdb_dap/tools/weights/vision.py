"""Numbers that the constants of the net of pictures were made of."""

from __future__ import annotations

import json
import re

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.vision import frequencies
from tdb_dap.tools.float_model.vision_config import VisionConfig, vision_config
from tdb_dap.tools.weights.constants import Constant, FloatConstant

_PART = re.compile(r"(.+\.attn)\.([qkv])\.(weight|bias)")
_TABLE = re.compile(r".+\.rotary\.(cos|sin)\.weight")


def is_table(name: str) -> bool:
    """Whether a constant holds the cosines or sines of positions."""
    return _TABLE.fullmatch(name) is not None


def vision_weight(model: FloatModel, constant: Constant) -> Array | None:
    """Float32 numbers; None where the model before conversion has none, or its kind is not known."""
    name, weights, config = constant.tensor, model.weights, _config(model)
    if config is None:
        return None
    table = _TABLE.fullmatch(name)
    if table is not None:
        if not isinstance(constant, FloatConstant):
            return None
        cosines, sines = frequencies(constant.words.shape[0], config.head)
        return (cosines if table[1] == "cos" else sines).astype(np.float32)
    part = _PART.fullmatch(name)
    if part is not None and f"{part[1]}.qkv.{part[3]}" in weights:
        fused = weights.read(f"{part[1]}.qkv.{part[3]}")
        return np.split(fused, 3)["qkv".index(part[2])] if len(fused) % 3 == 0 else None
    if name not in weights:
        return None
    numbers = weights.read(name)
    return numbers.reshape(len(numbers), -1) if numbers.ndim > 2 else numbers


def _config(model: FloatModel) -> VisionConfig | None:
    try:
        return vision_config(json.loads((model.folder / "config.json").read_bytes()))
    except (BadInput, LookupError, ValueError, TypeError):
        return None
