"""Pictures of a prompt: read from a file with what the host computes of it, or given as rows that replace it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import open_npz, read_npz
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.vision_config import ENCODER, VisionConfig, vision_config
from tdb_dap.tools.llm.language_model import LanguageModel
from tdb_dap.tools.llm.pictures.patches import fitting_size, host_inputs, padded, patches_of, positions_around

_TOKENS = ("image_token_id", "image_token_index", "img_context_token_id")
"""Keys of config.json with the token that stands for a row of a picture."""

_ROWS, _AT, _POSITIONS = "rows", "at", "position_ids"
_TAP = "rows_{}"
_EXACT = 1e-4
"""Error of pixels that are scaled in another order of operations."""
_RESIZED = 0.25
"""That of pixels that another program has resized: some levels of 255."""


class Pictures(Struct, frozen=True):
    """Pictures of a prompt. ``at``: places of their rows in it; ``positions``: (axes, tokens) of all of the prompt.

    ``inputs``: of the net ``vit``, in its shapes, empty where rows are given; ``patches``: how many there are;
    ``rows``: given ones, float32 (rows, hidden), and those that are added after the first blocks; ``tolerance``: of
    pixels.
    """

    at: Array
    positions: Array
    inputs: dict[str, Array] = {}
    patches: int = 0
    rows: tuple[Array, ...] = ()
    tolerance: float = _EXACT
    config: VisionConfig | None = None

    @property
    def shift(self) -> int:
        """Difference of the position of a token after the prompt from its place."""
        return int(self.positions.max()) + 1 - self.positions.shape[1]

    @property
    def taps(self) -> int:
        """First blocks of the text after which rows are added."""
        return max(0, len(self.rows) - 1) if self.config is None else len(self.config.taps)

    def positions_at(self, first: int, count: int) -> Array:
        """Positions of tokens of the prompt or after it, (axes, count), or (count,) where each has one."""
        axes, length = self.positions.shape
        after = np.broadcast_to(
            np.arange(max(first, length), first + count) + self.shift,
            (axes, max(0, first + count - max(first, length))),
        )
        result = np.concatenate([self.positions[:, first : first + count], after], 1)
        return result if axes > 1 else result[0]

    def own_inputs(self, pixels: Array | None = None) -> dict[str, Array]:
        """Inputs of the net without padding. ``pixels``: patches that it is given instead of its own."""
        assert self.config is not None
        own: dict[str, Array] = {}
        for name, held in {**self.inputs, **({"input_states": pixels} if pixels is not None else {})}.items():
            count = self.patches // self.config.unit if name == "reverse_index" else self.patches
            own[name] = held.reshape(held.shape[-2:])[:count, :count] if "mask" in name else held[:count]
        return own

    def within(self, first: int, count: int) -> tuple[Array, Array]:
        """Numbers of the rows whose places are in a part of the prompt, and those places, from ``first`` on."""
        numbers = np.flatnonzero((self.at >= first) & (self.at < first + count))
        return numbers, self.at[numbers] - first


def read_picture(
    model: LanguageModel, ids: Sequence[int], image: Path | None, embeds: Path | None, reference: Path | None = None
) -> tuple[list[int], Pictures | None]:
    """The prompt with a token for each row, and its picture; None without one. BadInput says what does not fit.

    ``reference``: folder whose config.json counts where the bmodel has none beside it.
    """
    if image is None and embeds is None:
        return list(ids), None
    if image is not None and embeds is not None:
        raise BadInput("--image and --embeds: give one of them")
    config = _config(model, reference)
    if image is None:
        assert embeds is not None
        return list(ids), _given(model, ids, embeds, config)
    if ENCODER not in model.nets:
        raise BadInput(f"{model.context.bmodel}: has no net {ENCODER}, which --image needs; it takes no pictures")
    return _shown(model, ids, image, config, _processor(model, reference))


def _shown(
    model: LanguageModel, ids: Sequence[int], image: Path, loaded: Mapping[str, Any], processor: Mapping[str, Any]
) -> tuple[list[int], Pictures]:
    if not loaded:
        raise BadInput(f"{model.context.bmodel}: no config.json is in its folder or in config; copy it from the model")
    config = vision_config(loaded)
    stage = {tensor.name: tensor.shape for tensor in model.nets[ENCODER].inputs}
    most = stage["input_states"][0] * config.patch**2 if "input_states" in stage else 0
    pixels, is_resized = _pixels(image, config, processor, most)
    height, width = pixels.shape[:2]
    mean, deviation = (processor.get(key, of) for key, of in _normal(config))
    rows, columns = height // config.patch, width // config.patch
    inputs = host_inputs(config, patches_of(pixels, config, mean, deviation), rows, columns)
    unknown = [name for name in stage if name not in inputs]
    if unknown:
        raise BadInput(f"{model.context.bmodel}: input {unknown[0]} of the net {ENCODER} is not known; give --embeds")
    count = rows * columns
    if count < stage["input_states"][0] and not any("mask" in name for name in stage):
        raise BadInput(
            f"{image}: has {count:,} patches, and the net {ENCODER} without a mask takes {stage['input_states'][0]:,}"
        )
    held = {name: padded(name, inputs[name], shape) for name, shape in stage.items()}
    token = _token(loaded)
    prompt = _expanded(ids, token, count // config.unit)
    numbers = np.array(prompt)
    positions = positions_around(numbers, token, rows // config.merge, columns // config.merge, model.axes)
    tolerance = _RESIZED if is_resized else _EXACT
    at = np.flatnonzero(numbers == token)
    return prompt, Pictures(at, positions, held, count, (), tolerance, config)


def _given(model: LanguageModel, ids: Sequence[int], path: Path, config: Mapping[str, Any]) -> Pictures:
    """Rows of a .npz file: ``rows``, of Qwen3-VL also ``rows_0`` ...; ``at`` and ``position_ids`` if they are there."""
    arrays = read_npz(path)
    if _ROWS not in arrays:
        raise BadInput(f"{path}: no array {_ROWS!r} (has: {', '.join(sorted(arrays)) or 'none'}); give (rows, hidden)")
    names = [_ROWS]
    while _TAP.format(len(names) - 1) in arrays:
        names.append(_TAP.format(len(names) - 1))
    rows = tuple(np.asarray(arrays[name], np.float32) for name in names)
    if _AT in arrays:
        at = np.asarray(arrays[_AT], np.int64).reshape(-1)
    else:
        at = np.flatnonzero(np.array(ids) == _token(config))
    if at.size and not 0 <= at.min() <= at.max() < len(ids):
        raise BadInput(f"{path}: {_AT} holds {at.min()} to {at.max()}; the prompt has {len(ids)} tokens")
    for name, array in zip(names, rows, strict=True):
        if array.shape != (len(at), model.hidden):
            raise BadInput(
                f"{path}: {name} has the shape {array.shape}; the prompt has {len(at)} tokens of pictures, and the "
                f"model {model.hidden} numbers in a row"
            )
    if len(rows) > 1 and "add" not in model.nets:
        raise BadInput(f"{path}: {names[1]} is added by the net add, and {model.context.bmodel} has none")
    positions = np.broadcast_to(np.arange(len(ids), dtype=np.int32), (model.axes, len(ids)))
    if _POSITIONS in arrays:
        positions = np.asarray(arrays[_POSITIONS], np.int32).reshape(-1, len(ids)) if len(ids) else positions
    if positions.shape != (model.axes, len(ids)):
        raise BadInput(f"{path}: {_POSITIONS} must have the shape ({model.axes}, {len(ids)})")
    return Pictures(at, positions, rows=rows)


def _expanded(ids: Sequence[int], token: int, count: int) -> list[int]:
    """The prompt with ``count`` tokens of the picture, where it has one or all of them; BadInput otherwise."""
    at = [place for place, one in enumerate(ids) if one == token]
    if len(at) == 1:
        return [*ids[: at[0]], *([token] * count), *ids[at[0] + 1 :]]
    if len(at) == count and at[-1] - at[0] == count - 1:
        return list(ids)
    raise BadInput(
        f"the prompt has the token of a picture ({token}) {len(at)} times; give it once, or {count} times in a row"
    )


def _pixels(image: Path, config: VisionConfig, processor: Mapping[str, Any], most: int) -> tuple[Array, bool]:
    """uint8 (height, width, 3) of whole tokens, and whether it was resized."""
    if image.suffix == ".npy":
        pixels, picture = _array(image), None
    else:
        picture = _decoded(image)
        pixels = np.asarray(picture)
    size = processor.get("size") if isinstance(processor.get("size"), dict) else {}
    least = int(
        processor.get("min_pixels") or (size or {}).get("shortest_edge") or 4 * (config.patch * config.merge) ** 2
    )
    height, width = pixels.shape[:2]
    wanted = fitting_size(height, width, config, min(least, most), most)
    if wanted == (height, width):
        return pixels, False
    if picture is None:
        raise BadInput(f"{image}: has {width}x{height} pixels; give {wanted[1]}x{wanted[0]}")
    resized = picture.resize((wanted[1], wanted[0]), 3)  # 3: bicubic, as the vendor's programs do
    return np.asarray(resized), True


def _array(path: Path) -> Array:
    pixels = open_npz(path)["arr_0"] if path.suffix == ".npz" else np.load(path, allow_pickle=False)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise BadInput(f"{path}: holds {pixels.dtype} {pixels.shape}; give uint8 (height, width, 3)")
    return pixels


def _decoded(path: Path) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise BadInput(f"{path}: the package pillow reads it: pip install pillow, or give a .npy of uint8") from None
    try:
        return Image.open(path).convert("RGB")
    except Exception as error:  # the package raises classes of every format
        raise BadInput(f"{path}: cannot be used: {error}") from None


def _token(config: Mapping[str, Any]) -> int:
    token = next((config[key] for key in _TOKENS if isinstance(config.get(key), int)), None)
    if token is None:
        raise BadInput(
            f"config.json has no {_TOKENS[0]}, the token of a picture; give its places as {_AT!r} in --embeds"
        )
    return int(token)


def _normal(config: VisionConfig) -> tuple[tuple[str, Sequence[float]], tuple[str, Sequence[float]]]:
    return ("image_mean", config.kind.mean), ("image_std", config.kind.deviation)


def _config(model: LanguageModel, reference: Path | None) -> Mapping[str, Any]:
    """config.json beside the bmodel, or of the model before conversion; empty without one."""
    return _json(model, reference, "config.json")


def _processor(model: LanguageModel, reference: Path | None) -> Mapping[str, Any]:
    """preprocessor_config.json; empty without one, then the kind's own numbers count."""
    return _json(model, reference, "preprocessor_config.json")


def _json(model: LanguageModel, reference: Path | None, name: str) -> Mapping[str, Any]:
    folder = model.context.bmodel.parent
    for place in (folder / "config", folder, *([reference] if reference is not None else [])):
        if (place / name).is_file():
            try:
                loaded: Any = json.loads(read_file(place / name, limits.REPORT))
            except ValueError as error:
                raise BadInput(f"{place / name}: cannot be used: {error}") from None
            if isinstance(loaded, dict):
                return loaded
    return {}
