"""Command streams of CV18xx: packets of 8 bytes, each followed by the registers of one command.

The packet: mark of the chip, number of bytes after it, engine, then bytes that are zero. TIU commands have 112 bytes,
seven rows of 16 with the row's number in the upper half of the last byte; TDMA commands have 64. Both are numbered from
1 and name the command of the other engine that they wait for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tdb_dap.errors import BadInput

MARKS = {"cv183x": 0xA5, "cv182x": 0xA6, "cv181x": 0xA7, "cv180x": 0xA8}
"""First byte of each packet, by chip."""

_PACKET = struct.Struct("<BBB5x")
_TIU, _TDMA = 0, 2
_BYTES = {_TIU: 112, _TDMA: 64}
_ENGINES = {_TIU: "tiu", _TDMA: "tdma"}

_POOLING = {0: "pool.max", 1: "pool.avg", 2: "conv.depthwise", 3: "pool.min"}
_ARITH = {
    number: f"arith.{name}"
    for number, name in enumerate(
        ["mul", "mac", "add", "sub", "max", "min", "shift", "and", "or", "xor", "copy", "ge", "lut"]
    )
}
_LUT = 12
_MOVES = ("load", "store", "global copy", "local copy")
"""By the direction in bits 6 and 7 of a TDMA command."""


@dataclass(frozen=True)
class CviCommand:
    """One command of a stream.

    ``id``: its number among those of its engine; ``wait``: number of the command of the other engine to wait for, 0 for
    none; ``layer``: number of the compiler's layer, 0 from the first; ``offset``: of its packet in the stream.
    """

    offset: int
    engine: str
    id: int
    wait: int
    layer: int
    name: str


def read_commands(stream: bytes, chip: str, where: str) -> list[CviCommand]:
    """All commands of a stream; BadInput names ``where`` and the packet that is none."""
    mark = MARKS.get(chip)
    if mark is None:
        raise BadInput(f"{where}: command streams of {chip!r} are not known; known are {', '.join(sorted(MARKS))}")
    tiu = _tiu_of_cv183x if chip == "cv183x" else _tiu
    commands = []
    at = 0
    while at < len(stream):
        rest = len(stream) - at - _PACKET.size
        first, size, engine = _PACKET.unpack_from(stream, at) if rest >= 0 else (stream[at], 0, -1)
        if first != mark or _BYTES.get(engine) != size or size > rest:
            raise BadInput(
                f"{where}: no command at byte {at:,} of {len(stream):,}: the packet begins with "
                f"{stream[at : at + 3].hex(' ')}, {chip} has {mark:02x} 70 00 (TIU) and {mark:02x} 40 02 (TDMA)"
            )
        body = stream[at + _PACKET.size : at + _PACKET.size + size]
        commands.append((tiu if engine == _TIU else _tdma)(at, struct.unpack(f"<{size // 4}I", body)))
        at += _PACKET.size + size
    return commands


def _tiu(offset: int, words: tuple[int, ...]) -> CviCommand:
    """CV180x, CV181x, CV182x."""
    name = _operation(words[0] >> 5 & 15, words[0] >> 9 & 31, words[0] >> 30 & 1)
    return CviCommand(offset, _ENGINES[_TIU], words[1] & 0xFFFF, words[1] >> 16, words[16] & 0xFFFF, name)


def _tiu_of_cv183x(offset: int, words: tuple[int, ...]) -> CviCommand:
    sub = _LUT if words[2] >> 4 & 1 else words[1] >> 9 & 255  # a flag of its own marks a look-up
    name = _operation(words[1] >> 5 & 15, sub, words[15] >> 20 & 1)
    wait = words[0] >> 19 | (words[1] & 7) << 13
    return CviCommand(offset, _ENGINES[_TIU], words[0] >> 3 & 0xFFFF, wait, words[27] & 0xFFFFFFF, name)


def _operation(kind: int, sub: int, is_bf16: int) -> str:
    fixed = {0: "conv", 2: "matrix"}.get(kind)
    name = fixed or {1: _POOLING, 3: _ARITH}.get(kind, {}).get(sub, f"unknown {kind}.{sub}")
    return f"{name}.bf16" if is_bf16 else name


def _tdma(offset: int, words: tuple[int, ...]) -> CviCommand:
    return CviCommand(
        offset, _ENGINES[_TDMA], words[0] >> 16, words[1] >> 16, words[15] >> 16, f"dma.{_MOVES[words[0] >> 6 & 3]}"
    )
