"""A backend elsewhere, as a device of this debugger."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from tdb_dap.backends.remote.channel import Broken, Channel, chunks, contents_of
from tdb_dap.backends.remote.handshake import NotAdmitted, enter
from tdb_dap.backends.remote.messages import (
    Answer,
    Changed,
    Done,
    Execute,
    Open,
    Opened,
    Part,
    Read,
    Refused,
    Request,
    Reset,
    Working,
    Write,
    answers,
)
from tdb_dap.engine.device.device import Content, Effect, Layout
from tdb_dap.engine.device.page_sync import Extent
from tdb_dap.engine.hardware.memory import Bytes
from tdb_dap.engine.machine.backend import Executable
from tdb_dap.errors import BackendFailed, BadAccess, BadInput, NotSimulated
from tdb_dap.system.interruption import between_parts

SILENCE = 60.0
"""Seconds without a sign of life after which the other side is lost; it gives one every few seconds."""


class RemoteDevice:
    """A backend that ``tdb-dap backends serve`` offers at an address.

    ``token``: what it was started with; ``silence``: seconds without a sign of life after which it counts as
    lost. ``sent``, ``received``: bytes so far.
    """

    def __init__(self, host: str, port: int, token: str | None = None, silence: float = SILENCE) -> None:
        self.name = f"remote:{host}:{port}"
        self.compares = False
        self.backend = ""
        self._address = (host, port)
        self._token = token
        self._silence = silence
        self._channel: Channel | None = None
        self._owed = False
        self._most = 0

    @property
    def sent(self) -> int:
        return self._channel.sent if self._channel else 0

    @property
    def received(self) -> int:
        return self._channel.received if self._channel else 0

    def open(self, layout: Layout) -> None:
        self._most = layout.size
        try:
            connected = socket.create_connection(self._address, min(self._silence, 10.0))
        except OSError as error:
            raise BadInput(
                f"{self.name}: no backend can be reached there: {error.strerror or error}; "
                "start one with tdb-dap backends serve"
            ) from None
        self._channel = Channel(connected)
        parts = [Part(e.space.value, e.core, e.start, e.size) for e in layout.ddr]
        try:
            enter(self._channel, self._token)
            opened = self._ask(Open(layout.chip, layout.cores, parts))
        except (NotAdmitted, BackendFailed, NotSimulated, BadAccess) as error:
            self.close()
            why = str(error).removeprefix(self._complaint(""))
            raise BadInput(f"{self.name} cannot be used: {why}") from None
        if not isinstance(opened, Opened):
            raise self._lost(f"it answered with {type(opened).__name__}")
        self.backend, self.compares = opened.backend, opened.compares

    def write(self, contents: Sequence[Content]) -> None:
        for batch in chunks(contents):
            self._expect_done(Write(batch))

    def read(self, extents: Sequence[Extent]) -> list[Bytes]:
        changed, _ = self._changed(Read([Part(e.space.value, e.core, e.start, e.size) for e in extents]))
        return [content.data for content in changed]

    def execute(self, command: Executable) -> Effect:
        request = Execute(command.engine, command.core, command.descriptor, list(command.register_setup))
        changed, divergence = self._changed(request)
        return Effect(tuple(changed), divergence)

    def reset(self) -> bool:
        self._expect_done(Reset())
        return True

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()

    def _expect_done(self, request: Request) -> None:
        answer = self._ask(request)
        if not isinstance(answer, Done):
            raise self._lost(f"it answered with {type(answer).__name__}")

    def _changed(self, request: Request) -> tuple[list[Content], str | None]:
        found: list[Content] = []
        answer = self._ask(request)
        while isinstance(answer, Changed):
            try:
                found += contents_of(answer.contents)
            except ValueError as error:
                raise self._lost(str(error)) from None
            if sum(content.data.size for content in found) > self._most:
                raise self._lost(f"it sends more than the {self._most:,} bytes of memory that there are")
            if not answer.more:
                return found, answer.divergence
            answer = self._next()
        raise self._lost(f"it answered with {type(answer).__name__}")

    def _ask(self, request: Request) -> Answer:
        if self._channel is None:
            raise BackendFailed(f"{self.name}: there is no connection")
        self._settle()
        try:
            self._channel.send(request, self._silence)
        except Broken as error:
            raise self._lost(str(error)) from None
        self._owed = True
        answer = self._next(interruptible=isinstance(request, Execute))
        self._owed = False
        return answer

    def _settle(self) -> None:
        """Take the answer that the user did not want to wait for."""
        while self._owed:
            try:
                answer = self._next()
            except (NotSimulated, BadAccess):
                self._owed = False
                return
            self._owed = isinstance(answer, Changed) and answer.more

    def _next(self, interruptible: bool = False) -> Answer:
        """The next answer. The errors that the other side reports are raised here."""
        assert self._channel is not None
        while True:
            try:
                answer = self._channel.receive(
                    answers, self._silence, waiting=between_parts if interruptible else lambda: None
                )
            except Broken as error:
                raise self._lost(str(error)) from None
            if isinstance(answer, Working):
                if interruptible:
                    between_parts()
                continue
            if isinstance(answer, Refused):
                self._owed = False
                raise self._refused(answer)
            return answer

    def _refused(self, answer: Refused) -> Exception:
        kinds = {"not simulated": NotSimulated, "bad access": BadAccess}
        return kinds[answer.kind](answer.why) if answer.kind in kinds else self._lost(answer.why)

    def _lost(self, why: str) -> BackendFailed:
        self.close()
        return BackendFailed(self._complaint(why))

    def _complaint(self, why: str) -> str:
        return f"the backend {self.name} is lost: {why}"
