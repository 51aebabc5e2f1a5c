"""Addresses on the network: reading them, and whether others can reach them."""

from __future__ import annotations

import socket

from tdb_dap.errors import BadInput


def address(text: str, what: str) -> tuple[str, int]:
    """Host and port of HOST:PORT; no host is this machine. BadInput begins with ``what``."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BadInput(f"{what}: write HOST:PORT, for instance 127.0.0.1:4711")
    return host.strip("[]") or "127.0.0.1", int(port)


def guarded_address(text: str, token: str | None) -> tuple[str, int]:
    """Host and port to listen on; BadInput if others could connect and nobody asks them for a token."""
    what = f"--listen {text}"
    host, port = address(text, what)
    if token is None and not is_loopback(host):
        raise BadInput(f"{what}: others could connect; give a --token, or listen on 127.0.0.1")
    return host, port


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(str(address) == "::1" or str(address).startswith("127.") for address in found)
