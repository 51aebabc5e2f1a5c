"""Whether an adapter stays as small as it is: many sessions one after another, and many steps in one session.

    python benchmarks/soak.py [--sessions 200] [--steps 10000] [--write]

One adapter listens; each session opens the bundled sample with inputs and reference, stops at a breakpoint, looks at
stack and variables, steps on and back, and ends: half of them with a disconnect, half by dropping the connection. Then
one session steps forwards and backwards. Printed: the least that is resident of the adapter, open and running in the
second and in the last tenth (from one moment to the next a session that has just ended may still be there), and the
lines that it has written to stderr; exit code 1 if it has grown by more than 10 MB, left anything open, or complained.
Last the adapter is killed in the middle of a run: no child and no file may stay behind.
``--write`` puts the figures into docs/hardening.md.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
sys.path.insert(0, str(ROOT))

from scripts import figures  # noqa: E402
from tdb_dap.adapter.protocol.client import Client  # noqa: E402

_GROWTH = 10.0


class Listener:
    """A process that listens on a port, whose number and token it prints first; ``words``: of its command line."""

    def __init__(self, words: Sequence[str], scratch: Path) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tdb_dap", *words],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        self.token = self.process.stdout.readline().split()[1]

    def complaints(self) -> list[str]:
        """The lines that it has written to stderr."""
        self._errors.seek(0)
        return self._errors.read().splitlines()

    def state(self) -> tuple[float, int, int]:
        """Megabytes that are resident, open files and threads."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        resident, threads = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "Threads"))
        return resident / 1024, len(os.listdir(f"/proc/{self.process.pid}/fd")), threads


def least(states: Sequence[tuple[float, int, int]]) -> tuple[float, int, int]:
    """The least of each number: from one moment to the next a session that has just ended may still be there."""
    megabytes, files, threads = zip(*states, strict=True)
    return min(megabytes), min(files), min(threads)


def launched(adapter: Listener) -> Client:
    """A client stopped at a breakpoint of the sample."""
    client = Client.connect("127.0.0.1", adapter.port)
    client.initialize(supportsRunInTerminalRequest=False)
    attach = client.send(
        "attach",
        token=adapter.token,
        program=str(SAMPLE),
        inputs=str(SAMPLE / "input.npz"),
        reference=str(SAMPLE / "ref.npz"),
        stopOnEntry=False,
    )
    client.event("initialized")
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "tpu.Pool2D"}])
    client.request("configurationDone")
    client.answer(attach)
    client.event("stopped")
    return client


def session(adapter: Listener, dropped: bool) -> None:
    """What a user does, in short; ``dropped``: leaves without a word."""
    client = launched(adapter)
    frames = client.request("stackTrace", threadId=1)["stackFrames"]
    for scope in client.request("scopes", frameId=frames[0]["id"])["scopes"]:
        client.request("variables", variablesReference=scope["variablesReference"])
    for command in ("next", "stepBack"):
        client.request(command, threadId=1)
        client.event("stopped")
    if not dropped:
        client.request("disconnect")
    client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="write the figures into docs/hardening.md")
    arguments = parser.parse_args()
    failed = False
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        adapter = Listener(["adapter", "--listen", "127.0.0.1:0"], scratch)

        def segment(count: int, once: Callable[[], None]) -> tuple[float, int, int]:
            """So many times; the least megabytes, files and threads that were seen in between."""
            states = []
            for _ in range(count):
                once()
                states.append(adapter.state())
            return least(states)

        def watch(what: str, count: int, once: Callable[[], None]) -> bool:
            tenth = count // 10
            segment(tenth, once)
            before = segment(tenth, once)
            segment(count - 3 * tenth, once)
            after = segment(tenth, once)
            said.append(
                f"{count:,} {what}: {before[0]:.1f} MB in the second tenth, {after[0]:.1f} MB in the last; "
                f"files {before[1]} and {after[1]}, threads {before[2]} and {after[2]}"
            )
            print(said[-1], flush=True)
            return after[0] - before[0] > _GROWTH or after[1] > before[1] or after[2] > before[2]

        number = 0

        def visit() -> None:
            nonlocal number
            number += 1
            session(adapter, dropped=number % 2 == 0)

        failed |= watch("sessions", arguments.sessions, visit)
        client = launched(adapter)

        def step() -> None:
            nonlocal number
            number += 1
            client.request("next" if number % 2 else "stepBack", threadId=1, granularity="instruction")
            client.event("stopped")

        failed |= watch("steps", arguments.steps, step)
        client.send("continue", threadId=1)
        time.sleep(0.01)
        os.kill(adapter.process.pid, signal.SIGKILL)
        adapter.process.wait()
        time.sleep(0.5)
        children = subprocess.run(
            ["pgrep", "-P", str(adapter.process.pid)], capture_output=True, text=True
        ).stdout.split()
        complaints = adapter.complaints()
        said.append(f"{len(complaints)} line(s) on stderr")
        print(said[-1], *complaints[:5], sep="\n")
        failed |= bool(complaints)
        left = sorted(path.name for path in scratch.rglob("*"))
        said.append(f"killed in the middle of a run: {len(children)} child(ren) left, {len(left)} file(s) left")
        print(said[-1])
        failed |= bool(children or left)
    if arguments.write:
        figures.write("soak", [f"- {line}" for line in said])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
