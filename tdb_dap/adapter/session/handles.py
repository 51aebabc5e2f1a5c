"""Numbers that stand for frames and variables while the program is stopped."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.assignment import Part
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.reference.comparison import Comparison

_MOST_LOGGED = 64
_INDEX = re.compile(r"\[(\d+(?:,\d+)*)\]", re.ASCII)

Level = Literal["command", "op", "group", "subnet", "launch", "token", "main", "location", "origin"]


class Frame(Struct, frozen=True):
    """One level of the call stack of one core."""

    level: Level
    core: int
    focus: int
    """Ordinal of the command it is about."""
    line: int | None = None
    """Line of final.mlir at which its value ids are looked up; None: that of the command's op."""


class Node(Struct):
    """Something that can be shown in the Variables pane."""

    name: str
    value: str = ""
    raw: Callable[[], str] | None = None
    """The value as its bits, in hexadecimal."""
    type: str | None = None
    evaluate_name: str | None = None
    memory_reference: str | None = None
    hint: str | None = None
    named: Callable[[], list[Node]] | None = None
    """Children with names."""
    indexed: Callable[[int, int], list[Node]] | None = None
    """``indexed(start, count)`` gives children by number, of ``indexed_count``. Both are called when the client opens
    the node.
    """
    indexed_count: int = 0
    indexed_axis: int = 0
    """Where in the children's names, ``[0,5]``, their number is."""
    named_count: int | None = None
    part: Part | None = None
    """Part of memory that holds its numbers."""
    element: tuple[Part, tuple[int, ...]] | None = None
    """The part and the index of the element that it is; in place of ``part``."""
    assign: Callable[[str], None] | None = None
    """Gives it another value where that is more than overwriting memory."""
    why_fixed: str = "it is not a place in memory"
    """Why it has none."""
    is_lazy: bool = False
    """The value costs something; it is the only child, made when the user asks."""

    @property
    def own_part(self) -> Part | None:
        """Part of memory that holds its numbers; of an element, made only when somebody asks."""
        if self.element is None:
            return self.part
        parent, index = self.element
        return replace(parent, title=f"{parent.title}[{','.join(map(str, index))}]", index=(*parent.index, index))


def leaf(name: str, value: object) -> Node:
    """A name and a text."""
    return Node(name, str(value))


def tree(name: str, value: str, children: Callable[[], list[Node]], hint: str | None = None) -> Node:
    """A node with named children."""
    return Node(name, value, named=children, hint=hint)


def mapping(name: str, value: str, items: Mapping[str, Any]) -> Node:
    """A node with one leaf for each entry."""
    return tree(name, value, lambda: [leaf(key, item) for key, item in items.items()])


class FrameChoice:
    """The frame that lines of the console are about: the client's, until a verb chooses another one at this moment."""

    def __init__(self) -> None:
        self._seen: tuple[int, Frame | None] | None = None
        self._chosen: Frame | None = None

    def at(self, ordinal: int, given: Frame | None) -> Frame | None:
        """For a line that the client sends at this moment with the frame ``given``."""
        if (ordinal, given) != self._seen:
            self._seen, self._chosen = (ordinal, given), None
        return self._chosen or given

    def choose(self, frame: Frame) -> None:
        """From now on, until the program moves or the client chooses another one."""
        self._chosen = frame


class Handles(Struct):
    """Frames and nodes by number. Numbers are not used again, so a stale one is recognised."""

    _next: int = 1
    _frames: dict[int, Frame] = field(default_factory=dict[int, Frame])
    _nodes: dict[int, Node] = field(default_factory=dict[int, Node])
    _locations: dict[int, Part] = field(default_factory=dict["int", "Part"])
    _logged: deque[int] = field(default_factory=deque[int])
    values: dict[object, Value] = field(default_factory=dict["object", "Value"])
    """What has been read from memory since the last stop, so that nothing is read or summarised twice."""
    compared: dict[object, Comparison | None] = field(default_factory=dict["object", "Comparison | None"])
    """Comparisons with the reference since the last stop, by tensor."""
    elsewhere: dict[object, Value] = field(default_factory=dict["object", "Value"])
    """Tensors of the tensor view, now or at other moments, by what was asked for; gone when memory is changed."""

    def clear(self) -> None:
        """Forget everything: the program moves on."""
        self._frames.clear()
        self._nodes.clear()
        self._logged.clear()
        self._locations.clear()
        self.values.clear()
        self.compared.clear()
        self.elsewhere.clear()

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

    def add_logged(self, node: Node) -> int:
        """The number of a node that nobody may ever open; only the last ones are kept."""
        self._logged.append(self.add_node(node))
        if len(self._logged) > _MOST_LOGGED:
            self._nodes.pop(self._logged.popleft(), None)
        return self._logged[-1]

    def child(self, reference: int, name: str) -> Node:
        """A child of a node by its name, as it is now; TdbError if there is none."""
        parent = self.node(reference)
        if parent.indexed is not None and (index := _INDEX.fullmatch(name)) is not None:
            numbers = [int(number) for number in index[1].split(",")]
            number = numbers[parent.indexed_axis] if parent.indexed_axis < len(numbers) else parent.indexed_count
            if number < parent.indexed_count and (node := parent.indexed(number, 1)[0]).name == name:
                return node
        for child in parent.named() if parent.named is not None else ():
            if child.name == name:
                return child
        raise TdbError(f"there is no {name!r} here")

    def forget_values(self) -> None:
        """Memory has been changed: what was read is read again."""
        for value in self.values.values():  # kept: open variables hold them, and are to be forgotten next time, too
            value.forget()
        self.compared.clear()
        self.elsewhere.clear()

    def add_location(self, part: Part) -> int:
        """A number for the place where a value was given."""
        self._locations[self._number()] = part
        return self._next - 1

    def location(self, reference: int) -> Part:
        """TdbError for a value of an earlier stop."""
        if reference not in self._locations:
            raise TdbError(f"there is no location {reference} any more; the program has moved on")
        return self._locations[reference]

    def node(self, reference: int) -> Node:
        """TdbError for a variable of an earlier stop."""
        if reference not in self._nodes:
            raise TdbError(f"there is no variable {reference} any more; the program has moved on")
        return self._nodes[reference]

    def _number(self) -> int:
        self._next += 1
        return self._next - 1
