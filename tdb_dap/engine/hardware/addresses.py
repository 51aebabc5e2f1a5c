"""Texts of places in memory: ``R4.64``, ``G1.4096`` as listings print them, ``R16384``, ``G0x1000``, ``S64``."""

from __future__ import annotations

from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression
from tdb_dap.system.patterns import pattern

_NUMBER = r"0x[0-9a-fA-F]+|\d+"
ADDRESS = rf"[RGSL](?:{_NUMBER})(?:\.(?:{_NUMBER}))?(?:\.L(?:{_NUMBER}))?"
"""Pattern of an address text, without groups."""

_PARTS = pattern(rf"%?(?P<space>[RGSL])(?P<first>{_NUMBER})(?:\.(?P<rest>{_NUMBER}))?(?:\.L(?P<lane>{_NUMBER}))?")


def whole_number(text: str) -> int:
    """A number in decimal, leading zeros or not, or after 0x in hexadecimal digits; BadExpression for monsters."""
    try:
        return int(text, 16) if text[:2] == "0x" else int(text)
    except ValueError:
        raise BadExpression(f"{text[:40]!r} is not a number that can be used") from None


def parse_address(text: str, geometry: Geometry) -> tuple[Space, int]:
    """Space and byte offset of an address text; BadExpression if it names none.

    ``R`` followed by the number of a bank is bank notation (``R4.64`` = bank 4, byte 64 of lane 0, ``.L3`` = lane 3).
    A number too large for a bank is the plain byte offset, which is what listings of addresses elsewhere print. On
    chips with tags ``G`` and ``L`` may be followed by a tag and a number (``G1.4096``).
    """
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        raise BadExpression(
            f"{quoted(text)} is not an address; write R<bank>.<byte>, G<offset>, L<offset> or S<offset>"
        )
    space = Space(match["space"])
    first, rest = whole_number(match["first"]), whole_number(match["rest"] or "0")
    if space is not Space.LOCAL:
        if match["lane"]:
            raise BadExpression(f"{quoted(text)}: only local memory (R) has lanes")
        if match["rest"] is None:
            return space, first
        offset = None if space is Space.STATIC else geometry.tagged(space, first, rest)
        if offset is None:
            raise BadExpression(f"{quoted(text)} is not an address of this chip; write {space.value}<offset>")
        return space, offset
    banks = geometry.lane_bytes // geometry.bank_bytes
    offset = first * geometry.bank_bytes + rest if first < banks else first
    if first >= banks and match["rest"]:
        raise BadExpression(f"{quoted(text)}: this chip has banks R0 to R{banks - 1}")
    if rest >= geometry.bank_bytes:
        raise BadExpression(f"{quoted(text)}: a bank has {geometry.bank_bytes:,} bytes")
    lane = whole_number(match["lane"] or "0")
    if lane >= geometry.lanes or lane * geometry.lane_bytes + offset >= geometry.local_bytes:
        raise BadExpression(
            f"{quoted(text)} is outside of local memory ({geometry.lanes} lanes of {geometry.lane_bytes:,} bytes)"
        )
    return space, lane * geometry.lane_bytes + offset
