"""Two compiled models side by side: which layers they share, and in what these are compiled differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.source_map import OpRecord

_IDS = ("cmd_id", "cmd_id_dep", "cmd_id_gdma", "cmd_id_tpu", "sync_id")
_PLACEMENT = ("ginfo",)
"""Attributes that only repeat where the results are."""


class Layer:
    """All that one model makes of one layer: the op on a line of final.mlir with its instances (slices, cores)."""

    def __init__(self, program: Program, records: list[OpRecord]) -> None:
        self._program = program
        self.records = records

    @property
    def line(self) -> int:
        return self.records[0].line

    @property
    def opcode(self) -> str:
        return self.records[0].opcode

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its results."""
        return tuple(dict.fromkeys(value.name for record in self.records for value in record.results))

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """The op's attributes, but for those that only say where its results are."""
        op = self._program.source.op_at(self.line)
        return {name: value for name, value in (op.attributes if op else {}).items() if name not in _PLACEMENT}

    @cached_property
    def commands(self) -> list[Command]:
        """Its commands in the order of execution."""
        ordinals = sorted(ordinal for record in self.records for ordinal in record.ordinals)
        return [self._program.commands[ordinal] for ordinal in ordinals]

    @cached_property
    def facts(self) -> dict[str, str]:
        """Properties that are compared: name -> value."""
        engines = Counter(command.engine.upper() for command in self.commands)
        values = [value for record in self.records for value in record.results]
        views = [value.view for value in values if value.view is not None]
        facts = {
            "op": self.opcode,
            "types": ", ".join(dict.fromkeys(value.type_text.split(",")[0].rstrip(">") + ">" for value in values)),
            "instances": str(len(self.records)),
            "commands": ", ".join(f"{count} {engine}" for engine, count in sorted(engines.items())),
            "results at": ", ".join(dict.fromkeys(view.name for view in views)),
            "layout": ", ".join(dict.fromkeys(value.layout for value in values)),
        }
        facts.update({f"attribute {name}": str(value) for name, value in self.attributes.items()})
        return facts


class Difference(Struct, frozen=True):
    """One thing in which a layer differs; an empty side has no such thing."""

    what: str
    a: str
    b: str


class Pair(Struct, frozen=True, dict=True):
    """A layer of both models."""

    name: str
    a: Layer
    b: Layer

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Everything in which the two differ; of models for one chip also the first command that differs."""
        first, second = self.a.facts, self.b.facts
        names = dict.fromkeys([*first, *second])
        changes = [
            Difference(name, first.get(name, ""), second.get(name, ""))
            for name in names
            if first.get(name, "") != second.get(name, "")
        ]
        return (*changes, *self._commands())

    def _commands(self) -> Iterator[Difference]:
        for one, other in zip(self.a.commands, self.b.commands, strict=False):
            if one.name != other.name or _fields(one) != _fields(other):
                a, b = one.asm, other.asm
                yield Difference("first command that differs", a, b)
                return


class Alignment(Struct, frozen=True):
    """``pairs``: layers of both, in the order of the first; ``only_a``, ``only_b``: the rest, by name."""

    pairs: tuple[Pair, ...]
    only_a: dict[str, Layer]
    only_b: dict[str, Layer]
    mnemonics: tuple[Difference, ...]
    """How often an instruction occurs, where the two do not agree."""


def align(a: Program, b: Program) -> Alignment:
    """Layers with the same name (location) belong together."""
    first, second = _layers(a), _layers(b)
    pairs = tuple(Pair(name, layer, second[name]) for name, layer in first.items() if name in second)
    counts = [_mnemonics(program) for program in (a, b)]
    mnemonics = tuple(
        Difference(name, str(counts[0][name]), str(counts[1][name]))
        for name in sorted(set(counts[0]) | set(counts[1]))
        if counts[0][name] != counts[1][name]
    )
    return Alignment(
        pairs,
        {name: layer for name, layer in first.items() if name not in second},
        {name: layer for name, layer in second.items() if name not in first},
        mnemonics,
    )


def _mnemonics(program: Program) -> Counter[str]:
    kinds = Counter(kind for kind in program.commands.columns.kind.tolist() if kind >= 0)
    return Counter({program.target.kind_name(kind): count for kind, count in kinds.items()})


def _layers(program: Program) -> dict[str, Layer]:
    """By the name of the first result; a second op of that name (a store after the op) counts by its opcode."""
    by_line: dict[int, list[OpRecord]] = {}
    for record in program.source.records:
        if record.results:
            by_line.setdefault(record.line, []).append(record)
    layers: dict[str, Layer] = {}
    for records in by_line.values():
        layer = Layer(program, records)
        name = layer.names[0]
        if name in layers:
            name = f"{name} ({layer.opcode})"
        layers.setdefault(name, layer)
    return layers


def _fields(command: Command) -> dict[str, int]:
    """Registers of a command, but for the ids of commands, which count everything before it."""
    return {name: value for name, value in command.fields.items() if not name.endswith(_IDS)}
