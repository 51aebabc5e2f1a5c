"""Transports of a connection: standard input and output, or a socket."""

from __future__ import annotations

import contextlib
import os
import socket
import threading


class StandardStreams:
    """The process's stdin and stdout, reserved for the protocol.

    Descriptor 1 is duplicated and then pointed to stderr, descriptor 0 to the null device: from then on nothing that
    a library prints or reads can reach the client.
    """

    def __init__(self) -> None:
        self._source = os.dup(0)
        self._sink = os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def read(self, size: int, /) -> bytes:
        return os.read(self._source, size)

    def write(self, data: bytes, /) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._sink, rest) :]

    def close(self) -> None:
        os.close(self._sink)


class SocketStream:
    """A connected TCP socket.

    Its number is given back only when no thread reads or writes any more: it may be another connection's at once.
    """

    def __init__(self, connected: socket.socket) -> None:
        with contextlib.suppress(OSError):  # some systems refuse this once the other side has gone
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._reading = threading.Lock()
        self._writing = threading.Lock()

    def read(self, size: int, /) -> bytes:
        with self._reading:
            return self._socket.recv(size)

    def write(self, data: bytes, /) -> None:
        with self._writing:
            self._socket.sendall(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # not connected any more; else this wakes the threads that wait for it
            self._socket.shutdown(socket.SHUT_RDWR)
        with self._reading, self._writing:
            self._socket.close()
