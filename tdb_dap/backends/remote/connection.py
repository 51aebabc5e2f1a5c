"""A connection to a backend that is offered elsewhere: requests, answers, and how either may end."""

from __future__ import annotations

import socket

from tdb_dap.backends.remote.channel import Broken, Channel
from tdb_dap.backends.remote.handshake import NotAdmitted, enter, reason
from tdb_dap.backends.remote.messages import (
    Answer,
    Changed,
    Done,
    Execute,
    Record,
    Recorded,
    Refused,
    Request,
    Working,
    answers,
)
from tdb_dap.errors import BackendFailed, BadAccess, BadInput, NotSimulated
from tdb_dap.system.interruption import between_parts

SILENCE = 60.0
"""Seconds without a sign of life after which the other side is lost; it gives one every few seconds."""

_LONGEST_REASON = 2000
"""Characters of its reason to refuse a command."""


class Connection:
    """Asks one server. ``name``: ``remote:HOST:PORT``, as errors call it; ``sent``, ``received``: bytes so far.

    BackendFailed where the server is lost; it cannot be asked again then.
    """

    def __init__(self, name: str, channel: Channel, silence: float = SILENCE) -> None:
        self.name = name
        self._channel = channel
        self._silence = silence
        self._owed = False

    @classmethod
    def to(cls, name: str, address: tuple[str, int], token: str | None, silence: float = SILENCE) -> Connection:
        """Connect and show the token; BadInput where that cannot be done."""
        try:
            connected = socket.create_connection(address, min(silence, 10.0))
        except OSError as error:
            raise BadInput(
                f"{name}: no backend can be reached there: {error.strerror or error}; "
                "start one with tdb-dap backends serve"
            ) from None
        channel = Channel(connected)
        try:
            enter(channel, token)
        except NotAdmitted as error:
            channel.close()
            raise BadInput(f"{name} cannot be used: {error}") from None
        return cls(name, channel, silence)

    @property
    def sent(self) -> int:
        return self._channel.sent

    @property
    def received(self) -> int:
        return self._channel.received

    def ask(self, request: Request) -> Answer:
        """The first answer to a request; of several ``following`` gives the others."""
        self._settle()
        try:
            self._channel.send(request, self._silence)
        except Broken as error:
            raise self.lost(str(error)) from None
        self._owed = True
        answer = self.following(interruptible=isinstance(request, Execute | Record))
        self._owed = False
        return answer

    def expect_done(self, request: Request) -> None:
        """Send a request that is answered by Done."""
        answer = self.ask(request)
        if not isinstance(answer, Done):
            raise self.lost(f"it answered with {type(answer).__name__}")

    def following(self, interruptible: bool = False) -> Answer:
        """The next answer. The errors that the other side reports are raised here.

        ``interruptible``: whether the user may give up waiting; what comes then is taken before the next request.
        """
        while True:
            try:
                answer = self._channel.receive(
                    answers, self._silence, waiting=between_parts if interruptible else lambda: None
                )
            except Broken as error:
                raise self.lost(str(error)) from None
            if isinstance(answer, Working):
                if interruptible:
                    between_parts()
                continue
            if isinstance(answer, Refused):
                self._owed = False
                raise self._refused(answer)
            return answer

    def lost(self, why: str) -> BackendFailed:
        """The error to raise where the server cannot be believed or reached any more; the connection is closed."""
        self.close()
        return BackendFailed(self.complaint(why))

    def complaint(self, why: str) -> str:
        """Message for a lost connection."""
        return f"the backend {self.name} is lost: {why}"

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def _settle(self) -> None:
        """Take the answer that the user did not want to wait for."""
        while self._owed:
            try:
                answer = self.following()
            except (NotSimulated, BadAccess):
                self._owed = False
                return
            self._owed = isinstance(answer, Changed | Recorded) and answer.more

    def _refused(self, answer: Refused) -> Exception:
        kinds = {"not simulated": NotSimulated, "bad access": BadAccess, "not recorded": BadInput}
        why = reason(answer, _LONGEST_REASON)
        return kinds[answer.kind](why) if answer.kind in kinds else self.lost(why)
