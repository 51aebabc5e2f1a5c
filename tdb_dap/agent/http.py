"""The server over HTTP, on this machine only, for clients that show the token.

A page in a browser can send requests to this machine, too: it does not know the token, its requests carry an
``Origin``, and a name that somebody else's DNS has pointed here is not the ``Host``. All three are refused before a
body is read.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import anyio

from tdb_dap.system.ports import ADMISSION, PENALTY, STRANGERS

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Address = tuple[str, int]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
_MOST_BYTES = 1 << 20
_MOST_CLIENTS = 1024
"""Sessions at a time. A client that leaves without a word keeps its own for ``_IDLE`` seconds."""

_IDLE = 900.0
_MOST_CONNECTIONS = 512


def serve(server: MCPServer[Any], listening: socket.socket, token: str) -> None:
    """Serve at http://127.0.0.1:PORT/mcp until interrupted."""
    import uvicorn

    door = Door()
    configuration = uvicorn.Config(
        application(server, listening.getsockname()[1], token, door),
        http=_protocol(door),
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(configuration).run(sockets=[listening])


def application(server: MCPServer[Any], port: int, token: str, door: Door) -> App:
    """The server as an ASGI application for one port."""
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_MOST_BYTES,
        max_sessions=_MOST_CLIENTS,
        session_idle_timeout=_IDLE,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[]),
    )
    return _Gate(inner, token, hosts, door)


class Door:
    """Bounds connections that have not shown the token: one more takes the place of the oldest, each has some seconds.

    Those that have shown it are never counted among them.
    """

    def __init__(self, strangers: int = STRANGERS, admission: float = ADMISSION) -> None:
        self._most = strangers
        self._admission = admission
        self._strangers: dict[Address, asyncio.Transport] = {}

    def meet(self, transport: asyncio.Transport) -> None:
        """A new connection; it is closed after the time of admission if it is a stranger still."""
        while len(self._strangers) >= self._most:
            self._dismiss(next(iter(self._strangers)))
        address = transport.get_extra_info("peername")
        self._strangers[address] = transport
        asyncio.get_running_loop().call_later(self._admission, self._dismiss, address, transport)

    def admit(self, address: tuple[Any, ...] | None) -> None:
        """It has shown the token, or it has gone."""
        if address is not None:
            self._strangers.pop((address[0], address[1]), None)

    def _dismiss(self, address: Address, late: asyncio.Transport | None = None) -> None:
        if late is None or self._strangers.get(address) is late:
            self._strangers.pop(address).abort()


def _protocol(door: Door) -> type[asyncio.Protocol]:
    """Uvicorn's protocol, with a door before it."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Guarded(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            door.meet(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            door.admit(self.transport.get_extra_info("peername"))
            super().connection_lost(exc)

    return Guarded


class _Gate:
    """Lets in what brings the token. A wrong one costs a second, and few may wait for that at a time."""

    def __init__(self, inner: App, token: str, hosts: list[str], door: Door) -> None:
        self._inner = inner
        self._door = door
        self._wanted = f"Bearer {token}".encode()
        self._hosts = [host.encode() for host in hosts]
        self._paying = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value)
        if given.get(b"host", []) not in [[host] for host in self._hosts]:
            await _refuse(send, 421, b"this server is 127.0.0.1 or localhost")
        elif b"origin" in given:
            await _refuse(send, 403, b"pages of a browser are not served")
        elif self._is_token(given.get(b"authorization", [])):
            self._door.admit(scope.get("client"))
            await self._inner(scope, receive, send)
        else:
            if given.get(b"authorization") and self._paying < STRANGERS:
                self._paying += 1
                try:
                    await anyio.sleep(PENALTY)
                finally:
                    self._paying -= 1
            await _refuse(send, 401, b"the token is missing or wrong: Authorization: Bearer TOKEN")

    def _is_token(self, given: list[bytes]) -> bool:
        return len(given) == 1 and hmac.compare_digest(given[0], self._wanted)


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [
        (b"content-type", b"text/plain"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
