"""Requests declare themselves: what they answer, and which capabilities the client may count on because of them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, TypeVar

from msgspec import Struct

from tdb_dap.adapter.protocol.model import ProtocolModel, validated
from tdb_dap.adapter.session.session import Body, Request, Session

DEFERRED: Mapping[str, Any] = {"deferred": True}
"""Returned by a handler whose response comes later."""

WhileRunning = Literal["answer", "refuse", "wait"]
"""What happens to a request that arrives during a run: answered between two commands, refused, or kept for later."""

Answer = TypeVar("Answer", bound=Callable[..., Body])


class Handler(Struct, frozen=True, dict=True):
    """One request. ``arrival`` is called on the reader thread, before the request waits for its turn."""

    command: str
    answer: Callable[..., Body]
    capabilities: tuple[str, ...]
    while_running: WhileRunning
    arrival: Callable[[Session, Request], None] | None

    def call(self, session: Session, arguments: Mapping[str, Any]) -> Body:
        """Answer, with the arguments that the function takes: none, a validated model, or just as they came."""
        if self._parameter is None:
            return self.answer(session)
        model = vars(sys.modules[self.answer.__module__]).get(self._parameter)
        if isinstance(model, type) and issubclass(model, ProtocolModel):
            return self.answer(session, validated(model, arguments))
        return self.answer(session, arguments)

    @cached_property
    def _parameter(self) -> str | None:
        """Annotation of the second parameter."""
        parameters = list(inspect.signature(self.answer).parameters.values())
        return str(parameters[1].annotation) if len(parameters) > 1 else None


HANDLERS: dict[str, Handler] = {}
"""Every request that is answered."""

_PROVIDERS: dict[str, Callable[[], Any]] = {}


def request(
    command: str,
    *,
    capability: str | tuple[str, ...] = (),
    while_running: WhileRunning = "refuse",
    arrival: Callable[[Session, Request], None] | None = None,
) -> Callable[[Answer], Answer]:
    """Declare the function that answers ``command``; its arguments are validated by the second parameter's type."""

    def declare(answer: Answer) -> Answer:
        capabilities = (capability,) if isinstance(capability, str) else capability
        HANDLERS[command] = Handler(command, answer, capabilities, while_running, arrival)
        return answer

    return declare


def provides(capability: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Declare the function that gives the value of a capability that is more than a yes."""

    def declare(value: Callable[[], Any]) -> Callable[[], Any]:
        _PROVIDERS[capability] = value
        return value

    return declare


STOPPED: list[Callable[[Session], None]] = []
"""What is done when a stop was announced to the client."""


def when_stopped(act: Callable[[Session], None]) -> Callable[[Session], None]:
    """Declare a function that is called when a stop was announced to the client."""
    STOPPED.append(act)
    return act


def capabilities() -> dict[str, Any]:
    """Every capability that a handler declares, for scripts/generate_capabilities.py."""
    yes = {name: True for handler in HANDLERS.values() for name in handler.capabilities}
    return {**yes, **{name: value() for name, value in _PROVIDERS.items()}}
