"""A short session with an adapter in this process, as an editor has it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.errors import TdbError
from tdb_dap.system.sample import SAMPLE
from tdb_dap.tools.doctor.findings import Check

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.client import Client
    from tdb_dap.tools.doctor.installation import Installation

_OP = "tpu.Pool2D"
_PATIENCE = 60


def session(installation: Installation) -> Iterator[Check]:
    """Initialize, launch the sample, stop at an op, look at a tensor, leave; an exception of the adapter goes on."""
    from tdb_dap.adapter.protocol.client import Client
    from tdb_dap.adapter.protocol.transports import SocketStream
    from tdb_dap.adapter.server import serve

    near, far = socket.socketpair()
    failures: list[Exception] = []

    def adapter() -> None:
        try:
            serve(SocketStream(far))
        except Exception as error:
            failures.append(error)
        finally:
            far.close()

    serving = threading.Thread(target=adapter, daemon=True, name="tdb-dap doctor")
    serving.start()
    client = Client(SocketStream(near), _PATIENCE)
    problem = found = ""
    try:
        found = _talk(client)
    except TdbError as error:
        problem = str(error)
    finally:
        client.close()
        serving.join(_PATIENCE)
    if failures:
        raise failures[0]
    if problem:
        yield Check("session", "error", f"a session with the adapter fails: {problem}", installation.again)
    else:
        yield Check("session", "ok", f"the adapter stops at {_OP} of the sample and shows {found}")


def _talk(client: Client) -> str:
    """Text of a tensor, as the Variables pane has it."""
    client.initialize(linesStartAt1=True)
    launched = client.launch(program=str(SAMPLE), inputs=str(SAMPLE / "input.npz"), stopOnEntry=False)
    client.request("setFunctionBreakpoints", breakpoints=[{"name": _OP}])
    client.request("configurationDone")
    client.answer(launched)
    stop = client.event("stopped", "terminated")
    if stop["event"] == "terminated":
        raise TdbError(f"no stop at {_OP}")
    thread = stop["body"]["threadId"]
    frame = client.request("stackTrace", threadId=thread)["stackFrames"][0]["id"]
    result: str = client.request("evaluate", expression="in[0]", frameId=frame, context="watch")["result"]
    client.request("disconnect", terminateDebuggee=True)
    return result
