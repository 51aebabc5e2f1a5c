"""Preprocessing of a net's inputs, as the compiler has noted it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp

_INPUT = "top.Input"


def preprocessing_lines(program: Program) -> Iterator[str]:
    """A line for each input that is prepared, as its ``top.Input`` says; none where nothing is noted but defaults.

    The original model's is that of the compiler's first stages: where preprocessing is fused into the net, final.mlir
    has other numbers.
    """
    noted = next((notes for notes in map(_noted, _stages(program)) if notes), {})
    for name, text in noted.items():
        yield f"preprocess {name}: {text}"
    for op in _inputs(program.source.mlir):
        if form := op.attributes.get("customization_format"):
            taken = f"{form}, {op.attributes.get('channel_format', '')}"
            yield f"preprocess {op.location}: fused into the net, which takes {taken}"


def _stages(program: Program) -> Iterator[MlirFile | None]:
    """The files in which to look, the original model's first."""
    for stage in reversed(program.compile_stages.stages):
        if stage.title == "top":
            yield stage.mlir
    yield program.source.mlir


def _noted(mlir: MlirFile | None) -> dict[str, str]:
    return {_name(op): text for op in _inputs(mlir) if (text := _described(op.attributes))}


def _inputs(mlir: MlirFile | None) -> Iterable[MlirOp]:
    try:
        return [op for op in mlir.ops.values() if op.name == _INPUT] if mlir is not None else []
    except BadInput:
        return []


def _name(op: MlirOp) -> str:
    return op.location.removesuffix("_raw")


def _described(attributes: Mapping[str, Any]) -> str:
    """``rgb, letterbox to 32x32, (x - 0 0 0) * 0.0039 0.0039 0.0039, nchw``; empty where all is as if unprepared."""
    mean, scale = (_numbers(attributes.get(key)) for key in ("mean", "scale"))
    is_letterbox = attributes.get("keep_aspect_ratio") is True
    is_plain = not any(mean) and all(number == 1 for number in scale) and not is_letterbox
    if attributes.get("do_preprocess") is not True or (is_plain and attributes.get("pixel_format") in (None, "bgr")):
        return ""
    parts = [str(attributes.get("pixel_format", ""))]
    size = attributes.get("resize_dims")
    if isinstance(size, list):
        way = str(attributes.get("keep_ratio_mode", "")) if is_letterbox else "resized"
        parts.append(f"{way} to {'x'.join(map(str, size))}")
        if is_letterbox:
            parts.append(f"padded with {attributes.get('pad_value', 0)}, {attributes.get('pad_type', '')}")
    parts += [f"mean {_listed(mean)}", f"scale {_listed(scale)}", str(attributes.get("channel_format", ""))]
    return ", ".join(part for part in parts if part)


def _numbers(value: object) -> list[float]:
    return [float(number) for number in value if isinstance(number, int | float)] if isinstance(value, list) else []


def _listed(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.7g}" for number in numbers)
