"""One client: what it has said of itself, the program it debugs, and what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from tdb_dap.adapter.protocol.framing import Connection, Message
from tdb_dap.adapter.protocol.model import ProtocolModel, plain
from tdb_dap.adapter.session.client_info import Traits
from tdb_dap.adapter.session.error_responses import Cancelled, NoProgram, error_message
from tdb_dap.adapter.session.handles import Handles
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.adapter.session.launch_configuration import Configuration
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.system.ports import Visitor

Body = ProtocolModel | Mapping[str, Any] | None
"""What a request is answered with."""

Feature = TypeVar("Feature")


class Request(Struct, frozen=True):
    """A request as it arrived."""

    seq: int
    command: str
    arguments: Mapping[str, Any]


class Session:
    """The state that handlers share. What belongs to one of them alone it keeps itself, see ``feature``.

    ``traits``: what the client can do.
    ``token``: what ``attach`` or ``launch`` must bring, or None; ``admitted``: whether it was brought.
    ``taken``: set when the reader may go on after a request of a client that is not admitted yet.
    ``handles``: numbers of frames and variables.
    ``waiting``: the launch that is answered when the client is configured.
    ``configured``: whether the client has set its breakpoints.
    ``running``: whether the program runs; ``ended``: whether its end was announced; ``unreported``: whether its next
    stop is not announced, because a request waits for it.
    ``by_instruction``: whether the user looks at commands, not at ops.
    ``over``: set when the session ends; ``withdrawn``: set when the client goes; ``cancelled``: requests by number.
    ``between_commands``: called between any two commands of a run, in order.
    ``others_wait``: whether requests have arrived that are answered after the current one.
    ``enqueue``: puts a request, or an errand, behind those that wait; ``farewells``: called when the session is over.
    ``abandon``: ends the process, or nothing, where a client has left and the session thread does not end.
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
        self.taken = threading.Event()
        self.handles = Handles()
        self.waiting: Request | None = None
        self.configured = False
        self.running = False
        self.ended = False
        self.unreported = False
        self.by_instruction = False
        self.over = threading.Event()
        self.withdrawn = threading.Event()
        self.cancelled: set[int] = set()
        self.between_commands: list[Callable[[], None]] = []
        self.others_wait: Callable[[], bool] = lambda: False
        self.enqueue: Callable[[Request], None] = lambda request: None
        self.farewells: list[Callable[[], None]] = []
        self.abandon = abandon
        self._configuration: Configuration | None = None
        self._debugger: Debugger | None = None
        self._connection = connection
        self._visitor = visitor
        self._features: dict[type[Any], Any] = {}
        self._answering: list[Request] = []
        self._after: list[list[Callable[[], None]]] = []

    def feature(self, kind: type[Feature]) -> Feature:
        """The state that one group of requests keeps for this session; made when it is first asked for."""
        if kind not in self._features:
            self._features[kind] = kind()
        feature: Feature = self._features[kind]
        return feature

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

    def load(self, debugger: Debugger) -> None:
        """Take over a loaded program."""
        self.unload()
        self._debugger = debugger

    def unload(self) -> None:
        """Let go of the program."""
        if self._debugger is not None:
            self._debugger.close()
        self._debugger = None
        self.handles.clear()

    # The client

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
        self.taken.set()

    def _is_token(self, given: object) -> bool:
        import hmac  # takes milliseconds, and only sessions with a token need it

        if self.token is None or not isinstance(given, str):
            return False
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode("utf-8", "surrogatepass"))

    # Messages

    def receive(self) -> Any:
        """The next message of the client, None at the end; called on the reader thread."""
        return self._connection.receive()

    def hang_up(self) -> None:
        """Close the connection."""
        self._connection.close()

    def event(self, name: str, body: ProtocolModel | Mapping[str, Any] | None = None) -> None:
        """Send an event now; see ``after`` for events that a request causes."""
        message: Message = {"type": "event", "event": name}
        if body is not None:
            message["body"] = _as_sent(body)
        self._connection.send(message)

    def output(self, text: str, category: str | None = None, **more: Any) -> None:
        """Show a line to the user; ``category`` of the protocol, or None: plain, and perhaps the user's own."""
        if category in ("important", "stderr"):
            text = self.traits.localised(text)
        line = self.traits.text_out(text if text.endswith("\n") else text + "\n")
        self.event("output", {"category": category or self.traits.plain_category, "output": line, **more})

    def respond(self, request: Request, body: Body = None, error: Exception | None = None) -> None:
        """Answer a request, once."""
        message: Message = {
            "type": "response",
            "request_seq": request.seq,
            "success": error is None,
            "command": request.command,
        }
        if error is not None:
            loud = request.command in ("launch", "attach")
            message.update(error_message(error, loud, self.traits.locale))
        elif body is not None:
            message["body"] = _as_sent(body)
        self._connection.send(message)

    # The request being answered

    @property
    def request(self) -> Request:
        """The request being answered."""
        return self._answering[-1]

    def begin(self, request: Request) -> None:
        """From now on ``request`` is being answered; another one may be already, while the program runs."""
        self._answering.append(request)
        self._after.append([])

    def answered(self) -> list[Callable[[], None]]:
        """The request is answered; returns what is to be done now, see ``after``."""
        self._answering.pop()
        return self._after.pop()

    def afterwards(self, act: Callable[[], None]) -> None:
        """Do something that was put off until a response was out; ``after`` does not put it off any more."""
        self._after.append([])
        try:
            act()
        finally:
            self._after.pop()

    def after(self, act: Callable[[], None]) -> None:
        """Do something when the response to the current request is out."""
        self._after[-1].append(act)

    def check_withdrawn(self) -> None:
        """Cancelled if the current request is not wanted any more; to be called now and then by long work."""
        if self.is_unwanted:
            raise Cancelled("cancelled")

    @property
    def is_unwanted(self) -> bool:
        """Whether nobody waits for the current request any more."""
        return self.withdrawn.is_set() or (bool(self._answering) and self.request.seq in self.cancelled)

    def give_up(self) -> None:
        """Give up the work that shows a progress bar; called on the reader thread as well."""
        if self.running:
            self.debugger.pause()
        else:
            self.cancelled.update(request.seq for request in self._answering)


def _as_sent(body: ProtocolModel | Mapping[str, Any]) -> Mapping[str, Any]:
    return plain(body) if isinstance(body, ProtocolModel) else body
