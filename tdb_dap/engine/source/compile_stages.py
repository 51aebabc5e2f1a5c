"""From final.mlir back to the stages before it, down to the layers of the original model.

The compiler notes its files in ``ref_files.json``: the top MLIR as it was imported, after simplification, and the tpu
MLIR before and after optimisation. Names of locations lead from one to the next; an operation that the compiler has
put in (a cast, a copy) belongs to the layer whose result it reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.location_files import NOTES
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

if TYPE_CHECKING:
    from tdb_dap.engine.files.context import Context
    from tdb_dap.engine.source.mlir_file import MlirOp

_STAGES = {
    "origin_mlir": "as imported",
    "top_mlir": "top",
    "tpu_mlir": "tpu",
    "tpu_opt_mlir": "tpu, optimised",
}
"""Key in ref_files.json -> what the stage is called, from the original model onwards."""

_NODE = pattern(r"(.+)_([A-Z]\w*)")
"""The importer calls the result of an ONNX node by the node's output and its type."""

_NOT_LAYERS = ("top.Weight", "top.None", "top.Input")


class Stage(Struct, frozen=True, dict=True):
    """One file of the way from the original model. ``is_changed``: it is newer than the compilation."""

    title: str
    path: Path
    is_changed: bool

    @cached_property
    def mlir(self) -> MlirFile:
        """The file, indexed; BadInput if it cannot be read."""
        return MlirFile.read(self.path)

    def op_named(self, name: str) -> MlirOp | None:
        """The operation that computes a tensor."""
        ops = self.mlir.by_location.get(name, ())
        return next((op for op in ops if op.name not in _NOT_LAYERS), None)


class OriginalLayer(Struct, frozen=True):
    """A layer of the model before compilation. ``nodes``: the ONNX nodes it was made of, ``name (type)``."""

    name: str
    opcode: str
    path: Path
    line: int
    nodes: tuple[str, ...]


class CompileStages:
    """The stages that exist, and the layer that an operation of final.mlir belongs to.

    ``reason``: why there are none although the compiler has left its list of files.
    """

    def __init__(self, context: Context) -> None:
        path = context.directory / NOTES
        self.reason = ""
        self.stages: tuple[Stage, ...] = ()
        try:
            self.stages = tuple(_stages(path))
            for stage in self.stages:
                _ = stage.mlir
        except (OSError, ValueError, TypeError, AttributeError, RecursionError, OverflowError, BadInput) as error:
            self.stages = ()
            self.reason = f"{path}: the layers of the original model are not known: {error}"

    @cached_property
    def _layers(self) -> Stage | None:
        """The stage whose operations count as layers: the simplified top MLIR, else the imported one."""
        named = {stage.title: stage for stage in self.stages}
        return named.get("top") or named.get("as imported")

    def places(self, op: MlirOp) -> Iterator[tuple[Stage, MlirOp]]:
        """The operations that compute the same tensor in the stages before, latest first."""
        for stage in reversed(self.stages):
            first = self._first(stage, op)
            if first is not None:
                yield stage, first

    def lines_of(self, stage: Stage, mlir: MlirFile, lines: Iterable[int]) -> list[tuple[int, int]]:
        """Pairs of a line in a stage's file and the first of ``lines`` of final.mlir made for it, ascending."""
        pairs: dict[int, int] = {}
        for line in lines:
            op = mlir.op_at(line)
            origin = self._first(stage, op) if op is not None else None
            if origin is not None:
                pairs[origin.line] = min(line, pairs.get(origin.line, line))
        return sorted(pairs.items())

    def layer_of(self, op: MlirOp) -> OriginalLayer | None:
        """The layer that an operation of final.mlir was made for; None where that is not known."""
        stage = self._layers
        if stage is None:
            return None
        seen: set[int] = set()
        queue = [op]
        while queue:
            current = queue.pop(0)
            if current.line in seen:
                continue
            seen.add(current.line)
            match = self._first(stage, current)
            if match is not None:
                return OriginalLayer(match.location, match.name, stage.path, match.line, self._nodes(stage, match))
            before = (current.file.op_defining(value, current.line) for value in current.operands)
            queue += [producer for producer in before if producer is not None and producer.name not in _NOT_LAYERS]
        return None

    def _first(self, stage: Stage, op: MlirOp) -> MlirOp | None:
        # What one layer is taken apart into is called after it: ``y__softmax_reshape``.
        names = (name for loc in op.locations for name in (*layer_names(loc), loc.split("__")[0]))
        return next((match for name in names if (match := stage.op_named(name)) is not None), None)

    def _nodes(self, stage: Stage, layer: MlirOp) -> tuple[str, ...]:
        """The node that has given the layer its name, and those before it that were merged into it."""
        imported = self.stages[0]
        last = imported.op_named(layer.location)
        if last is None:
            return _node(layer.location)
        nodes: list[str] = []
        queue = [last]
        while queue:
            op = queue.pop(0)
            nodes = [*_node(op.location), *nodes]
            for value in op.operands:
                before = op.file.op_defining(value, op.line)
                merged = before is not None and before.name not in _NOT_LAYERS and not stage.op_named(before.location)
                if before is not None and merged and before not in queue:
                    queue.append(before)
        return tuple(dict.fromkeys(nodes))


def _node(location: str) -> tuple[str, ...]:
    match = _NODE.fullmatch(location)
    return (f"{match[1]} ({match[2]})",) if match else ((location,) if location else ())


def _stages(path: Path) -> Iterator[Stage]:
    """Stages that the file names and that exist. OSError, ValueError or TypeError if it cannot be understood."""
    if not path.exists():
        return
    files: Any = json.loads(read_file(path, limits.REPORT)).get("files", {})
    for key, title in _STAGES.items():
        entry: Any = files.get(key, {})
        name = entry.get("path")
        if not isinstance(name, str) or Path(name).suffix != ".mlir":
            continue
        file = (path.parent / name).resolve()
        if file.is_file():
            modified = entry.get("last_modify")
            is_changed = isinstance(modified, int | float) and file.stat().st_mtime > modified + 1
            yield Stage(title, file, is_changed)
