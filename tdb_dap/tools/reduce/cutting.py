"""A few ops of a level as a module of their own: what they read from others becomes its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_attributes import split_top
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.level import Level, name_of, names

_VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_LOCATION = re.compile(r"\s*loc\([^()]*\)\s*$")


@dataclass(frozen=True)
class Cut:
    """``text``: the module; ``weights``, ``inputs``, ``expected``: arrays by name; ``ops``: what it computes."""

    text: str
    weights: Mapping[str, Array]
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    ops: tuple[str, ...]


def cut(level: Level, ops: Sequence[MlirOp], tensors: Mapping[str, Array], weight_file: str) -> Cut:
    """These ops of one function alone. ``tensors``: what was computed at the level; BadInput if one is missing."""
    chosen = sorted(ops, key=lambda op: op.line)
    inside = {value for op in chosen for value in op.results}
    outside = list(dict.fromkeys(_read_from_outside(level, chosen, inside)))
    weights = list({op.line: op for op in _constants(level, chosen)}.values())
    renamed = {value: f"%in{number}" for number, (value, _, _) in enumerate(outside)}
    types = [kind for _, _, kind in outside]
    arrays = {}
    for _, name, _ in outside:
        if name not in tensors:
            raise BadInput(f"{level.path}: tensor {name} is not known; compile with --test_input and --test_result")
        arrays[name] = np.asarray(tensors[name], np.float32)
    results = list(_results(level, chosen))
    header = next(line for line in level.mlir.lines if line.startswith("module"))
    header = re.sub(r'module\.weight_file = "[^"]*"', f'module.weight_file = "{weight_file}"', header)
    arguments = ", ".join(f"%arg{number}: {kind} loc(unknown)" for number, kind in enumerate(types))
    kinds = [kind for _, kind in results]
    returned = kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})"
    body = [f"  func.func @main({arguments}) -> {returned} {{"]
    for number, (value, name, kind) in enumerate(outside):
        given = f'{renamed[value]} = "top.Input"(%arg{number}) {{do_preprocess = false}}'
        body.append(f'    {given} : ({kind}) -> {kind} loc("{name}")')
    for op in sorted((*weights, *chosen), key=lambda op: op.line):
        line = _LOCATION.sub("", level.mlir.lines[op.line - 1].rstrip())
        own = ", ".join(f'"{name}"' for name in names(op)) if op.location else ""
        where = f" loc(fused[{own}])" if len(names(op)) > 1 and own else f" loc({own})" if own else " loc(unknown)"
        body.append(_VALUE.sub(lambda found: renamed.get(found[0], found[0]), line) + where)
    values = ", ".join(value for value, _ in results)
    body += [f"    return {values} : {', '.join(kinds)} loc(unknown)", "  } loc(unknown)", "} loc(unknown)", ""]
    expected = {name: np.asarray(tensors[name], np.float32) for op in chosen for name in names(op) if name in tensors}
    used = {op.location: level.weights[op.location] for op in weights if op.location in level.weights}
    return Cut("\n".join([header, *body]), used, arrays, {**arrays, **expected}, tuple(op.name for op in chosen))


def _read_from_outside(level: Level, ops: Sequence[MlirOp], inside: set[str]) -> Iterator[tuple[str, str, str]]:
    """Value, name and type of what the ops read and do not compute."""
    for op in ops:
        kinds = split_top(op.types[1 : op.types.find(") ->")])
        for value, kind in zip(op.operands, kinds, strict=False):
            producer = level.mlir.op_defining(value, op.line)
            if producer is None or producer.name in ("top.Weight", "top.None"):
                continue
            if value.partition("#")[0] not in inside:
                yield value, name_of(producer, value), kind


def _constants(level: Level, ops: Sequence[MlirOp]) -> Iterator[MlirOp]:
    for op in ops:
        for value in op.operands:
            producer = level.mlir.op_defining(value, op.line)
            if producer is not None and producer.name in ("top.Weight", "top.None"):
                yield producer


def _results(level: Level, ops: Sequence[MlirOp]) -> Iterator[tuple[str, str]]:
    """Value and type of what no op inside reads."""
    read = {value for op in ops for value in op.operands}
    for op in ops:
        text = op.types[op.types.find("->") + 2 :].strip()
        kinds = split_top(text[1:-1]) if text.startswith("(") else [text]
        for number, kind in enumerate(kinds):
            value = op.results[number] if len(op.results) == len(kinds) else f"{op.results[0]}#{number}"
            if value not in read and kind != "none":
                yield value, kind
