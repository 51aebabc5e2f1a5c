"""Mutual authentication: both sides prove that they know the token, and neither sends it.

A proof is the HMAC-SHA256, keyed with the token, of the role and both sides' nonces. Without a token the key is empty.
What follows is neither encrypted nor signed: beyond a network that is trusted it belongs into a tunnel.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from typing import Literal

from tdb_dap.backends.remote.channel import LONGEST_GREETING, Broken, Channel
from tdb_dap.backends.remote.messages import VERSION, Greeting, Hello, Proof, Refused, Welcome, greetings
from tdb_dap.engine.rendering.printable import elided, visible
from tdb_dap.system.ports import BACKEND_TOKEN

TOKEN_VARIABLE = BACKEND_TOKEN
"""The variable of the environment that a token is taken from."""

SILENCE = 10.0
"""Seconds that a greeting may take."""

_NONCE = 32
_LONGEST_REASON = 200
"""Characters of what the other side gives as its reason."""


class NotAdmitted(Exception):
    """The greeting did not end well; the text says why and what to do."""


class WrongToken(NotAdmitted):
    """The client does not know the token."""


def _proof(token: str | None, role: Literal["client", "server"], server: bytes, client: bytes) -> bytes:
    return hmac.digest((token or "").encode("utf-8", "surrogatepass"), role.encode() + server + client, hashlib.sha256)


def admit(channel: Channel, token: str | None, busy: Callable[[], str] = lambda: "") -> None:
    """The server's part. NotAdmitted: the client knows why, and is to be left.

    ``busy``: asked once the client has shown the token; why there is no room for it, or nothing.
    """
    nonce = os.urandom(_NONCE)
    channel.send(Hello(VERSION, nonce), SILENCE)
    answer = _next(channel)
    why, kind = "", NotAdmitted
    if not isinstance(answer, Proof):
        why = "that is no greeting"
    elif answer.version != VERSION:
        why = f"version {answer.version} of the protocol is not spoken here, {VERSION} is"
    elif not hmac.compare_digest(answer.proof, _proof(token, "client", nonce, answer.nonce)):
        why, kind = "the token is missing or wrong", WrongToken
    if why or not isinstance(answer, Proof):
        channel.send(Refused("token", why), SILENCE)
        raise kind(why)
    if full := busy():
        channel.send(Refused("busy", full), SILENCE)
        raise NotAdmitted(full)
    channel.send(Welcome(_proof(token, "server", nonce, answer.nonce)), SILENCE)


def enter(channel: Channel, token: str | None) -> None:
    """The client's part; NotAdmitted says what to do."""
    hello = _next(channel)
    if isinstance(hello, Refused):
        raise NotAdmitted(reason(hello))
    if not isinstance(hello, Hello):
        raise NotAdmitted("what listens there is no tdb-dap backend")
    if hello.version != VERSION:
        raise NotAdmitted(
            f"it speaks version {hello.version} of the protocol, this is version {VERSION}; "
            "install the same tdb-dap on both sides"
        )
    nonce = os.urandom(_NONCE)
    channel.send(Proof(VERSION, nonce, _proof(token, "client", hello.nonce, nonce)), SILENCE)
    answer = _next(channel)
    if isinstance(answer, Refused):
        if answer.kind == "busy":
            raise NotAdmitted(reason(answer))
        advice = f"give the one that it was started with: {TOKEN_VARIABLE}, or `backendToken`"
        raise NotAdmitted(f"{reason(answer)}; {advice}")
    if not isinstance(answer, Welcome) or not hmac.compare_digest(
        answer.proof, _proof(token, "server", hello.nonce, nonce)
    ):
        raise NotAdmitted("it does not know the token: it is not the backend that it should be")


def reason(answer: Refused, longest: int = _LONGEST_REASON) -> str:
    """One line, of no more characters than ``longest``, of what the other side says: it is not trusted."""
    return elided(" ".join(visible(answer.why).split()), longest) or "it refuses, and gives no reason"


def _next(channel: Channel) -> Greeting:
    try:
        return channel.receive(greetings, SILENCE, LONGEST_GREETING)
    except Broken as error:
        raise NotAdmitted(str(error)) from None
