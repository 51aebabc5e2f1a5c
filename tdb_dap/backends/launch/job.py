"""A request to run nets of one model, in an order, with actions of the host between them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec


class Border(msgspec.Struct, frozen=True):
    """An input or output. ``dtype``: its number in the bmodel; ``size``: bytes without padding."""

    dtype: int
    shape: tuple[int, ...]
    size: int


class Net(msgspec.Struct, frozen=True):
    """A net with its inputs and outputs. ``in_place``: they are where the compiler has put them."""

    name: str
    given: tuple[Border, ...]
    made: tuple[Border, ...]
    in_place: bool = False


class Piece(msgspec.Struct, frozen=True):
    """Bytes [start, start + size) of an input or output, by the numbers of its net and its own."""

    net: int
    is_output: bool
    index: int
    start: int
    size: int


class Launch(msgspec.Struct, frozen=True, tag="launch"):
    """A net runs with its inputs as they are. ``given``: their shapes, where they are not the net's largest ones.

    Such a net may put its own lines after those of the cache without moving these, so it is run in place.
    """

    net: int
    given: tuple[Border, ...] = ()


class Fill(msgspec.Struct, frozen=True, tag="fill"):
    """Bytes of the file of data, from ``at`` on, are put into a piece."""

    to: Piece
    at: int


class Copy(msgspec.Struct, frozen=True, tag="copy"):
    """Bytes of one piece are put into another."""

    source: Piece
    to: Piece


class Largest(msgspec.Struct, frozen=True, tag="largest"):
    """The index of the largest number of a piece is put into another, as int32. ``format``: f32, f16 or bf16."""

    source: Piece
    format: str
    to: Piece


Step = Launch | Fill | Copy | Largest


class Job(msgspec.Struct, frozen=True):
    """Nets to run. ``libraries``: files to load, in order, as the loader finds them; ``interface``: ``bmrt`` or
    ``tpuv7``, the functions that the runtime has; ``data``: file of what is filled in; ``results``: file for the
    outputs of each launch, one after the other; empty: none.
    """

    libraries: tuple[str, ...]
    interface: str
    model: str
    nets: tuple[Net, ...]
    steps: tuple[Step, ...]
    data: str
    results: str = ""

    def write(self, path: Path) -> None:
        """Store it as JSON."""
        path.write_bytes(msgspec.json.encode(self))

    @classmethod
    def read(cls, path: Path) -> Job:
        """Read what ``write`` has stored."""
        return msgspec.json.decode(path.read_bytes(), type=cls)


class Failed(Exception):
    """The runtime refuses; the message says what."""


class Runtime(Protocol):
    """A vendor's runtime with a model. Making one raises Failed."""

    def launch(self, net: Net, words: list[bytes]) -> list[bytes]:
        """The outputs of a net for these inputs; Failed if it cannot be run."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...
