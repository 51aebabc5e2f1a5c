"""One client: messages in, answers and events out, and the run in progress.

A reader thread takes messages off the wire. One session thread answers them in order and owns the engine; while a
program runs, it looks at what has arrived between any two commands. Events that a request causes go out behind its
response.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tdb_dap.adapter.protocol.framing import Connection, Malformed, Message
from tdb_dap.adapter.protocol.types import ProtocolModel
from tdb_dap.adapter.requests.breakpoints import BreakpointTable
from tdb_dap.adapter.requests.exception_breakpoints import ExceptionFilters
from tdb_dap.adapter.requests.sanitizers import Sanitizing
from tdb_dap.adapter.requests.sources import mlir_source
from tdb_dap.adapter.requests.variable_nodes import logged
from tdb_dap.adapter.session.client_info import Traits
from tdb_dap.adapter.session.error_responses import Cancelled, NoProgram, NotStopped, error_message
from tdb_dap.adapter.session.handlers import DEFERRED, HANDLERS, Body
from tdb_dap.adapter.session.handles import FrameChoice, Handles
from tdb_dap.adapter.session.progress import Progress
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.remarks import Once, heard_by

if TYPE_CHECKING:
    from tdb_dap.adapter.session.launch_configuration import Configuration
    from tdb_dap.engine.control.breakpoints import Breakpoint
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.logpoints import Message as LogMessage
    from tdb_dap.engine.control.stops import Stop
    from tdb_dap.system.ports import Visitor

_PATIENCE = 2.0
"""Seconds that a busy session is given to answer ``disconnect`` before the connection is closed over its head."""


_FOR_STRANGERS = ("initialize", "attach", "launch", "disconnect")
"""What is answered to a client that has not given the token."""


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    seq: int
    command: str
    arguments: Mapping[str, Any]


class Session:
    """The state that handlers share.

    ``token``: what ``attach`` or ``launch`` must bring, or None. ``abandon``: called when a client has left and the
    session thread is still busy. ``visitor``: the connection, where it came through a port.
    """

    def __init__(
        self,
        connection: Connection,
        token: str | None,
        abandon: Callable[[], None],
        visitor: Visitor | None = None,
    ) -> None:
        self.traits = Traits()
        self.token = token
        self.admitted = token is None
        connection.is_stranger = not self.admitted
        self.handles = Handles()
        self.frame_choice = FrameChoice()
        self.breakpoints = BreakpointTable()
        self.exceptions = ExceptionFilters()
        self.sanitizing = Sanitizing()
        self._configuration: Configuration | None = None
        self.waiting: Request | None = None
        self.configured = False
        self.running = False
        self.ended = False
        self.by_instruction = False
        self.displays: dict[int, str] = {}
        self.python_names: dict[str, Any] = {}
        self.over = threading.Event()
        self.cancelled: set[int] = set()
        self.withdrawn = threading.Event()
        self._debugger: Debugger | None = None
        self._connection = connection
        self._abandon = abandon
        self._visitor = visitor
        self._taken = threading.Event()
        self._inbox: deque[Request | None] = deque()
        self._arrived = threading.Condition()
        self._attention = False
        self._quiet = False
        self._current: list[Request] = []
        self._after: list[list[Callable[[], None]]] = []
        self._progress: Progress | None = None

    # The program

    @property
    def debugger(self) -> Debugger:
        """The engine; NoProgram if none is loaded."""
        if self._debugger is None:
            raise NoProgram("no program is loaded")
        return self._debugger

    @property
    def configuration(self) -> Configuration:
        """The launch configuration; NoProgram before the first launch."""
        if self._configuration is None:
            raise NoProgram("no program is loaded")
        return self._configuration

    @configuration.setter
    def configuration(self, configuration: Configuration) -> None:
        self._configuration = configuration

    @property
    def has_program(self) -> bool:
        return self._debugger is not None

    def admit(self, token: object) -> None:
        """Let a client in that knows the token; BadInput, and the session is over, for one that does not."""
        if self.admitted:
            return
        if not self._is_token(token):
            self.after(self.over.set)
            if self._visitor is not None:
                self._visitor.mistaken()
            raise BadInput(
                "the token is missing or wrong; give the one that the adapter was started with, or that it has printed"
            )
        self.admitted = True
        self._connection.is_stranger = False
        if self._visitor is not None:
            self._visitor.admit()
        self._taken.set()

    def _is_token(self, given: object) -> bool:
        import hmac  # takes milliseconds, and only sessions with a token need it

        if self.token is None or not isinstance(given, str):
            return False
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode("utf-8", "surrogatepass"))

    def load(self, debugger: Debugger) -> None:
        """Take over a loaded program."""
        self.unload()
        self._debugger = debugger
        debugger.between_commands = self._between_commands

    def unload(self) -> None:
        """Let go of the program."""
        if self._debugger is not None:
            self._debugger.close()
        self._debugger = None
        self.handles.clear()

    # Sending

    def event(self, name: str, body: ProtocolModel | Mapping[str, Any] | None = None) -> None:
        """Send an event now; see ``after`` for events that a request causes."""
        message: Message = {"type": "event", "event": name}
        if body is not None:
            message["body"] = _plain(body)
        self._connection.send(message)

    def output(self, text: str, category: str = "console", **more: Any) -> None:
        """Show a line to the user."""
        line = self.traits.text_out(text if text.endswith("\n") else text + "\n")
        self.event("output", {"category": category, "output": line, **more})

    def log_point(self, message: LogMessage, breakpoint: Breakpoint) -> None:
        """Show what a log point says, with the place it comes from, and its tensors to be opened."""
        where: dict[str, Any] = {}
        if breakpoint.line is not None and breakpoint.text.startswith("mlir:"):
            source = mlir_source(self)
            where = {"source": _plain(source), "line": self.traits.line_out(breakpoint.line)} if source else {}
        if any(value.shape for value in message.values):
            where["variablesReference"] = self.handles.add_logged(logged(self, message))
        self.output(message.text, **where)

    def after(self, act: Callable[[], None]) -> None:
        """Do something when the response to the current request is out."""
        self._after[-1].append(act)

    @property
    def request(self) -> Request:
        """The request being answered."""
        return self._current[-1]

    def respond(self, request: Request, body: Body = None, error: Exception | None = None) -> None:
        """Answer a request, once."""
        message: Message = {
            "type": "response",
            "request_seq": request.seq,
            "success": error is None,
            "command": request.command,
        }
        if error is not None:
            message.update(error_message(error, loud=request.command in ("launch", "attach")))
        elif body is not None:
            message["body"] = _plain(body)
        self._connection.send(message)

    # Receiving

    def serve(self) -> None:
        """Answer until the client has left."""
        reader = threading.Thread(target=self._read, name="tdb-dap reader", daemon=True)
        reader.start()
        with heard_by(Once(lambda text: self.output(f"{text[0].upper()}{text[1:]}."))):
            self._answer_all()
        self.over.set()
        self._taken.set()
        self.unload()

    def _answer_all(self) -> None:
        while not self.over.is_set():
            with self._arrived:
                while not self._inbox:
                    self._arrived.wait()
                request = self._inbox.popleft()
                self._attention = bool(self._inbox)
            if request is None:
                break
            self._answer(request)
            self._taken.set()

    def _read(self) -> None:
        while True:
            message = self._connection.receive()
            if message is None:
                break
            request = self._request(message)
            if request is not None:
                handler = HANDLERS.get(request.command)
                if handler and handler.arrival and self._is_open_to(request):
                    handler.arrival(self, request)
                self._taken.clear()
                self._enqueue(request)
                if not self.admitted and not self.over.is_set():
                    self._taken.wait()  # a stranger's requests are taken one by one: they fill no memory
        self.leave(None)
        self._enqueue(None)

    def _enqueue(self, request: Request | None) -> None:
        with self._arrived:
            self._inbox.append(request)
            self._attention = True
            self._arrived.notify()

    def _request(self, message: Message | Malformed) -> Request | None:
        """The request in a message; None, and a complaint to the client, if there is none."""
        if isinstance(message, Malformed):
            if message.foreign:
                print(f"tdb-dap: a connection is closed: {message.problem}", file=sys.stderr, flush=True)
            else:
                self._complain(message.problem)
            return None
        if message.get("type") in ("response", "event"):
            return None
        seq, command, arguments = message.get("seq"), message.get("command"), message.get("arguments")
        if not isinstance(seq, int) or isinstance(seq, bool):
            self._complain(f"a request's seq must be a number, not {seq!r:.40}")
            return None
        request = Request(seq, command if isinstance(command, str) else "", {})
        if message.get("type") != "request" or not request.command:
            self.respond(request, error=TdbError("a message needs a type (request) and a command (text)"))
            return None
        if arguments is not None and not isinstance(arguments, dict):
            problem = f"{command}: arguments must be an object, not {type(arguments).__name__}"
            self.respond(request, error=TdbError(problem))
            return None
        return Request(seq, request.command, arguments or {})

    def _complain(self, problem: str) -> None:
        print(f"tdb-dap: error: {problem}", file=sys.stderr, flush=True)
        self.output(f"tdb-dap: error: {problem}", "stderr")

    def _answer(self, request: Request) -> None:
        """Answer one request, then do what it asked to be done afterwards."""
        self._current.append(request)
        self._after.append([])
        try:
            body = self._handle(request)
        except Exception as error:  # whatever goes wrong, the client gets one answer and the session goes on
            if not isinstance(error, (TdbError, ValidationError)):
                traceback.print_exc(file=sys.stderr)
            self.respond(request, error=error)
        else:
            if body is not DEFERRED:
                self.respond(request, body)
        finally:
            self._current.pop()
        for act in self._after.pop():
            self._after.append([])
            try:
                act()
            except Exception as error:  # the request is answered already: tell the user in the console
                traceback.print_exc(file=sys.stderr)
                self.output(f"internal error, please report it: {type(error).__name__}: {error}", "stderr")
            self._after.pop()

    def _handle(self, request: Request) -> Body:
        handler = HANDLERS.get(request.command)
        if handler is None:
            raise TdbError(f"the request {request.command!r:.80} is not supported")
        if not self._is_open_to(request):
            raise BadInput(f"{request.command}: attach with the token that the adapter was started with")
        if request.seq in self.cancelled:
            self.cancelled.discard(request.seq)
            raise Cancelled("cancelled")
        if self.running and handler.while_running == "refuse":
            raise NotStopped("notStopped")
        return handler.call(self, request.arguments)

    def _is_open_to(self, request: Request) -> bool:
        """Whether the client may ask this: one that has yet to give the token may ask little."""
        return self.admitted or request.command in _FOR_STRANGERS

    # Running

    def resume(self, go: Callable[[Debugger], Stop], *, by_instruction: bool = False, stay: bool = False) -> None:
        """Let the program run when the response is out, and report where it stops.

        ``by_instruction``: the user looks at commands, not at ops; ``stay``: do not end at the end, stop there.
        """
        debugger = self.debugger
        self.by_instruction = by_instruction
        stay = stay and not debugger.at_end
        self.after(lambda: self.run(debugger, go, stay))

    def run(self, debugger: Debugger, go: Callable[[Debugger], Stop], stay: bool = False) -> None:
        """Run now."""
        from tdb_dap.adapter.requests.stopped_event import report

        self._quiet = False
        debugger.forget_pause()
        self.handles.clear()
        self.running = True
        self._progress = Progress(self, "Running", len(debugger.program.commands)) if self.traits.progress else None
        try:
            stop = go(debugger)
        except Exception as error:  # a fault of ours: the user keeps the session and is told where it happened
            traceback.print_exc(file=sys.stderr)
            stop = debugger.failed(error)
        finally:
            self.running = False
            if self._progress:
                self._progress.end()
                self._progress = None
        if stop.reason == "breakpoint":
            self.by_instruction = stop.level == "command"
        if not self._quiet:
            report(self, stop, stay)

    def give_up(self) -> None:
        """Give up the work that shows a progress bar; called on the reader thread as well."""
        if self.running:
            self.debugger.pause()
        else:
            self.cancelled.update(request.seq for request in self._current)

    def leave(self, request: Request | None) -> None:
        """The client is going: end what is in progress; if that takes too long, answer ``request`` from here."""
        self.withdrawn.set()
        if request is not None:
            threading.Thread(target=self._watch_departure, args=(request,), daemon=True).start()

    def _watch_departure(self, request: Request) -> None:
        if not self.over.wait(_PATIENCE):
            self.respond(request)
            self._connection.close()
            self._abandon()

    def check_withdrawn(self) -> None:
        """Cancelled if the current request is not wanted any more; to be called now and then by long work."""
        if self._is_unwanted:
            raise Cancelled("cancelled")

    @property
    def _is_unwanted(self) -> bool:
        return self.withdrawn.is_set() or (bool(self._current) and self.request.seq in self.cancelled)

    def _between_commands(self) -> None:
        if self._progress:
            self._progress.update(self.debugger.ordinal)
        if self._attention and self.running:
            self._answer_while_running()
        elif self._attention and self._is_unwanted:
            self.debugger.pause()
        # Else this is an excursion that answers a request; what arrives meanwhile is about the moment behind it.

    def _answer_while_running(self) -> None:
        """Answer what can be answered now; what has to wait stays in the inbox, in order."""
        with self._arrived:
            arrived = list(self._inbox)
            self._inbox.clear()
            self._attention = False
        waiting: list[Request | None] = []
        for request in arrived:
            handler = HANDLERS.get(request.command) if request else None
            if request is None or waiting or (handler and handler.while_running == "wait"):
                waiting.append(request)
                self._quiet = True
                self.debugger.pause()
            else:
                self._answer(request)
        with self._arrived:
            self._inbox.extendleft(reversed(waiting))


def _plain(body: ProtocolModel | Mapping[str, Any]) -> Mapping[str, Any]:
    return body.model_dump(exclude_none=True) if isinstance(body, ProtocolModel) else body
