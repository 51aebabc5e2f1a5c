"""From messages to handlers and back.

A reader thread takes messages off the wire. One session thread answers them in order and owns the engine; while a
program runs, it looks at what has arrived between any two commands. Events that a request causes go out after its
response.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable

from tdb_dap.adapter.protocol.framing import Malformed, Message
from tdb_dap.adapter.session.errands import Errand
from tdb_dap.adapter.session.error_responses import Cancelled, NotStopped
from tdb_dap.adapter.session.handlers import DEFERRED, HANDLERS
from tdb_dap.adapter.session.session import Body, Request, Session
from tdb_dap.errors import BadInput, TdbError, is_internal, sentence
from tdb_dap.system.notices import Once, heard_by

_FOR_STRANGERS = ("initialize", "attach", "launch", "disconnect")
"""What is answered to a client that has not given the token."""


class Dispatcher:
    """Takes the requests of one session and has them answered.

    ``load``: declares the handlers that are not declared from the beginning; it may be called many times.
    """

    def __init__(self, session: Session, load: Callable[[], None]) -> None:
        self._session = session
        self._load = load
        self._inbox: deque[Request | None] = deque()
        self._arrived = threading.Condition()
        self._attention = False
        self._notices = Once(lambda text: session.output(session.traits.localised(f"{text[0].upper()}{text[1:]}.")))
        session.between_commands.append(self._between_commands)
        session.others_wait = lambda: bool(self._inbox)
        session.enqueue = self._enqueue

    def serve(self) -> None:
        """Answer until the client has left."""
        reader = threading.Thread(target=self._read, name="tdb-dap reader", daemon=True)
        reader.start()
        with heard_by(self._notices):
            self._answer_all()
        self._end()

    def take(self) -> None:
        """Take what has arrived and return: for a stream that does not wait, on a system without threads."""
        while (message := self._session.receive()) is not None:
            self._arrive(message)

    def answer(self) -> bool:
        """Answer what was taken; whether the session goes on."""
        with heard_by(self._notices):
            while self._inbox and not self._session.over.is_set():
                self._answer_next()
        if self._session.over.is_set():
            self._end()
        return not self._session.over.is_set()

    def _end(self) -> None:
        """Close what the session has opened: nobody asks any more."""
        session = self._session
        session.over.set()
        session.taken.set()
        for act in session.farewells:
            act()
        self._refuse_errands()
        session.unload()

    def _refuse_errands(self) -> None:
        with self._arrived:
            for request in self._inbox:
                if isinstance(request, Errand):
                    request.refuse("the session is over")
            self._inbox.clear()

    # On the reader thread

    def _read(self) -> None:
        session = self._session
        while True:
            message = session.receive()
            if message is None:
                break
            if self._arrive(message) and not session.admitted and not session.over.is_set():
                session.taken.wait()  # a stranger's requests are taken one by one: they fill no memory
        session.withdrawn.set()
        self._enqueue(None)

    def _arrive(self, message: Message | Malformed) -> bool:
        """Put the request in a message behind those that wait; False if there is none."""
        request = self._request(message)
        if request is None:
            return False
        handler = HANDLERS.get(request.command)
        if handler and handler.arrival and self._is_open_to(request):
            handler.arrival(self._session, request)
        self._session.taken.clear()
        self._enqueue(request)
        return True

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
            problem = "a message needs a type (request) and a command (text)"
            self._session.respond(request, error=TdbError(problem))
            return None
        if arguments is not None and not isinstance(arguments, dict):
            problem = f"{command}: arguments must be an object, not {type(arguments).__name__}"
            self._session.respond(request, error=TdbError(problem))
            return None
        return Request(seq, request.command, arguments or {})

    def _complain(self, problem: str) -> None:
        print(f"tdb-dap: error: {problem}", file=sys.stderr, flush=True)
        self._session.output(f"tdb-dap: error: {problem}", "stderr")

    # On the session thread

    def _answer_all(self) -> None:
        while not self._session.over.is_set() and self._answer_next():
            pass

    def _answer_next(self) -> bool:
        """Wait for a request and answer it; False where the client has left."""
        with self._arrived:
            while not self._inbox:
                self._arrived.wait()
            request = self._inbox.popleft()
            self._attention = bool(self._inbox)
        if request is None:
            return False
        self._answer(request)
        self._session.taken.set()
        return True

    def _answer(self, request: Request) -> None:
        """Answer one request, then do what it asked to be done afterwards."""
        session = self._session
        session.begin(request)
        try:
            body = self._run_errand(request) if isinstance(request, Errand) else self._handle(request)
        except Exception as error:  # the client gets one response to any failure and the session continues
            if is_internal(error):
                traceback.print_exc(file=sys.stderr)
            session.respond(request, error=error)
        else:
            if body is not DEFERRED:
                session.respond(request, body)
        for act in session.answered():
            try:
                session.afterwards(act)
            except Exception as error:  # the request is answered already: tell the user in the console
                if is_internal(error):
                    traceback.print_exc(file=sys.stderr)
                session.output(sentence(error), "stderr")

    def _run_errand(self, request: Errand) -> Body:
        if self._session.running:
            request.refuse("the program runs; ask again when it has stopped")
        else:
            request.carry_out()
        return DEFERRED

    def _handle(self, request: Request) -> Body:
        session = self._session
        if request.command not in HANDLERS:
            self._load()
        handler = HANDLERS.get(request.command)
        if handler is None:
            raise TdbError(f"the request {request.command!r:.80} is not supported")
        if not self._is_open_to(request):
            raise BadInput(f"{request.command}: attach with the token that the adapter was started with")
        if request.seq in session.cancelled:
            session.cancelled.discard(request.seq)
            raise Cancelled("cancelled")
        if session.running and handler.while_running == "refuse":
            raise NotStopped("notStopped")
        return handler.call(session, request.arguments)

    def _is_open_to(self, request: Request) -> bool:
        """Whether the client may ask this: one that has yet to give the token may ask little."""
        return self._session.admitted or request.command in _FOR_STRANGERS

    def _between_commands(self) -> None:
        if self._attention and self._session.running:
            self._answer_while_running()
        elif self._attention and self._session.is_unwanted:
            self._session.debugger.pause()
        # Else this is an excursion that answers a request; what arrives meanwhile is about the moment after it.

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
                self._session.unreported = True
                self._session.debugger.pause()
            else:
                self._answer(request)
        with self._arrived:
            self._inbox.extendleft(reversed(waiting))
