"""A second client of the same session: an agent that the user has invited, ``tdb/inviteAgent``.

The guest connects to a port of this machine with a token and gets its own present: it looks at other moments on an
excursion, from which the program comes back to where the user is. Nothing of it changes a value or runs code. The user
sees each look as a line of output, and the agent's bookmarks among the marks of time. docs/agents.md describes it.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import sys
import threading
import traceback
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tdb_dap.adapter.console.verbs import execute, resume_quietly, verb
from tdb_dap.adapter.protocol.framing import Connection, Malformed
from tdb_dap.adapter.protocol.model import ProtocolModel, validated
from tdb_dap.adapter.protocol.transports import SocketStream
from tdb_dap.adapter.session.errands import errand
from tdb_dap.adapter.session.error_responses import error_message
from tdb_dap.adapter.session.handlers import request
from tdb_dap.engine.control.breakpoint_specs import resolve
from tdb_dap.errors import BadInput, TdbError, is_internal
from tdb_dap.system.ports import AttachServer, Visitor, open_port

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.agent_responses import Invitation
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger

LOOKS = ("p", "who", "explain")
"""Verbs of the console that a guest may use."""

_MOST_BOOKMARKS = 256


class LookArguments(ProtocolModel, kw_only=True):
    """``line``: of the console, one of the verbs that look."""

    line: str


class GoArguments(ProtocolModel, kw_only=True):
    """One of ``to``: a moment; ``ops``: ops to go, negative: back; ``place`` as of a breakpoint, with a ``condition``.

    ``show``: the user goes there, too.
    """

    to: int | None = None
    ops: int | None = None
    place: str | None = None
    condition: str | None = None
    show: bool = False


class BookmarkArguments(ProtocolModel, kw_only=True):
    """``name``: of the guest's present moment."""

    name: str


class AttachedSessions(Struct):
    """The port of a session to which it was invited. ``bookmarks``: name and moment; ``open``: connections."""

    listening: socket.socket | None = None
    token: str = ""
    bookmarks: dict[str, int] = field(default_factory=dict[str, int])
    open: set[Connection] = field(default_factory=set[Connection])

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.listening.getsockname()[1]}" if self.listening is not None else ""

    def invite(self, session: Session) -> None:
        """Open the port, once; it is closed with the session."""
        if self.listening is not None:
            return
        self.listening = listening = open_port("127.0.0.1:0", None)
        self.token = secrets.token_urlsafe(24)
        session.farewells.append(self.close)

        def talk(connected: socket.socket, visitor: Visitor) -> None:
            connection = Connection(SocketStream(connected))
            self.open.add(connection)
            try:
                _AttachedSession(session, self, connection, visitor).serve()
            finally:
                self.open.discard(connection)
                connection.close()

        threading.Thread(
            target=AttachServer().serve, args=(listening, talk), name="tdb-dap attached sessions", daemon=True
        ).start()

    def close(self) -> None:
        """Nobody is let in any more, and those who are in have to go."""
        if self.listening is not None:
            self.listening.close()
        for connection in list(self.open):
            connection.close()


@request("tdb/inviteAgent", while_running="answer")
def invite_agent(session: Session) -> Invitation:
    """Open this session to an agent: the address for ``tdb-dap mcp --join ADDRESS``, and the token that it needs."""
    if not session.has_program:
        raise BadInput("there is no program for an agent to inspect")
    sessions = session.feature(AttachedSessions)
    sessions.invite(session)
    return {"address": sessions.address, "token": sessions.token}


@verb("invite", help="let an agent attach to this session: print the options to start it with")
def _invite(session: Session, rest: str, frame: Frame | None) -> str:
    invitation = invite_agent(session)
    return (
        "an agent that looks here is given this server; it moves nothing unless it is asked to:\n"
        f"  TDB_DAP_AGENT_TOKEN={invitation['token']} tdb-dap mcp --join {invitation['address']}"
    )


class _AttachedSession:
    """One connection. ``_at``: the moment that it looks at; None: where the user is."""

    def __init__(self, session: Session, sessions: AttachedSessions, connection: Connection, visitor: Visitor) -> None:
        self._session = session
        self._sessions = sessions
        self._connection = connection
        self._visitor = visitor
        self._at: int | None = None

    def serve(self) -> None:
        """Answer until it leaves, or shows a wrong token."""
        self._connection.is_stranger = True
        is_in = False
        while (message := self._connection.receive()) is not None:
            if isinstance(message, Malformed):
                return
            command, arguments = message.get("command"), message.get("arguments")
            given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
            response: dict[str, Any] = {"type": "response", "request_seq": message.get("seq"), "command": command}
            try:
                if not is_in:
                    self._admit(command, given)
                    is_in = True
                    body: Mapping[str, Any] = {}
                else:
                    body = self._answer(command, given)
                self._connection.send({**response, "success": True, "body": body})
            except Exception as error:  # the attached session gets a response to any failure
                if is_internal(error):
                    traceback.print_exc(file=sys.stderr)
                self._connection.send({**response, "success": False, **error_message(error, loud=False)})
                if not is_in:
                    self._visitor.mistaken()
                    return

    def _admit(self, command: object, given: Mapping[str, Any]) -> None:
        token = given.get("token")
        wanted = self._sessions.token.encode()
        if (
            command != "attach"
            or not isinstance(token, str)
            or not hmac.compare_digest(token.encode("utf-8", "surrogatepass"), wanted)
        ):
            raise BadInput("the token is missing or wrong; give the one that the invitation has named")
        self._visitor.admit()
        self._connection.is_stranger = False

    def _answer(self, command: object, given: Mapping[str, Any]) -> Mapping[str, Any]:
        act: Callable[[], Mapping[str, Any]]
        if command == "tdb/look":
            look = validated(LookArguments, given)
            act = lambda: {"result": self._look(look.line)}  # noqa: E731 (one for each request)
        elif command == "tdb/go":
            go = validated(GoArguments, given)
            act = lambda: {"result": self._go(go)}  # noqa: E731
        elif command == "tdb/bookmark":
            mark = validated(BookmarkArguments, given)
            act = lambda: {"result": self._bookmark(mark.name)}  # noqa: E731
        elif command == "tdb/files":
            act = self._files
        else:
            raise BadInput(f"{command!r:.60}: a guest may look, go and set bookmarks")
        work = errand(act)
        self._session.enqueue(work)
        if self._session.over.is_set():
            raise TdbError("the session is over")
        answer: Mapping[str, Any] = work.outcome.result()
        return answer

    # On the session thread

    def _files(self) -> Mapping[str, Any]:
        configuration = self._session.configuration
        reference = configuration.reference
        return {
            "program": configuration.program,
            "inputs": configuration.inputs or "",
            "reference": [reference] if isinstance(reference, str) else reference or [],
            "at": self._text(self._moment()),
        }

    def _look(self, line: str) -> str:
        line = line.strip()
        if line.partition(" ")[0] not in LOOKS or not line.isprintable():
            raise BadInput(f"a guest may only look: {', '.join(LOOKS)}")
        moment = self._moment()
        with self._elsewhere(moment):
            reply = execute(self._session, line)
        self._say(f"looks at {self._text(moment)}: {line}")
        return reply

    def _go(self, given: GoArguments) -> str:
        commands = self._session.debugger.program.commands
        if given.place is not None:
            to = self._reached(given.place, given.condition)
        elif given.ops is not None:
            to = self._ops_on(given.ops)
        else:
            to = self._session.debugger.program.require_ordinal(len(commands) if given.to is None else given.to)
        self._at = to
        if given.show:
            self._say(f"moves this view to {self._text(to)}")
            resume_quietly(self._session, lambda debugger: debugger.travel(to))
        else:
            self._say(f"goes to {self._text(to)}; this view stays")
        return self._text(to)

    def _bookmark(self, name: str) -> str:
        if not name.isidentifier() or len(name) > 40:
            raise BadInput("name: give a word of letters, digits and _, at most 40")
        if len(self._sessions.bookmarks) >= _MOST_BOOKMARKS:
            raise BadInput(f"there are {_MOST_BOOKMARKS} bookmarks already")
        moment = self._sessions.bookmarks[name] = self._moment()
        self._say(f"sets the bookmark {name} at {self._text(moment)}")
        return "\n".join(f"{key}: command {at}" for key, at in self._sessions.bookmarks.items())

    def _moment(self) -> int:
        return self._session.debugger.ordinal if self._at is None else self._at

    @contextlib.contextmanager
    def _elsewhere(self, moment: int) -> Iterator[None]:
        """Inside, the program is at a moment, and names are those of its op; then all is as the user had it."""
        debugger: Debugger = self._session.debugger
        inspector, by_instruction = debugger.inspector, self._session.by_instruction
        stop = inspector.last_stop
        try:
            with debugger.machine.excursion():
                debugger.machine.travel(moment)
                inspector.last_stop = inspector.stop("goto")
                self._session.by_instruction = False
                yield
        finally:
            inspector.last_stop = stop
            self._session.by_instruction = by_instruction

    def _ops_on(self, count: int) -> int:
        """The moment this number of ops ahead, or back."""
        debugger = self._session.debugger
        starts = sorted({record.first for record in debugger.program.source.records if record.ordinals})
        if count >= 0:
            index = bisect_right(starts, self._moment()) - 1 + count
        else:
            index = bisect_left(starts, self._moment()) + count
        return starts[max(index, 0)] if index < len(starts) else len(debugger.program.commands)

    def _reached(self, place: str, condition: str | None) -> int:
        """The next moment at a place where a condition holds; BadInput if there is none."""
        debugger = self._session.debugger
        location = resolve(debugger.program, f"mlir:{place}" if place.isdigit() else place)
        if not location.spans:
            raise BadInput(location.message)
        for moment in sorted(first for first, _ in location.spans):
            if moment > self._moment() or (self._at is None and moment == self._moment()):
                if condition is None:
                    return moment
                self._session.check_withdrawn()
                with self._elsewhere(moment):
                    if debugger.inspector.holds(condition, debugger.scope()):
                        return moment
        raise BadInput(f"{place}{f' if {condition}' if condition else ''} is not reached from here")

    def _text(self, moment: int) -> str:
        program = self._session.debugger.program
        text = f"command {moment} of {len(program.commands)}"
        if moment >= len(program.commands):
            return f"{text}, the end"
        records = program.source.records_of(moment)
        op = f", {program.source.place_text(records[0].line)}: {records[0].opcode}" if records else ""
        return f"{text} ({program.commands[moment].token} {program.commands[moment].name}{op})"

    def _say(self, text: str) -> None:
        self._session.output(self._session.traits.localised(f"agent {text}"), "console")
