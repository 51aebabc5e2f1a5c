"""The files of a compilation by what they contain, where no list of files names them.

Releases before 1.12 leave no list, later ones leave an incomplete one. A text says in its module which model it is of,
for which chip and in which stage; an array file belongs to the stage whose ops compute tensors of its names and sizes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.engine.machine.npz import shapes_in
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.level import Level, names

_HEAD = 1 << 16
_MOST_FILES = 512
_MODULE = re.compile(r"^module @([^\s{]+)", re.MULTILINE)
_ATTRIBUTE = re.compile(r'module\.(chip|mode|state|weight_file|asymmetric) = "?([^",}]+)"?')
_LEAST_ALIKE = 0.5
"""Share of the names of both that an array file and a stage must have in common."""

_LEAST_SHARED = 0.5
"""Share of the layers of an imported model that a lowered one must have to be made of it."""

_TABLE = 4 << 20
"""Bytes that a calibration table has at most."""

_OTHER = frozenset((".npz", ".mlir", ".onnx", ".bmodel", ".cvimodel", ".xz", ".json", ".dat", ".profile", ".log"))
_STAGES = ("origin_mlir", "top_mlir", "tpu_mlir")
_ARRAYS = {"origin_mlir": "top_output", "top_mlir": "reference", "tpu_mlir": "tpu_output"}
"""Text of a stage -> the file of its tensors."""

_PREFERRED = ("top_mlir", "tpu_mlir", "origin_mlir")
"""Stages in the order in which a file is taken that fits several: the compiler names the files of the other two."""

_ENDINGS = {"top_output": "_ref_outputs.npz", "tpu_output": "_tpu_outputs.npz", "mlir_input": "_in_f32.npz"}
"""File -> the end that the compiler gives its name, which decides between files that contain the same."""


class Text(Struct, frozen=True, dict=True):
    """A .mlir of the compiler's. ``model``: name of its module; ``key``: which stage it is, as in the list of files.

    ``chip``, ``mode`` and ``is_asymmetric`` are those of a lowered one.
    """

    path: Path
    model: str
    key: str
    chip: str
    mode: str
    is_asymmetric: bool

    @property
    def compilation(self) -> tuple[str, str, str, bool]:
        """Model, chip and format, which texts of one compilation have in common."""
        return self.model, self.chip, self.mode, self.is_asymmetric

    @property
    def prefix(self) -> str:
        """Beginning of the names of all files of a compilation."""
        return re.sub(r"(_tpu|_tpu_opt|_final)?\.mlir$", "", self.path.name)

    @cached_property
    def level(self) -> Level:
        """Its ops; BadInput if it cannot be read."""
        return Level(self.key, self.path)

    @cached_property
    def sizes(self) -> Mapping[str, int | None]:
        """Tensors that it computes: numbers of their elements, None where that is not known before it runs."""
        sizes_by_name: dict[str, int | None] = {}
        try:
            for op in self.level.ops:
                for name, kind in zip(names(op), self.level.types(op)[1], strict=False):
                    sizes_by_name[name] = math.prod(kind.shape) if kind is not None and kind.shape is not None else None
        except BadInput:
            return {}
        return sizes_by_name


def text_of(path: Path) -> Text | None:
    """The module's description of itself; None if a file is no text of the compiler's."""
    try:
        size_of(path)
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", "replace")
    except (OSError, BadInput):
        return None
    module = _MODULE.search(head)
    attributes = dict(_ATTRIBUTE.findall(head[module.start() :].partition("\n")[0])) if module is not None else {}
    state = attributes.get("state", "")
    if module is None or not state:
        return None
    if state.startswith("TOP"):
        key = "origin_mlir" if "_origin_" in attributes.get("weight_file", "") else "top_mlir"
        return Text(path, module[1], key, "", "", False)
    key = "final_mlir" if state == "TPU_ADDRESSED" else "tpu_mlir" if state == "TPU_LOWERED" else ""
    is_asymmetric = attributes.get("asymmetric", "").strip() == "true"
    return Text(path, module[1], key, attributes.get("chip", ""), attributes.get("mode", ""), is_asymmetric)


def texts_in(folder: Path) -> list[Text]:
    """The compiler's texts in a folder, by name."""
    files = (path for _, path in zip(range(_MOST_FILES), sorted(folder.glob("*.mlir")), strict=False))
    return [text for path in files if (text := text_of(path)) is not None]


def compilations(texts: Iterable[Text]) -> dict[tuple[str, str, str, bool], list[Text]]:
    """The lowered texts by compilation."""
    texts_by_key: dict[tuple[str, str, str, bool], list[Text]] = {}
    for text in texts:
        if text.chip:
            texts_by_key.setdefault(text.compilation, []).append(text)
    return texts_by_key


def stage_files(folder: Path, known: Mapping[str, Path]) -> dict[str, Path]:
    """Files of a compilation in a folder that are not ``known`` yet, by the compiler's words for them.

    A text of it must be known, or the folder must hold no more than one compilation.
    """
    texts = texts_in(folder)
    by_path = {path.resolve(): key for key, path in known.items()}
    of_it = [text for key in ("tpu_mlir", "final_mlir") if key in known if (text := text_of(known[key])) is not None]
    lowered = compilations(texts)
    if not of_it and len(lowered) > 1:
        return {}
    chosen = of_it[0].compilation if of_it else next(iter(lowered), None)
    others = [text for key, texts in lowered.items() if key != chosen for text in texts]
    mine: dict[str, Text] = {}
    for key in ("tpu_mlir", "final_mlir"):
        text = text_of(known[key]) if key in known else _shortest(lowered.get(chosen, []) if chosen else [], key)
        if text is not None:
            mine[key] = text
    model = chosen[0] if chosen is not None else _only({text.model for text in texts})
    for key in ("top_mlir", "origin_mlir"):
        fitting = [text for text in texts if text.key == key and text.model == model]
        text = text_of(known[key]) if key in known else _made_from(fitting, mine.get("tpu_mlir"), model or "")
        if text is not None:
            mine[key] = text
    paths = {key: text.path for key, text in mine.items()}
    paths |= _arrays(folder, mine, others, by_path)
    table = _calibration(folder, mine.get("top_mlir"), set(paths.values())) if "calibration" not in known else None
    if table is not None:
        paths["calibration"] = table
    return {key: path for key, path in paths.items() if key not in known}


def _only(given: set[str]) -> str | None:
    return next(iter(given)) if len(given) == 1 else None


def _shortest(texts: Sequence[Text], key: str) -> Text | None:
    """Of the lowered text and that after optimisation, whose name is longer, the first."""
    return min((text for text in texts if text.key == key), key=lambda text: len(text.path.name), default=None)


def _made_from(texts: Sequence[Text], lowered: Text | None, model: str) -> Text | None:
    """The imported text of which a lowered one was made: most of its layers are in that."""
    if lowered is not None:
        # A part of a layer has its name and "__"; so may the layer.
        parts = {name[:end] for name in lowered.sizes for end in _ends(name)}
        shares = {text.path: len(parts & text.sizes.keys()) / max(1, len(text.sizes)) for text in texts}
        best = max(shares.values(), default=0.0)
        texts = [text for text in texts if shares[text.path] == best and best >= _LEAST_SHARED]
    named = [text for text in texts if text.path.name in (f"{model}.mlir", f"{model}_origin.mlir")]
    return named[0] if named else texts[0] if len(texts) == 1 else None


def _ends(name: str) -> Iterator[int]:
    """Ends of all that may be the name of a layer, in that of one of its parts."""
    yield from (match.start() for match in re.finditer("__", name))
    yield len(name)


def _arrays(
    folder: Path, stages: Mapping[str, Text], others: Sequence[Text], taken: Mapping[Path, str]
) -> dict[str, Path]:
    """The files of tensors of the stages and of the inputs."""
    foreign = {text.prefix for text in others} - {text.prefix for text in stages.values()}
    shapes = {
        path: sizes
        for path in _listed(folder, "*.npz")
        if path.resolve() not in taken and not any(path.name.startswith(f"{prefix}_") for prefix in foreign)
        if (sizes := _sizes(path))
    }
    paths: dict[str, Path] = {}
    claimed: list[tuple[float, bool, Path, str]] = []
    for path, sizes in shapes.items():
        fits = {key: _alike(path, key, sizes, stages[key].sizes) for key in _STAGES if key in stages}
        top = max(fits.values(), default=0.0)
        # The same tensors at two stages: the name decides.
        equal = [key for key in _STAGES if fits.get(key) == top] if top >= _LEAST_ALIKE else []
        named = [key for key in equal if path.name.endswith(_ENDINGS.get(_ARRAYS[key], "/"))]
        claimed += [(top, bool(named), path, key) for key in named or equal]
    # Files whose names say their stage come first; another one is then of the stage that has none yet.
    taken_paths: set[Path] = set()
    for _, _, path, key in sorted(claimed, key=lambda one: (not one[1], -one[0], _PREFERRED.index(one[3]), one[2])):
        if _ARRAYS[key] not in paths and path not in taken_paths:
            paths[_ARRAYS[key]] = path
            taken_paths.add(path)
    first = next((stages[key] for key in ("top_mlir", "origin_mlir", "tpu_mlir") if key in stages), None)
    wanted = {name: first.sizes.get(name) for name in first.level.inputs()} if first is not None and first.sizes else {}
    inputs = [path for path, sizes in shapes.items() if wanted and sizes == wanted]
    if inputs:
        paths["mlir_input"] = max(inputs, key=lambda path: path.name.endswith(_ENDINGS["mlir_input"]))
    return paths


def _listed(folder: Path, pattern: str) -> Iterator[Path]:
    return (path for _, path in zip(range(_MOST_FILES), sorted(folder.glob(pattern)), strict=False))


def _sizes(path: Path) -> dict[str, int]:
    try:
        return {name: math.prod(shape) for name, shape in shapes_in(path).items()}
    except BadInput:
        return {}


def _alike(path: Path, key: str, sizes: Mapping[str, int], wanted: Mapping[str, int | None]) -> float:
    """Tensors that both have, with equal sizes, over all that either has.

    Without ``--compare_all`` the compiler writes the outputs only, of the lowered model and of the bmodel: its name
    for the former, if nothing else is in the file, is as good as half of the tensors.
    """
    both = [name for name in sizes.keys() & wanted.keys() if wanted[name] in (None, sizes[name])]
    if len(both) == len(sizes) and path.name.endswith(_ENDINGS.get(_ARRAYS[key], "/")):
        return max(_LEAST_ALIKE, len(both) / len(wanted))
    return len(both) / max(1, len(sizes.keys() | wanted.keys()))


def _calibration(folder: Path, top: Text | None, taken: set[Path]) -> Path | None:
    """The only table whose thresholds are of layers of the imported model."""
    if top is None or not top.sizes:
        return None
    fitting = []
    for path in _listed(folder, "*"):
        if path in taken or path.suffix in _OTHER or not path.is_file() or path.stat().st_size > _TABLE:
            continue
        try:
            lines = read_file(path, limits.REPORT).decode("utf-8", "replace").splitlines()
        except BadInput:
            continue
        rows = [words for line in lines if len(words := line.partition("#")[0].split()) >= 2]
        layers = sum(words[0] in top.sizes for words in rows)
        if layers and layers >= _LEAST_SHARED * max(len(rows), len(top.sizes)):
            fitting.append(path)
    return fitting[0] if len(fitting) == 1 else None
