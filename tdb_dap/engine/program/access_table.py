"""The accesses of a whole program as columns of numbers: one row for each piece of a tensor that a command touches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import Command, Commands
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.rectangles import rectangles
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import Form, Forming, Moving
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.forms import Forms
from tdb_dap.errors import BadAccess, NotSimulated, Undefined

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.target import Description, Target

SPACES = tuple(Space)
SHARED = frozenset((SPACES.index(Space.GLOBAL), SPACES.index(Space.L2)))
"""Codes of the memories that all cores share."""

LOCAL = SPACES.index(Space.LOCAL)

Column = NDArray[np.int64]
_COLUMNS = 9

MOVED = 1
"""The words of the only tensor that is read."""

CHOSEN = 2
"""Words of one of those that are read."""

Place = tuple[int, int, int, int, int, int]
"""What encloses an access: space, core, start, stop, lane and lane_stop, as in ``AccessRows``."""


class Views(Sequence[View]):
    """The tensors of all accesses, each made when it is asked for: there are many, and few that are not alike.

    ``kinds``: tensors that differ in more than address and core. Of each tensor ``kind`` says which of them it is like,
    ``address`` is as in ``View``.
    """

    def __init__(self, kinds: Sequence[View], kind: Column, address: Column, core: Column) -> None:
        self.kinds = kinds
        self.kind = kind
        self.address = address
        self.core = core

    def __len__(self) -> int:
        return self.kind.size

    @overload
    def __getitem__(self, index: int) -> View: ...
    @overload
    def __getitem__(self, index: slice) -> list[View]: ...
    def __getitem__(self, index: int | slice) -> View | list[View]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        like = self.kinds[self.kind[index]]
        return View(
            like.space,
            int(self.address[index]),
            like.shape,
            like.dtype,
            like.layout,
            like.strides,
            like.geometry,
            like.width,
            like.lane_mask,
            int(self.core[index]),
        )

    def key(self, index: int) -> tuple[int, int, int]:
        """Equal for tensors of one command that are equal."""
        return int(self.kind[index]), int(self.address[index]), int(self.core[index])

    def which(self, test: Callable[[View], bool], among: Column | None = None) -> NDArray[np.bool_]:
        """Whether each of them passes a test that asks neither for the address nor for the core.

        ``among``: the numbers of those that are asked about; of others the answer may be no.
        """
        passes = np.zeros(len(self.kinds), np.bool_)
        for kind in distinct(self.kind if among is None else self.kind[among]):
            passes[kind] = test(self.kinds[kind])
        return passes[self.kind]


class AccessRows(Struct, frozen=True, dict=True):
    """One row per piece. ``ordinal`` ascends; ``space`` indexes SPACES; ``core``: 0 in the memories that cores share.

    [``start``, ``stop``) encloses the bytes: in local memory counted in each of the lanes [``lane``, ``lane_stop``),
    elsewhere in the space, with lanes [0, 1). ``view`` indexes ``views``.
    """

    ordinal: Column
    space: Column
    core: Column
    start: Column
    stop: Column
    lane: Column
    lane_stop: Column
    is_write: NDArray[np.bool_]
    view: Column
    views: Views
    words: NDArray[np.int8]
    """Of each command up to the last that has rows: 0, or ``MOVED`` or ``CHOSEN``, of which words its results are."""
    undefined: tuple[tuple[int, str], ...]
    """Ordinals of commands whose operands make no sense, and what is wrong with them."""
    illegal: tuple[tuple[int, str], ...] = ()
    """Ordinals of commands that break a rule of the chip, and which one; what leaves its lane may be missing."""

    def __len__(self) -> int:
        return self.ordinal.size

    @classmethod
    def of(cls, commands: Sequence[Command]) -> AccessRows:
        """All pieces of all operands and results; operands of forms without a description are left out."""
        collected = _Collected()
        rest: Iterable[Command] = commands
        if isinstance(commands, Commands) and commands.encoded is not None:
            rest = (commands[ordinal] for ordinal in collected.add_formed(Forms(commands)))
        for command in rest:
            if not command.is_system:
                collected.add(command)
        columns, views = collected.columns()
        ordinals, spaces, cores, starts, stops, lanes, lane_stops, writes, numbers = columns
        is_writes = writes.astype(np.bool_)
        return cls(
            ordinals,
            spaces,
            cores,
            starts,
            stops,
            lanes,
            lane_stops,
            is_writes,
            numbers,
            views,
            collected.words(commands, int(ordinals.max(initial=-1)) + 1),
            tuple(collected.undefined),
            tuple(collected.illegal),
        )

    @cached_property
    def irregular(self) -> frozenset[int]:
        """Ordinals of commands of whose accesses not all have rows."""
        return frozenset(ordinal for ordinal, _ in self.undefined)

    @cached_property
    def idle(self) -> frozenset[int]:
        """Ordinals of commands that move one element onto itself: compilers emit them to pass time."""
        is_single = self.views.which(lambda view: view.size == 1)[self.view]
        is_single &= self.words[self.ordinal] == MOVED
        rows = np.full((2, self.words.size), -1)
        for side in (False, True):
            mine = np.flatnonzero(is_single & (self.is_write == side))
            rows[int(side), self.ordinal[mine]] = mine
        one, other = rows[:, (rows >= 0).all(axis=0)]
        is_same = np.ones(one.size, np.bool_)
        for column in (self.space, self.core, self.start, self.stop, self.lane):
            is_same &= column[one] == column[other]
        return frozenset(self.ordinal[one[is_same]].tolist())

    @cached_property
    def least_stop(self) -> Column:
        """``stop`` where it is certain: how long a stream is, only its bytes tell, but there is a first one."""
        is_stream = self.views.which(lambda view: view.layout is Layout.STREAM)[self.view]
        return np.where(is_stream, np.minimum(self.stop, self.start + 1), self.stop)

    @cached_property
    def _ends(self) -> Column:
        return np.searchsorted(self.ordinal, np.arange(int(self.ordinal.max(initial=-1)) + 2))

    def of_command(self, ordinal: int) -> range:
        """The rows of one command."""
        ends = self._ends
        return range(int(ends[ordinal]), int(ends[ordinal + 1])) if ordinal + 1 < ends.size else range(0)


class _Collected:
    """The rows of commands as they are found. ``undefined``, ``illegal``: as in ``AccessRows``."""

    def __init__(self) -> None:
        self.undefined: list[tuple[int, str]] = []
        self.illegal: list[tuple[int, str]] = []
        self._rows: list[tuple[int, ...]] = []
        self._views: list[tuple[int, int, int]] = []
        """Kind, address and core."""
        self._kinds: dict[Hashable, tuple[int, View]] = {}
        self._alone: dict[int, int] = {}
        """Of commands that were described which words their results are."""
        self._of_form: dict[Form, int] = {}
        self._asked: Target | None = None
        self._forming: Forming | None = None
        self._formed: dict[Form, tuple[list[int], list[int], list[Sequence[int]]]] = {}
        """Ordinals, cores, and addresses of tensors of the commands of each form."""

    def add_formed(self, forms: Forms) -> Iterator[int]:
        """The accesses of commands whose form was met, without a description; yields the ordinals of the others.

        These are to be added at once, for others of their forms follow.
        """
        for ordinal in range(len(forms)):
            if forms.is_system(ordinal):
                continue
            formed = forms.of(ordinal)
            if formed is None:
                yield ordinal
            else:
                self._add_formed(ordinal, forms.core(ordinal), *formed)

    def _add_formed(self, ordinal: int, core: int, form: Form, addresses: Sequence[int]) -> None:
        ordinals, cores, places = self._formed.setdefault(form, ([], [], []))
        ordinals.append(ordinal)
        cores.append(core)
        places.append(addresses)

    def add(self, command: Command) -> None:
        """The accesses of one command."""
        forming = self._forming_of(command.target) if command.has_descriptor else None
        if forming is not None:
            formed = forming.formed(command.kind, command.descriptor, command.core)
            if formed is not None:
                self._add_formed(command.ordinal, command.core, *formed)
                return
        try:
            description = command.description
        except NotSimulated as error:
            if isinstance(error, Undefined):
                self.undefined.append((command.ordinal, str(error)))
            return
        if command.broken_rule:
            self.illegal.append((command.ordinal, command.broken_rule))
        words = self._alone[command.ordinal] = _words_of(command)
        if self._describe(command.ordinal, description) and forming is not None and not command.broken_rule:
            forming.meet(description, command.descriptor)
            if (formed := forming.formed(command.kind, command.descriptor, command.core)) is not None:
                self._of_form[formed[0]] = words

    def _forming_of(self, target: Target) -> Forming | None:
        if target is not self._asked:
            self._asked, self._forming = target, target if isinstance(target, Forming) else None
        return self._forming

    def _describe(self, ordinal: int, description: Description) -> bool:
        """Rows by description; whether those of others of its form may be derived from them."""
        before, nowhere, is_plain = len(self.undefined), False, True
        for is_write, operands in ((False, description.reads), (True, description.results)):
            for view in operands:
                if not isinstance(view, View):
                    continue
                if not view.size:
                    continue
                is_plain &= view.dtype.per_byte == 1
                core = 0 if view.space.is_shared else view.core
                try:
                    boxes = rectangles(view)
                except BadAccess as error:
                    if not nowhere:
                        self.undefined.append((ordinal, str(error)))
                    boxes, nowhere = [], True
                place = ordinal, SPACES.index(view.space), core
                self._rows += [(*place, *rectangle, is_write, len(self._views)) for rectangle in boxes]
                self._views.append((self._kind(view), view.address, view.core))
        return is_plain and before == len(self.undefined)

    def _kind(self, view: View) -> int:
        shared = (view.space, view.shape, view.dtype, view.layout, view.strides, view.width, view.lane_mask)
        key = (*shared, id(view.geometry))
        return self._kinds.setdefault(key, (len(self._kinds), view))[0]

    def words(self, commands: Sequence[Command], count: int) -> NDArray[np.int8]:
        """Of the first ``count`` commands of which words their results are."""
        words = np.zeros(count, np.int8)
        for ordinal, which in self._alone.items():
            if ordinal < count:
                words[ordinal] = which
        for form, (ordinals, _, _) in self._formed.items():
            if form not in self._of_form and form.reads and len(form.results) == 1:
                self._of_form[form] = _words_of(commands[ordinals[0]])
            words[ordinals] = self._of_form.get(form, 0)
        return words

    def columns(self) -> tuple[list[Column], Views]:
        """The columns of all rows, which are in the order of ordinals, and the views that they index."""
        rows = [np.array(self._rows, np.int64).reshape(-1, _COLUMNS)]
        views = [np.array(self._views, np.int64).reshape(-1, 3)]
        count = len(self._views)
        for form, (ordinals, cores, addresses) in self._formed.items():
            tensors = (*form.reads, *form.results)
            if not tensors:
                continue
            of_form = np.empty((len(ordinals), len(tensors), 3), np.int64)
            of_form[:, :, 0] = [self._kind(view) for view in tensors]
            of_form[:, :, 1] = addresses
            of_form[:, :, 2] = np.array(cores)[:, None]
            rows.append(_rows_of_form(form, np.array(ordinals), of_form, count))
            views.append(of_form.reshape(-1, 3))
            count += len(views[-1])
        order = np.argsort(np.concatenate([part[:, 0] for part in rows]), kind="stable")
        columns = [np.concatenate([part[:, number] for part in rows])[order] for number in range(_COLUMNS)]
        kind, address, core = (np.ascontiguousarray(column) for column in np.concatenate(views).T)
        kinds = [view for _, view in self._kinds.values()]
        return columns, Views(kinds, kind, address, core)


def _words_of(command: Command) -> int:
    """Of which words the results of a command are: ``MOVED``, ``CHOSEN``, or 0 where it computes them."""
    target = command.target
    if not command.has_descriptor or command.broken_rule or not isinstance(target, Moving):
        return 0
    description = command.description
    return MOVED if target.is_move(description) else CHOSEN if target.is_choice(description) else 0


def _rows_of_form(form: Form, ordinals: Column, views: Column, first: int) -> Column:
    """The rows of all commands of a form. ``views``: kind, address and core of their tensors, numbered from ``first``.

    The pieces of a tensor have the same offsets from its address as those of any other that begins in the same lane.
    """
    parts: list[Column] = []
    for number, view in enumerate((*form.reads, *form.results)):
        lane_bytes = view.geometry.lane_bytes
        is_local = view.space is Space.LOCAL
        origin = view.address // lane_bytes * lane_bytes if is_local else 0
        pieces = np.array(rectangles(replace(view, address=origin)), np.int64).reshape(-1, 4)
        shift = (views[:, number, 1] - origin)[:, None]
        start, stop = pieces[:, 0] + shift, pieces[:, 1] + shift
        lanes = start // lane_bytes if is_local else np.zeros_like(start)
        part = np.empty((len(ordinals), len(pieces), _COLUMNS), np.int64)
        part[:, :, 0] = ordinals[:, None]
        part[:, :, 1] = SPACES.index(view.space)
        part[:, :, 2] = 0 if view.space.is_shared else views[:, number, 2][:, None]
        part[:, :, 3], part[:, :, 4] = start - lanes * lane_bytes, stop - lanes * lane_bytes
        part[:, :, 5], part[:, :, 6] = pieces[:, 2] + lanes, pieces[:, 3] + lanes
        part[:, :, 7] = number >= len(form.reads)
        part[:, :, 8] = (first + np.arange(len(ordinals)) * views.shape[1] + number)[:, None]
        parts.append(part)
    return np.concatenate(parts, axis=1).reshape(-1, _COLUMNS)
