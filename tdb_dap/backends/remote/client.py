"""A backend elsewhere, as a device of this debugger."""

from __future__ import annotations

from collections.abc import Sequence

from tdb_dap.backends.remote.channel import chunks, contents_of
from tdb_dap.backends.remote.connection import SILENCE, Connection
from tdb_dap.backends.remote.messages import Changed, Execute, Open, Opened, Part, Read, Request, Reset, Write
from tdb_dap.engine.device.device import Content, Effect, Layout
from tdb_dap.engine.device.page_sync import Extent
from tdb_dap.engine.hardware.memory import Bytes
from tdb_dap.engine.machine.backend import Executable
from tdb_dap.errors import BackendFailed, BadAccess, BadInput, NotSimulated


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
        self._connection: Connection | None = None
        self._most = 0

    @property
    def sent(self) -> int:
        return self._connection.sent if self._connection else 0

    @property
    def received(self) -> int:
        return self._connection.received if self._connection else 0

    @property
    def _connected(self) -> Connection:
        if self._connection is None:
            raise BackendFailed(f"{self.name}: there is no connection")
        return self._connection

    def open(self, layout: Layout) -> None:
        self._most = layout.size
        self._connection = Connection.to(self.name, self._address, self._token, self._silence)
        parts = [Part(e.space.value, e.core, e.start, e.size) for e in layout.ddr]
        try:
            opened = self._connection.ask(Open(layout.chip, layout.cores, parts))
        except (BackendFailed, NotSimulated, BadAccess) as error:
            self.close()
            why = str(error).removeprefix(self._connection.complaint(""))
            raise BadInput(f"{self.name} cannot be used: {why}") from None
        if not isinstance(opened, Opened):
            raise self._connection.lost(f"it answered with {type(opened).__name__}")
        self.backend, self.compares = opened.backend, opened.compares

    def write(self, contents: Sequence[Content]) -> None:
        for batch in chunks(contents):
            self._connected.expect_done(Write(batch))

    def read(self, extents: Sequence[Extent]) -> list[Bytes]:
        changed, _ = self._changed(Read([Part(e.space.value, e.core, e.start, e.size) for e in extents]))
        return [content.data for content in changed]

    def execute(self, command: Executable) -> Effect:
        request = Execute(command.engine, command.core, command.descriptor, list(command.register_setup))
        changed, divergence = self._changed(request)
        return Effect(tuple(changed), divergence)

    def reset(self) -> bool:
        self._connected.expect_done(Reset())
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _changed(self, request: Request) -> tuple[list[Content], str | None]:
        contents: list[Content] = []
        connection = self._connected
        answer = connection.ask(request)
        while isinstance(answer, Changed):
            try:
                contents += contents_of(answer.contents)
            except ValueError as error:
                raise connection.lost(str(error)) from None
            if sum(content.data.size for content in contents) > self._most:
                raise connection.lost(f"it sends more than the {self._most:,} bytes of memory that there are")
            if not answer.more:
                return contents, answer.divergence
            answer = connection.following()
        raise connection.lost(f"it answered with {type(answer).__name__}")
