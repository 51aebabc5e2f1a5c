"""``uninitialized``: reads of bytes that are uninitialised, or stale from an op that has ended.

That they are read is no fault yet: padding is, all the time. Their marks are carried on from operands to results, and
reported where they first get out: into a tensor in DDR, into a value that differs from the reference, into
an output of the net, or to the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tdb_dap.engine.control.observers import Observer, next_of
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import share_a_byte
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.edits import MemoryEdit
from tdb_dap.engine.sanitizers.finding_text import title_of
from tdb_dap.engine.sanitizers.lifetimes import Lifetimes, LifetimeStart
from tdb_dap.engine.sanitizers.shadow import LEFT_OVER, Defined, Shadow
from tdb_dap.engine.sanitizers.taint import Dependence, dependent, moved
from tdb_dap.engine.sanitizers.taint_sources import TaintSources, byte_count, marked_words
from tdb_dap.engine.source.op_records import is_doubtful
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.hardware.target import Description
    from tdb_dap.engine.source.source_map import OpRecord

NAME = "uninitialized"
_AT_ONCE = 1 << 12
"""Commands that the marks are brought past at once, at most: a pause is not noticed meanwhile."""


class _Ahead(NamedTuple):
    """The marks at ``position`` are right for the moments [``first``, ``look``], and ``look`` is to be seen next."""

    first: int
    look: int
    position: int


class Uninitialized(Observer):
    """Carries the marks along and reports where they get out."""

    looks_back = True

    def __init__(self) -> None:
        self._shadow: Shadow | None = None
        self._lifetimes: Lifetimes | None = None
        self._origins = TaintSources()
        self._known: dict[int, Finding | None] = {}
        self._defined: Defined | None = None
        self._ahead = _Ahead(0, -1, -1)
        self._events: list[int] = []
        """Commands with which an op begins or ends, and those of subnets without any."""

    def next_look(self, inspector: Inspector) -> int:
        """The next command that may read a byte that is not defined, or after which marks may be reported.

        Up to there nothing depends on what the memories hold: the marks are brought there at once.
        """
        shadow, now = self._started(inspector), inspector.ordinal
        if shadow.position != now:
            is_ahead = self._ahead.first <= now <= self._ahead.look and self._ahead.position == shadow.position
            return self._ahead.look if is_ahead else now
        # The outputs are looked at after the last command, and a subnet without commands may choose a branch.
        stop = min(len(inspector.program.commands) - 1, now + _AT_ONCE)
        look = self._look_from(inspector, shadow, now, stop)
        self._ahead = _Ahead(now, look, shadow.position)
        return look

    def _look_from(self, inspector: Inspector, shadow: Shadow, ordinal: int, stop: int) -> int:
        """Bring the marks past commands from ``ordinal`` on, at most to ``stop``; the one that has to be seen."""
        assert self._defined is not None
        kinds = inspector.program.commands.columns.kind
        while ordinal < stop:
            event = min(stop, next_of(self._events, ordinal))
            done = self._defined.carry_some(shadow, ordinal, event)
            self._known.update(dict.fromkeys(range(ordinal, done)))
            ordinal = done
            if ordinal == stop or kinds[ordinal] < 0 or not self._pass(inspector, shadow, ordinal, done == event):
                break
            leaves = inspector.reference is not None and self._leaves_marks(inspector, shadow, ordinal)
            if leaves or self._known[ordinal] is not None:
                break
            ordinal += 1
        return ordinal

    def _pass(self, inspector: Inspector, shadow: Shadow, ordinal: int, is_event: bool) -> bool:
        """Bring the marks past a command that is still to be executed, if that is possible. There are no edits.

        ``is_event``: an op begins or ends with it; of others it is known that they may read an undefined byte.
        """
        assert self._defined is not None
        assert self._lifetimes is not None
        for start in self._lifetimes.at(ordinal):
            # Marks that the command replaces need not be set.
            stop = start.record.last + 1
            self._begin(shadow, start, [v for v in start.results if not self._defined.overwrites(ordinal, stop, v)])
        finding = None
        if not is_event or not self._defined.carry(shadow, ordinal):
            is_passed, finding = self._carry_ahead(inspector, shadow, ordinal)
            if not is_passed:
                return False
        self._known[ordinal] = finding
        shadow.advance()
        return True

    def _carry_ahead(self, inspector: Inspector, shadow: Shadow, ordinal: int) -> tuple[bool, Finding | None]:
        """The same of a command that moves marked bytes, or reads between them, or words with other bits marked.

        Whether it is one, and what gets out by it.
        """
        if ordinal in inspector.program.access_rows.irregular:
            return False, None
        command = inspector.program.commands[ordinal]
        try:
            marks, roles = _marked_operands(command.description, shadow)
        except NotSimulated:
            return False, None
        depends = moved(inspector.program.target, command.description, marks) if marks else None
        if marks and depends is None:
            return False, None
        return True, self._spread(inspector, shadow, command, marks, roles, depends)

    def _is_past(self, ordinal: int) -> bool:
        """Whether the marks are past a command that is seen for what its op leaves."""
        before = self._ahead.position - 1
        is_there = self._shadow is not None and self._shadow.position == self._ahead.position
        return is_there and ordinal == before == self._ahead.look

    def _leaves_marks(self, inspector: Inspector, shadow: Shadow, ordinal: int) -> bool:
        """Whether an op that ends with a command has a result in local memory with marks."""
        records = inspector.program.source.ending_at(ordinal)
        return bool(records) and any(
            value.view is not None and value.view.space is Space.LOCAL and shadow.marks(value.view) is not None
            for record in records
            for value in record.results
        )

    def before_command(self, inspector: Inspector, command: Command) -> None:
        if self._is_past(command.ordinal):
            return
        shadow = self._at(inspector, command.ordinal)
        self._known[command.ordinal] = self._follow(inspector, shadow)

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        if command.ordinal not in self._known:  # time has come from the other side
            with inspector.machine.excursion():
                inspector.machine.travel(command.ordinal)
                self.before_command(inspector, command)
        finding = self._known[command.ordinal]
        return self._outputs(inspector, command) if finding is None and inspector.at_end else finding

    def after_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        if inspector.reference is None or self._shadow is None or self._shadow.position != inspector.ordinal:
            return None
        for value in record.results:
            if value.view is None or value.view.space is not Space.LOCAL or is_doubtful(record, value):
                continue
            marks = self._shadow.marks(value.view)
            # Views in packed batches also cover padding: that a comparison passes over it is right.
            comparison = inspector.reference.compare(inspector.machine, value) if marks is not None else None
            if marks is not None and comparison is not None and comparison.verdict == "fail":
                command = inspector.program.commands[record.last]
                return self._finding(command, f"{value.name}, which differs from the reference, holds", marks)
        return None

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        self._known = {ordinal: finding for ordinal, finding in self._known.items() if ordinal < moment}
        if self._shadow is not None and self._shadow.position > moment:
            self._rewind(self._shadow, moment)

    # Moments

    def _at(self, inspector: Inspector, ordinal: int) -> Shadow:
        """The marks at the moment before a command; run again where they are late."""
        shadow = self._started(inspector)
        self._rewind(shadow, ordinal)
        if shadow.position < ordinal:
            with inspector.machine.excursion():
                inspector.machine.travel(shadow.position)
                while inspector.ordinal < ordinal:
                    here = inspector.ordinal
                    self._known[here] = self._follow(inspector, shadow)
                    inspector.machine.step()
        return shadow

    def _started(self, inspector: Inspector) -> Shadow:
        if self._shadow is None:
            self._shadow = Shadow(inspector.program, inspector.machine.keeps_history)
            self._lifetimes = Lifetimes(inspector.program)
            self._defined = Defined(inspector.program.access_rows)
            subnets = np.flatnonzero(inspector.program.commands.columns.kind < 0).tolist()
            self._events = sorted({*inspector.program.source.borders, *subnets})
        return self._shadow

    def _rewind(self, shadow: Shadow, ordinal: int) -> None:
        if shadow.first > ordinal:
            shadow.reset()
        else:
            shadow.go_back(ordinal)

    def _follow(self, inspector: Inspector, shadow: Shadow) -> Finding | None:
        """Bring the marks past the next command; what gets out by it."""
        ordinal = inspector.ordinal
        self._enter(inspector, shadow, ordinal)
        skipped = inspector.machine.passes_over(ordinal)
        finding = None if skipped else self._carry(inspector, shadow, inspector.machine.command_at(ordinal))
        shadow.advance()
        return finding

    def _enter(self, inspector: Inspector, shadow: Shadow, ordinal: int) -> None:
        """Bring the marks to the moment before a command is executed; to do it twice changes nothing."""
        for edit in inspector.machine.edits:
            if isinstance(edit, MemoryEdit) and edit.moment == ordinal:
                shadow.define(edit.after)
        assert self._lifetimes is not None
        for start in self._lifetimes.at(ordinal):
            self._begin(shadow, start, start.results)

    def _begin(self, shadow: Shadow, start: LifetimeStart, results: Sequence[View]) -> None:
        """Mark what has been left over and ``results`` of an op as undefined, except its operands."""
        record = start.record
        shadow.leave(record.core, start.left)
        if not results:
            return
        operands = [value.view for value in record.operands if value.view is not None]
        kept = [view for view in operands if any(share_a_byte(view, result) for result in results)]
        marks = [shadow.marks(view) for view in kept]
        for view in results:
            shadow.fill(view, LEFT_OVER)
        for view, words in zip(kept, marks, strict=True):
            shadow.put(view, words)

    # One command

    def _carry(self, inspector: Inspector, shadow: Shadow, command: Command) -> Finding | None:
        assert self._defined is not None
        if command.is_system or (not inspector.machine.edits and self._defined.carry(shadow, command.ordinal)):
            return None
        try:
            description = command.description
        except NotSimulated:
            return None
        marks, roles = _marked_operands(description, shadow)
        target, depends = inspector.program.target, None
        if marks and command.has_descriptor:
            depends = moved(target, description, marks) or dependent(target, description, inspector.memory, marks)
        return self._spread(inspector, shadow, command, marks, roles, depends)

    def _spread(
        self,
        inspector: Inspector,
        shadow: Shadow,
        command: Command,
        marks: Mapping[View, Array],
        roles: Mapping[View, str],
        depends: Dependence | None,
    ) -> Finding | None:
        """Mark what depends on marked operands, and no other result; what gets out. None: the host reads them."""
        results = [view for view in command.description.results if isinstance(view, View)]
        if not marks:
            for view in results:
                shadow.put(view, None)
            return None
        mark = self._origins.of(command, marks, roles)
        if depends is None:
            for view in results:
                shadow.put(view, None)
            return self._finding(command, "the host is given", next(iter(marks.values())), mark)
        finding = None
        if depends.clears:
            finding = self._cleared(command, marks)
        for view in results:
            if not depends.results[view].any():
                shadow.put(view, None)
                continue
            words = marked_words(depends.results[view], view, mark)
            shadow.put(view, words)
            if view.space is Space.GLOBAL and self._gets_out(inspector, shadow, command, mark):
                finding = self._finding(command, f"{command.token} stores to {view.name}", words, mark)
                # What is computed from it later is its consequence, and not reported again.
                shadow.put(view, None)
        return finding

    def _cleared(self, command: Command, marks: Mapping[View, Array]) -> Finding:
        """A product with zero clears what holds numbers, and keeps NaN and infinity."""
        view, words = next(iter(marks.items()))
        text = (
            f"{title_of(command)} clears {byte_count(words)} of {view.name}, which is undefined, by a product with "
            "0: NaN and infinity stay NaN"
        )
        title = "Undefined memory is cleared by a product"
        return Finding(NAME, title, text, command.ordinal, (command.asm,), severity="warning")

    def _gets_out(self, inspector: Inspector, shadow: Shadow, command: Command, mark: int) -> bool:
        """Whether the marked bytes belong to a tensor: not to padding, nor to scratch space of the op in DDR.

        Without records of ops that is not known of tensors inside the net: marks are followed to its outputs.
        """
        if not inspector.program.source.records:
            return False
        for record in inspector.program.source.records_of(command.ordinal):
            if any(value.view is None for value in record.results):
                return True
            views = [value.view for value in record.results if value.view is not None]
            stored = [shadow.marks(view) for view in views if view.space is Space.GLOBAL]
            return any(words is not None and self._origins.holds(words, mark) for words in stored)
        return True

    def _outputs(self, inspector: Inspector, command: Command) -> Finding | None:
        if self._shadow is None or self._shadow.position != inspector.ordinal:
            return None
        for tensor in inspector.program.outputs:
            marks = self._shadow.marks(tensor.view)
            if marks is not None:
                return self._finding(command, f"output {tensor.name} holds", marks)
        return None

    def _finding(self, command: Command, what: str, marks: Array, mark: int | None = None) -> Finding:
        origin, ordinal = self._origins.story(marks, mark)
        related = () if ordinal is None or ordinal == command.ordinal else (ordinal,)
        text = f"{what} {byte_count(marks)} that are undefined: {origin}"
        return Finding(NAME, "Uninitialised bytes are read", text, command.ordinal, (command.asm,), related)


def _marked(description: Description, shadow: Shadow) -> Iterator[tuple[View, str, Array]]:
    """The operands with marks in bits that are read, what each is called, and the marks of these bits."""
    names = dict(zip(map(id, description.operands), description.operand_roles, strict=False))
    for operand in description.reads:
        role = names.get(id(operand), "its old value")
        unread = description.unread.get(role, 0)
        if not isinstance(operand, View) or (unread and not shadow.has_marks(operand, unread)):
            continue
        marks = shadow.marks(operand)
        if marks is not None:
            yield operand, role, marks & marks.dtype.type(~unread & np.iinfo(marks.dtype).max) if unread else marks


def _marked_operands(description: Description, shadow: Shadow) -> tuple[dict[View, Array], dict[View, str]]:
    """The operands that hold marks, and what each is called."""
    marks: dict[View, Array] = {}
    roles: dict[View, str] = {}
    for operand, role, own in _marked(description, shadow):
        marks[operand] = marks[operand] | own if operand in marks else own
        roles.setdefault(operand, role)
    return marks, roles
