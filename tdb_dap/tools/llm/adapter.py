"""A LoRA adapter in the format of PEFT: weights that are added to those of a language model.

W x + scale B A x (https://arxiv.org/abs/2106.09685). Nets that were converted with --lora_max_rank have places for A
and B among their weights, zeros in the file; the host writes them there before the first launch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tdb_dap.engine.bmodel import Span
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.program.schedule import Border, HostStep
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.model import Pair
from tdb_dap.tools.float_model.rotary import positive
from tdb_dap.tools.float_model.safetensors_file import SafetensorsFile
from tdb_dap.tools.llm.language_model import LanguageModel

_WEIGHT = re.compile(r"base_model\.model\.(model\.layers\.\d+\..+)\.lora_([AB])(?:\.\w+)?\.weight")
_PLACE = re.compile(r"lora\.(\d+)\.0\.(.+)\.lora_([AB])\.weight")
_NOT_KNOWN = ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save", "fan_in_fan_out")


class Adapter:
    """The adapter in a folder; BadInput says what is missing or not known. ``pairs``: by the layer's name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        scale = _scale(folder / "adapter_config.json")
        file = SafetensorsFile(folder / "adapter_model.safetensors")
        factors: dict[str, dict[str, Array]] = {}
        for name in file.names:
            match = _WEIGHT.fullmatch(name)
            if match is None:
                raise BadInput(f"{file.path}: {name}: only LoRA of linear layers in blocks is known")
            factors.setdefault(match[1], {})[match[2]] = file.read(name)
        self.pairs: dict[str, Pair] = {}
        for layer, factor in factors.items():
            a, b = factor.get("A"), factor.get("B")
            if a is None or b is None or a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
                raise BadInput(f"{file.path}: the two factors for {layer} do not fit together")
            self.pairs[layer] = Pair(a, b * np.float32(scale))

    def fills(self, model: LanguageModel) -> Iterator[HostStep]:
        """Steps with which the host writes the adapter into the weights of the nets; BadInput if it does not fit."""
        dtype = model.input("block_0", 0).dtype
        places = dict(_places(model))
        for layer, pair in self.pairs.items():
            for which, factor in (("A", pair.a), ("B", pair.b.T)):
                borders = places.get((layer, which))
                if not borders:
                    raise BadInput(
                        f"{model.context.bmodel}: has no place for LoRA of {layer}; convert it with --lora_max_rank"
                    )
                for border, most, span in borders:
                    if factor.shape[0] > most:
                        raise BadInput(
                            f"{self.folder}: rank {factor.shape[0]} of {layer}; the model was converted for at most "
                            f"{most} (--lora_max_rank)"
                        )
                    words = np.zeros((most, factor.shape[1]), dtype.bits_dtype)
                    words[: factor.shape[0]] = dtype.encode(factor)
                    data = np.zeros(span.size, np.uint8)
                    if words.nbytes > span.size:
                        raise BadInput(f"{self.folder}: {layer} has {factor.shape[1]:,} numbers in a row, too many")
                    data[: words.nbytes] = words.reshape(-1).view(np.uint8)
                    yield _written(border, data)


def _written(border: Border, data: Array) -> HostStep:
    return HostStep("host.lora", "The host writes weights of a LoRA adapter.", (), border, lambda given: data)


def _places(model: LanguageModel) -> Iterator[tuple[tuple[str, str], list[tuple[Border, int, Span]]]]:
    """Layer and factor -> every place of it in the weights of the blocks, each with the most ranks."""
    borders: dict[tuple[str, str], dict[tuple[Span, Span], tuple[Border, int, Span]]] = {}
    for net, stage in model.nets.items():
        for name, span in stage.named_weights:
            if net.startswith("block") and (match := _PLACE.fullmatch(name)) is not None:
                place = Border(net, name), int(match[1]), span
                # A block and the one for decoding have the same weights.
                borders.setdefault((match[2], match[3]), {})[stage.weights, span] = place
    for key, places in borders.items():
        yield key, list(places.values())


def _scale(path: Path) -> float:
    """The factor of the adapter's product; BadInput for what is not LoRA as it was first described."""
    try:
        config: Any = json.loads(read_file(path, limits.REPORT))
        unknown = [name for name in _NOT_KNOWN if config.get(name)]
        unknown += [] if config.get("peft_type", "LORA") == "LORA" else ["peft_type"]
        unknown += [] if config.get("bias", "none") == "none" else ["bias"]
        if unknown:
            raise BadInput(f"{path}: {', '.join(unknown)}: only plain LoRA is known")
        rank, alpha = int(config["r"]), positive(config["lora_alpha"], "lora_alpha")
        if rank < 1:
            raise BadInput(f"{path}: r is {rank}")
        return alpha / (rank**0.5 if config.get("use_rslora") else rank)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be used: {error}") from None
