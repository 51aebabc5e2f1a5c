"""Element types of tensors in MLIR text, the quant dialect's included (https://mlir.llvm.org/docs/Dialects/QuantDialect/)."""

from __future__ import annotations

import re

from msgspec import Struct

from tdb_dap.engine.source.mlir_attributes import closing, integer, split_top
from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

_QUANTISED = pattern(r"!quant\.(\w+)<")
_STORAGE = pattern(r"([A-Za-z]\w*)(?:<(-?\d+):(-?\d+)>)?")
_PLAIN = pattern(r"[A-Za-z]\w*")
_SCALED = pattern(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)(?::(-?\d+))?")
_RANGE = pattern(r"<([-+\w.]+):([-+\w.]+)>")


class ElementType(Struct, frozen=True):
    """Number format of a tensor's elements. A stored number stands for (stored - ``zero_point``) * ``scale``.

    ``storage``: ``f32``, ``i8``, ``u8``, ``f8E4M3FN``, ...; ``expressed``: the format of the numbers that stored ones
    stand for; ``limits``: least and greatest stored number, where the type narrows them; ``calibrated``: least and
    greatest number that was met, as the type notes it; ``is_quantised``: whether the type itself has a scale.
    """

    storage: str
    expressed: str = ""
    scale: float = 1.0
    zero_point: int = 0
    is_quantised: bool = False
    limits: tuple[int, int] | None = None
    calibrated: tuple[float, float] | None = None


def element_type(text: str) -> ElementType:
    """The type in ``f32``, ``!quant.uniform<u8:bf16, 0.1:128>``, ``!quant.calibrated<f32<-1.0:1.0>>``.

    The text may be that of a tensor, which has one element type. BadInput for a form that has several scales (one of
    each channel or block), and for one that is not known: then nothing is known of what the numbers stand for.
    """
    match = _QUANTISED.search(text)
    if match is None:
        plain = _PLAIN.search(re.sub(r"^\W*(?:tensor|memref)?<?(?:[\d?*]+x)*", "", text))
        if plain is None:
            raise _unknown(text)
        return ElementType(plain[0])
    inside = text[match.end() : closing(text, match.end() - 1)]
    if match[1] == "uniform":
        return _uniform(inside, text)
    if match[1] == "calibrated":
        return _calibrated(inside, text)
    if match[1] == "any":
        return _storage(inside.partition(",")[0], text)
    raise _unknown(text)


def _uniform(inside: str, text: str) -> ElementType:
    first, *scales = split_top(inside)
    if len(scales) != 1 or "{" in first or "{" in scales[0]:
        raise BadInput(f"{_short(text)}: a type with several scales is not known")
    plain = _storage(first, text)
    scaled = _SCALED.fullmatch(scales[0])
    if scaled is None:
        raise _unknown(text)
    try:
        scale = float(scaled[1])
    except ValueError:
        raise _unknown(text) from None
    return ElementType(plain.storage, plain.expressed, scale, integer(scaled[2] or "0"), True, plain.limits)


def _storage(first: str, text: str) -> ElementType:
    """``i8<-127:127>:f32``; an axis after it means a scale of each channel."""
    storage = _STORAGE.match(first)
    if storage is None:
        raise _unknown(text)
    expressed, *axis = first[storage.end() :].lstrip(":").split(":")
    if axis:
        raise BadInput(f"{_short(text)}: a type with a scale of each channel is not known")
    limits = (integer(storage[2]), integer(storage[3])) if storage[2] else None
    return ElementType(storage[1], expressed.strip(), limits=limits)


def _calibrated(inside: str, text: str) -> ElementType:
    storage = _STORAGE.match(inside)
    if storage is None:
        raise _unknown(text)
    match = _RANGE.search(inside)
    try:
        calibrated = (float(match[1]), float(match[2])) if match else None
    except ValueError:
        raise _unknown(text) from None
    return ElementType(storage[1], storage[1], calibrated=calibrated)


def _unknown(text: str) -> BadInput:
    return BadInput(f"{_short(text)}: this type is not known")


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 80 else f"{plain[:77]}..."
