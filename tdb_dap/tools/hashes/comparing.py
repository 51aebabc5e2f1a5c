"""The first difference between two logs of hashes."""

from __future__ import annotations

from collections import Counter

from tdb_dap.tools.hashes.log import Command, Log, Tensor

_MEANING = {"chip": "chip", "model": "model", "inputs": "inputs", "exact": "exact arithmetic"}

Key = tuple[str, int, int]


def compare(a: Log, b: Log) -> tuple[list[str], bool]:
    """Lines that say where they part first, and whether they are the same.

    Logs of the same commands are compared entry by entry; others by the names of their tensors.
    """
    lines = [
        f"other {title}: {a.head[name]} in A, {b.head[name]} in B"
        for name, title in _MEANING.items()
        if a.head[name] != b.head[name]
    ]
    if [_form(command) for command in a.commands] == [_form(command) for command in b.commands]:
        pairs = [pair for pair in zip(a.commands, b.commands, strict=True) if pair[0].hash != pair[1].hash]
        if pairs:
            lines.append(f"first command: {_place(pairs[0][0], len(a.commands))}")
        same = not pairs
    else:
        lines.append(f"other commands: {len(a.commands):,} in A, {len(b.commands):,} in B; tensors compared by name")
        same = False
    first, second = _named(a), _named(b)
    common = [key for key in first if key in second]
    different = [key for key in common if first[key].hash != second[key].hash]
    if different:
        lines.append(f"first tensor: {_tensor(first[different[0]], second[different[0]])}")
    if lonely := len(first) + len(second) - 2 * len(common):
        lines.append(f"{lonely:,} of the tensors are in one log only")
    lines.append(f"{len(common):,} tensors compared, " + (f"{len(different):,} differ" if different else "all alike"))
    return lines, same and not different and not lonely


def _form(command: Command) -> tuple[str, str]:
    return command.token, command.name


def _named(log: Log) -> dict[Key, Tensor]:
    """Tensors by name, core, and number among those with both the same: slices come one after the other."""
    seen: Counter[tuple[str, int]] = Counter()
    tensors: dict[Key, Tensor] = {}
    for tensor in log.tensors:
        key = tensor.name, tensor.core
        tensors[(tensor.name, tensor.core, seen[key])] = tensor
        seen[key] += 1
    return tensors


def _place(command: Command, count: int) -> str:
    line = f", line {command.line} of final.mlir" if command.line else ""
    return f"command {command.ordinal} of {count} ({command.token} {command.name}{line})"


def _tensor(a: Tensor, b: Tensor) -> str:
    lines = f"line {a.line}" if a.line == b.line else f"line {a.line} of A, line {b.line} of B"
    return f"{a.name} ({a.opcode}, {lines}): {a.hash} in A, {b.hash} in B"
