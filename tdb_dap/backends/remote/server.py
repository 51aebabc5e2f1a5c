"""Offering a backend of this machine to debuggers elsewhere."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from tdb_dap.backends.remote.channel import Broken, Channel, chunks, contents_of
from tdb_dap.backends.remote.handshake import NotAdmitted, WrongToken, admit
from tdb_dap.backends.remote.memories import Memories
from tdb_dap.backends.remote.messages import (
    Answer,
    Changed,
    Done,
    Execute,
    Filled,
    Give,
    Open,
    Opened,
    Read,
    Record,
    Refused,
    Request,
    Reset,
    Working,
    Write,
    requests,
)
from tdb_dap.backends.remote.recordings import Recordings
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.errors import BackendFailed, BadAccess, BadInput, NotSimulated, TdbError
from tdb_dap.system.ports import AttachServer, Visitor

SIGN_OF_LIFE = 3.0
"""Seconds between two while a command runs."""

_SILENCE = 60.0
"""Seconds that a client may take to read what it asked for."""


class Offer(Struct, frozen=True):
    """Backend offered to clients."""

    backend: str
    token: str | None
    cmodel_path: Path | None = None
    memory: int = 16 << 30
    """Bytes that a client may ask for."""
    clients: int = 8
    """Number of clients at a time."""
    records: bool = False
    """Whether clients may have their models run on the vendor's runtime here."""


def serve(listening: socket.socket, offer: Offer, say: Callable[[str], None]) -> None:
    """Serve clients, each in its own thread, until interrupted. ``say``: gets a line for each that leaves."""
    room = threading.BoundedSemaphore(offer.clients)

    def client(connected: socket.socket, visitor: Visitor) -> None:
        host, port, *_ = connected.getpeername()
        say(f"{host}:{port}: {_Client(Channel(connected), offer, visitor, room).serve()}")

    AttachServer().serve(listening, client)


class _Client:
    """One connection. ``room``: places of clients that know the token."""

    def __init__(
        self,
        channel: Channel,
        offer: Offer,
        visitor: Visitor | None = None,
        room: threading.BoundedSemaphore | None = None,
    ) -> None:
        self._channel = channel
        self._offer = offer
        self._visitor = visitor
        self._room = room
        self._has_place = False
        self._memories: Memories | None = None
        self._recordings = Recordings(offer.memory, offer.cmodel_path) if offer.records else None
        self._sending = threading.Lock()
        self._busy = threading.Event()
        self._over = threading.Event()

    def serve(self) -> str:
        """Answer until the client has gone; how it ended."""
        try:
            admit(self._channel, self._offer.token, self._take_place)
            if self._visitor is not None:
                self._visitor.admit()
            threading.Thread(target=self._show_life, daemon=True).start()
            while True:
                self._answer(self._channel.receive(requests, None))
        except NotAdmitted as error:
            if self._visitor is not None and isinstance(error, WrongToken):
                self._visitor.mistaken()
            return f"not admitted: {error}"
        except Broken as error:
            return str(error)
        finally:
            self._over.set()
            if self._memories is not None:
                self._memories.close()
            if self._recordings is not None:
                self._recordings.close()
            if self._room is not None and self._has_place:
                self._room.release()

    def _take_place(self) -> str:
        """Take the place of a client; why not, if there is none."""
        self._has_place = self._room is None or self._room.acquire(blocking=False)
        return "" if self._has_place else f"there are {self._offer.clients} clients already (--clients)"

    def _answer(self, request: Request) -> None:
        self._busy.set()
        answers = self._answers(request)
        is_done = False
        while not is_done:
            try:
                answer = next(answers, None)
            except Exception as error:  # the server survives any request and reports the failure
                answer, is_done = _refused(error), True
            if answer is None:
                break
            self._send(answer)
        self._busy.clear()

    def _answers(self, request: Request) -> Iterator[Answer]:
        if isinstance(request, Give | Record):
            yield from self._recorded(request)
            return
        if isinstance(request, Open):
            if self._memories is not None:
                self._memories.close()
            self._memories = Memories(request, self._offer.backend, self._offer.cmodel_path, self._offer.memory)
            yield Opened(self._offer.backend, self._memories.backend.compares)
            return
        memories = self._memories
        if memories is None:
            raise BackendFailed("no program is open")
        if isinstance(request, Write):
            memories.write(contents_of(request.contents))
            yield Done()
        elif isinstance(request, Reset):
            memories.restarted()
            yield Done()
        elif isinstance(request, Read):
            contents = [memories.content(Space(p.space), p.core, p.start, p.size) for p in request.parts]
            yield from _in_turn(list(chunks(contents)), None)
        elif isinstance(request, Execute):
            changed, divergence = memories.execute(request)
            yield from _in_turn(list(chunks(changed)), divergence)

    def _recorded(self, request: Give | Record) -> Iterator[Answer]:
        try:
            if self._recordings is None:
                raise BadInput("no recordings are made there; start it with tdb-dap backends serve --record")
            if isinstance(request, Record):
                yield from self._recordings.record(request, self._over.is_set)
            else:
                self._recordings.give(request)
                yield Done()
        except BadInput as error:
            yield Refused("not recorded", str(error))

    def _show_life(self) -> None:
        """Tell the client every now and then that it is not forgotten, while it waits for something."""
        while not self._over.wait(SIGN_OF_LIFE):
            if self._busy.is_set():
                try:
                    self._send(Working())
                except Broken:
                    self._over.set()

    def _send(self, answer: Answer) -> None:
        with self._sending:
            self._channel.send(answer, _SILENCE)


def _in_turn(batches: list[list[Filled]], divergence: str | None) -> Iterator[Changed]:
    """Batches of contents as answers, the divergence with the last one."""
    for batch in batches[:-1]:
        yield Changed(batch, more=True)
    yield Changed(batches[-1], more=False, divergence=divergence)


def _refused(error: Exception) -> Refused:
    kinds = {NotSimulated: "not simulated", BadAccess: "bad access", BackendFailed: "lost"}
    kind = next((kind for error, kind in kinds.items() if isinstance(error, error)), "bad input")
    is_told = isinstance(error, TdbError | ValueError)
    return Refused(kind, str(error) if is_told else f"{type(error).__name__}: {error}")
