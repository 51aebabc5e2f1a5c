"""Ports: reading addresses, and a door that lets in whoever shows the token."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    import socket

ADAPTER_TOKEN = "TDB_DAP_TOKEN"
"""The variable of the environment that holds the token of an adapter on a port."""

BACKEND_TOKEN = "TDB_DAP_BACKEND_TOKEN"
"""The same of a backend that is offered or used."""

AGENT_TOKEN = "TDB_DAP_AGENT_TOKEN"
"""The same of a server for agents, and of a session that an agent is let into."""

STRANGERS = 16
"""Connections at a time that have not shown the token."""

ADMISSION = 20.0
"""Seconds that a connection may take to show the token."""

PENALTY = 1.0
"""Seconds that a wrong token costs; the place of the connection stays taken meanwhile."""

_TICK = 0.25


def address(text: str, what: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; no host is this machine. BadInput begins with ``what``."""
    if sys.platform == "emscripten":
        raise BadInput(f"{what}: a browser has no ports; use the installed tdb-dap")
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65535:
        raise BadInput(f"{what}: write HOST:PORT, for instance 127.0.0.1:4711")
    return host.strip("[]") or "127.0.0.1", int(port)


def open_port(text: str, token: str | None) -> socket.socket:
    """A socket that listens at HOST:PORT; BadInput if others could connect without a token."""
    import socket

    what = f"--listen {text:.100}"
    host, port = address(text, what)
    if token is None and not is_loopback(host):
        raise BadInput(f"{what}: others could connect; give a --token or --token-file, or listen on 127.0.0.1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{what}: {getattr(error, 'strerror', None) or error}") from None


def announce(text: str, listening: socket.socket, given: str | None) -> str:
    """Print where a port is that listens at ``text``; the token that it asks for, printed too if it is made here."""

    from secrets import token_urlsafe

    where = f"listening on {text.rpartition(':')[0] or '127.0.0.1'}:{listening.getsockname()[1]}\n"
    token = given or token_urlsafe(24)
    print(where if given else f"{where}token {token}\n", end="", flush=True)
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    import socket

    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return all(str(address) == "::1" or str(address).startswith("127.") for address in addresses)


class AttachServer:
    """Accepts connections, and bounds those that have not shown the token.

    ``strangers``: how many of them at a time; one more takes the place of the oldest. ``admission``: seconds that each
    may take. ``pause``: waits for the seconds that a wrong token costs.
    """

    def __init__(
        self, strangers: int = STRANGERS, admission: float = ADMISSION, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.pause = pause
        self._most = strangers
        self._admission = admission
        self._strangers: list[Visitor] = []
        self._lock = threading.Lock()

    def serve(self, listening: socket.socket, talk: Callable[[socket.socket, Visitor], None]) -> None:
        """Accept until interrupted or ``listening`` is closed; ``talk`` has a thread for each connection.

        No error of a single connection, nor a lack of descriptors, memory or threads, ends this.
        """
        try:
            listening.settimeout(_TICK)
            while listening.fileno() >= 0:
                self._dismiss_late()
                try:
                    connected, _ = listening.accept()
                except TimeoutError:
                    continue
                except OSError:
                    self._dismiss(1)  # if descriptors are lacking, strangers have too many of them
                    time.sleep(_TICK)
                    continue
                self._receive(connected, talk)
        except KeyboardInterrupt:
            return

    def _receive(self, connected: socket.socket, talk: Callable[[socket.socket, Visitor], None]) -> None:
        """Give a new connection a place and a thread; it is closed if there is none."""
        visitor = Visitor(self, connected)
        with self._lock:
            crowded = len(self._strangers) >= self._most
        if crowded and not self._dismiss(1):
            connected.close()
            return
        with self._lock:
            self._strangers.append(visitor)

        def conversation() -> None:
            try:
                talk(connected, visitor)
            except OSError:
                pass  # the other side has gone
            finally:
                self.forget(visitor)
                connected.close()

        try:
            threading.Thread(target=conversation, daemon=True, name="tdb-dap connection").start()
        except RuntimeError:  # no more threads
            self.forget(visitor)
            connected.close()

    def _dismiss_late(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = sum(now - visitor.since > self._admission for visitor in self._strangers if not visitor.pays)
        self._dismiss(late)

    def _dismiss(self, count: int) -> bool:
        """Hang up on the oldest strangers; False if there are none but those that wait for a wrong token."""
        with self._lock:
            oldest = [visitor for visitor in self._strangers if not visitor.pays][:count]
            for visitor in oldest:
                self._strangers.remove(visitor)
        for visitor in oldest:
            visitor.hang_up()
        return bool(oldest)

    def forget(self, visitor: Visitor) -> None:
        """The place of a visitor is free."""
        with self._lock, contextlib.suppress(ValueError):
            self._strangers.remove(visitor)


class Visitor:
    """A connection that has yet to show the token. ``pays``: it has shown a wrong one and waits for that."""

    def __init__(self, server: AttachServer, connected: socket.socket) -> None:
        self.since = time.monotonic()
        self.pays = False
        self._door = server
        self._connected = connected

    def admit(self) -> None:
        """It has shown the token: it may take its time."""
        self._door.forget(self)

    def mistaken(self) -> None:
        """It has shown a wrong token, or none; comes back when that is paid for."""
        self.pays = True
        self._door.pause(PENALTY)
        self.pays = False

    def hang_up(self) -> None:
        """End the connection from another thread than the one that reads from it."""
        with contextlib.suppress(OSError):
            import socket

            self._connected.shutdown(socket.SHUT_RDWR)
