"""Run control: executing until something worth stopping for, in both directions of time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tdb_dap.engine.control.breakpoint_conditions import BreakpointConditions
from tdb_dap.engine.control.breakpoints import Breakpoint, Breakpoints
from tdb_dap.engine.control.exception_filter import Filter
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.observers import Announcer, Observer
from tdb_dap.engine.control.stepping import Stepper, Unit
from tdb_dap.engine.control.stops import BACKEND_FAILED, ILLEGAL, NOT_SIMULATED, Finding, Reason, Stop
from tdb_dap.engine.control.watched_changes import changes_text
from tdb_dap.engine.machine.machine import MachineListener
from tdb_dap.errors import BackendFailed, BadExpression, Illegal, NotSimulated, is_internal, sentence
from tdb_dap.system.interruption import Interrupted, asking

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.lexer import Level
    from tdb_dap.engine.expressions.scope import Scope
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.hardware.views import Constant, View
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.reference.reference import Reference


class Debugger:
    """One program on one machine, with breakpoints and observers.

    ``inspector``: the present moment, which observers see as well. ``observers``: called while running, in order.
    ``listener``: what is said while it runs; it may be replaced at any time. ``withheld``: why there is no
    ``reference`` although its file is there; empty otherwise.
    """

    def __init__(
        self, program: Program, machine: Machine, reference: Reference | None = None, listener: Listener | None = None
    ) -> None:
        self.program = program
        self.machine = machine
        self.reference = reference
        self.withheld = ""
        self.inspector = Inspector(program, machine, reference, listener or Listener())
        self.breakpoints = Breakpoints(program)
        self.observers: list[Observer] = []
        self._checks: list[Observer] = []
        self._stepper = Stepper(program)
        self._announcer = Announcer(self.inspector, self.observers)
        self._conditions = BreakpointConditions(self.inspector)
        self._found: dict[int, Finding] = {}
        self._watching_changed = False
        self._only_core: int | None = None
        self._pause = threading.Event()
        machine.listener = _FromMachine(self.inspector, self._changed_after)
        if reference is not None:
            machine.sources.append(reference)

    # The present moment

    @property
    def listener(self) -> Listener:
        """Receiver of notifications while the program runs."""
        return self.inspector.listener

    @listener.setter
    def listener(self, listener: Listener) -> None:
        self.inspector.listener = listener

    def withhold_reference(self, reason: str) -> None:
        """Compare nothing with the reference: its verdicts would accuse ops of what the inputs have caused."""
        self.withheld = reason
        self.reference = self.inspector.reference = None

    @property
    def last_stop(self) -> Stop:
        """The last stop."""
        return self.inspector.last_stop

    @property
    def ordinal(self) -> int:
        """Number of commands executed so far."""
        return self.machine.ordinal

    @property
    def at_end(self) -> bool:
        """Whether every command has been executed."""
        return self.inspector.at_end

    def scope(self, focus: int | None = None, level: Level | None = None, line: int | None = None) -> Scope:
        """The names visible at a command (default: what the last stop is about), or on a line of final.mlir."""
        return self.inspector.scope(focus, level, line)

    def evaluate(self, expression: str, scope: Scope | None = None) -> Value:
        """Value of an expression; BadExpression says what is wrong with it."""
        return self.inspector.evaluate(expression, scope)

    def read(self, what: View | Constant | str) -> Array:
        """Numbers of a view or expression in their logical shape; bf16 widened to float32."""
        return self.inspector.read(what)

    def write(self, what: View | str, value: Any) -> None:
        """Overwrite the tensor, slice or element that a view or expression names; ``value`` is broadcast to it."""
        self.inspector.write(what, value)

    def outputs(self, raw: bool = False, partial: bool = False) -> dict[str, Array]:
        """The net's outputs by name; integers as (stored - zero point) * scale unless ``raw``.

        An output whose size depends on the data has the shape that the run gave it. One that is not computed yet is
        marked: to use its numbers raises NotFinished; with ``partial`` it is what memory happens to hold.
        """
        return self.inspector.outputs(raw, partial)

    # Run control

    def pause(self) -> None:
        """Stop the run in progress, or the next one, before its next command. May be called from any thread."""
        self._pause.set()

    def forget_pause(self) -> None:
        """Withdraw a pause that no run has taken."""
        self._pause.clear()

    def run(self) -> Stop:
        """Execute to the next stop or the end. From the start, a breakpoint on the first command is a stop."""
        if self.last_stop.reason == "entry" and (stop := self._reason_to_stop(None)):
            return self._finish(stop)
        return self._forwards(None)

    def reverse(self) -> Stop:
        """Go back to the previous stop or the start."""
        return self._backwards(0, "entry")

    def begin(self) -> Stop:
        """From the start past what the host or several cores do before the first op.

        Ends early where there is another reason to stop.
        """
        program = self.program
        if not program.begins_at_op:
            return self.last_stop
        first = min((record.first for record in program.source.records if record.ordinals), default=0)
        return self._forwards(first, "entry") if first > self.ordinal else self.last_stop

    def run_to(self, ordinal: int) -> Stop:
        """Execute until ``ordinal`` commands are done; ends early where there is another reason to stop."""
        if not self.ordinal <= ordinal <= len(self.program.commands):
            raise BadExpression(f"command {ordinal} is not ahead; this is command {self.ordinal}")
        return self._forwards(ordinal) if ordinal > self.ordinal else self._finish(self.inspector.stop("step"))

    def replay(self, observer: Observer) -> None:
        """Replay from the start to the current ordinal for one observer; a pause ends it early."""
        here, announcer = self.ordinal, Announcer(self.inspector, [observer])
        with self.machine.excursion():
            self.machine.travel(0)
            while self.ordinal < here and not self._interrupted():
                announcer.execute()

    @contextmanager
    def watching_only(self, core: int | None) -> Iterator[None]:
        """Inside, breakpoints and findings of other cores do not stop; None: those of every core do."""
        before, self._only_core = self._only_core, core
        try:
            yield
        finally:
            self._only_core = before

    def step(self, count: int = 1, unit: Unit = "command", core: int | None = None) -> Stop:
        """Step ``count`` units, back if negative; ends early where there is another reason to stop.

        0: nothing is executed, the stop is about the next command. ``core``: count the commands of this core only;
        the others run along.
        """
        stop = self.last_stop if count else self._finish(self.inspector.stop("step", self._next_on(core)))
        for _ in range(abs(count)):
            stop = self._step_forwards(unit, core) if count > 0 else self._step_backwards(unit, core)
            if stop.reason != "step":
                break
        if unit == "command" and stop.reason == "step":
            self.inspector.last_stop = stop = replace(stop, level="command")
        return stop

    def travel(self, ordinal: int) -> Stop:
        """Go to the moment when ``ordinal`` commands have been executed; breakpoints and checks do not count."""
        self.program.require_ordinal(ordinal)
        try:
            self._go(ordinal)
        except (NotSimulated, BackendFailed) as error:
            return self._cannot(error)
        return self._finish(self.inspector.stop("goto" if self.ordinal == ordinal else "pause", level="command"))

    def _go(self, ordinal: int) -> None:
        """There, or as far as a pause allows."""
        with suppress(Interrupted), asking(self._interrupted):
            self.machine.travel(ordinal, self._interrupted)

    def skip_to(self, ordinal: int) -> Stop:
        """Go on at another command with the memories as they are: neither executed nor undone. It is an edit."""
        self.program.require_ordinal(ordinal)
        self.machine.skip_to(ordinal)
        return self._finish(self.inspector.stop("goto"))

    def undo_edit(self) -> Stop:
        """Go back to the moment of the last edit, without it; nothing happens if there is none."""
        try:
            self.machine.take_back()
        except (NotSimulated, BackendFailed) as error:
            return self._cannot(error)
        return self._finish(self.inspector.stop("goto"))

    def restart(self) -> Stop:
        """Back to the start, with all edits undone."""
        try:
            self.machine.reset()
        except BackendFailed as error:
            return self._cannot(error)
        return self._finish(self.inspector.stop("entry"))

    def close(self) -> None:
        """End what runs for this debugger in other processes. What has been computed can still be looked at."""
        self.machine.close()

    def failed(self, error: Exception) -> Stop:
        """A stop where an error has ended a run: what the user gave cannot be used any more, or a fault of our own."""
        if not is_internal(error):
            finding = Finding("error", "Cannot go on", f"command {self.ordinal}: {sentence(error)}", self.ordinal)
            return self._finish(self.inspector.stop("exception", finding=finding))
        text = f"internal error, please report it: command {self.ordinal}: {type(error).__name__}: {error}"
        return self._finish(
            self.inspector.stop("exception", finding=Finding("internal error", "Internal error", text, self.ordinal))
        )

    def set_checks(self, wanted: Mapping[Filter, str | None]) -> None:
        """Switch on exactly these exception filters; filter -> condition or None."""
        checks = [wanted_filter.make(condition) for wanted_filter, condition in wanted.items()]
        self.observers[:] = [o for o in self.observers if o not in self._checks] + checks
        self._checks = checks
        self._found.clear()

    def _next_on(self, core: int | None) -> int:
        """Ordinal of the next command, of this core if that is not None; of any if the core has none left."""
        commands = self.program.commands
        ahead = range(self.ordinal, len(commands)) if core is not None else ()
        return next((ordinal for ordinal in ahead if commands[ordinal].core == core), self.ordinal)

    # Forwards

    def _step_forwards(self, unit: Unit, core: int | None) -> Stop:
        focus = self.ordinal if unit == "command" else min(self.last_stop.focus, self.ordinal)
        target = self._stepper.after(focus, unit, core)
        if target <= self.ordinal < len(self.program.commands) and focus < self.ordinal:
            # Only the view moves on: the commands are executed already.
            return self._finish(self.inspector.stop("step"))
        return self._forwards(target)

    def _forwards(self, target: int | None, reached: Reason = "step") -> Stop:
        """Execute until ``target`` commands are done, or there is another reason to stop; None: to the end."""
        self._watch_again()
        while not self.at_end:
            try:
                with asking(self._interrupted):
                    finding = self._announcer.last_heard if self._has_run_ahead(target) else self._execute()
            except Interrupted:
                return self._finish(self.inspector.stop("pause"))
            except (NotSimulated, BackendFailed) as error:
                return self._cannot(error)
            if finding is not None:
                self._found[self.ordinal] = finding
            stop = self._reason_to_stop(finding)
            if target is not None and self._has_reached(target) and (stop is None or stop.reason == "breakpoint"):
                stop = self.inspector.stop(reached, breakpoints=stop.breakpoints if stop else ())
            if stop is None and self._interrupted():
                stop = self.inspector.stop("pause")
            if stop is not None:
                return self._finish(stop)
        self.forget_pause()
        return self._finish(self.inspector.stop("end"))

    def _has_run_ahead(self, target: int | None) -> bool:
        """Execute the commands before the next one that is looked at, or until there may be a reason to stop.

        Whether that moment is reached.
        """
        while self.machine.can_run_ahead and not self._pause.is_set():
            end = min(
                self.breakpoints.next_after(self.ordinal), len(self.program.commands) if target is None else target
            )
            before = self.ordinal
            self._announcer.run_ahead(end)
            if self.ordinal == before:
                return False
            self.listener.between_commands()
            if self.ordinal == end or self._announcer.heard:
                return True
        return False

    def _has_reached(self, target: int) -> bool:
        """Whether a step ends here: not among commands that are passed over, where there is nothing to see."""
        return self.ordinal >= target and not self.at_end and not self.machine.passes_over(self.ordinal)

    def _execute(self) -> Finding | None:
        if self.observers:
            return self._announcer.execute()
        self.machine.step()
        return None

    def _reason_to_stop(self, finding: Finding | None, speak: bool = True) -> Stop | None:
        hit = self._hit(speak)
        if finding is not None and self._counts(finding.focus):
            return self.inspector.stop("exception", focus=finding.focus, finding=finding, breakpoints=hit)
        if hit:
            focus, level = hit[0].stops[self.ordinal], hit[0].location.level
            stop = self.inspector.stop("breakpoint", focus=focus, breakpoints=hit, level=level)
            changes = self._changes(hit)
            return replace(stop, description=changes, text=changes)
        return None

    def _changes(self, hit: tuple[Breakpoint, ...]) -> str:
        """Old and new numbers of what is watched, where the last command wrote it."""
        watched = (breakpoint.location.watched for breakpoint in hit)
        texts = (changes_text(one.ranges, self.machine) for one in watched if one is not None)
        return next((f"Written: {text}" for text in texts if text), "")

    def _counts(self, focus: int) -> bool:
        """Whether what concerns a command may stop the run."""
        commands = self.program.commands
        return self._only_core is None or focus >= len(commands) or commands[focus].core == self._only_core

    def _hit(self, speak: bool = True) -> tuple[Breakpoint, ...]:
        """Breakpoints at this moment that want to stop. ``speak``: log points do."""
        hit: list[Breakpoint] = []
        for breakpoint in self.breakpoints.at(self.ordinal):
            if self.machine.passes_over(breakpoint.stops[self.ordinal]):
                continue
            if not self._conditions.stops(breakpoint) or not self._counts(breakpoint.stops[self.ordinal]):
                continue
            if breakpoint.log is None:
                hit.append(breakpoint)
            elif speak:
                self.listener.log_point(self._conditions.message(breakpoint), breakpoint)
        for breakpoint in hit:
            if breakpoint.temporary:
                self.breakpoints.remove(breakpoint)
        return tuple(hit)

    def _changed_after(self, moment: int) -> None:
        """An edit: what was found out about later moments is not true any more."""
        self._announcer.forget()
        for breakpoint in self.breakpoints:
            breakpoint.forget_after(moment)
        for observer in self.observers:
            observer.changed_after(self.inspector, moment)
        self._found = {ordinal: finding for ordinal, finding in self._found.items() if ordinal <= moment}

    def _watch_again(self) -> None:
        """Commands that are not the program's own access other places: find again where data breakpoints stop."""
        changed = bool(self.machine.changed_commands)
        for breakpoint in self.breakpoints if changed or self._watching_changed else ():
            if (watched := breakpoint.location.watched) is not None:
                self.breakpoints.move(breakpoint, watched.touching(self.machine.accesses))
        self._watching_changed = changed

    # Backwards

    def _step_backwards(self, unit: Unit, core: int | None) -> Stop:
        focus = self.ordinal if unit == "command" else min(self.last_stop.focus, self.ordinal)
        return self._backwards(self._stepper.before(focus, unit, core), "step")

    def _backwards(self, target: int, reason: Reason) -> Stop:
        """Go back to ``target`` or the nearest moment before now at which there is another reason to stop."""
        self._watch_again()
        while reason == "step" and target > 0 and self.machine.passes_over(target):
            target -= 1
        moved = self.ordinal > target
        for ordinal in self._candidates(target):
            try:
                self._go(ordinal)
            except (NotSimulated, BackendFailed) as error:
                return self._cannot(error)
            if self.ordinal != ordinal:
                return self._finish(self.inspector.stop("pause"))
            if ordinal == target and reason == "step":
                break
            with self.machine.before_edits():
                finding = self._announcer.look_back() or self._found.get(ordinal)
                stop = self._reason_to_stop(finding, speak=False)
            if stop is not None:
                return self._finish(stop)
        return self._finish(self.inspector.stop(reason if moved else "entry"))

    def _candidates(self, target: int) -> Iterator[int]:
        if any(observer.looks_back for observer in self.observers):
            yield from range(self.ordinal - 1, target, -1)
        else:
            earlier = {ordinal for ordinal in self._found if ordinal < self.ordinal}
            moments = {*self.breakpoints.stops_before(self.ordinal), *earlier}
            yield from sorted((ordinal for ordinal in moments if ordinal > target), reverse=True)
        yield target

    # Stops

    def _interrupted(self) -> bool:
        self.listener.between_commands()
        if self._pause.is_set():
            self._pause.clear()
            return True
        return False

    def _cannot(self, error: NotSimulated | BackendFailed) -> Stop:
        """A stop before a command that cannot be executed, or that the backend did not survive."""
        if isinstance(error, NotSimulated):
            title = ILLEGAL if isinstance(error, Illegal) else "Not simulated"
            finding = Finding(NOT_SIMULATED, title, str(error), self.ordinal)
        else:
            self.machine.fall_back()
            text = f"{error}; from here on the built-in simulator executes"
            finding = Finding(BACKEND_FAILED, "The backend is lost", text, self.ordinal, (str(error),))
        return self._finish(self.inspector.stop("exception", finding=finding))

    def _finish(self, stop: Stop) -> Stop:
        self.inspector.last_stop = stop
        for observer in self.observers:
            observer.stopped(self.inspector, stop)
            if stop.reason == "end":
                observer.finished(self.inspector)
        return stop


class _FromMachine(MachineListener):
    """Passes on the notifications of a debugger's machine."""

    def __init__(self, inspector: Inspector, edited: Callable[[int], None]) -> None:
        self._inspector = inspector
        self._edited = edited

    def note(self, text: str) -> None:
        self._inspector.listener.note(text)

    def edited(self, moment: int) -> None:
        self._edited(moment)
