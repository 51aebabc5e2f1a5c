"""Numbers that stand for frames and variables while the program is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.values import Value

Level = Literal["command", "op", "group", "subnet", "main", "location"]


@dataclass(frozen=True)
class Frame:
    """One level of the call stack of one core. ``focus``: ordinal of the command it is about."""

    level: Level
    core: int
    focus: int


@dataclass
class Node:
    """Something that can be shown in the Variables pane.

    ``named``: children with names; ``indexed``: ``indexed(start, count)`` gives children by number, of
    ``indexed_count``. Both are called when the client opens the node.
    """

    name: str
    value: str = ""
    type: str | None = None
    evaluate_name: str | None = None
    memory_reference: str | None = None
    hint: str | None = None
    named: Callable[[], list[Node]] | None = None
    indexed: Callable[[int, int], list[Node]] | None = None
    indexed_count: int = 0
    named_count: int | None = None


@dataclass
class Handles:
    """Frames and nodes by number. Numbers are not used again, so a stale one is recognised."""

    _next: int = 1
    _frames: dict[int, Frame] = field(default_factory=dict[int, Frame])
    _nodes: dict[int, Node] = field(default_factory=dict[int, Node])
    values: dict[object, Value] = field(default_factory=dict["object", "Value"])
    """What has been read from memory since the last stop, so that nothing is read or summarised twice."""

    def clear(self) -> None:
        """Forget everything: the program moves on."""
        self._frames.clear()
        self._nodes.clear()
        self.values.clear()

    def add_frame(self, frame: Frame) -> int:
        self._frames[self._number()] = frame
        return self._next - 1

    def frame(self, id: int) -> Frame:
        """TdbError for a frame of an earlier stop."""
        if id not in self._frames:
            raise TdbError(f"there is no frame {id} any more; the program has moved on")
        return self._frames[id]

    def add_node(self, node: Node) -> int:
        """The number of a node that has children; 0 for a leaf."""
        if node.named is None and node.indexed is None:
            return 0
        self._nodes[self._number()] = node
        return self._next - 1

    def node(self, reference: int) -> Node:
        """TdbError for a variable of an earlier stop."""
        if reference not in self._nodes:
            raise TdbError(f"there is no variable {reference} any more; the program has moved on")
        return self._nodes[reference]

    def _number(self) -> int:
        self._next += 1
        return self._next - 1
