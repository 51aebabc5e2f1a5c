"""``tdb-dap demo``: the debugger in the terminal on the bundled sample; it types a session, then it is yours."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.client import Client
from tdb_dap.errors import TdbError
from tdb_dap.system.sample import SAMPLE

if TYPE_CHECKING:
    from tdb_dap.terminal.view import View

STORY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Break at the max pooling in final.mlir, and run to it", ('b #loc("maxpool5_MaxPool")', "c", "info b")),
    ("Look at what goes in: the operand, right where the chip holds it", ("p in[0]", "p max(in[0])")),
    (
        "Step over the op: is the result what the compiler's reference says?",
        ("n", "p %17", "check", "p max(%17) == max(%16)"),
    ),
    ("Go back in time: the chip is as it was before", ("rn", "who in[0]")),
    (
        "Break it on purpose: spoil one tensor and let the debugger find the first wrong op",
        ("set in[0] = in[0] * (in[0] < 1)", "c"),
    ),
    ("Back again; that also undoes the edit, and every op agrees with the reference", ("rn", "undo", "delete 1", "c")),
    ("At the end: the outputs of the net", ('p #loc("softmax16_Softmax")', "check failed")),
)
"""Chapters, and what is typed in them."""

NEXT = (
    ("tdb-dap debug CONTEXT", "debug your own model"),
    ("tdb-dap info CONTEXT", "show what it consists of"),
    ("tdb-dap check CONTEXT ...", "compare every op with reference data"),
    ("tdb-dap adapter", 'serve editors (VS Code: "type": "tdb")'),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--client",
        choices=("terminal",),
        default="terminal",
        help="client that shows the session (default: this terminal)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Play the session, then ask for more if somebody is there."""
    from tdb_dap.terminal.console import Console
    from tdb_dap.terminal.view import View

    client, view = Client.spawn(), View(quiet=arguments.quiet)
    try:
        console = Console(client, view)
        view.text("tdb-dap: a debugger for compiled TPU models", "bold")
        view.text(f"Sample: a small convolutional net, compiled for a chip that is not here. {SAMPLE}")
        configuration = {"program": SAMPLE, "inputs": SAMPLE / "input.npz", "reference": SAMPLE / "ref.npz"}
        console.start({name: str(path) for name, path in configuration.items()}, ["mismatch"])
        for title, lines in STORY:
            view.text(f"\n> {title}", "bold cyan")
            for line in lines:
                _pause(view)
                view.text(f"(tdb) {line}", "bold")
                if not console.do(line):
                    raise TdbError(f"the demo cannot continue: {line!r} was refused")
        view.text("\nNext:", "bold")
        for command, what in NEXT:
            view.text(f"    {command:28} {what}")
        view.text("CONTEXT is the directory that the compiler writes, or a .bmodel file.")
        if sys.stdin.isatty() and view.is_terminal:
            from tdb_dap.terminal.prompt import talk

            client.timeout = None
            view.text("\nThe session is yours now: rc goes back, s starts again, help lists the verbs, q quits.")
            talk(console)
    finally:
        client.close()
    return 0


def _pause(view: View) -> None:
    """Give a reader time; not in a pipe."""
    if view.is_terminal:
        time.sleep(0.6)
