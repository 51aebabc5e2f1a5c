"""Run control: executing until something worth stopping for, in both directions of time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tdb_dap.engine.checks.exception_filters import FILTERS
from tdb_dap.engine.control.breakpoint_conditions import Judge
from tdb_dap.engine.control.breakpoints import Breakpoint, Breakpoints
from tdb_dap.engine.control.inspection import Inspection
from tdb_dap.engine.control.logpoints import Message
from tdb_dap.engine.control.observers import Announcer, Observer
from tdb_dap.engine.control.stepping import Stepper, Unit
from tdb_dap.engine.control.stops import BACKEND_FAILED, NOT_SIMULATED, Finding, Level, Reason, Stop
from tdb_dap.errors import BackendFailed, BadExpression, NotSimulated
from tdb_dap.system.interruption import Interrupted, asking

if TYPE_CHECKING:
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.reference.reference import Reference


class Debugger(Inspection):
    """One program on one machine, with breakpoints and observers.

    ``observers``: called while running, in order. ``print``: receives what log points say; ``say``: what the user
    has to know of how the program was executed. ``between_commands``:
    called between any two commands of a run, on the thread that runs; it may change breakpoints. ``excepted``: names
    of tensors that are never compared with the reference.
    """

    def __init__(self, program: Program, machine: Machine, reference: Reference | None = None) -> None:
        super().__init__(program, machine, reference)
        self.breakpoints = Breakpoints(program)
        self.observers: list[Observer] = []
        self.print: Callable[[Message, Breakpoint], None] = lambda message, _: print(message.text)
        self.say: Callable[[str], None] = lambda text: None
        self.between_commands: Callable[[], None] | None = None
        self.excepted: frozenset[str] = frozenset()
        self.last_stop = self._stop("entry")
        self._checks: list[Observer] = []
        self._stepper = Stepper(program)
        self._announcer = Announcer(self)
        self._judge = Judge(self)
        self._found: dict[int, Finding] = {}
        self._watching_changed = False
        self._only_core: int | None = None
        machine.edited = self._changed_after
        self._pause = threading.Event()
        machine.say = lambda text: self.say(text)
        if reference is not None:
            machine.sources.append(reference)

    @property
    def at_end(self) -> bool:
        """Whether every command has been executed."""
        return self.ordinal >= len(self.program.commands)

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

    def run_to(self, ordinal: int) -> Stop:
        """Execute until ``ordinal`` commands are done; ends early where there is another reason to stop."""
        if not self.ordinal <= ordinal <= len(self.program.commands):
            raise BadExpression(f"ordinal {ordinal} is not ahead; this is {self.ordinal}")
        return self._forwards(ordinal) if ordinal > self.ordinal else self._finish(self._stop("step"))

    def retell(self, observer: Observer) -> None:
        """Let an observer see the way from the start up to this moment; or up to where a pause ends the telling."""
        here, others = self.ordinal, self.observers
        with self.machine.excursion():
            self.machine.travel(0)
            self.observers = [observer]
            try:
                while self.ordinal < here and not self._interrupted():
                    self._announcer.execute()
            finally:
                self.observers = others

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

        ``core``: count the commands of this core only; the others run along.
        """
        stop = self.last_stop
        for _ in range(abs(count)):
            stop = self._step_forwards(unit, core) if count > 0 else self._step_backwards(unit, core)
            if stop.reason != "step":
                break
        if unit == "command" and stop.reason == "step":
            self.last_stop = stop = replace(stop, level="command")
        return stop

    def travel(self, ordinal: int) -> Stop:
        """Go to the moment when ``ordinal`` commands have been executed; breakpoints and checks do not count."""
        if not 0 <= ordinal <= len(self.program.commands):
            raise BadExpression(f"ordinal {ordinal} is not in this program: 0 to {len(self.program.commands)}")
        try:
            self._go(ordinal)
        except (NotSimulated, BackendFailed) as error:
            return self._cannot(error)
        return self._finish(self._stop("goto" if self.ordinal == ordinal else "pause", level="command"))

    def _go(self, ordinal: int) -> None:
        """There, or as far as a pause allows."""
        with suppress(Interrupted), asking(self._interrupted):
            self.machine.travel(ordinal, self._interrupted)

    def skip_to(self, ordinal: int) -> Stop:
        """Go on at another command with the memories as they are: neither executed nor undone. It is an edit."""
        if not 0 <= ordinal <= len(self.program.commands):
            raise BadExpression(f"ordinal {ordinal} is not in this program: 0 to {len(self.program.commands)}")
        self.machine.skip_to(ordinal)
        return self._finish(self._stop("goto"))

    def undo_edit(self) -> Stop:
        """Go back to the moment of the last edit, without it; nothing happens if there is none."""
        try:
            self.machine.take_back()
        except (NotSimulated, BackendFailed) as error:
            return self._cannot(error)
        return self._finish(self._stop("goto"))

    def restart(self) -> Stop:
        """Back to the start, with all edits undone."""
        try:
            self.machine.reset()
        except BackendFailed as error:
            return self._cannot(error)
        return self._finish(self._stop("entry"))

    def close(self) -> None:
        """End what runs for this debugger in other processes. What has been computed can still be looked at."""
        self.machine.close()

    def failed(self, error: Exception) -> Stop:
        """A stop where an error of the debugger itself has ended a run."""
        text = f"internal error, please report it: ordinal {self.ordinal}: {type(error).__name__}: {error}"
        return self._finish(
            self._stop("exception", finding=Finding("internal error", "Internal error", text, self.ordinal))
        )

    def set_filters(self, wanted: dict[str, str | None]) -> None:
        """Switch on exactly these exception filters; name -> condition or None."""
        unknown = sorted(set(wanted) - set(FILTERS))
        if unknown:
            raise BadExpression(f"there is no exception filter {unknown[0]!r}; there are {', '.join(FILTERS)}")
        checks = [FILTERS[name].make(condition) for name, condition in wanted.items()]
        self.observers = [o for o in self.observers if o not in self._checks] + checks
        self._checks = checks
        self._found.clear()

    # Forwards

    def _step_forwards(self, unit: Unit, core: int | None) -> Stop:
        focus = self.ordinal if unit == "command" else min(self.last_stop.focus, self.ordinal)
        target = self._stepper.after(focus, unit, core)
        if target <= self.ordinal < len(self.program.commands) and focus < self.ordinal:
            return self._finish(self._stop("step"))  # only the view moves on: the commands are executed already
        return self._forwards(target)

    def _forwards(self, target: int | None) -> Stop:
        """Execute until ``target`` commands are done, or there is another reason to stop; None: to the end."""
        self._watch_again()
        while not self.at_end:
            try:
                with asking(self._interrupted):
                    finding = self._execute()
            except Interrupted:
                return self._finish(self._stop("pause"))
            except (NotSimulated, BackendFailed) as error:
                return self._cannot(error)
            if finding is not None:
                self._found[self.ordinal] = finding
            stop = self._reason_to_stop(finding)
            if target is not None and self._has_reached(target) and (stop is None or stop.reason == "breakpoint"):
                stop = self._stop("step", breakpoints=stop.breakpoints if stop else ())
            if stop is None and self._interrupted():
                stop = self._stop("pause")
            if stop is not None:
                return self._finish(stop)
        self.forget_pause()
        return self._finish(self._stop("end"))

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
            return self._stop("exception", focus=finding.focus, finding=finding, breakpoints=hit)
        if hit:
            focus, level = hit[0].stops[self.ordinal], hit[0].place.level
            return self._stop("breakpoint", focus=focus, breakpoints=hit, level=level)
        return None

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
            if not self._judge.stops(breakpoint) or not self._counts(breakpoint.stops[self.ordinal]):
                continue
            if breakpoint.log is None:
                hit.append(breakpoint)
            elif speak:
                self.print(self._judge.message(breakpoint), breakpoint)
        for breakpoint in hit:
            if breakpoint.temporary:
                self.breakpoints.remove(breakpoint)
        return tuple(hit)

    def _changed_after(self, moment: int) -> None:
        """An edit: what was found out about later moments is not true any more."""
        for breakpoint in self.breakpoints:
            breakpoint.forget_after(moment)
        for observer in self.observers:
            observer.changed_after(self, moment)
        self._found = {ordinal: finding for ordinal, finding in self._found.items() if ordinal <= moment}

    def _watch_again(self) -> None:
        """Commands that are not the program's own access other places: find again where data breakpoints stop."""
        changed = bool(self.machine.changed_commands)
        for breakpoint in self.breakpoints if changed or self._watching_changed else ():
            if (watched := breakpoint.place.watched) is not None:
                reads, writes = watched.access in ("read", "readWrite"), watched.access != "read"
                self.breakpoints.move(breakpoint, self.machine.touching(watched.place, reads, writes))
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
                return self._finish(self._stop("pause"))
            if ordinal == target and reason == "step":
                break
            with self.machine.before_edits():
                finding = self._announcer.look_back() or self._found.get(ordinal)
                stop = self._reason_to_stop(finding, speak=False)
            if stop is not None:
                return self._finish(stop)
        return self._finish(self._stop(reason if moved else "entry"))

    def _candidates(self, target: int) -> Iterator[int]:
        if any(observer.looks_back for observer in self.observers):
            yield from range(self.ordinal - 1, target, -1)
        else:
            found = {ordinal for ordinal in self._found if ordinal < self.ordinal}
            moments = {*self.breakpoints.stops_before(self.ordinal), *found}
            yield from sorted((ordinal for ordinal in moments if ordinal > target), reverse=True)
        yield target

    # Stops

    def _interrupted(self) -> bool:
        if self.between_commands:
            self.between_commands()
        if self._pause.is_set():
            self._pause.clear()
            return True
        return False

    def _cannot(self, error: NotSimulated | BackendFailed) -> Stop:
        """A stop before a command that cannot be executed, or that the backend did not survive."""
        if isinstance(error, NotSimulated):
            finding = Finding(NOT_SIMULATED, "Not simulated", str(error), self.ordinal)
        else:
            self.machine.fall_back()
            text = f"{error}; from here on the built-in simulator executes"
            finding = Finding(BACKEND_FAILED, "The backend is lost", text, self.ordinal, (str(error),))
        return self._finish(self._stop("exception", finding=finding))

    def _stop(
        self,
        reason: Reason,
        focus: int | None = None,
        finding: Finding | None = None,
        breakpoints: tuple[Breakpoint, ...] = (),
        level: Level = "op",
    ) -> Stop:
        focus = self.ordinal if focus is None else focus
        commands = self.program.commands
        return Stop(
            reason,
            self.ordinal,
            focus,
            core=commands[min(focus, len(commands) - 1)].core if len(commands) else 0,
            description=finding.title if finding else "",
            text=finding.text if finding else "",
            breakpoints=breakpoints,
            finding=finding,
            level=level,
        )

    def _finish(self, stop: Stop) -> Stop:
        self.last_stop = stop
        for observer in self.observers:
            observer.stopped(self, stop)
            if stop.reason == "end":
                observer.finished(self)
        return stop
