"""``tdb-dap doctor``: check the installation and print the fix."""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.errors import TdbError
from tdb_dap.system.sample import SAMPLE

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.client import Client
    from tdb_dap.tools.doctor.findings import Check
    from tdb_dap.tools.doctor.installation import Installation

_OP = "tpu.Pool2D"
_PATIENCE = 60


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print JSON (fields: docs/install.md)")


def run(arguments: argparse.Namespace) -> int:
    """Look at everything and print it. 0: nothing is wrong; 1: something is."""
    from tdb_dap.tools.doctor.examination import examine
    from tdb_dap.tools.doctor.findings import as_json, lines, summary
    from tdb_dap.tools.doctor.installation import Installation

    installation = Installation.here()
    checks = []
    for check in examine(installation, lambda: session(installation)):
        checks.append(check)
        if not arguments.json:
            print("\n".join(lines(check)), flush=True)
    print(as_json(checks) if arguments.json else summary(checks))
    return int(any(check.status == "error" for check in checks))


def session(installation: Installation) -> Iterator[Check]:
    """Initialize, launch the sample, stop at an op, look at a tensor, leave; raises what the adapter raises."""
    from tdb_dap.adapter.protocol.client import Client
    from tdb_dap.adapter.protocol.transports import SocketStream
    from tdb_dap.adapter.server import serve
    from tdb_dap.tools.doctor.findings import Check

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
    problem = version = ""
    try:
        version = _talk(client)
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
        yield Check("session", "ok", f"the adapter stops at {_OP} of the sample and shows {version}")


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
